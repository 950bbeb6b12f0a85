package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

type relayArgs struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// relaying is a plugin whose tools call the tool that they are told to, and pass on what it returned.
func relaying(t testing.TB, tools ...string) host.Plugin {
	p := sdk.New("relay", "1.0.0")
	for _, name := range tools {
		sdk.AddTool(p, sdk.Tool{Name: name, Description: "Calls a tool.", Hints: sdk.Hints{ReadOnly: sdk.Yes}},
			func(ctx context.Context, r *sdk.Request, in relayArgs) (*sdk.Result, error) {
				return r.CallTool(ctx, in.Tool, in.Arguments)
			})
	}
	return sdktest.Start(t, p)
}

// relay is a call of from that calls tool.
func relay(from, tool, arguments string) host.Call {
	if arguments == "" {
		arguments = "{}"
	}
	return call(from, fmt.Sprintf(`{"tool":%s,"arguments":%s}`, sdk.Encode(tool), arguments))
}

func mayCall(globs ...string) host.Options {
	return host.Options{Plugins: map[string]host.PluginOptions{"a": {MayCall: globs}, "b": {MayCall: globs}}}
}

// A recordLog is a host.Recorder.
type recordLog struct {
	mu  sync.Mutex
	all []audit.Record
}

func (l *recordLog) Append(r audit.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, r)
	return nil
}

func (l *recordLog) of(tool string) (out []audit.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.all {
		if r.Tool == tool {
			out = append(out, r)
		}
	}
	return out
}

func TestNestedCall(t *testing.T) {
	t.Parallel()
	var got *sdk.Request
	target := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		got = r
		return &sdk.Result{Content: []sdk.Content{sdk.TextContent("read"), sdk.ImageContent([]byte{1, 2}, "image/png")},
			Structured: json.RawMessage(`{"n":9007199254740993}`), Extra: json.RawMessage(`{"_meta":{"x":1}}`)}, nil
	})
	var seen []host.Via
	o, record := mayCall("target__*"), &recordLog{}
	o.Audit = record
	o.Middleware = []host.Middleware{func(next host.CallFunc) host.CallFunc {
		return func(ctx context.Context, c *host.Call) (*sdk.Result, error) {
			if v := c.Via(); v != nil {
				seen = append(seen, *v)
			}
			return next(ctx, c)
		}
	}}
	h := newHost(t, map[string]host.Plugin{"a": relaying(t, "relay"), "target": target}, o)
	c := relay("a__relay", "target__run", `{"x":1}`)
	c.ID, c.SessionID, c.Caller, c.Workdir = "outer", "session", "agent", t.TempDir()
	r := h.Call(t.Context(), c)
	succeeded(t, r)
	if len(r.Content) != 2 || r.Content[0].Text != "read" || string(r.Content[1].Data) != "\x01\x02" ||
		string(r.Structured) != `{"n":9007199254740993}` || string(r.Extra) != `{"_meta":{"x":1}}` {
		t.Errorf("the handler got %+v", r)
	}
	if string(got.Arguments) != `{"x":1}` || got.SessionID != "session" || got.Workdir != c.Workdir ||
		got.CallID == "outer" {
		t.Errorf("the tool got %+v", got)
	}
	diff(t, []host.Via{{Plugin: "a", Tool: "a__relay", CallID: "outer"}}, seen)
	records := record.of("target__run")
	if len(records) != 2 {
		t.Fatalf("%d records", len(records))
	}
	for _, r := range records {
		if r.ViaTool != "a__relay" || r.ViaCallID != "outer" || r.SessionID != "session" || r.Caller != "agent" ||
			r.CallID != got.CallID {
			t.Errorf("the record says %+v", r)
		}
	}
	for _, r := range record.of("a__relay") {
		if r.ViaTool != "" || r.ViaCallID != "" {
			t.Errorf("the record of the outer call says %+v", r)
		}
	}
}

