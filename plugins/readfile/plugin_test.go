package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// A fixture is the plugin with a workspace of files.
type fixture struct {
	*sdktest.Plugin
	dir string
}

// start runs the plugin. Files are given as path, content, path, content.
func start(t testing.TB, files ...string) *fixture {
	t.Helper()
	f := &fixture{sdktest.Start(t, newPlugin()), t.TempDir()}
	for i := 0; i < len(files); i += 2 {
		f.put(t, files[i], files[i+1])
	}
	return f
}

func (f *fixture) put(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(f.dir, name)
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, os.WriteFile(path, []byte(content), 0o644))
}

// run calls a tool that is to succeed, with arguments as a format.
func (f *fixture) run(t testing.TB, tool, arguments string, a ...any) *sdk.Result {
	t.Helper()
	result := f.RunIn(t, f.dir, tool, fmt.Sprintf(arguments, a...))
	if result.Error != nil {
		t.Fatalf("%s failed: %+v", tool, *result.Error)
	}
	return result
}

// fails calls a tool that is to fail with an error of this name.
func (f *fixture) fails(t testing.TB, name, tool, arguments string, a ...any) *sdk.Error {
	t.Helper()
	result := f.RunIn(t, f.dir, tool, fmt.Sprintf(arguments, a...))
	if result.Error == nil {
		t.Fatalf("%s %s succeeded with %v, want %s", tool, arguments, result.Content, name)
	}
	if result.Error.Name != name {
		t.Fatalf("%s failed with %s (%s), want %s", tool, result.Error.Name, result.Error.Message, name)
	}
	if e := result.Error; e.Suggestion == "" && !strings.Contains(e.Message, "do not fit") { // the sdk's message is enough
		t.Errorf("%s does not say what to do: %s", name, result.Error.Message)
	}
	return result.Error
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func structured[T any](t testing.TB, r *sdk.Result) (out T) {
	t.Helper()
	check(t, json.Unmarshal(r.Structured, &out))
	return out
}

func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not contain %q", text, part)
		}
	}
}

func TestDefinitions(t *testing.T) {
	d, err := start(t).Describe(t.Context())
	check(t, err)
	if d.Name != "readfile" || d.Version != "0.1.0" || len(d.Tools) != 4 {
		t.Fatalf("described as %s %s with %d tools", d.Name, d.Version, len(d.Tools))
	}
	for _, tool := range d.Tools {
		if !*tool.Hints.ReadOnly || !*tool.Hints.Idempotent || *tool.Hints.OpenWorld || tool.Category != "files" ||
			tool.CostTier != sdk.Free {
			t.Errorf("%s: hints %s, category %q, cost tier %q", tool.Name, sdk.Details(tool.Hints), tool.Category, tool.CostTier)
		}
	}
}

// Which paths lead where is tested with package workspace; that both tools ask it, here.
func TestRefusedPaths(t *testing.T) {
	f := start(t, "a.txt", "text", "dir/b.txt", "text")
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	check(t, os.WriteFile(secret, []byte("secret"), 0o644))
	for name, target := range map[string]string{"link": secret, "dirlink": outside, "loop": "loop",
		"dangling": "nothing"} {
		check(t, os.Symlink(target, filepath.Join(f.dir, name)))
	}
	tests := []struct{ path, read, list string }{ // names of errors
		{"../x", "PathOutsideWorkspace", "PathOutsideWorkspace"},
		{secret, "PathOutsideWorkspace", "PathOutsideWorkspace"},
		{"link", "PathOutsideWorkspace", "PathOutsideWorkspace"},
		{"dirlink/secret", "PathOutsideWorkspace", "PathOutsideWorkspace"},
		{"loop", "LinkLoop", "LinkLoop"},
		{"dangling", "FileNotFound", "FileNotFound"},
		{"a.txt/x", "NotADirectory", "NotADirectory"},
		{"a\x00b", "InvalidPath", "InvalidPath"},
	}
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			f.fails(t, test.read, "read", "%s", sdk.Details(map[string]string{"path": test.path}))
			f.fails(t, test.list, "list", "%s", sdk.Details(map[string]string{"path": test.path}))
		})
	}
	f.fails(t, "IsADirectory", "read", `{"path":"dir"}`)
	f.fails(t, "InvalidPath", "read", `{"paths":[""]}`)
	f.fails(t, "NotADirectory", "list", `{"path":"a.txt"}`)
	contains(t, f.fails(t, "FileNotFound", "read", `{"path":"dir/a.txt"}`).Suggestion, `Did you mean "dir/b.txt"?`)
}

