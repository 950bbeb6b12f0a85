// Package sdk is what a plugin's author imports: the words for tools, calls, results and errors, and Serve, which makes
// a process with some tools into a plugin of a toolhost.
//
//	func main() {
//		p := sdk.New("greet", "1.0.0")
//		sdk.AddTool(p, sdk.Tool{Name: "hello", Description: "Greets a person."}, hello)
//		sdk.Serve(p)
//	}
//
// The host uses the same words, and Client, the other end of the wire. Package sdktest runs a plugin in memory for tests.
package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Plugin is a named set of tools. Make one with New, add tools, then Serve it.
type Plugin struct {
	name, version string
	configure     func(context.Context, *Request) error
	configSchema  json.RawMessage

	mu      sync.Mutex
	tools   []*entry
	dynamic bool
	notices []string
	changed chan struct{} // closed, and made anew, whenever the tools change
	ends    []func()
}

// An entry is a tool with the functions that stand behind it.
type entry struct {
	Tool
	handle  Handler
	preview PreviewHandler
}

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// New makes a plugin without tools. The name and version are what it says of itself; the name it goes by in a host is
// the label in the host's configuration.
//
// It panics when no configuration could name the plugin so: ^[a-z][a-z0-9-]{0,31}$.
func New(name, version string) *Plugin {
	if !pluginName.MatchString(name) {
		panic(fmt.Sprintf("sdk: plugin name %q must match %s", name, pluginName))
	}
	return &Plugin{name: name, version: version, changed: make(chan struct{})}
}

// AddTool adds a tool whose arguments are a Go struct. The input schema is inferred from In, unless t brings one:
// fields appear under their json names, in order; a field without omitempty or omitzero that is no pointer is required;
// other keys are refused. Tags say more: jsonschema:"the description", and each keyword under its own name: enum:"a|b",
// minimum:"1", maximum:"9", minLength:"1", maxLength:"80", pattern:"^[a-z]+$", format:"email", minItems:"1", maxItems:"9", and
// default:"x", which tells the model what an absent field means: the handler itself fills it in. On a list those about single
// values hold for its items.
//
// It panics when the definition is wrong or the name is taken: those are the author's mistakes, found by the first run.
func AddTool[In any](p *Plugin, t Tool, handle func(ctx context.Context, r *Request, in In) (*Result, error)) {
	if t.InputSchema == nil {
		t.InputSchema = must(inferSchema[In]("tool " + strconv.Quote(t.Name)))
	}
	if handle == nil {
		p.AddRawTool(t, nil)
		return
	}
	p.AddRawTool(t, func(ctx context.Context, r *Request) (*Result, error) {
		in, err := decode[In](r.Arguments, "the arguments do not fit")
		if err != nil {
			return nil, err
		}
		return handle(ctx, r, in)
	})
}

// AddRawTool adds a tool that reads its arguments itself; t brings the input schema. It panics as AddTool does.
func (p *Plugin) AddRawTool(t Tool, handle Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tools, err := add(p.tools, &entry{Tool: t, handle: handle})
	if err != nil {
		panic("sdk: " + err.Error())
	}
	p.set(tools)
}

// A BoundTool is a tool and its handler.
type BoundTool struct {
	Tool
	Handler Handler
}

// SetTools replaces all tools at once, at any time, also while serving: hosts are told, and list again. The definitions
// may come from outside, so a wrong one is an error, and then nothing changes. Notices are for the operator: what was
// left out, and why.
func (p *Plugin) SetTools(tools []BoundTool, notices ...string) error {
	var entries []*entry
	for _, t := range tools {
		var err error
		if entries, err = add(entries, &entry{Tool: t.Tool, handle: t.Handler}); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dynamic, p.notices = true, notices
	p.set(entries)
	return nil
}

func add(tools []*entry, e *entry) ([]*entry, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	if e.handle == nil {
		return nil, fmt.Errorf("tool %q has no handler", e.Name)
	}
	for _, other := range tools {
		switch {
		case other.Name == e.Name:
			return nil, fmt.Errorf("tool %q is there twice", e.Name)
		case strings.EqualFold(other.Name, e.Name):
			return nil, fmt.Errorf("tools %q and %q have names that differ only by letter case; rename one of them", other.Name, e.Name)
		}
	}
	return append(slices.Clip(tools), e), nil
}

func index(tools []*entry, name string) int {
	return slices.IndexFunc(tools, func(e *entry) bool { return e.Name == name })
}

func (p *Plugin) set(tools []*entry) {
	p.tools = tools
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Plugin) tool(name string) *entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := index(p.tools, name); i >= 0 {
		return p.tools[i]
	}
	return nil
}

