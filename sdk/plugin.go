// Package sdk makes a program into a plugin of a toolhost: a process that serves tools to language models. A whole
// plugin:
//
//	type helloArgs struct {
//		Name string `json:"name" jsonschema:"Who to greet"`
//	}
//
//	func hello(_ context.Context, _ *sdk.Request, in helloArgs) (*sdk.Result, error) {
//		return sdk.Textf("Hello, %s.", in.Name), nil
//	}
//
//	func main() {
//		p := sdk.New("greet", "1.0.0")
//		sdk.AddTool(p, sdk.Tool{Name: "hello", Description: "Greets a person."}, hello)
//		sdk.Serve(p)
//	}
//
// Package sdktest runs a plugin in the memory of a test, workspace confines a tool's files to a folder, and proctree
// runs other programs. A host uses the types of this package too.
package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/toolname"
)

// A Plugin is a named set of tools. Make one with New, add tools, then Serve it.
type Plugin struct {
	name, version string
	configure     func(context.Context, *Request) error
	configSchema  json.RawMessage
	stateDir      string // of a test

	mu        sync.Mutex
	served    bool // Serve has begun
	settled   bool // the host of this process knows the tools, and does not watch them
	tools     []*entry
	names     toolNames // of tools
	dynamic   bool
	cacheable bool
	notices   []Notice
	missing   string
	pending   bool
	memory    string
	changed   chan struct{} // closed and replaced whenever the tools change
	ends      []func()
}

// An entry is a tool with its functions.
type entry struct {
	Tool
	handle  Handler
	preview PreviewHandler
}

// New returns a plugin without tools. The name and version describe it to people; a host calls it by the label in its
// configuration. New panics unless the name matches ^[a-z][a-z0-9-]{0,31}$, as labels do.
func New(name, version string) *Plugin {
	if !toolname.IsPlugin(name) {
		panic(fmt.Sprintf("sdk: plugin name %q must match %s: lowercase letters, digits and -%s", name,
			toolname.PluginPattern, strings.ReplaceAll(strings.ToLower(suchAs(name)), "_", "-")))
	}
	return &Plugin{name: name, version: version, names: toolNames{}, changed: make(chan struct{})}
}

// AddTool adds a tool whose arguments are the Go struct In. Unless t has an InputSchema, it is inferred from In:
// fields appear under their json names, in order; a field is required unless it is a pointer or has omitempty or
// omitzero; other keys are refused. Further keywords of JSON Schema are tags of the same name: enum:"a|b",
// minimum:"1", maximum:"9", exclusiveMinimum:"0", exclusiveMaximum:"10", multipleOf:"5", minLength:"1",
// maxLength:"80", pattern:"^[a-z]+$", format:"email", minItems:"1", maxItems:"9", uniqueItems:"true",
// minProperties:"1", maxProperties:"9", default:"x", examples:"x|y", title:"text", deprecated:"true"; the description
// is jsonschema:"text". On a list or a map, keywords of single values apply to its elements. A default shows the model
// what an absent field means; the handler fills it in. A field of one of several types is a OneOf.
//
// Out is *Result, or a type whose JSON is an object: a struct, a pointer to one, or a map. Such a value is the
// structured result, and the model reads its JSON, or what its ToolContent returns (see ContentMaker). A nil map is {};
// a nil pointer without an error is none, and fails the call with NoResult. Unless t has an OutputSchema, it is
// inferred from Out; hosts check the value against it.
//
// AddTool panics when the definition is wrong or the name is taken, so that the first run finds the mistake, and when
// Serve has begun, unless the plugin is Dynamic.
func AddTool[In, Out any](p *Plugin, t Tool, handle func(ctx context.Context, r *Request, in In) (Out, error)) {
	var call Handler
	if handle != nil {
		call = func(ctx context.Context, r *Request) (*Result, error) {
			in, err := decode[In](r.Arguments, "the arguments do not fit")
			if err != nil {
				return nil, err
			}
			out, err := handle(ctx, r, in)
			if result, ok := any(out).(*Result); ok || err != nil {
				return result, err
			}
			value := out // only a value that is encoded escapes to the heap
			return structured(&value)
		}
	}
	p.addTyped(t, reflect.TypeFor[In](), reflect.TypeFor[Out](), call)
}