func TestLinksInside(t *testing.T) {
	f := start(t, "dir/b.txt", "inside")
	check(t, os.Symlink(filepath.Join(f.dir, "dir"), filepath.Join(f.dir, "link")))
	result := f.run(t, "read", `{"path":"link/b.txt"}`)
	if out := structured[readOutput](t, result); result.Content[0].Text != "inside" || out.Path != "link/b.txt" {
		t.Errorf("read %+v, of %s", result.Content, out.Path)
	}
}

func TestNoWorkspace(t *testing.T) {
	f := start(t)
	for _, dir := range []string{"", "relative", filepath.Join(f.dir, "nothing")} {
		for tool, arguments := range map[string]string{"read": `{"path":"a"}`, "list": `{"path":"a"}`,
			"glob": `{"pattern":"a"}`, "grep": `{"pattern":"a"}`} {
			result := f.RunIn(t, dir, tool, arguments)
			if result.Error == nil || result.Error.Name != "WorkspaceUnavailable" {
				t.Errorf("%s in %q: %+v", tool, dir, result.Error)
			}
		}
	}
}

func TestSecretFiles(t *testing.T) {
	f := start(t, ".env", "TOKEN=1", ".env.example", "TOKEN=", "tls/server.key", "key", "plain", "text", ".ssh/config",
		"host")
	for link, target := range map[string]string{"notes.txt": ".env", "folder": ".ssh", "my.pem": "plain",
		"chain": "notes.txt", "other.pem": ".env"} {
		check(t, os.Symlink(target, filepath.Join(f.dir, link)))
	}
	tests := []struct{ path, none, some string }{ // errors without configuration, and with some files allowed
		{".env", "SecretFile", ""},
		{"./tls/../.env", "SecretFile", ""},
		{"notes.txt", "SecretFile", ""},
		{"chain", "SecretFile", ""},
		{"tls/server.key", "SecretFile", ""},
		{"folder/config", "SecretFile", "SecretFile"},
		{".ssh/config", "SecretFile", "SecretFile"},
		{"my.pem", "SecretFile", "SecretFile"},
		{"other.pem", "SecretFile", ""},
		{".env.example", "", ""},
		{"plain", "", ""},
		{"tls/none.pem", "FileNotFound", "FileNotFound"},
	}
	for _, allow := range []bool{false, true} {
		if allow {
			f.MustConfigure(t, `{"allow_secrets":[".env","tls/**/*.{key,crt}"]}`)
		}
		for _, test := range tests {
			want := test.none
			if allow {
				want = test.some
			}
			got := ""
			if e := f.RunIn(t, f.dir, "read", `{"path":"`+test.path+`"}`).Error; e != nil {
				got = e.Name
			}
			if got != want {
				t.Errorf("reading %s, allowed %v: the error is %q, want %q", test.path, allow, got, want)
			}
		}
	}
}

func TestSecretFileIsExplained(t *testing.T) {
	f := start(t, "a/.env", "TOKEN=1")
	check(t, os.Symlink("a/.env", filepath.Join(f.dir, "notes")))
	e := f.fails(t, "SecretFile", "read", `{"path":"a/.env"}`)
	contains(t, e.Message, `"a/.env" is not read: by its name it holds`)
	contains(t, e.Suggestion, `allow_secrets = ["a/.env"]`)
	e = f.fails(t, "SecretFile", "read", `{"path":"notes"}`)
	contains(t, e.Message, `"notes" is not read: it leads to "a/.env"`)
	contains(t, e.Suggestion, `allow_secrets = ["a/.env"]`)
	contains(t, string(e.Details), `{"path":"a/.env"}`)
}

