package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

const (
	callersTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersParent = "00-" + callersTrace + "-00f067aa0ba902b7-01"
)

// observed has what a host's telemetry receives.
type observed struct {
	t     testing.TB
	spans *tracetest.SpanRecorder
	read  *sdkmetric.ManualReader
}

// observe adds providers to the options.
func observe(t testing.TB, o *host.Options) *observed {
	out := &observed{t, tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()}
	o.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(out.spans))
	o.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(out.read), sdkmetric.WithCardinalityLimit(1e6))
	return out
}

// tree returns the names of the ended spans, each after that of its parent.
func (o *observed) tree() (out []string) {
	names := map[string]string{}
	for _, s := range o.spans.Started() {
		path := s.Name()
		if parent := names[s.Parent().SpanID().String()]; parent != "" {
			path = parent + " / " + path
		}
		names[s.SpanContext().SpanID().String()] = path
	}
	for _, s := range o.spans.Ended() {
		out = append(out, names[s.SpanContext().SpanID().String()])
	}
	slices.Sort(out)
	return out
}

// span returns the attributes of the one span of that name.
func (o *observed) span(name string) (sdktrace.ReadOnlySpan, map[string]string) {
	o.t.Helper()
	for _, s := range o.spans.Ended() {
		if s.Name() == name {
			out := map[string]string{}
			for _, a := range s.Attributes() {
				out[string(a.Key)] = a.Value.String()
			}
			return s, out
		}
	}
	o.t.Fatalf("there is no span %q", name)
	return nil, nil
}

// metric returns the values of a metric by their labels: sums and gauges, and the counts of histograms.
func (o *observed) metric(name string) map[string]int64 {
	o.t.Helper()
	var all metricdata.ResourceMetrics
	if err := o.read.Collect(context.Background(), &all); err != nil {
		o.t.Fatal(err)
	}
	out := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					out[labelText(p.Attributes)] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					out[labelText(p.Attributes)] = int64(p.Count)
				}
			}
		}
	}
	return out
}

func labelText(s attribute.Set) string {
	var out []string
	for _, a := range s.ToSlice() {
		out = append(out, a.Value.String())
	}
	return strings.Join(out, " ")
}

// unhinted is a tool that needs approval.
func unhinted(name string) sdk.Tool {
	t := tool(name)
	t.Hints = sdk.Hints{}
	return t
}

// The span of a call has a span for each of its stages, belongs to the caller's trace, and goes on to the plugin.
func TestSpansOfACall(t *testing.T) {
	var seen *sdk.Request
	p := calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		seen, r.StartTime = r, time.Millisecond
		return sdk.Text("done"), nil
	}, unhinted("run"))
	var asked trace.SpanContext
	o := host.Options{Approver: approveFunc(func(ctx context.Context, _ *host.ApprovalRequest) (host.Answer, error) {
		asked = trace.SpanContextFromContext(ctx)
		return host.Yes(), nil
	})}
	seenBy := observe(t, &o)
	h := single(t, p, o)
	c := call("test__run", "{}")
	c.ID, c.Caller, c.SessionID = "call-1", "agent", "session-1"
	succeeded(t, h.Call(host.WithTraceParent(t.Context(), callersParent, "vendor=1"), c))

	diff(t, []string{"execute_tool test__run", "execute_tool test__run / approval", "execute_tool test__run / call",
		"execute_tool test__run / call / start", "execute_tool test__run / start"}, renamed(seenBy.tree()))
	span, attributes := seenBy.span("execute_tool test__run")
	diff(t, map[string]string{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "test__run",
		"gen_ai.tool.type": "function", "gen_ai.tool.call.id": "call-1", "gen_ai.agent.id": "agent",
		"gen_ai.conversation.id": "session-1", "toolhost.plugin": "test", "toolhost.decision": "ask",
		"toolhost.attempts": "1", "toolhost.plugin.generation": "0"}, attributes)
	if span.Parent().TraceID().String() != callersTrace || !span.Parent().IsRemote() {
		t.Errorf("the call's parent is %v", span.Parent())
	}
	calls, _ := seenBy.span("call")
	if want := "00-" + callersTrace + "-" + calls.SpanContext().SpanID().String() + "-01"; seen.TraceParent != want ||
		seen.TraceState != "vendor=1" {
		t.Errorf("the plugin gets %q and %q, not %q", seen.TraceParent, seen.TraceState, want)
	}
	if approval, _ := seenBy.span("approval"); asked.SpanID() != approval.SpanContext().SpanID() {
		t.Error("the approver is not called within the span of the approval")
	}
}