// Whatever a nested call ends with, the handler gets it as a result.
func TestNestedCallsThatAreRefused(t *testing.T) {
	t.Parallel()
	layer := policy.Layer{Name: "project", Rules: []policy.Rule{
		{Name: "not-by-a", Tools: []string{"target__run"}, Callers: []string{"plugin:a"}, Effect: policy.Deny},
		{Name: "not-for-guests", Tools: []string{"target__write"}, Callers: []string{"guest"}, Effect: policy.Deny},
	}}
	p, err := policy.New(layer)
	if err != nil {
		t.Fatal(err)
	}
	target := answering(sdk.Text("done"), nil, tool("run"), tool("write"), tool("strict"), tool("fails"))
	target.call = func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		if r.Tool == "fails" {
			return &sdk.Result{Error: &sdk.Error{Name: "Broken", Message: "it broke", Suggestion: "Mend it.",
				Details: json.RawMessage(`{"a":1}`)}}, nil
		}
		return sdk.Text("done"), nil
	}
	o := mayCall("target__*", "gone__x")
	o.Policy = p
	h := newHost(t, map[string]host.Plugin{"a": relaying(t, "relay", "other"), "b": relaying(t, "relay"),
		"target": target}, o)
	for _, c := range []struct {
		name, tool, arguments string
		of                    string
	}{
		{"not granted", "b__relay", "{}", "NotGranted"},
		{"not granted, and not there", "secret__x", "{}", "NotGranted"},
		{"itself", "a__relay", "{}", "NotGranted"},
		{"not there", "gone__x", "{}", "ToolNotFound"},
		{"by a rule about the plugin", "target__run", "{}", "Denied"},
		{"by a rule about the caller", "target__write", "{}", "Denied"},
		{"not JSON", "target__strict", `[1]`, ""},
		{"fails", "target__fails", "{}", "Broken"},
		{"a long name", strings.Repeat("x", 1000), "{}", "NotGranted"},
		{"a broken name", "target__\x00\x1b[31m", "{}", "ToolNotFound"},
	} {
		t.Run(c.name, func(t *testing.T) {
			outer := relay("a__relay", c.tool, c.arguments)
			outer.Caller = "guest"
			r := h.Call(t.Context(), outer)
			if r.Error == nil || c.of != "" && r.Error.Name != c.of {
				t.Fatalf("the handler got %+v", r.Error)
			}
			if r.Error.Code != sdk.CodeTool || r.Error.Outcome != sdk.OutcomeFailed { // the outer call has run
				t.Errorf("the outer call ends with %s, %s", r.Error.Code, r.Error.Outcome)
			}
			if r.Error.Message == "" || strings.Contains(r.Error.Message, "\x1b") {
				t.Errorf("message %q", r.Error.Message)
			}
		})
	}
	var got *sdk.Error
	watched := sdk.New("watched", "1.0.0")
	watched.AddRawTool(tool("run"), func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		result, err := r.CallTool(ctx, "target__run", nil)
		if err != nil {
			return nil, err
		}
		got = result.Error
		return sdk.Text("I go on without it"), nil
	})
	h = newHost(t, map[string]host.Plugin{"watched": sdktest.Start(t, watched), "target": target}, host.Options{})
	r := h.Call(t.Context(), call("watched__run", ""))
	succeeded(t, r)
	if got == nil || got.Code != sdk.CodeDenied || got.Outcome != sdk.OutcomeNotSent ||
		!strings.Contains(got.Suggestion, `may_call = ["target__run"]`) {
		t.Errorf("the handler got %+v", got)
	}
}