// addTyped is the part of AddTool without type parameters, so that it is compiled once and not for each type.
func (p *Plugin) addTyped(t Tool, in, out reflect.Type, call Handler) {
	if t.InputSchema == nil {
		t.InputSchema = must(inferSchema("tool "+strconv.Quote(t.Name), in, ofInput))
	}
	t.OutputSchema = must(outputSchema(&t, out))
	t.TextIsJSON = t.TextIsJSON || textIsJSON(out)
	p.AddRawTool(t, call)
}

// AddRawTool adds a tool whose handler decodes the arguments itself; t has the input schema. It panics as AddTool does.
func (p *Plugin) AddRawTool(t Tool, handle Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mustBeSeen("the tool " + strconv.Quote(t.Name))
	e := &entry{Tool: t, handle: handle}
	if err := p.names.add(e); err != nil {
		panic("sdk: " + err.Error())
	}
	p.set(append(p.tools, e))
}

// begin marks that hosts may have the definitions from now on.
func (p *Plugin) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.served = true
}

// mustBeSeen panics if no host will learn of what is added. The lock is held.
func (p *Plugin) mustBeSeen(what string) {
	switch {
	case p.names == nil:
		panic("sdk: " + what + " is added to a Plugin that New has not made")
	case p.served && !p.dynamic:
		panic("sdk: " + what + " is added after Serve has begun, so no host sees it; add it before, or call Plugin.Dynamic " +
			"before Serve if the tools depend on the configuration or change")
	}
}

// A BoundTool is a tool with its handler, for SetTools.
type BoundTool struct {
	Tool
	Handler Handler
}

