package mcpclients

import (
	"slices"

	"github.com/toolhost/toolhost/internal/mcpclients/document"
)

// clients are all that are known, each with the page of its documentation.
var clients = []*Client{
	claudeCode, claudeDesktop, cursor, vscode, gemini, codex, zed, continueDev, opencode, goose, windsurf, cline,
}

// same is one path on systems with a home folder like Unix's.
func same(path, windows string) map[string][]string {
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
	places:  same("${CLAUDE_CONFIG_DIR:-~}/.claude.json", "%USERPROFILE%/.claude.json"),
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
	places: same("~/.cursor/mcp.json", "%USERPROFILE%/.cursor/mcp.json"), project: ".cursor/mcp.json",
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
	places: same("~/.gemini/settings.json", "%USERPROFILE%/.gemini/settings.json"), project: ".gemini/settings.json",
	stdio: func(e Entry) *document.Node { return run(e) },
	http:  func(c *Client, e Entry) *document.Node { return c.reach(e, "httpUrl") },
	token: inBraces}

var codex = &Client{Name: "codex", Title: "Codex", Docs: "https://developers.openai.com/codex/mcp",
	Syntax: document.TOML, path: []string{"mcp_servers"},
	places:  same("${CODEX_HOME:-~/.codex}/config.toml", "%USERPROFILE%/.codex/config.toml"),
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
	places: same("${CONTINUE_GLOBAL_DIR:-~/.continue}/config.yaml", "%USERPROFILE%/.continue/config.yaml"),
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
	places: same("~/.codeium/windsurf/mcp_config.json", "%USERPROFILE%/.codeium/windsurf/mcp_config.json"),
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
