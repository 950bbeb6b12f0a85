package mcpclients

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/mcpclients/document"
	"github.com/toolhost/toolhost/internal/textutil"
)

// maxServers is how many servers are read of one place in a file.
const maxServers = 1000

// A Server is an MCP server as the settings of a client name it.
type Server struct {
	Name string
	Line int // 0 if it is not known

	Command []string
	Env     []Pair
	Cwd     string

	URL       string
	Headers   []Pair
	Transport string // http, sse or ""

	Include, Exclude        []string
	Timeout, ConnectTimeout time.Duration

	Disabled bool
	// Problem says why it cannot be taken over, "" if it can.
	Problem string
	// Notes say what of it is left out.
	Notes []string
}

// A Pair is a variable or a header. Value has the references of the client. With Variable the value is that of this
// variable of the environment, behind the text Value.
type Pair struct{ Name, Value, Variable string }

// RunsToolhost reports a server that is `toolhost mcp`.
func (s *Server) RunsToolhost() bool {
	return len(s.Command) > 1 && s.Command[1] == "mcp" &&
		strings.TrimSuffix(filepath.Base(s.Command[0]), ".exe") == "toolhost"
}

// Servers are those in the settings of a client, in their order, and the names of the formats that they are in. Claude
// Code keeps servers for single folders too: of these, those for dir are read.
func Servers(root *document.Node, dir string) (out []Server, formats []string, err error) {
	if root.Kind != document.Object {
		return nil, nil, fmt.Errorf("the file is %s; the settings of an MCP client are an object", root.Kind)
	}
	for _, m := range root.Members {
		path, holder := m.Name, m.Value
		if m.Name == "mcp" && holder.Get("servers") != nil { // settings.json of VS Code
			path, holder = "mcp.servers", holder.Get("servers")
		} else if inner := holder.Get("mcpServers"); inner != nil && !knownHolder(path, holder) { // as in augment.advanced
			path, holder = path+".mcpServers", inner
		}
		if !knownHolder(path, holder) {
			continue
		}
		if n := len(holder.Members) + len(holder.Items); n > maxServers {
			return nil, nil, fmt.Errorf("%s names %d servers; the limit is %d", path, n, maxServers)
		}
		formats = append(formats, path)
		if strings.HasSuffix(path, ".mcpServers") {
			path = "mcpServers"
		}
		out = append(out, readAll(path, holder)...)
	}
	if local := root.Get("projects").Get(dir).Get("mcpServers"); local != nil && len(local.Members) <= maxServers {
		formats = append(formats, "mcpServers of this folder")
		out = append(out, readAll("mcpServers", local)...)
	}
	if n := len(root.Members); len(formats) == 0 && n > 0 && n <= maxServers && isServers(root) { // the servers alone
		return readAll("", root), []string{"the names of servers"}, nil
	}
	leaveOut(root, dir, out)
	if len(formats) == 0 {
		return nil, nil, errors.New("no MCP servers are in it: there is none of the keys mcpServers, servers, " +
			"context_servers, mcp_servers, mcp and extensions")
	}
	return out, formats, nil
}

// leaveOut disables the servers that lists beside them leave out: of Gemini CLI, whose names of before 2026 it still
// reads, and of Claude Code for a folder.
func leaveOut(root *document.Node, dir string, servers []Server) {
	names := func(lists ...*document.Node) (names []string) {
		for _, n := range lists {
			if n != nil && n.Kind == document.Array {
				for _, item := range n.Items {
					names = append(names, item.Text)
				}
			}
		}
		return names
	}
	const claude = "disabledMcpServers"
	allowed := names(root.Get("mcp").Get("allowed"), root.Get("allowMCPServers"))
	excluded := names(root.Get("mcp").Get("excluded"), root.Get("excludeMCPServers"), root.Get(claude),
		root.Get("projects").Get(dir).Get(claude))
	for i, s := range servers {
		if slices.Contains(excluded, s.Name) || len(allowed) > 0 && !slices.Contains(allowed, s.Name) {
			servers[i].Disabled = true
		}
	}
}