// SetTools replaces all tools, at most 2,048, at once. Before Serve and in Configure it implies Dynamic; of a Dynamic
// plugin also while serving: hosts are notified and list the tools again. A wrong definition, and a change that no host
// would see, is an error, and then nothing changes. Notices say what was left out or has failed; operators read each on
// one line.
func (p *Plugin) SetTools(tools []BoundTool, notices ...Notice) error {
	entries, names := make([]*entry, len(tools)), make(toolNames, len(tools))
	for i, t := range tools {
		entries[i] = &entry{Tool: t.Tool, handle: t.Handler}
		if err := names.add(entries[i]); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settled {
		return errors.New("the tools are set after hosts have listed them, so none sees the change; call Plugin.Dynamic " +
			"before Serve")
	}
	p.dynamic, p.notices, p.names = true, notices, names
	p.set(entries)
	return nil
}

// toolNames are the names of tools by their lower case: names within a plugin must differ by more than case.
type toolNames map[string]string

// add checks a tool and reserves its name.
func (n toolNames) add(e *entry) error {
	if err := e.Check(); err != nil {
		return err
	}
	if e.handle == nil {
		return fmt.Errorf("tool %q has no handler; pass the function that makes the call", e.Name)
	}
	lower := strings.ToLower(e.Name)
	switch other, taken := n[lower]; {
	case !taken:
		n[lower] = e.Name
		return nil
	case other == e.Name:
		return fmt.Errorf("tool %q is there twice; rename one of them, or leave it out", e.Name)
	default:
		return fmt.Errorf("tools %q and %q have names that differ only by letter case; rename one of them", other, e.Name)
	}
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

// Configure declares that the plugin takes configuration: a Go struct C, whose schema is inferred as in AddTool. The
// host checks the user's configuration against the schema. f is called once, before the first call; without
// configuration it receives {}. If it returns an error, the plugin cannot be used. An *Error may name the setting
// that it is about, as path in its Details: {"path": "server.port"}. Of the request only Workdir, Arguments,
// KnownTools and Remembered are set. Configure panics when it is called twice, without f, or after Serve has begun.
func Configure[C any](p *Plugin, f func(ctx context.Context, r *Request, c C) error) {
	var configure func(context.Context, *Request) error
	if f != nil {
		configure = func(ctx context.Context, r *Request) error {
			c, err := decode[C](r.Arguments, "the configuration does not fit")
			if err != nil {
				return err
			}
			return f(ctx, r, c)
		}
	}
	p.addConfigure(reflect.TypeFor[C](), configure)
}

func (p *Plugin) addConfigure(c reflect.Type, f func(context.Context, *Request) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case f == nil:
		panic("sdk: Configure is called without a function; pass the one that takes the settings")
	case p.served:
		panic("sdk: Configure is called after Serve has begun, so no host sees it; call it before")
	case p.configure != nil:
		panic("sdk: Configure is called twice; the second would replace the first. Take all settings in one struct")
	}
	p.configSchema, p.configure = must(inferSchema("the configuration", c, ofInput)), f
}

// AtEnd registers f to run when the plugin stops, to clean up what outlives calls, such as processes and folders.
// Calls may still be running. f has less than a second, and does not run when the plugin is killed. A panic of f is
// logged, and the other functions run. AtEnd panics without f.
func (p *Plugin) AtEnd(f func()) {
	if f == nil {
		panic("sdk: AtEnd is called without a function; pass the one that cleans up")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends = append(p.ends, f)
}

// end runs the functions given to AtEnd, once.
func (p *Plugin) end() {
	p.mu.Lock()
	ends := p.ends
	p.ends = nil
	p.mu.Unlock()
	for _, f := range ends {
		_, _ = guard(&Request{}, "a function of AtEnd", func() (struct{}, error) { f(); return struct{}{}, nil })
	}
}

// Dynamic declares that the list of tools depends on the configuration or changes while running. SetTools implies it.
func (p *Plugin) Dynamic() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dynamic = true
}

// Cacheable declares that the list of tools may be cached and shown without starting the plugin, for a plugin that
// takes long to find its tools. A host then keeps the list, does not start the plugin to show it, and passes it as
// Request.KnownTools with the next Configure. It implies Dynamic.
func (p *Plugin) Cacheable(is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dynamic, p.cacheable = true, is
}

// Remember keeps a note of the plugin to itself, of at most 4 KiB, such as what it has learned of a server. A host
// keeps it as long as the list of tools of a Cacheable plugin, and hands it over as Request.Remembered with the next
// Configure. A longer note is dropped.
func (p *Plugin) Remember(note string) {
	if len(note) > maxMemory {
		note = ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.memory != note {
		p.memory = note
		p.set(p.tools)
	}
}

// MissingTools says why tools are missing from the list, such as a server that cannot be reached; "" when none are. A
// host answers a call of a tool that is not in the list with that, and keeps offering tools of before with it. With
// soon the tools are expected within a minute or two, and such a call waits for them. It implies Dynamic, and holds
// until it is called again, whatever SetTools sets: call it after SetTools when the tools have come.
func (p *Plugin) MissingTools(why string, soon bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	soon = soon && why != ""
	if p.missing == why && p.pending == soon {
		return
	}
	p.dynamic, p.missing, p.pending = true, why, soon
	p.set(p.tools)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic("sdk: " + err.Error())
	}
	return v
}

// A PreviewHandler returns what a call would do, without doing it. An error means that the call would fail, and ends
// it; the model also reads the content of a preview that is returned with the error. It may take 30 seconds, which
// count against the call's timeout.
type PreviewHandler func(ctx context.Context, r *Request) (*Preview, error)

// A Preview is shown to the person who decides whether a call may run.
type Preview struct {
	// Content describes the effect of the call, such as a diff.
	Content []Content
	// Effect is "", "allow", "ask", "always_ask" or "deny". It makes the host's decision stricter, never looser.
	Effect string
	// UnlessAllowed ignores Effect where a rule of the operator allows the call. Modes and the tool's hints are not
	// rules.
	UnlessAllowed bool
	// Reason explains Effect.
	Reason string
	// Structured is the same as a JSON object, for programs with their own display; nil when there is none. Its member
	// "kind" says which other members it has.
	Structured json.RawMessage
}

// AddPreview adds a preview to a tool. It panics unless the tool was added before, without f, and where AddTool does.
func AddPreview[In any](p *Plugin, tool string, f func(ctx context.Context, r *Request, in In) (*Preview, error)) {
	var preview PreviewHandler
	if f != nil {
		preview = func(ctx context.Context, r *Request) (*Preview, error) {
			in, err := decode[In](r.Arguments, "the arguments do not fit")
			if err != nil {
				return nil, err
			}
			return f(ctx, r, in)
		}
	}
	p.addPreview(tool, preview)
}

func (p *Plugin) addPreview(tool string, f PreviewHandler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := index(p.tools, tool)
	switch {
	case f == nil:
		panic(fmt.Sprintf("sdk: AddPreview: tool %q gets no function; pass the one that makes the preview", tool))
	case i < 0:
		panic(fmt.Sprintf("sdk: AddPreview: there is no tool %q; add the tool before its preview", tool))
	}
	p.mustBeSeen(fmt.Sprintf("the preview of tool %q", tool))
	e := *p.tools[i]
	e.Previews, e.preview = true, f
	tools := slices.Clone(p.tools) // a running call may use the old one
	tools[i] = &e
	p.set(tools)
}
