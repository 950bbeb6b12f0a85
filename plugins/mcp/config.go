package main

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/plugins/mcp/internal/oauth"
	"github.com/toolhost/toolhost/sdk"
)

// config is the plugin's config block: the server, how it is reached, and what of it is offered.
type config struct {
	Command []string          `json:"command,omitempty" jsonschema:"The program of the server and its arguments, such as [\"npx\", \"-y\", \"@modelcontextprotocol/server-everything\"]. It is started when it is needed, and not through a shell."`
	Env     map[string]string `json:"env,omitempty" jsonschema:"Variables for the program, added to the environment of the plugin."`
	Cwd     string            `json:"cwd,omitempty" jsonschema:"The folder in which the program starts; relative to the work folder, which is the default."`

	URL       string            `json:"url,omitempty" jsonschema:"The address of the server, in place of command: http or https."`
	Headers   map[string]string `json:"headers,omitempty" jsonschema:"Headers of every request to url."`
	Transport string            `json:"transport,omitempty" enum:"auto|http|sse" default:"auto" jsonschema:"How url is spoken to: http is streamable HTTP, sse the older HTTP with SSE, auto tries one after the other."`

	OAuth *oauth.Config `json:"oauth,omitempty" jsonschema:"How to get tokens for url, if the server asks for OAuth and its defaults are not right."`

	IncludeTools []string `json:"include_tools,omitempty" jsonschema:"Only these tools are offered: names, or patterns with * and ?."`
	ExcludeTools []string `json:"exclude_tools,omitempty" jsonschema:"These tools are not offered, also if include_tools names them."`
	Resources    bool     `json:"resources,omitempty" jsonschema:"Also offer the tools list_resources and read_resource."`
	Prompts      bool     `json:"prompts,omitempty" jsonschema:"Also offer the tools list_prompts and get_prompt."`

	Timeout        string `json:"timeout,omitempty" default:"1h" jsonschema:"How long a call may take in all, such as 10m; the timeout of a tool block of the host overrides it."`
	IdleTimeout    string `json:"idle_timeout,omitempty" default:"5m" jsonschema:"How long a call may take without progress or any other sign of it."`
	ConnectTimeout string `json:"connect_timeout,omitempty" default:"1m" jsonschema:"How long the server may take from its start, or the connection, until it answers."`
	Protocol       string `json:"protocol,omitempty" enum:"2024-11-05|2025-03-26|2025-06-18|2025-11-25|2026-07-28" jsonschema:"The revision of MCP to speak; without it the newest that both sides know is agreed on."`
}

const (
	maxWords    = 1000 // of a command, a list of patterns, variables or headers
	maxCallTime = time.Hour
)

// settings are a checked config.
type settings struct {
	workdir string // of the host

	command []string
	env     map[string]string
	cwd     string // absolute; "" is the work folder of the call

	url       *url.URL // nil when there is a command
	headers   http.Header
	transport string // auto, http or sse
	tokens    *oauth.Source

	choice             selection
	resources, prompts bool
	timeout            time.Duration
	idleTimeout        time.Duration
	connectTimeout     time.Duration
	protocol           string
}