// What a model calls by a name that no tool has may be anything; a span has it without what looks like a secret.
func TestNamesInSpansHaveNoSecrets(t *testing.T) {
	for _, secret := range []string{"ghp_abcdefghijklmnopqrstuvwxyz0123456789", "AKIAIOSFODNN7EXAMPLE",
		"password=hunter2hunter2", strings.Repeat("x", 80) + " ghp_abcdefghijklmnopqrstuvwxyz0123456789"} {
		var o host.Options
		seenBy := observe(t, &o)
		h := single(t, answering(sdk.Text("done"), nil), o)
		h.Call(t.Context(), call("test__run "+secret, "{}"))
		_, attributes := seenBy.span("execute_tool")
		name := attributes["gen_ai.tool.name"]
		if !strings.HasPrefix(name, "test__run ") || strings.Contains(name, "ghp_") || strings.Contains(name, "AKIA") ||
			strings.Contains(name, "hunter2") {
			t.Errorf("%q", name)
		}
	}
}

// lateStart is a plugin that is started by the preview of its tool, in a millisecond.
type lateStart struct{ *sdktest.Plugin }

func (p lateStart) Preview(ctx context.Context, r *sdk.Request) (*sdk.Preview, error) {
	shown, err := p.Plugin.Preview(ctx, r)
	r.StartTime = time.Millisecond
	return shown, err
}

// The time of a preview is in a stage, and in it that of the start that it waited for, also when the call ends there.
func TestStageOfAPreview(t *testing.T) {
	for name, c := range map[string]struct {
		shown *sdk.Preview
		err   error
		want  []string
	}{
		"goes on": {&sdk.Preview{}, nil, []string{"execute_tool test__run", "execute_tool test__run / call",
			"execute_tool test__run / preview", "execute_tool test__run / preview / start", "execute_tool test__run / start"}},
		"fails": {nil, errors.New("no such file"), []string{"execute_tool test__run",
			"execute_tool test__run / preview", "execute_tool test__run / preview / start", "execute_tool test__run / start"}},
	} {
		t.Run(name, func(t *testing.T) {
			var o host.Options
			seenBy := observe(t, &o)
			definition := tool("run")
			h := single(t, lateStart{previewing(t, definition, func(context.Context) (*sdk.Preview, error) {
				return c.shown, c.err
			})}, o)
			h.Call(t.Context(), call("test__run", "{}"))
			diff(t, c.want, renamed(seenBy.tree()))
			stages := seenBy.metric("toolhost.call.stage.duration")
			if stages["test preview"] != 1 || stages["test start"] != 2 { // one of them lists the tools
				t.Errorf("the stages are counted as %v", stages)
			}
		})
	}
}

// renamed gives spans that were started before the tool was known the name that they have at the end.
func renamed(tree []string) []string {
	for i, path := range tree {
		if rest, ok := strings.CutPrefix(path, "execute_tool / "); ok {
			tree[i] = "execute_tool test__run / " + rest
		}
	}
	slices.Sort(tree)
	return tree
}

// A failed call has the code of its error, and its span none of its texts.
func TestSpansHaveNoContent(t *testing.T) {
	const secret = "hunter2"
	run := func(o host.Options) (*observed, string) {
		seenBy := observe(t, &o)
		h := single(t, answering(&sdk.Result{Content: []sdk.Content{{Type: "text", Text: "result " + secret}},
			Error: &sdk.Error{Code: sdk.CodeTool, Name: "Broken", Message: "error " + secret}}, nil), o)
		h.Call(t.Context(), call("test__run", `{"text":"argument `+secret+`"}`))
		text, err := json.Marshal(tracetest.SpanStubsFromReadOnlySpans(seenBy.spans.Ended()))
		if err != nil {
			t.Fatal(err)
		}
		return seenBy, string(text)
	}
	seenBy, text := run(host.Options{})
	if strings.Contains(text, secret) {
		t.Errorf("a span has content: %s", text)
	}
	span, attributes := seenBy.span("execute_tool test__run")
	if attributes["error.type"] != "E_TOOL" || attributes["toolhost.outcome"] != "failed" ||
		span.Status().Code != otelcodes.Error || span.Status().Description != "" {
		t.Errorf("the failure is %v, %v", span.Status(), attributes)
	}
	_, text = run(host.Options{TraceContent: func(s string) string { return strings.ReplaceAll(s, secret, "***") }})
	for _, wanted := range []string{`argument ***`, "result ***"} {
		if !strings.Contains(text, wanted) {
			t.Errorf("%q is not in %s", wanted, text)
		}
	}
	if strings.Contains(text, secret) || strings.Contains(text, "error ***") {
		t.Errorf("a span has what TraceContent removes: %s", text)
	}
	if _, text = run(host.Options{TraceContent: func(string) string { panic("no redactor") }}); strings.Contains(text, secret) {
		t.Errorf("a span has what TraceContent did not prepare: %s", text)
	}
}

