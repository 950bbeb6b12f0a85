// Command mcpconformance is the client that the MCP conformance suite drives: a host with the mcp plugin, as users have
// it, that does what a scenario asks for. The suite gives the server's address as the last argument, and the scenario
// in the environment. TOOLHOST_PLUGIN_MCP names the plugin's program. .ci/conformance-client runs it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
)

// plugin is the label under which the suite's server is configured.
const plugin = "suite"

// maxLogins is how often a person logs in before giving up.
const maxLogins = 3

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	err := run(ctx)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) < 2 {
		return errors.New("usage: mcpconformance SERVER-URL")
	}
	state, err := os.MkdirTemp("", "mcpconformance-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(state) }()
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"} {
		if err := os.Setenv(name, state); err != nil {
			return err
		}
	}
	var s scenario
	s.name = os.Getenv("MCP_CONFORMANCE_SCENARIO")
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &s.given); err != nil {
			return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	if s.spec, err = s.specOf(os.Args[len(os.Args)-1]); err != nil {
		return err
	}
	return s.run(ctx)
}

// A scenario is one of the suite's.
type scenario struct {
	name  string
	given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		ToolCalls    []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	spec supervise.Spec
	host *bootstrap.Instance
}

// specOf is the plugin as an operator configures it.
func (s *scenario) specOf(url string) (supervise.Spec, error) {
	config := map[string]any{"url": url, "resources": true, "prompts": true}
	oauth := map[string]any{}
	if strings.HasPrefix(s.name, "auth/") {
		oauth["client_metadata_url"] = "https://conformance-test.local/client-metadata.json"
	}
	if s.given.ClientID != "" {
		oauth["client_id"], oauth["client_secret"] = s.given.ClientID, s.given.ClientSecret
	}
	if strings.HasPrefix(s.name, "auth/client-credentials") {
		oauth["grant"] = "client_credentials"
	}
	if len(oauth) > 0 {
		config["oauth"] = oauth
	}
	text, err := json.Marshal(config)
	return supervise.Spec{Name: plugin, Command: []string{os.Getenv("TOOLHOST_PLUGIN_MCP")}, Config: text,
		Sandbox: sandbox.Spec{Level: sandbox.Supervised}}, err
}

func (s *scenario) run(ctx context.Context) error {
	tools, err := s.open(ctx)
	for logins := 0; len(tools) == 0 && strings.HasPrefix(s.name, "auth/") && logins < maxLogins; logins++ {
		if err := s.login(ctx); err != nil {
			return errors.Join(err, s.close())
		}
		tools, err = s.open(ctx)
	}
	defer func() { _ = s.close() }()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d tools\n", len(tools))
	switch {
	case s.name == "initialize", s.name == "json-schema-ref-no-deref", s.name == "request-metadata":
		return nil
	case s.name == "tools_call":
		return s.call(ctx, "add_numbers", `{"a":5,"b":3}`)
	case s.name == "http-custom-headers":
		for _, c := range s.given.ToolCalls {
			arguments, err := withoutNull(c.Arguments)
			if err != nil {
				return err
			}
			_ = s.call(ctx, c.Name, string(arguments)) // the suite judges
		}
		return nil
	case s.name == "json-schema-2020-12-preservation":
		i := slices.IndexFunc(tools, func(t *host.Tool) bool { return t.Name == plugin+"__json_schema_2020_12_tool" })
		if i < 0 {
			return errors.New("the tool with the schema is not there")
		}
		return s.call(ctx, "json_schema_echo", `{"schema":`+string(tools[i].InputSchema)+`}`)
	case s.name == "http-standard-headers":
		return s.callEach(ctx, tools, "{}")
	case s.name == "http-invalid-tool-headers":
		return s.callEach(ctx, tools, `{"region":"us-west1"}`)
	case strings.HasPrefix(s.name, "auth/"):
		return s.callWithLogin(ctx, "test-tool")
	}
	return s.callEach(ctx, tools, "{}")
}

// open starts a host, and returns the tools of the server.
func (s *scenario) open(ctx context.Context) ([]*host.Tool, error) {
	if err := s.close(); err != nil {
		return nil, err
	}
	var err error
	s.host, err = bootstrap.OpenProgram(ctx, s.spec, bootstrap.Options{Approve: bootstrap.ApproveAlways, Input: person{},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return nil, err
	}
	tools, problems := s.host.Catalog().Tools(ctx)
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, p)
	}
	own := []string{"list_resources", "read_resource", "list_prompts", "get_prompt"}
	return slices.DeleteFunc(tools, func(t *host.Tool) bool { return slices.Contains(own, t.Name[len(plugin)+2:]) }), nil
}