// settings checks the configuration. A config without a server is one of a plugin that was found and not configured.
func (c *config) settings(workdir string) (*settings, error) {
	s := &settings{workdir: workdir, protocol: c.Protocol, resources: c.Resources, prompts: c.Prompts,
		transport: cmp.Or(c.Transport, "auto")}
	for _, read := range []func(*config) error{s.readServer, s.readChoice, s.readTimes} {
		if err := read(c); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *settings) readServer(c *config) error {
	switch {
	case len(c.Command) > 0 && c.URL != "":
		return invalidConfig("command", "there are command and url; a server has one of them, so remove the other")
	case len(c.Command) > 0:
		return s.readCommand(c)
	case c.URL != "":
		return s.readURL(c)
	case len(c.Env) > 0 || c.Cwd != "":
		return invalidConfig("command", "command is missing: name the program of the server, such as "+
			`command = ["npx", "-y", "@modelcontextprotocol/server-everything"]`)
	}
	return invalidConfig("command", "no server is named; add command or url, such as "+
		`command = ["npx", "-y", "@modelcontextprotocol/server-everything"] or url = "https://example.com/mcp"`)
}

func (s *settings) readCommand(c *config) error {
	if c.OAuth != nil {
		return invalidConfig("oauth", "oauth belongs to url, and there is a command; remove it")
	}
	if len(c.Headers) > 0 || c.Transport != "" && c.Transport != "auto" {
		return invalidConfig("headers", "headers and transport belong to url, and there is a command; remove them, or pass "+
			"secrets in env")
	}
	if strings.TrimSpace(c.Command[0]) == "" {
		return invalidConfig("command", "command begins with an empty word; name a program")
	}
	if len(c.Command) == 1 && strings.ContainsAny(c.Command[0], " \t") && !strings.ContainsAny(c.Command[0], `/\`) {
		return invalidConfig("command", "command = [%q] is one word; write each argument as a word of its own: [%s]",
			c.Command[0], `"`+strings.Join(strings.Fields(c.Command[0]), `", "`)+`"`)
	}
	for i, word := range c.Command {
		if strings.ContainsRune(word, 0) {
			return invalidConfig("command", "word %d of command has a NUL character, which no program can be given", i+1)
		}
	}
	for name, value := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return invalidConfig("env", "env: %q cannot be a variable: its name is empty or has a =, or there is a NUL "+
				"character", name)
		}
	}
	s.command, s.env = c.Command, c.Env
	if program := c.Command[0]; strings.ContainsRune(filepath.ToSlash(program), '/') && !filepath.IsAbs(program) {
		s.command = append([]string{filepath.Join(s.workdir, program)}, c.Command[1:]...)
	}
	if s.cwd = c.Cwd; s.cwd != "" && !filepath.IsAbs(s.cwd) {
		s.cwd = filepath.Join(s.workdir, s.cwd)
	}
	return nil
}

func (s *settings) readURL(c *config) error {
	if len(c.Env) > 0 || c.Cwd != "" {
		return invalidConfig("env", "env and cwd belong to command, and there is a url; remove them")
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil: // its text may quote a password
		return invalidConfig("url", "url is not an address; write it like https://example.com/mcp")
	case u.Scheme != "http" && u.Scheme != "https":
		return invalidConfig("url", "url has the scheme %q; only http and https are supported", u.Scheme)
	case u.Host == "":
		return invalidConfig("url", "url names no host; write it like https://example.com/mcp")
	}
	u.Fragment = ""
	s.url, s.headers = u, http.Header{}
	for name, value := range c.Headers {
		if !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n\x00") {
			return invalidConfig("headers", "headers: %q cannot be a header: its name has other characters than letters, "+
				"digits and -, or its value has a line break", name)
		}
		s.headers.Set(name, value)
	}
	if s.headers.Get("Authorization") != "" && c.OAuth == nil {
		return nil // the operator has a token
	}
	server := s.oauthServer(c)
	if key, err := server.Config.Check(); err != nil {
		return invalidConfig("oauth."+key, "oauth: %v", err)
	}
	s.tokens, err = oauth.NewSource(server)
	if err != nil && c.OAuth == nil {
		s.tokens, err = nil, nil // a server that asks for no login needs no place for tokens
	}
	return err
}

func (s *settings) oauthServer(c *config) oauth.Server {
	out := oauth.Server{Name: sdk.Instance(), URL: s.url.String(), ProxyFromEnvironment: true}
	if c.OAuth != nil {
		out.Config = *c.OAuth
	}
	return out
}

// behindName is behind a tool in lists of other clients, such as "tool(": of it only the name counts.
var behindName = regexp.MustCompile(`\(.*$`)

func (s *settings) readChoice(c *config) error {
	for key, list := range map[string][]string{"include_tools": c.IncludeTools, "exclude_tools": c.ExcludeTools,
		"command": c.Command} {
		if len(list) > maxWords {
			return invalidConfig(key, "%s has %d items; the limit is %d", key, len(list), maxWords)
		}
		if key != "command" && slices.Contains(list, "") {
			return invalidConfig(key, "%s has an empty name; remove it", key)
		}
	}
	for _, pattern := range c.IncludeTools {
		s.choice.include = append(s.choice.include, behindName.ReplaceAllString(pattern, ""))
	}
	for _, pattern := range c.ExcludeTools {
		s.choice.exclude = append(s.choice.exclude, behindName.ReplaceAllString(pattern, ""))
	}
	return nil
}

func (s *settings) readTimes(c *config) (err error) {
	if s.timeout, err = duration("timeout", c.Timeout, maxCallTime); err != nil {
		return err
	}
	if s.idleTimeout, err = duration("idle_timeout", c.IdleTimeout, 5*time.Minute); err != nil {
		return err
	}
	s.connectTimeout, err = duration("connect_timeout", c.ConnectTimeout, time.Minute)
	return err
}

// duration reads a time such as 90s, of at most an hour.
func duration(key, written string, fallback time.Duration) (time.Duration, error) {
	if written == "" {
		return fallback, nil
	}
	d, err := time.ParseDuration(written)
	if err != nil || d <= 0 || d > maxCallTime {
		return 0, invalidConfig(key, "%s = %q: write a time of more than zero and at most 1h, such as \"90s\" or \"10m\"",
			key, textutil.Cut(written, 40))
	}
	return d, nil
}

func invalidConfig(key, format string, a ...any) error {
	return &sdk.Error{Name: "InvalidConfig", Message: fmt.Sprintf(format, a...),
		Details: sdk.Details(map[string]any{"path": key})}
}

// who names the server in messages, without what could be a secret: arguments, and the query of an address.
func (s *settings) who() string {
	if s.url != nil {
		shown := *s.url
		shown.User, shown.RawQuery = nil, ""
		return "the MCP server at " + shown.String()
	}
	return "the MCP server " + s.command[0]
}