// A nested call that is refused is recorded and counted under the tool that it was for, if that is known.
func TestRefusedNestedCallsAreCountedByTool(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{"b__relay": "b", "b__nosuch": "", "nosuch__x": "", "a__relay": "a"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			record := &records{}
			o := host.Options{Audit: record, Plugins: map[string]host.PluginOptions{"a": {MayCall: []string{"a__relay"}}}}
			seen := observe(t, &o)
			h := newHost(t, map[string]host.Plugin{"a": relaying(t, "relay"), "b": relaying(t, "relay")}, o)
			label := "unknown unknown"
			if want != "" {
				label = tool + " " + want
			}
			// A plugin that says just now that its tools have changed is not listed for a moment.
			for deadline := time.Now().Add(time.Minute); ; {
				if _, problems := h.Tools(t.Context()); len(problems) > 0 {
					t.Fatal(problems)
				}
				h.Call(t.Context(), relay("a__relay", tool, "{}"))
				var plugin string
				for _, r := range record.soFar() {
					if r.Tool == tool && r.ViaTool != "" {
						plugin = r.Plugin
					}
				}
				counted := seen.metric("toolhost.call.duration")
				if counted[label] > 0 && plugin == want {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("the record has the plugin %q, want %q; no call is counted as %q: %v", plugin, want, label, counted)
				}
			}
		})
	}
}

// A caller that sees few tools gets no more of them by way of a plugin.
func TestNestedCallsKeepToTheCatalog(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]host.Plugin{"a": relaying(t, "relay"), "target": answering(sdk.Text("done"), nil)},
		mayCall("*"))
	few, err := h.Catalog(host.Filter{Tools: []string{"a__*"}})
	if err != nil {
		t.Fatal(err)
	}
	r := few.Call(t.Context(), relay("a__relay", "target__run", ""))
	if r.Error == nil || !strings.Contains(r.Error.Message, "is not in this catalog") {
		t.Errorf("it gives %+v", r.Error)
	}
	succeeded(t, h.Call(t.Context(), relay("a__relay", "target__run", "")))
}

// chained are the arguments of a relay that calls each of the tools by way of the one before.
func chained(tools ...string) string {
	arguments := "{}"
	for i := len(tools) - 1; i >= 0; i-- {
		arguments = fmt.Sprintf(`{"tool":%q,"arguments":%s}`, tools[i], arguments)
	}
	return arguments
}

func TestNestedCallsDoNotGoInCircles(t *testing.T) {
	t.Parallel()
	h := newHost(t, map[string]host.Plugin{"a": relaying(t, "one", "two", "three", "four"),
		"b": relaying(t, "one", "two"), "target": answering(sdk.Text("done"), nil)}, mayCall("*"))
	for _, c := range []struct {
		by   []string
		want string
	}{
		{[]string{"a__one"}, "CallCycle"},
		{[]string{"b__one", "a__one"}, "CallCycle"},
		{[]string{"a__two", "b__one", "a__two"}, "CallCycle"},
		{[]string{"b__one", "a__two", "b__two", "target__run"}, ""},
		{[]string{"b__one", "a__two", "b__two", "a__three", "target__run"}, "NestedTooDeep"},
	} {
		r := h.Call(t.Context(), call("a__one", chained(c.by...)))
		switch {
		case c.want == "":
			succeeded(t, r)
		case r.Error == nil || r.Error.Name != c.want:
			t.Errorf("%v gives %+v", c.by, r.Error)
		}
	}
}

// A plugin cannot multiply its calls: neither at once nor in all.
func TestNestedCallsAreBounded(t *testing.T) {
	t.Parallel()
	p := sdk.New("a", "1.0.0")
	results := make(chan string, 3000)
	p.AddRawTool(tool("many"), func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		var calls sync.WaitGroup
		for range 1100 {
			calls.Go(func() {
				result, err := r.CallTool(ctx, "target__run", nil)
				switch {
				case err != nil:
					results <- err.Error()
				case result.Error != nil:
					results <- result.Error.Name
				default:
					results <- ""
				}
			})
		}
		calls.Wait()
		return sdk.Text("done"), nil
	})
	var mu sync.Mutex
	running, most := 0, 0
	target := calling(func(context.Context, *sdk.Request) (*sdk.Result, error) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		defer func() { mu.Lock(); running--; mu.Unlock() }()
		return sdk.Text("done"), nil
	})
	h := newHost(t, map[string]host.Plugin{"a": sdktest.Start(t, p), "target": target}, mayCall("target__*"))
	succeeded(t, h.Call(t.Context(), call("a__many", "")))
	close(results)
	count := map[string]int{}
	for r := range results {
		count[r]++
	}
	if count[""] != 1000 || count["TooManyNested"] != 100 || most > 16 {
		t.Errorf("%v, %d at once", count, most)
	}
}

