// Package sdktest runs a plugin in the memory of a test, over the real wire, and checks arguments, structured results
// and configuration against the plugin's schemas, as a host does.
//
//	c := sdktest.Start(t, plugin)
//	result := c.Run(t, "hello", `{"name":"Ada"}`)
package sdktest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/elicit"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// A Plugin is a plugin under test. It is a host.Plugin, so that tests of a host can use it too.
type Plugin struct {
	client     *client.Client
	close      func() error
	schemas    *schemas
	configured *atomic.Bool
	unchecked  bool
	host       *Host // nil: none stands in
}

// Unchecked is the same plugin, whose Run, RunIn, Configure and MustConfigure check nothing: for tests of what it does
// itself about input that a host would have refused.
func (p *Plugin) Unchecked() *Plugin {
	out := *p
	out.unchecked = true
	return &out
}

// Start serves p over gRPC in memory until the test ends, with the limits that it has as a process, and with an empty
// state folder. The test fails if a handler runs on after that, though its ctx has ended.
func Start(t testing.TB, p *sdk.Plugin) *Plugin {
	t.Helper()
	wire.UseStateDir(p, t.TempDir())
	m, err := client.InMemory(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { awaitEnd(t, m.Stop()) })
	return &Plugin{client: m.Client, close: m.Close, schemas: &schemas{}, configured: &atomic.Bool{}}
}

// patience is how long handlers may clean up. A host gives them a second; a busy test machine may be slow.
const patience = 5 * time.Second

func awaitEnd(t testing.TB, served <-chan error) {
	t.Helper()
	select {
	case err := <-served:
		if err != nil {
			t.Errorf("serving the plugin: %v", err)
		}
	case <-time.After(patience):
		t.Errorf("a handler of the plugin still runs %v after its ctx ended", patience)
	}
}

// ServeListener serves p over plain gRPC on lis until ctx ends, for tests that connect in their own way. It returns
// when all calls have ended.
func ServeListener(ctx context.Context, p *sdk.Plugin, lis net.Listener) error {
	return wire.ServeListener(ctx, p, lis)
}

// Close ends the connection; the plugin itself ends with the test.
func (p *Plugin) Close() error { return p.close() }

// Describe returns what the plugin says of itself and which tools it has now.
func (p *Plugin) Describe(ctx context.Context) (*sdk.Description, error) {
	return p.client.Describe(ctx)
}

// Tools returns the definitions of the tools.
func (p *Plugin) Tools(ctx context.Context) ([]sdk.Tool, error) { return p.client.Tools(ctx) }

// Call makes a call and checks nothing. The error says that ctx ended, that a limit is exceeded, or that the connection
// broke.
func (p *Plugin) Call(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	return p.client.Call(ctx, r)
}

// Preview asks what a call would do. A tool without a preview returns an empty one.
func (p *Plugin) Preview(ctx context.Context, r *sdk.Request) (*sdk.Preview, error) {
	return p.client.Preview(ctx, r)
}

// Watch calls changed when the watch is established and whenever the list of tools has changed, until ctx or the plugin
// ends.
func (p *Plugin) Watch(ctx context.Context, changed func()) error {
	return p.client.Watch(ctx, changed)
}

// Run calls a tool with JSON arguments in a folder of the test's own. Arguments that do not fit the input schema never
// reach the handler: as with a host, the result is an error with the code E_TOOL_INVALID_ARGS. A tool that fails is a
// result with an Error. The test fails if the wire breaks, if there is no such tool, if a host would not offer it, also
// for want of a configuration, and if the structured result does not fit the output schema. Call checks nothing.
func (p *Plugin) Run(t testing.TB, tool, arguments string) *sdk.Result {
	t.Helper()
	return p.RunIn(t, t.TempDir(), tool, arguments)
}

