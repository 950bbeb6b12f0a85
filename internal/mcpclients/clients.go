// Package mcpclients has the formats of MCP clients: what each has to be given so that it runs a toolhost, where that
// goes, and how the servers in such files become plugins.
package mcpclients

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/mcpclients/document"
	"github.com/toolhost/toolhost/internal/textutil"
)

// A Client is a program that uses MCP servers.
type Client struct {
	Name, Title string
	// Docs is the page of its documentation that the format is from.
	Docs string
	// Syntax is that of the file.
	Syntax document.Syntax
	// Note is further advice for a person, or "".
	Note string

	path    []string // the names that lead to the servers in the file
	listed  bool     // the servers are an array
	places  map[string][]string
	project string // the file in a project's folder, "" if there is none
	stdio   func(Entry) *document.Node
	http    func(*Client, Entry) *document.Node // nil: an address cannot be in the file
	noHTTP  string                              // where it goes instead
	token   func(name string) string            // a reference to a variable; nil: there are none
}

// An Entry is a toolhost as a client is to run or reach it.
type Entry struct {
	Name    string // in the file
	Command string
	Args    []string

	URL      string // instead of Command
	TokenVar string // the variable with the bearer token for URL, or ""
}

// transport are the members of which only those of one transport can stand in an entry.
var transport = []string{"command", "args", "cmd", "url", "httpUrl", "serverUrl", "uri", "source", "bearer_token_env_var"}

// Find returns the client of a name, regardless of case, blanks and dashes.
func Find(name string) (*Client, error) {
	plain := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
	}
	for _, c := range clients {
		if plain(c.Name) == plain(name) || plain(c.Title) == plain(name) || slices.Contains(aliases[c.Name], plain(name)) {
			return c, nil
		}
	}
	return nil, fmt.Errorf("there is no client %q%s; there are %s", name, textutil.DidYouMean(name, Names()),
		strings.Join(Names(), ", "))
}

var aliases = map[string][]string{"claude-code": {"claude"}, "vscode": {"code", "copilot"}, "gemini": {"geminicli"},
	"codex": {"codexcli", "openaicodex"}, "claude-desktop": {"desktop"}}

// Names are those of all clients.
func Names() (out []string) {
	for _, c := range clients {
		out = append(out, c.Name)
	}
	return out
}

// Block returns the text to paste: a whole file with nothing else in it. It fails if the client cannot do that.
func (c *Client) Block(e Entry) (string, error) {
	change, err := c.change(e)
	if err != nil {
		return "", err
	}
	return document.Show(c.Syntax, change), nil
}

// Add returns the file with the entry in it, otherwise unchanged.
func (c *Client) Add(file []byte, e Entry) ([]byte, error) {
	change, err := c.change(e)
	if err != nil {
		return nil, err
	}
	return document.Apply(c.Syntax, file, change)
}

// Remove returns the file without the entry of a name, or the file itself if it has none. It fails if the entry is not
// one of Add.
func (c *Client) Remove(file []byte, name string) ([]byte, error) {
	change := document.Change{Path: c.path, Name: name, Listed: c.listed}
	entry, err := change.Entry(c.Syntax, file)
	if err != nil || entry == nil {
		return file, err
	}
	s := Server{Name: name}.read("", entry)
	if s.RunsToolhost() || len(s.Command) == 0 && s.URL != "" && name == "toolhost" {
		return change.Remove(c.Syntax, file)
	}
	return nil, &document.ByHandError{Line: entry.Line, Reason: fmt.Sprintf("%q is not an entry that runs toolhost", name)}
}

func (c *Client) change(e Entry) (document.Change, error) {
	out := document.Change{Path: c.path, Name: e.Name, Listed: c.listed, Instead: transport}
	switch {
	case e.URL == "":
		out.Value = c.stdio(e)
	case c.http == nil:
		return out, fmt.Errorf("%s takes no address in its file; %s. Without --url and --http the block runs toolhost itself",
			c.Title, c.noHTTP)
	case e.TokenVar != "" && c.token == nil && c.Name != "codex":
		return out, fmt.Errorf("%s cannot refer to a variable in its file, and a token is not written into it; "+
			"without --url and --http the block runs toolhost itself, which needs no token", c.Title)
	default:
		out.Value = c.http(c, e)
	}
	if c.listed {
		out.Value.Members = append([]document.Member{{Name: "name", Value: document.Text(e.Name)}}, out.Value.Members...)
	}
	return out, nil
}