// Without providers the plugin gets the caller's own trace, if it is one.
func TestTraceWithoutProviders(t *testing.T) {
	var seen *sdk.Request
	h := single(t, calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		seen = r
		return sdk.Text("done"), nil
	}), host.Options{})
	for _, c := range []struct{ parent, state, wantParent, wantState string }{
		{"", "a=1", "", ""},
		{callersParent, "a=1,b=2", callersParent, "a=1,b=2"},
		{callersParent, strings.Repeat("x", 600) + "=1", callersParent, ""},
		{"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", "", "", ""},
		{"ff-" + callersTrace + "-00f067aa0ba902b7-01", "", "", ""},
		{strings.Repeat("\xff", 1<<20), "", "", ""},
		{callersParent + "\r\nX: y", "", "", ""},
	} {
		succeeded(t, h.Call(host.WithTraceParent(t.Context(), c.parent, c.state), call("test__run", "{}")))
		if seen.TraceParent != c.wantParent || seen.TraceState != c.wantState {
			t.Errorf("of %.80q and %.80q the plugin gets %q and %q", c.parent, c.state, seen.TraceParent, seen.TraceState)
		}
	}
}

// A call that a plugin makes is part of the trace of the plugin's own call.
func TestTraceOfANestedCall(t *testing.T) {
	o := mayCall("b__*")
	seenBy := observe(t, &o)
	h := newHost(t, map[string]host.Plugin{"a": relaying(t, "go"), "b": answering(sdk.Text("done"), nil)}, o)
	for range 2 { // from the second call on, spans have their names from the beginning
		seenBy.spans.Reset()
		succeeded(t, h.Call(t.Context(), relay("a__go", "b__run", "")))
	}
	tree := slices.DeleteFunc(seenBy.tree(), func(path string) bool { return strings.HasSuffix(path, " / start") })
	diff(t, []string{"execute_tool a__go", "execute_tool a__go / call", "execute_tool a__go / call / execute_tool b__run",
		"execute_tool a__go / call / execute_tool b__run / call"}, tree)
	if _, attributes := seenBy.span("execute_tool b__run"); attributes["toolhost.via.tool"] != "a__go" {
		t.Errorf("the nested call is %v", attributes)
	}
}

// The trace crosses the wire.
func TestTraceOverTheWire(t *testing.T) {
	p := sdk.New("traced", "1.0.0")
	p.AddRawTool(tool("run"), func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		return sdk.Text(r.TraceParent + " " + r.TraceState), nil
	})
	h := single(t, sdktest.Start(t, p), host.Options{})
	r := h.Call(host.WithTraceParent(t.Context(), callersParent, "a=1"), call("test__run", "{}"))
	succeeded(t, r)
	diff(t, callersParent+" a=1", r.Content[0].Text)
}

// Calls are counted by tool and outcome. What is no tool is no label, whatever it is called.
func TestMetricsOfCalls(t *testing.T) {
	log, failing := &recordLog{}, false
	o := host.Options{Audit: log}
	seenBy := observe(t, &o)
	h := single(t, calling(func(context.Context, *sdk.Request) (*sdk.Result, error) {
		if failing {
			return nil, &sdk.Error{Code: "E_MADE_UP", Message: "no"}
		}
		return sdk.Text("done"), nil
	}), o)
	for range 3 {
		succeeded(t, h.Call(t.Context(), call("test__run", "{}")))
	}
	failing = true
	h.Call(t.Context(), call("test__run", "{}"))
	h.Call(t.Context(), call("test__run", "no JSON"))
	for i := range 500 {
		failed(t, h.Call(t.Context(), call(fmt.Sprintf("test__%d", i), "{}")), sdk.CodeToolNotFound)
		failed(t, h.Call(t.Context(), call(fmt.Sprintf("no%d__run", i), "{}")), sdk.CodeToolNotFound)
	}
	diff(t, map[string]int64{"test__run ok test": 3, "E_TOOL test__run outcome_unknown test": 1,
		"E_TOOL_INVALID_ARGS test__run not_sent test": 1,
		"E_TOOL_NOT_FOUND unknown not_sent unknown":   1000}, seenBy.metric("toolhost.calls"))
	diff(t, map[string]int64{"test__run test": 5, "unknown unknown": 1000}, seenBy.metric("toolhost.call.duration"))
	diff(t, map[string]int64{"test call": 4, "test start": 1}, seenBy.metric("toolhost.call.stage.duration"))
	diff(t, map[string]int64{"decision": 4, "call": 1005}, seenBy.metric("toolhost.record.duration"))
}