// Discovery is a plugin block for the commands that list and call a project's own tools in Gemini CLI, "" if the
// settings have none. Program is the plugin that runs them.
func Discovery(root *document.Node, program string) string {
	command := func(key, old string) string {
		for _, n := range []*document.Node{root.Get("tools").Get(key), root.Get(old)} {
			if n != nil && n.Kind == document.String {
				return n.Text
			}
		}
		return ""
	}
	discovery := command("discoveryCommand", "toolDiscoveryCommand")
	if discovery == "" {
		return ""
	}
	lines := []string{"discovery_command = " + quoteHCL(discovery)}
	if call := command("callCommand", "toolCallCommand"); call != "" {
		lines = append(lines, "call_command = "+quoteHCL(call))
	}
	return fmt.Sprintf("plugin \"project\" {\n  command = [%s]\n  config {\n    %s\n  }\n}\n", quoteHCL(program),
		strings.Join(aligned(lines), "\n    "))
}

// Elsewhere is how many servers of Claude Code are for other folders than dir.
func Elsewhere(root *document.Node, dir string) (n int) {
	if projects := root.Get("projects"); projects != nil {
		for _, m := range projects.Members {
			if local := m.Value.Get("mcpServers"); m.Name != dir && local != nil {
				n += len(local.Members)
			}
		}
	}
	return n
}

// knownHolder reports whether a member of the file holds servers.
func knownHolder(name string, n *document.Node) bool {
	switch name {
	case "mcp_servers", "context_servers", "mcp.servers":
		return n.Kind == document.Object
	case "servers", "mcp", "extensions":
		return n.Kind == document.Object && isServers(n)
	}
	of, is := strings.CutSuffix(name, "mcpServers") // Amp: amp.mcpServers
	return is && (of == "" || strings.HasSuffix(of, ".")) && (n.Kind == document.Object || n.Kind == document.Array)
}

// isServers reports whether an object looks like one of servers.
func isServers(n *document.Node) bool {
	return slices.ContainsFunc(n.Members, func(m document.Member) bool {
		return slices.ContainsFunc([]string{"command", "cmd", "url", "httpUrl", "serverUrl", "uri", "type"},
			func(key string) bool { return m.Value.Get(key) != nil })
	})
}

func readAll(format string, holder *document.Node) (out []Server) {
	for _, item := range holder.Items {
		s := Server{Line: item.Line}
		if name := item.Get("name"); name != nil {
			s.Name = name.Text
		}
		out = append(out, s.read(format, item))
	}
	for _, m := range holder.Members {
		s := Server{Name: m.Name, Line: m.Line}
		for _, other := range out {
			if other.Name == m.Name {
				s.Problem = fmt.Sprintf("the name is there twice, first on line %d", other.Line)
			}
		}
		out = append(out, s.read(format, m.Value))
	}
	return out
}

// A reading is a server being read.
type reading struct {
	*Server
	entry  *document.Node
	format string
	known  map[string]bool
}

func (s Server) read(format string, entry *document.Node) Server {
	if s.Problem != "" {
		return s
	}
	if entry.Kind != document.Object {
		s.Problem = fmt.Sprintf("it is %s; an object is expected", entry.Kind)
		return s
	}
	if d := entry.Duplicate(); d != nil {
		s.Problem = fmt.Sprintf("the key %q is there twice, the second time on line %d", textutil.CutRunes(d.Name, 40, "…"),
			d.Line)
		return s
	}
	r := reading{&s, entry, format, map[string]bool{}}
	r.Disabled, _ = r.flag("disabled")
	for _, name := range []string{"enabled", "isActive", "active"} {
		on, said := r.flag(name)
		r.Disabled = r.Disabled || said && !on
	}
	r.program()
	r.address()
	r.choice()
	r.times()
	r.rest()
	switch {
	case s.Problem != "":
	case len(s.Command) > 0 && s.URL != "":
		s.Problem = "it has a command and an address; keep one of them"
	case len(s.Command) == 0 && s.URL == "":
		s.Problem = "it has neither a command nor an address"
	}
	return s
}

func (r *reading) problem(format string, a ...any) {
	if r.Problem == "" {
		r.Problem = fmt.Sprintf(format, a...)
	}
}

func (r *reading) note(format string, a ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, a...)) }

// get is a member that is now known to be read.
func (r *reading) get(name string) *document.Node {
	r.known[name] = true
	if n := r.entry.Get(name); n != nil && n.Kind != document.Null {
		return n
	}
	return nil
}

func (r *reading) text(names ...string) string {
	for _, name := range names {
		if n := r.get(name); n != nil {
			if n.Kind != document.String {
				r.problem("%s is %s; a string is expected", name, n.Kind)
			}
			return n.Text
		}
	}
	return ""
}