// Configure says that the plugin takes configuration in the form of C, whose schema is inferred as AddTool does. The
// host checks what the user wrote against it; f runs once, before the first call, and its error keeps the plugin from
// being used. An *Error may name the setting that it is about, as path in its Details: {"path": "server.port"}. Without any
// configuration f gets what `{}` decodes to. Of the request only Workdir and Arguments are set.
func Configure[C any](p *Plugin, f func(ctx context.Context, r *Request, c C) error) {
	if p.configure != nil {
		panic("sdk: Configure is called twice; the second would replace the first")
	}
	p.configSchema = must(inferSchema[C]("the configuration"))
	p.configure = func(ctx context.Context, r *Request) error {
		c, err := decode[C](r.Arguments, "the configuration does not fit")
		if err != nil {
			return err
		}
		return f(ctx, r, c)
	}
}

// AtEnd has f run when the plugin is to stop, for what outlives calls, such as processes and folders. Calls may still be
// running. It has less than a second, and does not run when the plugin is killed.
func (p *Plugin) AtEnd(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends = append(p.ends, f)
}

// end runs what AtEnd was given, once.
func (p *Plugin) end() {
	p.mu.Lock()
	ends := p.ends
	p.ends = nil
	p.mu.Unlock()
	for _, f := range ends {
		f()
	}
}

// Dynamic says that the list of tools depends on the configuration or changes while running. SetTools says it too.
func (p *Plugin) Dynamic() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dynamic = true
}

func must[T any](v T, err error) T {
	if err != nil {
		panic("sdk: " + err.Error())
	}
	return v
}

// A PreviewHandler tells what a call would do, without doing it. An error says that the call would fail, and ends it; a
// preview that comes with the error is what the model reads besides, as the result that comes with an error of a Handler.
type PreviewHandler func(ctx context.Context, r *Request) (*Preview, error)

// A Preview is shown to whoever decides whether a call may run.
type Preview struct {
	// Content is what the call would do, such as a diff.
	Content []Content
	// Effect is "", "allow", "ask", "always_ask" or "deny". It can make the host's decision stricter, never looser.
	Effect string
	// UnlessAllowed makes Effect count only where no rule of the operator allows the call: a mode, or the tool's hints, do not.
	UnlessAllowed bool
	// Reason goes with Effect.
	Reason string
	// Structured is the same as JSON, for programs that show it in their own way; nil when there is none. It is an object whose
	// "kind" says what else is in it.
	Structured json.RawMessage
}

// AddPreview gives a tool that was added a preview. It panics when there is no such tool.
func AddPreview[In any](p *Plugin, tool string, f func(ctx context.Context, r *Request, in In) (*Preview, error)) {
	p.addPreview(tool, func(ctx context.Context, r *Request) (*Preview, error) {
		in, err := decode[In](r.Arguments, "the arguments do not fit")
		if err != nil {
			return nil, err
		}
		return f(ctx, r, in)
	})
}

func (p *Plugin) addPreview(tool string, f PreviewHandler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := index(p.tools, tool)
	if i < 0 {
		panic(fmt.Sprintf("sdk: AddPreview: there is no tool %q", tool))
	}
	e := *p.tools[i]
	e.Previews, e.preview = true, f
	tools := slices.Clone(p.tools) // a call may hold the old one
	tools[i] = &e
	p.set(tools)
}