// A record that cannot be written is counted, whether its recorder fails or panics.
func TestMetricsOfAFailingRecord(t *testing.T) {
	o := host.Options{Audit: recorderFunc(func(r audit.Record) error {
		if r.Kind == audit.KindDecision {
			panic("full")
		}
		return errors.New("full")
	})}
	seenBy := observe(t, &o)
	h := single(t, answering(sdk.Text("done"), nil), o)
	diff(t, map[string]int64{"": 0}, seenBy.metric("toolhost.record.failures"))
	succeeded(t, h.Call(t.Context(), call("test__run", "{}")))
	diff(t, map[string]int64{"": 2}, seenBy.metric("toolhost.record.failures"))
	diff(t, map[string]int64{}, seenBy.metric("toolhost.record.duration"))
}

type recorderFunc func(audit.Record) error

func (f recorderFunc) Append(r audit.Record) error { return f(r) }

// A plugin with ever new tools makes a bounded number of labels.
func TestLabelsAreBounded(t *testing.T) {
	var tools []sdk.Tool
	for i := range 1100 {
		tools = append(tools, tool(fmt.Sprintf("run%d", i)))
	}
	o := host.Options{}
	seenBy := observe(t, &o)
	h := single(t, answering(sdk.Text("done"), nil, tools...), o)
	for _, tool := range tools {
		succeeded(t, h.Call(t.Context(), call("test__"+tool.Name, "{}")))
	}
	calls := seenBy.metric("toolhost.calls")
	if n := calls["other ok test"]; len(calls) != 1001 || n != 100 {
		t.Errorf("%d labels, and %d calls of other tools", len(calls), n)
	}
}

// Waiting calls are counted while they wait, and for how long.
func TestMetricsOfWaitingCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		end, answer := make(chan struct{}), make(chan host.Answer)
		p := calling(func(context.Context, *sdk.Request) (*sdk.Result, error) {
			<-end
			return sdk.Text("done"), nil
		}, tool("run"), unhinted("ask"))
		o := host.Options{Plugins: map[string]host.PluginOptions{"test": {Limits: host.Limits{Concurrency: 1}}},
			Approver: approveFunc(func(context.Context, *host.ApprovalRequest) (host.Answer, error) { return <-answer, nil })}
		seenBy := observe(t, &o)
		h := single(t, p, o)
		results := make(chan *host.Result, 3)
		for _, tool := range []string{"test__run", "test__run", "test__ask"} {
			go func() { results <- h.Call(context.Background(), call(tool, "{}")) }()
			synctest.Wait()
		}
		diff(t, map[string]int64{"host": 1, "plugin:test": 1}, seenBy.metric("toolhost.queue.running"))
		diff(t, map[string]int64{"host": 0, "plugin:test": 1}, seenBy.metric("toolhost.queue.waiting"))
		diff(t, map[string]int64{"": 1}, seenBy.metric("toolhost.approvals.waiting"))
		answer <- host.No("")
		failed(t, <-results, sdk.CodeRejected)
		close(end)
		succeeded(t, <-results)
		succeeded(t, <-results)
		diff(t, map[string]int64{"": 0}, seenBy.metric("toolhost.approvals.waiting"))
		diff(t, map[string]int64{"host": 0, "plugin:test": 0}, seenBy.metric("toolhost.queue.waiting"))
		diff(t, map[string]int64{"test approval": 1, "test call": 2, "test queue": 1, "test start": 1},
			seenBy.metric("toolhost.call.stage.duration"))
	})
}

// A reload continues with the same metrics or with those of other providers; a closed host reports nothing more.
func TestMetricsAcrossReloads(t *testing.T) {
	p := map[string]host.Plugin{"test": answering(sdk.Text("done"), nil)}
	var first, second host.Options
	before, after := observe(t, &first), observe(t, &second)
	h, err := host.New(p, first)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, o := range []host.Options{first, second} {
		succeeded(t, h.Call(t.Context(), call("test__run", "{}")))
		if err := h.Reload(p, o); err != nil {
			t.Fatal(err)
		}
	}
	succeeded(t, h.Call(t.Context(), call("test__run", "{}")))
	diff(t, map[string]int64{"test__run ok test": 2}, before.metric("toolhost.calls"))
	diff(t, map[string]int64{"test__run ok test": 1}, after.metric("toolhost.calls"))
	diff(t, map[string]int64{}, before.metric("toolhost.queue.running"))
	diff(t, map[string]int64{"host": 0}, after.metric("toolhost.queue.running"))
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	diff(t, map[string]int64{}, after.metric("toolhost.queue.running"))
}

// Calls that a batch refuses before they start are counted too.
func TestMetricsOfABatch(t *testing.T) {
	o := host.Options{}
	seenBy := observe(t, &o)
	h := single(t, answering(sdk.Text("done"), nil), o)
	c := call("test__run", "{}")
	c.ID = "same"
	h.CallAll(t.Context(), []host.Call{c, c}, host.BatchOptions{})
	diff(t, map[string]int64{"test__run ok test": 1, "E_TOOL_INVALID_ARGS unknown not_sent unknown": 1},
		seenBy.metric("toolhost.calls"))
}