func (r *reading) texts(names ...string) (out []string) {
	for _, name := range names {
		n := r.get(name)
		if n == nil {
			continue
		}
		if n.Kind != document.Array {
			r.problem("%s is %s; an array is expected", name, n.Kind)
			return nil
		}
		for _, item := range n.Items {
			if item.Kind == document.Object && item.Get("name") != nil { // Codex: env_vars
				item = item.Get("name")
			}
			if item.Kind == document.Array || item.Kind == document.Object || item.Kind == document.Null {
				r.problem("an item of %s is %s; a string is expected", name, item.Kind)
				return nil
			}
			out = append(out, item.Text)
		}
	}
	return out
}

// pairs reads variables or headers, whose values may be numbers too.
func (r *reading) pairs(n *document.Node, name string) (out []Pair) {
	if n == nil {
		return nil
	}
	if n.Kind != document.Object {
		r.problem("%s is %s; an object is expected", name, n.Kind)
		return nil
	}
	for _, m := range n.Members {
		switch m.Value.Kind {
		case document.Null:
			r.note("%s of %s has no value", m.Name, name)
		case document.Array, document.Object:
			r.problem("%s of %s is %s; a string is expected", m.Name, name, m.Value.Kind)
		default:
			out = append(out, Pair{Name: m.Name, Value: m.Value.Text})
		}
	}
	return out
}

func (r *reading) flag(name string) (value, there bool) {
	n := r.get(name)
	there = n != nil && (strings.EqualFold(n.Text, "true") || strings.EqualFold(n.Text, "false")) // some write a text
	return there && strings.EqualFold(n.Text, "true"), there
}

func (r *reading) program() {
	switch command := r.get("command"); {
	case command == nil:
		if program := r.text("cmd"); program != "" {
			r.Command = []string{program}
		}
	case command.Kind == document.Array:
		r.Command = r.texts("command")
	case command.Kind == document.Object: // Zed, formerly
		inner := reading{r.Server, command, r.format, map[string]bool{}}
		if program := inner.text("path"); program != "" {
			r.Command = append([]string{program}, inner.texts("args")...)
		}
		r.Env = inner.pairs(inner.get("env"), "env")
	default:
		r.Command = []string{r.text("command")}
	}
	args := r.texts("args")
	if words := strings.Fields(strings.Join(r.Command, "")); len(r.Command) == 1 && len(args) == 0 && len(words) > 1 &&
		!strings.Contains(words[0], "/") && !strings.ContainsAny(r.Command[0], `\"'`) {
		r.Command = words
		r.note("its command is one text, which is cut at the blanks")
	}
	if len(r.Command) > 0 {
		if strings.TrimSpace(r.Command[0]) == "" {
			r.problem("its command is empty")
		}
		r.Command = append(r.Command, args...)
	}
	for _, name := range []string{"env", "environment", "envs"} {
		r.Env = append(r.Env, r.pairs(r.get(name), name)...)
	}
	for _, name := range r.texts("env_vars", "env_keys") {
		if !slices.ContainsFunc(r.Env, func(p Pair) bool { return p.Name == name }) {
			r.Env = append(r.Env, Pair{Name: name, Variable: name})
		}
	}
	r.Cwd = r.text("cwd", "working_directory")
}

func (r *reading) address() {
	kind := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(r.text("type", "transport", "transportType")))
	r.get("transportType")
	r.URL = r.text("httpUrl", "serverUrl", "url", "uri", "baseUrl")
	switch {
	case r.entry.Get("httpUrl") != nil || kind == "http" || kind == "streamablehttp":
		r.Transport = "http"
	case kind == "sse":
		r.Transport = "sse"
	case kind == "ws" || kind == "websocket":
		r.problem("it is reached by WebSocket, which toolhost does not have")
	case slices.Contains([]string{"builtin", "platform", "frontend", "inlinepython"}, kind):
		r.problem("it is part of the client (type %s), and no server of its own", r.text("type"))
	}
	if r.URL == "" {
		r.Transport = ""
	}
	for _, name := range []string{"headers", "http_headers"} {
		r.Headers = append(r.Headers, r.pairs(r.get(name), name)...)
	}
	for _, name := range []string{"requestOptions", "requestInit"} {
		r.Headers = append(r.Headers, r.pairs(r.get(name).Get("headers"), "headers")...)
	}
	for _, p := range r.pairs(r.get("env_http_headers"), "env_http_headers") {
		r.Headers = append(r.Headers, Pair{Name: p.Name, Variable: p.Value})
	}
	if name := r.text("bearer_token_env_var"); name != "" {
		r.Headers = append(r.Headers, Pair{Name: "Authorization", Value: "Bearer ", Variable: name})
	}
	if len(r.Command) > 0 && len(r.Headers) > 0 && r.URL == "" {
		r.Headers = nil
		r.note("headers belong to an address, and are left out")
	}
	if r.URL == "" {
		return
	}
	// variables by their names alone are for references in headers
	if r.Cwd != "" || slices.ContainsFunc(r.Env, func(p Pair) bool { return p.Variable == "" }) {
		r.note("variables and a folder belong to a command, and are left out")
	}
	r.Env, r.Cwd = nil, ""
}