// RunIn is Run with a given work folder.
func (p *Plugin) RunIn(t testing.TB, workdir, tool, arguments string) *sdk.Result {
	t.Helper()
	definition, err := p.definition(t.Context(), tool)
	if err != nil {
		t.Fatalf("calling %s: %v", tool, err)
	}
	request := &sdk.Request{CallID: t.Name(), RunID: rand.Text(), Tool: tool,
		Arguments: objectOf(json.RawMessage(arguments)), Workdir: workdir, Attempt: 1}
	if p.host != nil {
		request.Services = p.host
		if _, err := p.Describe(t.Context()); err != nil { // which says that there are services
			t.Fatalf("calling %s: %v", tool, err)
		}
	}
	if definition != nil {
		refusal, err := p.checkArguments(definition, request.Arguments)
		if err != nil {
			t.Fatalf("calling %s: %v", tool, err)
		}
		if refusal != nil {
			return refusal
		}
	}
	if p.host != nil && p.host.Answer != nil {
		request.Capabilities = json.RawMessage(`{"elicitation":{"form":{}}}`)
	}
	result, err := p.Call(t.Context(), request)
	for err == nil && result.InputRequired != nil && request.Capabilities != nil {
		request.RunID, request.RequestState = rand.Text(), result.InputRequired.State
		if request.InputResponses, err = p.host.answerAll(t.Context(), result.InputRequired); err == nil {
			result, err = p.Call(t.Context(), request)
		}
	}
	if err != nil {
		t.Fatalf("calling %s: %v", tool, err)
	}
	if definition != nil {
		if err := p.checkOutput(definition, result); err != nil {
			t.Errorf("calling %s: %v", tool, err)
		}
	}
	return result
}

// definition returns the tool's present definition, nil when nothing is checked.
func (p *Plugin) definition(ctx context.Context, tool string) (*sdk.Tool, error) {
	if p.unchecked {
		return nil, nil
	}
	d, err := p.Describe(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.checkConfigured(d); err != nil {
		return nil, err
	}
	var names []string
	for i := range d.Tools {
		if d.Tools[i].Name == tool {
			return &d.Tools[i], nil
		}
		names = append(names, d.Tools[i].Name)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("the plugin has no such tool; it has %s", cmp.Or(strings.Join(names, ", "), "none"))
}

// MustConfigure hands the plugin its configuration and fails the test if it has something against it.
func (p *Plugin) MustConfigure(t testing.TB, config string) {
	t.Helper()
	if err := p.Configure(t.Context(), json.RawMessage(config), t.TempDir()); err != nil {
		t.Fatalf("configuring the plugin: %v", err)
	}
}

// A Host stands in for what a host does for plugins.
type Host struct {
	// Tools are the tools that the plugin may call, by full name. A call of any other is denied, as by a host whose
	// configuration does not grant it; arguments are not checked.
	Tools map[string]func(arguments json.RawMessage) *sdk.Result
	// Answer answers the questions of handlers; nil means that no one can be asked. Accept makes an answer.
	Answer func(q sdk.Question) sdk.Answer[json.RawMessage]
}

// Accept is the answer of a person who fills in a form with the fields of v.
func Accept(v any) sdk.Answer[json.RawMessage] {
	return sdk.Answer[json.RawMessage]{Action: sdk.Accepted, Value: sdk.Encode(v)}
}

// With is the same plugin, whose Run and RunIn offer the handlers what h has.
func (p *Plugin) With(h Host) *Plugin {
	out := *p
	out.host = &h
	return &out
}

// CallTool calls one of the tools.
func (h *Host) CallTool(_ context.Context, tool string, arguments json.RawMessage) (*sdk.Result, error) {
	if f := h.Tools[tool]; f != nil {
		return f(objectOf(arguments)), nil
	}
	return &sdk.Result{Error: &sdk.Error{Code: sdk.CodeDenied, Name: "NotGranted", Outcome: sdk.OutcomeNotSent,
		Message: fmt.Sprintf("the plugin may not call %q, only %s; nothing was run", tool,
			strings.Join(slices.Sorted(maps.Keys(h.Tools)), ", "))}}, nil
}

// Ask answers a question, as a host does.
func (h *Host) Ask(_ context.Context, question json.RawMessage) (json.RawMessage, error) {
	q, is, err := elicit.Read(question)
	if err == nil && !is {
		err = errors.New("it is none to a person")
	}
	if err == nil {
		err = q.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("a host would not pass on the question: %w", err)
	}
	if form, err := elicit.ParseForm(q.RequestedSchema); err == nil {
		if name := form.Secret(redact.Name); name != "" {
			return nil, fmt.Errorf("a host would not pass on the question: its field %q is for a secret", name)
		}
	}
	a := h.Answer(sdk.Question{Message: q.Message, Schema: q.RequestedSchema})
	answer := sdk.Encode(elicit.Answer{Action: string(a.Action), Content: a.Value})
	_, err = q.ReadAnswer(answer)
	return answer, err
}

// answerAll answers the questions of a result.
func (h *Host) answerAll(ctx context.Context, in *sdk.InputRequired) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	for key, question := range in.Requests {
		var err error
		if answers[key], err = h.Ask(ctx, question); err != nil {
			return nil, err
		}
	}
	return answers, nil
}