// Where each would wait for the other, the nested call is refused at once.
func TestNestedCallDoesNotWaitForItsOwnSlot(t *testing.T) {
	t.Parallel()
	o := mayCall("*")
	o.Plugins["a"] = host.PluginOptions{MayCall: []string{"*"}, Limits: host.Limits{Concurrency: 1}}
	o.MaxConcurrency = 1
	h := newHost(t, map[string]host.Plugin{"a": relaying(t, "one", "two"), "b": relaying(t, "one"),
		"target": answering(sdk.Text("done"), nil)}, o)
	for _, by := range [][]string{{"a__two", "target__run"}, {"b__one", "a__two", "target__run"}} {
		r := h.Call(t.Context(), call("a__one", chained(by...)))
		if r.Error == nil || r.Error.Name != "WaitsForItself" {
			t.Errorf("%v gives %+v", by, r.Error)
		}
	}
	succeeded(t, h.Call(t.Context(), call("a__one", chained("b__one", "target__run"))))
}

func TestNestedCallEndsWithItsCall(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		timeout time.Duration
		code    sdk.Code
	}{"canceled": {0, sdk.CodeCanceled}, "deadline": {300 * time.Millisecond, sdk.CodeTimeout}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began, ended := make(chan time.Time, 1), make(chan struct{})
			target := calling(func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
				deadline, _ := ctx.Deadline()
				began <- deadline
				<-ctx.Done()
				close(ended)
				return nil, sdk.EndedError(ctx)
			})
			h := newHost(t, map[string]host.Plugin{"a": relaying(t, "relay"), "target": target}, mayCall("target__*"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := relay("a__relay", "target__run", "")
			c.Timeout = end.timeout
			result := make(chan *host.Result, 1)
			go func() { result <- h.Call(ctx, c) }()
			deadline := await(t, 10*time.Second, "the nested call begins", began)
			if end.timeout == 0 {
				cancel()
			} else if until := time.Until(deadline); until > end.timeout {
				t.Errorf("the nested call has %s, more than its call", until)
			}
			failed(t, await(t, 10*time.Second, "the call ends", result), end.code)
			await(t, 10*time.Second, "the nested call ends", ended)
		})
	}
}

// A handler may give up one call and go on; its own call goes on too.
func TestHandlerGivesUpANestedCall(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan struct{})
	target := calling(func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, sdk.EndedError(ctx)
	})
	p := sdk.New("a", "1.0.0")
	p.AddRawTool(tool("impatient"), func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		short, cancel := context.WithCancel(ctx)
		go func() { <-began; cancel() }()
		if _, err := r.CallTool(short, "target__run", nil); sdk.CodeOf(err) != sdk.CodeCanceled {
			return nil, fmt.Errorf("the nested call gives %w", err)
		}
		<-ended // the host has ended it
		return sdk.Text("I go on"), nil
	})
	h := newHost(t, map[string]host.Plugin{"a": sdktest.Start(t, p), "target": target}, mayCall("target__*"))
	succeeded(t, h.Call(t.Context(), call("a__impatient", "")))
}