func (r *reading) choice() {
	r.Include = r.texts("includeTools", "allowedTools", "enabled_tools", "available_tools", "tools")
	r.Exclude = r.texts("excludeTools", "disabled_tools", "disabledTools")
	if slices.Contains(r.Include, "*") {
		r.Include = nil
	}
}

// maxTimeout is the longest that plugins/mcp takes.
const maxTimeout = time.Hour

func (r *reading) times() {
	calls, connect := &r.Timeout, &r.ConnectTimeout
	for _, t := range []struct {
		name string
		unit time.Duration
		to   *time.Duration
	}{{"tool_timeout_sec", time.Second, calls}, {"startup_timeout_sec", time.Second, connect},
		{"startup_timeout_ms", time.Millisecond, connect}, {"connectionTimeout", time.Millisecond, connect},
		{"initTimeout", time.Millisecond, connect},
		{"timeout", 0, calls}} {
		n := r.get(t.name)
		if n == nil {
			continue
		}
		count, err := strconv.ParseFloat(n.Text, 64)
		if err != nil || count < 0 || n.Kind != document.Number {
			r.note("%s is not a time", t.name)
			continue
		}
		if t.unit == 0 {
			t.unit = r.timeUnit(count)
		}
		if r.format == "mcp" && t.name == "timeout" { // opencode and Crush: until the list of tools is there
			t.to = connect
		}
		if *t.to = maxTimeout; count*t.unit.Seconds() < maxTimeout.Seconds() {
			*t.to = time.Duration(count * float64(t.unit))
		} else if count*t.unit.Seconds() > maxTimeout.Seconds() {
			r.note("%s is longer than an hour, and is shortened to that", t.name)
		}
	}
}

// timeUnit is the one of timeout: seconds with goose, Crush and Cline, whose longest is an hour, else milliseconds, as
// with opencode, whose servers are local or remote.
func (r *reading) timeUnit(count float64) time.Duration {
	kind := r.text("type")
	if r.format == "extensions" || r.format == "mcp" && kind != "local" && kind != "remote" ||
		r.format == "mcpServers" && count <= maxTimeout.Seconds() {
		return time.Second
	}
	return time.Millisecond
}

// unsaid are members that say nothing about the server itself.
var unsaid = []string{"name", "description", "source", "bundled", "version", "gallery", "dev", "settings", "display_name",
	"icon", "$schema", "id", "schema", "stderr", "required", "iconPath", "logoUrl", "provider", "tags"}

// reasons say why members with a meaning are left out.
var reasons = map[string]string{
	"trust": byPolicy, "autoApprove": byPolicy, "alwaysAllow": byPolicy, "default_tools_approval_mode": byPolicy,
	"approval_mode": byPolicy,
	"envFile":       "set the variables that it has where toolhost runs",
	"headersHelper": "put the headers in config, by reference",
	"oauth":         byLogin,
	"auth":          byLogin,
	"proxy":         "set HTTPS_PROXY in env of the plugin's block",
	"uses":          "it names a block of the client's hub",
	"sandboxed":     "add a sandbox block", "sandbox": "add a sandbox block", "sandboxEnabled": "add a sandbox block",
}

const byLogin = "the plugin finds out by itself how to log in; a client that is registered goes into its oauth setting"

const byPolicy = "whether calls are asked for is said by policy rules"

func (r *reading) rest() {
	for _, m := range r.entry.Members {
		if r.known[m.Name] || slices.Contains(unsaid, m.Name) || len(m.Value.Items)+len(m.Value.Members) == 0 &&
			slices.Contains([]string{"", "false", "null"}, m.Value.Text) {
			continue
		}
		if reason := reasons[m.Name]; reason != "" {
			r.note("%s is left out: %s", m.Name, reason)
		} else {
			r.note("%s is left out: toolhost has nothing for it", textutil.CutRunes(m.Name, 40, "…"))
		}
	}
}
