package mcpclients

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/internal/mcpclients/document"
	"github.com/toolhost/toolhost/internal/redact"
)

// Every client's block is read back unchanged, and adding it twice changes nothing.
func TestBlocks(t *testing.T) {
	run := Entry{Name: "toolhost", Command: `/opt/my "tools"/toolhost`, Args: []string{"mcp", "--config", `/home/ü/c.hcl`}}
	reach := Entry{Name: "toolhost", URL: "http://127.0.0.1:8080/mcp", TokenVar: "TOKEN"}
	for _, name := range Names() {
		c, err := Find(strings.ToUpper(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []Entry{run, reach} {
			block, err := c.Block(e)
			if err != nil {
				if e.URL != "" && slices.Contains([]string{"claude-desktop", "zed", "cline"}, name) {
					continue
				}
				t.Fatalf("%s: %v", name, err)
			}
			again, err := c.Add([]byte(block), e)
			if err != nil || string(again) != block {
				t.Errorf("%s: added again it is\n%s\n%v", name, again, err)
			}
			root, err := document.Parse(c.Syntax, []byte(block))
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, block)
			}
			servers, _, err := Servers(root, "")
			if err != nil || len(servers) != 1 || servers[0].Problem != "" {
				t.Fatalf("%s: %v, %+v\n%s", name, err, servers, block)
			}
			s := servers[0]
			if e.URL == "" && !slices.Equal(s.Command, append([]string{e.Command}, e.Args...)) || s.URL != e.URL ||
				s.Name != e.Name || s.Disabled {
				t.Errorf("%s is read as %+v\n%s", name, s, block)
			}
			_, variables := (&Import{Program: "p"}).Plugins(servers)
			if e.URL != "" && (len(variables) != 1 || variables[0].Name != "TOKEN" || variables[0].Held != "") {
				t.Errorf("%s: the variables are %v\n%s", name, variables, block)
			}
			if len(s.Notes) > 0 {
				t.Errorf("%s: %v", name, s.Notes)
			}
		}
	}
}