func TestConfigMistakes(t *testing.T) {
	f := start(t)
	for _, pattern := range []string{"", "/etc/*.pem", "a[", "{a,b"} {
		err := f.Configure(t.Context(), sdk.Details(map[string][]string{"allow_secrets": {"ok.pem", pattern}}), f.dir)
		if err == nil {
			t.Errorf("the pattern %q was taken", pattern)
			continue
		}
		contains(t, err.Error(), "allow_secrets: ", "is not a pattern of paths")
	}
	if err := f.Configure(t.Context(), json.RawMessage(`{"allow":[]}`), f.dir); err == nil {
		t.Error("an unknown key was taken")
	}
}

// The tools agree on what holds secrets: a file that read refuses is not searched, and list and glob leave its name
// out.
func TestToolsAgreeOnSecrets(t *testing.T) {
	const secret = `password = "c4nary-value"` + "\n"
	names := strings.Fields(`.env .env.local prod.env .envrc config.json config.yaml config.yml settings.json appsettings.json appsettings.Production.json
		server.key server.pem a.p12 a.pfx a.crt a.cer a.jks a.keystore a.truststore a.db a.sqlite a.sqlite3 a.mdb a.accdb app.secret app.secrets credentials auth.json
		token api.token x.bak x.backup x.old x.orig docker-compose.override.yml docker-compose.override.yaml id_rsa id_dsa id_ecdsa id_ed25519 a.ppk a.gpg
		.aws/config .gcp/x .azure/x .kube/config .docker/config.json secrets/x .secrets/x .private/x certs/ca keys/k private/x .ssh/config .gnupg/x .gpg/x tmp/secrets/x`)
	files := []string{"plain.txt", secret, "keys/keys.go", secret, "package.json", secret}
	for _, name := range names {
		files = append(files, name, secret)
	}
	f := start(t, files...)
	for _, name := range names {
		f.fails(t, "SecretFile", "read", `{"path":%q}`, name)
		f.fails(t, "SecretFile", "grep", `{"pattern":"c4nary","path":%q}`, name)
	}
	found := structured[grepOutput](t,
		f.run(t, "grep", `{"pattern":"c4nary","hidden":true,"ignored":true,"mode":"files"}`))
	if got := fmt.Sprint(found.Files); len(found.Files) != 3 || found.Skipped.Secret != len(names) {
		t.Errorf("grep finds %s, and skips %d of %d", got, found.Skipped.Secret, len(names))
	}
	for tool, arguments := range map[string]string{"list": `{"depth":5,"hidden":true,"ignored":true}`,
		"glob": `{"pattern":"**","hidden":true,"ignored":true,"limit":1000}`} {
		result := f.run(t, tool, "%s", arguments)
		shown := result.Content[0].Text
		for _, name := range []string{".env", "prod.env", "server.key", "id_rsa", ".ssh/config", "secrets/x", ".aws/config"} {
			if strings.Contains("\n"+shown, "\n"+name) {
				t.Errorf("%s shows %s", tool, name)
			}
		}
		contains(t, shown, "package.json", "keys/keys.go", "files that by their names hold secrets are left out")
	}
}

// What has a common name is refused for what it holds, not for its name.
func TestCommonNamesAreRead(t *testing.T) {
	const plain = "{\"name\": \"x\", \"max_tokens\": 4096}\n"
	f := start(t, "config.json", plain, "settings.json", plain, "main.go.orig", plain, "notes.old", plain,
		"docker-compose.override.yml", plain)
	for _, name := range []string{"config.json", "settings.json", "main.go.orig", "notes.old",
		"docker-compose.override.yml"} {
		if got := f.run(t, "read", `{"path":%q}`, name).Content[0].Text; got != plain {
			t.Errorf("%s reads as %q", name, got)
		}
	}
	f.put(t, "config.json", `{"api_key":"k3ep-0ut-of-h3re"}`)
	f.MustConfigure(t, `{"allow_secrets":["config.json"]}`)
	contains(t, f.run(t, "read", `{"path":"config.json"}`).Content[0].Text, "k3ep")
}
