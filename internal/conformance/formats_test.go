//go:build unix

package conformance

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/testutil"
)

// A listingClient is a client whose command line lists the MCP servers of its settings, without an account.
type listingClient struct {
	program string
	args    []string
	env     []string       // switches off what needs a network or a person
	listed  *regexp.Regexp // what it prints of a toolhost that it has read from its settings, and reached if it tries to
	places  []string       // of the settings
}

var everyPlace = []string{"user", "project", "address"}

// listingClients are the clients by the names that `toolhost mcp add-to` has for them. Claude Code asks a person about
// the servers of a project; Codex and Cline list servers without starting them.
var listingClients = map[string]listingClient{
	"gemini": {"gemini", []string{"mcp", "list"}, []string{"GEMINI_CLI_TRUST_WORKSPACE=true"},
		regexp.MustCompile(`toolhost: .* - Connected`), everyPlace},
	"claude-code": {"claude", []string{"mcp", "list"}, []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
		regexp.MustCompile(`toolhost: .* (Connected|Pending approval)`), everyPlace},
	"codex": {"codex", []string{"mcp", "list"}, nil,
		regexp.MustCompile(`toolhost .* enabled .*(Unsupported|Bearer token)`),
		everyPlace},
	"opencode": {"opencode", []string{"mcp", "list"}, []string{"OPENCODE_DISABLE_AUTOUPDATE=1"},
		regexp.MustCompile(`toolhost.* .*connected`), everyPlace},
	"cline": {"cline", []string{"config", "mcp", "--json"}, nil,
		regexp.MustCompile(`"name":"toolhost","transportType":"stdio","disabled":false`), []string{"file"}},
}

// clientsVariable names a folder in which further clients were installed with npm; they are too large to be installed
// for each run.
const clientsVariable = "TOOLHOST_TEST_CLIENTS"

// Clients read what add-to writes for them, for the user and for a project, and reach toolhost by it, started by them
// and at an address with a token.
func TestClientsReadWhatIsWrittenForThem(t *testing.T) {
	npm := testutil.MCP(t)
	for name, c := range listingClients {
		program := npm.Module(".bin", c.program)
		if _, err := os.Stat(program); err != nil && os.Getenv(clientsVariable) != "" {
			program = filepath.Join(os.Getenv(clientsVariable), "node_modules", ".bin", c.program)
		}
		for _, place := range c.places {
			t.Run(name+" "+place, func(t *testing.T) {
				if _, err := os.Stat(program); err != nil {
					t.Skipf("%s is not installed; $%s names where it is", c.program, clientsVariable)
				}
				b := newBed(t, fixtureConfig(t))
				b.variables = append(slices.Clone(c.env), "TOOLHOST_MCP_TOKEN=0123456789abcdef0123456789abcdef")
				words := []string{"mcp", "add-to", name, "--yes"}
				switch place {
				case "project":
					words = append(words, "--project")
				case "file": // that of Cline's command line, not of its extension
					file := filepath.Join(b.home, ".cline", "data", "settings", "cline_mcp_settings.json")
					makeFolder(t, filepath.Dir(file))
					words = append(words, "--file", file)
				case "address":
					words = append(words, "--url", b.serve().url, "--token-env", "TOOLHOST_MCP_TOKEN")
				}
				if o := b.run(words...); o.code != 0 {
					t.Fatal(o.errs)
				}
				if name == "codex" && place == "project" { // it reads the files of projects that a person trusts
					makeFolder(t, filepath.Join(b.home, ".codex"))
					writeFile(t, filepath.Join(b.home, ".codex", "config.toml"),
						"[projects.\""+b.work+"\"]\ntrust_level = \"trusted\"\n")
				}
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
				defer cancel()
				list := exec.CommandContext(ctx, program, c.args...)
				list.Env, list.Dir = append(b.environment(), "PATH="+filepath.Dir(npm.Node)+":"+os.Getenv("PATH")), b.work
				out, err := list.CombinedOutput()
				if err != nil || !c.listed.Match(out) {
					t.Errorf("%v: it does not list toolhost: %s", err, tail(string(out)))
				}
			})
		}
	}
}

func makeFolder(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}