func (s *scenario) close() error {
	if s.host == nil {
		return nil
	}
	h := s.host
	s.host = nil
	return h.Close()
}

// call makes a call. The error is that of the result.
func (s *scenario) call(ctx context.Context, tool, arguments string) error {
	r := s.host.Catalog().Call(ctx, host.Call{Tool: plugin + "__" + tool, Arguments: json.RawMessage(arguments)})
	if r.Error == nil {
		return nil
	}
	fmt.Fprintf(os.Stderr, "%s: %s %s: %s %s\n", tool, r.Error.Code, r.Error.Name, r.Error.Message, r.Error.Suggestion)
	return r.Error
}

// withoutNull leaves out arguments that are null, as agents do for those that have no value: the host refuses null
// where a schema does not allow it.
func withoutNull(text json.RawMessage) (json.RawMessage, error) {
	var arguments map[string]json.RawMessage
	if err := json.Unmarshal(text, &arguments); err != nil {
		return nil, err
	}
	maps.DeleteFunc(arguments, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	return json.Marshal(arguments)
}

// callEach calls all tools; what they answer is for the suite to judge. It also reads a resource and a prompt.
func (s *scenario) callEach(ctx context.Context, tools []*host.Tool, arguments string) error {
	for _, t := range tools {
		_ = s.call(ctx, t.Name[len(plugin)+2:], arguments)
	}
	if s.name == "http-standard-headers" {
		return s.read(ctx)
	}
	return nil
}

// read lists the resources and the prompts, and reads the first of each.
func (s *scenario) read(ctx context.Context) error {
	for list, read := range map[string]struct{ tool, key string }{
		"list_resources": {"read_resource", "uri"}, "list_prompts": {"get_prompt", "name"}} {
		r := s.host.Catalog().Call(ctx, host.Call{Tool: plugin + "__" + list})
		if r.Error != nil {
			return r.Error
		}
		key := firstOf(string(r.Structured)+fmt.Sprint(r.Content), read.key)
		if err := s.call(ctx, read.tool, fmt.Sprintf(`{%q:%q}`, read.key, key)); err != nil {
			return err
		}
	}
	return nil
}

// firstOf is the first value of a key in a text with JSON.
func firstOf(text, key string) string {
	_, rest, _ := strings.Cut(text, `"`+key+`":`)
	rest = strings.TrimLeft(rest, ` "`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// callWithLogin makes a call, and has the person log in when its error says so.
func (s *scenario) callWithLogin(ctx context.Context, tool string) error {
	for logins := 0; ; logins++ {
		err := s.call(ctx, tool, "{}")
		e, ok := errors.AsType[*sdk.Error](err)
		if !ok || e.Name != "LoginRequired" || logins >= maxLogins {
			return err
		}
		if err := s.login(ctx); err != nil {
			return err
		}
	}
}

// login is what `toolhost mcp login` does.
func (s *scenario) login(ctx context.Context) error {
	return s.spec.RunOnce(ctx, []string{"login"}, browser{ctx}, os.Stderr)
}

// A browser opens each address that is printed into it. The suite's authorization server asks nothing.
type browser struct{ ctx context.Context }

func (b browser) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "http") {
			continue
		}
		go func() {
			r, err := http.NewRequestWithContext(b.ctx, http.MethodGet, line, nil)
			if err != nil {
				return
			}
			if answer, err := http.DefaultClient.Do(r); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		}()
	}
	return len(text), nil
}

// A person accepts every form as it is filled in, and confirms what has no default.
type person struct{}

func (person) Capabilities() json.RawMessage { return json.RawMessage(`{"elicitation":{"form":{}}}`) }

func (person) AnswerInput(_ context.Context, r *host.InputRequest) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for key, text := range r.Requests {
		var q struct {
			Params struct {
				Schema struct {
					Properties map[string]struct {
						Type    string          `json:"type"`
						Default json.RawMessage `json:"default"`
					} `json:"properties"`
				} `json:"requestedSchema"`
			} `json:"params"`
		}
		if err := json.Unmarshal(text, &q); err != nil {
			return nil, err
		}
		content := map[string]json.RawMessage{}
		for name, p := range q.Params.Schema.Properties {
			switch {
			case p.Default != nil:
				content[name] = p.Default
			case p.Type == "boolean":
				content[name] = json.RawMessage("true")
			}
		}
		answer, err := json.Marshal(map[string]any{"action": "accept", "content": content})
		if err != nil {
			return nil, err
		}
		out[key] = answer
	}
	return out, nil
}