// bearer is the value of the Authorization header.
func (c *Client) bearer(e Entry) string { return "Bearer " + c.token(e.TokenVar) }

// Places are the paths of the user's file on Linux, macOS and Windows, for people to read.
func (c *Client) Places() []string {
	var out []string
	for _, system := range [][2]string{{"linux", "Linux"}, {"darwin", "macOS"}, {"windows", "Windows"}} {
		if paths := c.places[system[0]]; len(paths) > 0 {
			path := placeVariable().ReplaceAllString(paths[0], "$2")
			if system[0] == "windows" {
				path = strings.ReplaceAll(paths[0], "/", `\`)
			}
			out = append(out, system[1]+": "+path)
		}
	}
	return out
}

// ProjectFile is the path of the file in a project's folder, "" if the client has none.
func (c *Client) ProjectFile() string { return c.project }

// File is the path of the user's file on this system: of several the first that exists, otherwise the first.
// Variables are those of getenv.
func (c *Client) File(getenv func(string) string) (string, error) {
	paths := c.places[runtime.GOOS]
	if len(paths) == 0 {
		paths = c.places["linux"]
	}
	var out string
	for _, template := range paths {
		path, err := expand(template, getenv)
		if err != nil {
			return "", fmt.Errorf("the file of %s is not known: %w", c.Title, err)
		}
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		out = cmp.Or(out, path)
	}
	return out, nil
}

var placeVariable = lazy.Regexp(`^(?:\$\{?(\w+)(?::-([^}]*)\})?|%(\w+)%)`)

// expand replaces the variable or ~ that a path begins with.
func expand(template string, getenv func(string) string) (string, error) {
	m := placeVariable().FindStringSubmatch(template)
	if m != nil {
		value := getenv(m[1] + m[3])
		if value == "" && m[2] == "" {
			return "", fmt.Errorf("the variable %s is not set", m[1]+m[3])
		}
		template = cmp.Or(value, m[2]) + template[len(m[0]):]
	}
	if rest, ok := strings.CutPrefix(template, "~"); ok {
		home := cmp.Or(getenv("HOME"), getenv("USERPROFILE"))
		if home == "" {
			return "", fmt.Errorf("the variable HOME is not set")
		}
		template = home + rest
	}
	path := filepath.FromSlash(strings.ReplaceAll(template, `\`, "/"))
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s is not an absolute path", path)
	}
	return path, nil
}

// clients are all that are known, each with the page of its documentation.
var clients = []*Client{
	claudeCode, claudeDesktop, cursor, vscode, gemini, codex, zed, continueDev, opencode, goose, windsurf, cline,
}

// unixAndWindows is one path on systems with a home folder like Unix's.
func unixAndWindows(path, windows string) map[string][]string {
	return map[string][]string{"linux": {path}, "darwin": {path}, "windows": {windows}}
}

// codeUser is the folder of VS Code's user, with a file below it.
func codeUser(file string) map[string][]string {
	return map[string][]string{"linux": {"${XDG_CONFIG_HOME:-~/.config}/Code/User/" + file},
		"darwin": {"~/Library/Application Support/Code/User/" + file}, "windows": {"%APPDATA%/Code/User/" + file}}
}

func run(e Entry, before ...any) *document.Node {
	return document.Map(append(before, "command", e.Command, "args", document.List(e.Args...))...)
}

// reach is an entry with an address and, with a token, headers.
func (c *Client) reach(e Entry, key string, before ...any) *document.Node {
	pairs := slices.Concat(before, []any{key, e.URL})
	if e.TokenVar != "" {
		pairs = append(pairs, "headers", document.Map("Authorization", c.bearer(e)))
	}
	return document.Map(pairs...)
}

func inBraces(name string) string    { return "${" + name + "}" }
func inEnvBraces(name string) string { return "${env:" + name + "}" }

var claudeCode = &Client{Name: "claude-code", Title: "Claude Code", Docs: "https://code.claude.com/docs/en/mcp",
	Syntax: document.JSON, path: []string{"mcpServers"},
	places:  unixAndWindows("${CLAUDE_CONFIG_DIR:-~}/.claude.json", "%USERPROFILE%/.claude.json"),
	project: ".mcp.json",
	stdio:   func(e Entry) *document.Node { return run(e, "type", "stdio") },
	http:    func(c *Client, e Entry) *document.Node { return c.reach(e, "url", "type", "http") },
	token:   inBraces}

// The file of Claude Desktop takes programs only; addresses are added in its settings.
var claudeDesktop = &Client{Name: "claude-desktop", Title: "Claude Desktop",
	Docs:   "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
	noHTTP: "an address is added in the application, in Settings > Connectors",
	Syntax: document.JSON, path: []string{"mcpServers"},
	places: map[string][]string{"linux": {"${XDG_CONFIG_HOME:-~/.config}/Claude/claude_desktop_config.json"},
		"darwin":  {"~/Library/Application Support/Claude/claude_desktop_config.json"},
		"windows": {"%APPDATA%/Claude/claude_desktop_config.json"}},
	stdio: func(e Entry) *document.Node { return run(e) }}

var cursor = &Client{Name: "cursor", Title: "Cursor", Docs: "https://cursor.com/docs/context/mcp",
	Syntax: document.JSON, path: []string{"mcpServers"},
	places: unixAndWindows("~/.cursor/mcp.json", "%USERPROFILE%/.cursor/mcp.json"), project: ".cursor/mcp.json",
	stdio: func(e Entry) *document.Node { return run(e, "type", "stdio") },
	http:  func(c *Client, e Entry) *document.Node { return c.reach(e, "url") },
	token: inEnvBraces}

var vscode = &Client{Name: "vscode", Title: "VS Code",
	Docs:   "https://code.visualstudio.com/docs/copilot/reference/mcp-configuration",
	Syntax: document.JSON, path: []string{"servers"},
	places: codeUser("mcp.json"), project: ".vscode/mcp.json",
	stdio: func(e Entry) *document.Node { return run(e, "type", "stdio") },
	http:  func(c *Client, e Entry) *document.Node { return c.reach(e, "url", "type", "http") },
	token: inEnvBraces}

var gemini = &Client{Name: "gemini", Title: "Gemini CLI",
	Docs:   "https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md",
	Syntax: document.JSON, path: []string{"mcpServers"},
	places:  unixAndWindows("~/.gemini/settings.json", "%USERPROFILE%/.gemini/settings.json"),
	project: ".gemini/settings.json",
	stdio:   func(e Entry) *document.Node { return run(e) },
	http:    func(c *Client, e Entry) *document.Node { return c.reach(e, "httpUrl") },
	token:   inBraces}

var codex = &Client{Name: "codex", Title: "Codex", Docs: "https://developers.openai.com/codex/mcp",
	Syntax: document.TOML, path: []string{"mcp_servers"},
	places:  unixAndWindows("${CODEX_HOME:-~/.codex}/config.toml", "%USERPROFILE%/.codex/config.toml"),
	project: ".codex/config.toml",
	stdio:   func(e Entry) *document.Node { return run(e) },
	http: func(c *Client, e Entry) *document.Node {
		if e.TokenVar == "" {
			return document.Map("url", e.URL)
		}
		return document.Map("url", e.URL, "bearer_token_env_var", e.TokenVar)
	}}

var zed = &Client{Name: "zed", Title: "Zed", Docs: "https://zed.dev/docs/ai/mcp",
	Syntax: document.JSON, path: []string{"context_servers"},
	places: map[string][]string{"linux": {"${XDG_CONFIG_HOME:-~/.config}/zed/settings.json"},
		"darwin": {"~/.config/zed/settings.json"}, "windows": {"%APPDATA%/Zed/settings.json"}},
	project: ".zed/settings.json",
	stdio:   func(e Entry) *document.Node { return run(e) },
	http:    func(c *Client, e Entry) *document.Node { return c.reach(e, "url") }}

var continueDev = &Client{Name: "continue", Title: "Continue",
	Docs:   "https://docs.continue.dev/customize/deep-dives/mcp",
	Note:   "Continue uses MCP servers in agent mode",
	Syntax: document.YAML, path: []string{"mcpServers"}, listed: true,
	places: unixAndWindows("${CONTINUE_GLOBAL_DIR:-~/.continue}/config.yaml", "%USERPROFILE%/.continue/config.yaml"),
	stdio:  func(e Entry) *document.Node { return run(e, "type", "stdio") },
	http: func(c *Client, e Entry) *document.Node {
		n := document.Map("type", "streamable-http", "url", e.URL)
		if e.TokenVar != "" {
			n.Members = append(n.Members, document.Member{Name: "requestOptions", Value: document.Map("headers",
				document.Map("Authorization", c.bearer(e)))})
		}
		return n
	},
	token: func(name string) string { return "${{ secrets." + name + " }}" }}

var opencode = &Client{Name: "opencode", Title: "opencode", Docs: "https://opencode.ai/docs/mcp-servers",
	Syntax: document.JSON, path: []string{"mcp"},
	places: map[string][]string{
		"linux": {"${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.json",
			"${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.jsonc"},
		"darwin":  {"~/.config/opencode/opencode.json", "~/.config/opencode/opencode.jsonc"},
		"windows": {"%USERPROFILE%/.config/opencode/opencode.json"}},
	project: "opencode.json",
	stdio: func(e Entry) *document.Node {
		return document.Map("type", "local", "command", document.List(append([]string{e.Command}, e.Args...)...),
			"enabled", document.Flag(true))
	},
	http: func(c *Client, e Entry) *document.Node {
		return c.reach(e, "url", "type", "remote", "enabled", document.Flag(true))
	},
	token: func(name string) string { return "{env:" + name + "}" }}

var goose = &Client{Name: "goose", Title: "goose",
	Docs:   "https://block.github.io/goose/docs/guides/config-files",
	Syntax: document.YAML, path: []string{"extensions"},
	places: map[string][]string{"linux": {"${XDG_CONFIG_HOME:-~/.config}/goose/config.yaml"},
		"darwin": {"~/.config/goose/config.yaml"}, "windows": {"%APPDATA%/Block/goose/config/config.yaml"}},
	stdio: func(e Entry) *document.Node {
		return document.Map("name", e.Name, "type", "stdio", "description", gooseDescription, "cmd", e.Command,
			"args", document.List(e.Args...), "enabled", document.Flag(true), "timeout", document.Int(gooseTimeout))
	},
	http: func(c *Client, e Entry) *document.Node {
		n := c.reach(e, "uri", "name", e.Name, "type", "streamable_http", "description", gooseDescription)
		if e.TokenVar != "" {
			n.Members = append(n.Members, document.Member{Name: "env_keys", Value: document.List(e.TokenVar)})
		}
		n.Members = append(n.Members, document.Map("enabled", document.Flag(true),
			"timeout", document.Int(gooseTimeout)).Members...)
		return n
	},
	token: inBraces}

const (
	gooseDescription = "The tools of toolhost"
	gooseTimeout     = 300 // seconds that a call may take
)

var windsurf = &Client{Name: "windsurf", Title: "Windsurf", Docs: "https://docs.windsurf.com/windsurf/cascade/mcp",
	Syntax: document.JSON, path: []string{"mcpServers"},
	places: unixAndWindows("~/.codeium/windsurf/mcp_config.json", "%USERPROFILE%/.codeium/windsurf/mcp_config.json"),
	stdio:  func(e Entry) *document.Node { return run(e) },
	http:   func(c *Client, e Entry) *document.Node { return c.reach(e, "serverUrl") },
	token:  inEnvBraces}

var cline = &Client{Name: "cline", Title: "Cline", Docs: "https://docs.cline.bot/mcp/configuring-mcp-servers",
	Syntax: document.JSON, path: []string{"mcpServers"},
	places: codeUser("globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
	stdio: func(e Entry) *document.Node {
		n := run(e)
		n.Members = append(n.Members, document.Map("disabled", document.Flag(false)).Members...)
		return n
	},
	http: func(c *Client, e Entry) *document.Node {
		return c.reach(e, "url", "type", "streamableHttp")
	}}