// A handler that outlives its call can ask for nothing more.
func TestCallToolAfterTheEnd(t *testing.T) {
	t.Parallel()
	requests := make(chan *sdk.Request, 1)
	p := sdk.New("a", "1.0.0")
	p.AddRawTool(tool("leaves"), func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		requests <- r
		return sdk.Text("done"), nil
	})
	calls := 0
	target := calling(func(context.Context, *sdk.Request) (*sdk.Result, error) { calls++; return sdk.Text("done"), nil })
	h := newHost(t, map[string]host.Plugin{"a": sdktest.Start(t, p), "target": target}, mayCall("target__*"))
	succeeded(t, h.Call(t.Context(), call("a__leaves", "")))
	result, err := (<-requests).CallTool(context.Background(), "target__run", nil)
	if result != nil || sdk.CodeOf(err) != sdk.CodeCanceled || calls != 0 {
		t.Errorf("%+v, %v, %d calls", result, err, calls)
	}
}

// An approval is asked for with the plugin that makes the call; no earlier approval covers it, and none is remembered.
func TestApprovalOfNestedCalls(t *testing.T) {
	t.Parallel()
	var asked []*host.Via
	o := mayCall("target__*")
	o.Approver = host.ApproverFunc(func(_ context.Context, r *host.ApprovalRequest) (host.Answer, error) {
		asked = append(asked, r.Via)
		return host.Always(host.ScopeTool), nil
	})
	write := tool("run")
	write.Hints = sdk.Hints{}
	h := newHost(t, map[string]host.Plugin{"a": relaying(t, "relay"), "target": answering(sdk.Text("done"), nil, write)},
		o)
	outer := relay("a__relay", "target__run", "")
	outer.ID = "outer"
	for range 2 {
		succeeded(t, h.Call(t.Context(), outer))
	}
	for range 2 {
		succeeded(t, h.Call(t.Context(), call("target__run", "")))
	}
	succeeded(t, h.Call(t.Context(), outer))
	via := &host.Via{Plugin: "a", Tool: "a__relay", CallID: "outer"}
	diff(t, []*host.Via{via, via, nil, via}, asked)
}

// Large arguments and results cross, and what is over a limit is data too.
func TestNestedCallsOfAnySize(t *testing.T) {
	t.Parallel()
	var got int
	target := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		got = len(r.Arguments)
		return sdk.Text(strings.Repeat("y", 1<<20)), nil
	})
	p := sdk.New("a", "1.0.0")
	p.AddRawTool(tool("large"), func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		if _, err := r.CallTool(ctx, "target__run", map[string]string{"x": strings.Repeat("x", 2<<20)}); sdk.CodeOf(err) !=
			sdk.CodeInvalidArgs {
			return nil, fmt.Errorf("2 MiB of arguments give %w", err)
		}
		if _, err := r.CallTool(ctx, "target__run", func() {}); sdk.CodeOf(err) != sdk.CodeInvalidArgs {
			return nil, fmt.Errorf("a function gives %w", err)
		}
		return r.CallTool(ctx, "target__run", map[string]string{"x": strings.Repeat("x", 1000<<10)})
	})
	o := mayCall("target__*")
	o.MaxResultBytes = 2 << 20
	h := newHost(t, map[string]host.Plugin{"a": sdktest.Start(t, p), "target": target}, o)
	r := h.Call(t.Context(), call("a__large", ""))
	succeeded(t, r)
	if got < 1000<<10 || len(r.Text()) != 1<<20 {
		t.Errorf("%d bytes went, %d came", got, len(r.Text()))
	}
}

// Arguments over the limit, of a plugin that does not keep to it, are refused like those of anyone.
func TestNestedCallWithHugeArguments(t *testing.T) {
	t.Parallel()
	calls := 0
	target := calling(func(context.Context, *sdk.Request) (*sdk.Result, error) {
		calls++
		return sdk.Text("done"), nil
	})
	p := calling(func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		return r.Services.CallTool(ctx, "target__run", sdk.Encode(map[string]string{"x": strings.Repeat("x", 3<<20)}))
	})
	h := newHost(t, map[string]host.Plugin{"a": p, "target": target}, mayCall("target__*"))
	r := h.Call(t.Context(), call("a__run", ""))
	if r.Error == nil || r.Error.Code != sdk.CodeInvalidArgs || calls != 0 {
		t.Errorf("%+v, %d calls", r.Error, calls)
	}
}
