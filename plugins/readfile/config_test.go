package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

func TestSecretFiles(t *testing.T) {
	f := start(t, ".env", "TOKEN=1", ".env.example", "TOKEN=", "tls/server.key", "key", "plain", "text", ".ssh/config", "host")
	for link, target := range map[string]string{"notes.txt": ".env", "folder": ".ssh", "my.pem": "plain", "chain": "notes.txt", "other.pem": ".env"} {
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
		contains(t, err.Error(), "allow_secrets: ", "is no pattern of paths")
	}
	if err := f.Configure(t.Context(), json.RawMessage(`{"allow":[]}`), f.dir); err == nil {
		t.Error("an unknown key was taken")
	}
}

// The tools agree on what holds secrets: a file that read refuses is not searched, and list and glob leave its name out.
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
	found := structured[grepOutput](t, f.run(t, "grep", `{"pattern":"c4nary","hidden":true,"ignored":true,"mode":"files"}`))
	if got := fmt.Sprint(found.Files); len(found.Files) != 3 || found.Skipped.Secret != len(names) {
		t.Errorf("grep finds %s, and skips %d of %d", got, found.Skipped.Secret, len(names))
	}
	for tool, arguments := range map[string]string{"list": `{"depth":5,"hidden":true,"ignored":true}`, "glob": `{"pattern":"**","hidden":true,"ignored":true,"limit":1000}`} {
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
	f := start(t, "config.json", plain, "settings.json", plain, "main.go.orig", plain, "notes.old", plain, "docker-compose.override.yml", plain)
	for _, name := range []string{"config.json", "settings.json", "main.go.orig", "notes.old", "docker-compose.override.yml"} {
		if got := f.run(t, "read", `{"path":%q}`, name).Content[0].Text; got != plain {
			t.Errorf("%s reads as %q", name, got)
		}
	}
	f.put(t, "config.json", `{"api_key":"k3ep-0ut-of-h3re"}`)
	f.MustConfigure(t, `{"allow_secrets":["config.json"]}`)
	contains(t, f.run(t, "read", `{"path":"config.json"}`).Content[0].Text, "k3ep")
}