func TestFile(t *testing.T) {
	home := t.TempDir()
	vars := map[string]string{"HOME": home}
	getenv := func(name string) string { return vars[name] }
	c, _ := Find("opencode")
	if got, err := c.File(getenv); err != nil || got != filepath.Join(home, ".config/opencode/opencode.json") {
		t.Error(got, err)
	}
	second := filepath.Join(home, ".config/opencode/opencode.jsonc")
	if err := os.MkdirAll(filepath.Dir(second), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(second, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := c.File(getenv); err != nil || got != second {
		t.Error(got, err)
	}
	vars["CODEX_HOME"] = "/elsewhere"
	c, _ = Find("codex")
	if got, err := c.File(getenv); err != nil || got != "/elsewhere/config.toml" {
		t.Error(got, err)
	}
	delete(vars, "HOME")
	c, _ = Find("cursor")
	if got, err := c.File(getenv); err == nil || !strings.Contains(err.Error(), "HOME is not set") {
		t.Error(got, err)
	}
}

func TestSecretsByLook(t *testing.T) {
	for _, secret := range []string{"ghp_0123456789abcdefghijABCDEFGHIJ012345", "sk-proj-A1b2C3d4E5f6G7h8I9j0",
		"AKIAIOSFODNN7EXAMPLE", "postgres://me:hunter22@localhost/x", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"} {
		if !looksSecret(secret) {
			t.Errorf("%s is not seen as a secret", secret)
		}
	}
	for _, text := range []string{"@modelcontextprotocol/server-everything@2026.8.31", "claude-3-5-sonnet-20241022",
		"https://mcp.linear.app/mcp", "/usr/local/share/something", "debug", "us-east-1", "server-sequential-thinking"} {
		if looksSecret(text) {
			t.Errorf("%s is seen as a secret", text)
		}
	}
	for name, want := range map[string]bool{"GITHUB_TOKEN": true, "OPENAI_KEY": true, "GH_PAT": true, "api-key": true,
		"Authorization": true, "PASSWORD": true, "LOG_LEVEL": false, "PATH": false, "KEYBOARD": false, "DOMAIN": false,
		"bearer_token_env_var": false} {
		if redact.Setting(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// A text comes out of the configuration as it went in, whatever it has, and nothing in it is evaluated.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a", `"`, `\`, "${x}", "$${x}", "$$${x}", "%{if true}", "%%{x}", "$", "$$", "%", "\n\r\t\x01",
		"a$", "\u0331", "\u2028", "~/x", "}", "//", "#", "\ufeff", "${", "%%%{", "\\${", "\\u0024{"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !norm.NFC.IsNormalString(text) || strings.ContainsRune(text, 0) || strings.ToValidUTF8(text, "") != text ||
			len(text) > 10_000 {
			return
		}
		c, err := config.Parse("config.hcl", []byte(`plugin "p" {
  command = ["x"]
  config {
    a = `+quoteHCL(text)+`
    b = `+(value{{text: text}, {variable: "HOME"}, {text: text}}).hcl()+"\n  }\n}\n"))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var got struct{ A, B string }
		if err := json.Unmarshal(c.Plugins[0].Config, &got); err != nil {
			t.Fatal(err)
		}
		if want := norm.NFC.String(text + os.Getenv("HOME") + text); got.A != text || got.B != want { // HCL normalizes
			t.Errorf("%q became %q and %q", text, got.A, got.B)
		}
	})
}

// Servers that Gemini CLI and Claude Code leave out by lists beside them are disabled.
func TestServersLeftOut(t *testing.T) {
	for settings, want := range map[string]string{
		`"mcp":{"excluded":["b"]}`:                     "b",
		`"mcp":{"allowed":["b","c"]}`:                  "a",
		`"mcp":{"allowed":["a","b"],"excluded":["b"]}`: "b c",
		`"mcp":{"allowed":[],"excluded":[]}`:           "",
		`"excludeMCPServers":["a"]`:                    "a",
		`"allowMCPServers":["a"]`:                      "b c",
		`"mcp":{"excluded":"a"}`:                       "",
		`"projects":{"/w":{"disabledMcpServers":["a","c"]},"/x":{"disabledMcpServers":["b"]}}`: "a c",
	} {
		root, _, err := document.Detect([]byte(`{"mcpServers":{"a":{"command":"x"},"b":{"command":"x"},"c":{"command":"x"}},` +
			settings + `}`))
		if err != nil {
			t.Fatal(err)
		}
		servers, _, err := Servers(root, "/w")
		if err != nil {
			t.Fatal(err)
		}
		var disabled []string
		for _, s := range servers {
			if s.Disabled {
				disabled = append(disabled, s.Name)
			}
		}
		if got := strings.Join(disabled, " "); got != want {
			t.Errorf("%s: %q is disabled, want %q", settings, got, want)
		}
	}
}

func TestDiscovery(t *testing.T) {
	const block = `plugin "project" {
  command = ["p"]
  config {
    discovery_command = "bin/get_tools \"a b\""
    call_command      = "bin/call_tool"
  }
}
`
	for settings, want := range map[string]string{
		`{"tools":{"discoveryCommand":"bin/get_tools \"a b\"","callCommand":"bin/call_tool"}}`: block,
		`{"toolDiscoveryCommand":"bin/get_tools \"a b\"","toolCallCommand":"bin/call_tool"}`:   block,
		`{"tools":{"callCommand":"bin/call_tool"}}`:                                            "",
		`{"tools":["x"]}`: "",
	} {
		root, _, err := document.Detect([]byte(settings))
		if err != nil {
			t.Fatal(err)
		}
		if got := Discovery(root, "p"); got != want {
			t.Errorf("%s: %s", settings, got)
		}
	}
	if _, err := config.Parse("config.hcl", []byte(block)); err != nil {
		t.Error(err)
	}
}

// Clients count times in different units.
func TestUnitsOfTimes(t *testing.T) {
	for settings, want := range map[string]Server{
		`{"mcp":{"a":{"type":"local","command":["x"],"timeout":120}}}`:     {ConnectTimeout: 120 * time.Millisecond}, // opencode
		`{"mcp":{"a":{"type":"remote","url":"http://x","timeout":15000}}}`: {ConnectTimeout: 15 * time.Second},
		`{"mcp":{"a":{"type":"stdio","command":"x","timeout":120}}}`:       {ConnectTimeout: 2 * time.Minute}, // Crush
		`{"mcp":{"a":{"type":"http","url":"http://x","timeout":15}}}`:      {ConnectTimeout: 15 * time.Second},
		`{"mcpServers":{"a":{"command":"x","timeout":60}}}`:                {Timeout: time.Minute},      // Cline
		`{"mcpServers":{"a":{"command":"x","timeout":600000}}}`:            {Timeout: 10 * time.Minute}, // Gemini CLI
		`{"extensions":{"a":{"type":"stdio","cmd":"x","timeout":300}}}`:    {Timeout: 5 * time.Minute},  // goose
		`{"mcp_servers":{"a":{"command":"x","startup_timeout_sec":2.5}}}`:  {ConnectTimeout: 2500 * time.Millisecond},
		`{"mcpServers":{"a":{"command":"x","connectionTimeout":2500}}}`:    {ConnectTimeout: 2500 * time.Millisecond},
		`{"mcpServers":{"a":{"command":"x","timeout":99999999999999999}}}`: {Timeout: time.Hour},
	} {
		root, err := document.Parse(document.JSON, []byte(settings))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := Servers(root, "")
		if err != nil || len(got) != 1 || got[0].Problem != "" || got[0].Timeout != want.Timeout ||
			got[0].ConnectTimeout != want.ConnectTimeout {
			t.Errorf("%s: %+v, %v", settings, got, err)
		}
	}
}

// What single clients write in their own way, and what becomes of it: the lines of the block between command and the
// end, or why there is none; and what is said of it.
func TestWaysOfClients(t *testing.T) {
	const url = `url = "https://x"`
	for entry, want := range map[string]struct{ lines, notes string }{
		`{"command":"npx -y @a/b --flag"}`: {`command = ["npx", "-y", "@a/b", "--flag"]`,
			"its command is one text, which is cut at the blanks"},
		`{"command":"/opt/my tools/server --flag"}`: {`command = ["/opt/my tools/server --flag"]`, ""},
		`{"command":"C:\\Program Files\\server.exe","args":["C:\\data"],"cwd":"C:\\work"}`: {
			`command = ["C:\\Program Files\\server.exe", "C:\\data"] cwd = "C:\\work"`, ""},
		`{"command":"x","working_directory":"/srv","start_on_launch":false}`: { // Warp
			`command = ["x"] cwd = "/srv"`, ""},
		`{"isActive":false,"type":"streamableHttp","baseUrl":"https://x","tags":["a"]}`: {"disabled " + url, ""},          // Cherry Studio
		`{"active":false,"command":"x"}`:                                                {`disabled command = ["x"]`, ""}, // Jan
		`{"enabled":"False","url":"https://x"}`:                                         {"disabled " + url, ""},
		`{"disabled":"TRUE","url":"https://x"}`:                                         {"disabled " + url, ""},
		`{"isActive":true,"disabled":false,"command":"x"}`:                              {`command = ["x"]`, ""},
		`{"transport":"http","url":"https://x","allowedTools":["r_*"]}`:                 {url + ` include_tools = ["r_*"]`, ""},
		`{"disabled":"true","url":"https://x","requestInit":{"headers":{"A":"b"}}}`:     {"disabled " + url + ` headers = { A = "b" }`, ""},
		`{"url":"$BASE_URL/mcp"}`:                                                       {`url = "${env.BASE_URL}/mcp"`, ""},
		`{"url":"https://x","initTimeout":15000,"iconPath":"/i"}`:                       {url + ` connect_timeout = "15s"`, ""}, // LibreChat
		`{"url":"https://x","auth":{"CLIENT_ID":"a"}}`:                                  {url, "auth is left out: " + byLogin},
		`{"url":"https://x","headers":{"X-User":"{{USER_ID}}"}}`: {url + ` headers = { "X-User" = "{{USER_ID}}" }`,
			"{{USER_ID}} is taken over as it is: put the value there that the client uses for it"},
		`{"url":"https://x/{{USER_ID}}"}`: {`url = "https://x/{{USER_ID}}"`,
			"{{USER_ID}} is taken over as it is: put the value there that the client uses for it"},
		`{"command":"x","env":{"A":"$(cat /a)","B":"$(cat /a)"}}`: {`command = ["x"] env = { A = "$(cat /a)" B = "$(cat /a)" }`,
			"$(cat /a) is taken over as it is: put the value there that the client uses for it"},
		`{"command":"x","env":{"TOKEN":"$(pass show x)","A":"$(echo sk-abcdefghij1234567890abcd)"}}`: {
			`command = ["x"] env = { TOKEN = env.TOKEN A = env.A }`, ""},
		`{"command":"x","env":{"A":"{{ID}}"},"args":["${file}"]}`: {"it uses ${file}, and toolhost has nothing for that", ""},
		`{"command":"sh","args":["-c","echo $(pwd)","--format","{{.Name}}","{{ID}}"]}`: {
			`command = ["sh", "-c", "echo $(pwd)", "--format", "{{.Name}}", "{{ID}}"]`,
			"{{ID}} is taken over as it is: put the value there that the client uses for it"},
		`{"command":"x","args":["${cwd}/a","${env:file}"]}`:     {`command = ["x", "./a", env.file]`, ""},
		`{"command":"x","args":["${workspaceFolderBasename}"]}`: {"it uses ${workspaceFolderBasename}, and toolhost has nothing for that", ""},
		`{"command":"x","args":["${fileDirname}"]}`:             {"it uses ${fileDirname}, and toolhost has nothing for that", ""},
	} {
		for _, settings := range []string{`{"mcpServers":{"a":%s}}`, `{"amp.mcpServers":{"a":%s}}`,
			`{"augment.advanced":{"mcpServers":{"a":%s}}}`} {
			root, err := document.Parse(document.JSON, fmt.Appendf(nil, settings, entry))
			if err != nil {
				t.Fatal(err)
			}
			servers, _, err := Servers(root, "")
			if err != nil || len(servers) != 1 {
				t.Fatalf(settings+": %+v, %v", entry, servers, err)
			}
			plugins, _ := (&Import{Program: "p"}).Plugins(servers)
			s := plugins[0].Server
			_, lines, _ := strings.Cut(plugins[0].HCL, "config {")
			got := strings.Join(strings.Fields(strings.ReplaceAll(lines, "#", "")), " ")
			if got = cmp.Or(s.Problem, strings.TrimSuffix(got, " } }")); s.Disabled {
				got = "disabled " + got
			}
			if notes := strings.Join(s.Notes, "\n"); got != want.lines || notes != want.notes {
				t.Errorf("%s: got %s, %q; want %s, %q", entry, got, notes, want.lines, want.notes)
			}
		}
	}
}

// A server may have the name of the key that servers are under.
func TestServerNamedLikeTheKey(t *testing.T) {
	for _, key := range []string{"mcpServers", "servers", "context_servers"} {
		root, err := document.Parse(document.JSON, fmt.Appendf(nil,
			`{%q:{"a":{"command":"x"},"mcpServers":{"command":"y"}}}`, key))
		if err != nil {
			t.Fatal(err)
		}
		servers, _, err := Servers(root, "")
		if err != nil || len(servers) != 2 || servers[0].Name != "a" || servers[1].Command[0] != "y" {
			t.Errorf("%s: %+v, %v", key, servers, err)
		}
	}
}
