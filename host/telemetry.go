package host

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/sdk"
)

// This file makes the traces and metrics of calls, by OpenTelemetry's API alone; package telemetry exports them.
// docs/observability.md lists them. Without providers a host has no instruments, and a call no step for them.

// instruments make spans and metrics. They are the same for all snapshots with the same providers.
type instruments struct {
	tracer                     trace.Tracer // nil makes no spans
	calls                      metric.Int64Counter
	duration, stages, recorded metric.Float64Histogram
	stop                       func() // ends what is observed

	mu     sync.Mutex // held to add labels
	labels atomic.Pointer[labels]

	decision, end []metric.RecordOption // of recorded
}

// Limits of the labels of metrics. They outlive tools and plugins: dynamic plugins may name ever new tools.
const (
	maxLabeledTools   = 1000
	maxLabeledPlugins = 300
	unknownLabel      = "unknown" // of calls whose tool is not known; no tool and no plugin has this name
	otherLabel        = "other"   // of tools and plugins after those
)

// labels are those of all tools and plugins that were called. They are replaced as a whole, so that a call reads them
// without a lock.
type labels struct {
	tools   map[string]*toolLabels
	plugins map[string]*pluginLabels
}

// toolLabels are the labels of a tool, made once: to make them for each call costs more than all else here.
type toolLabels struct {
	span     string
	start    []trace.SpanStartOption
	plugin   *pluginLabels
	duration []metric.RecordOption
	name     [2]attribute.KeyValue // of the tool and its plugin
	ok       []metric.AddOption
	failed   atomic.Pointer[map[failedAs][]metric.AddOption]
}

type failedAs struct {
	code    sdk.Code
	outcome sdk.Outcome
}

// pluginLabels are the labels of a plugin's stages.
type pluginLabels struct {
	stages [len(stageNames)][]metric.RecordOption
}

// A stage is a part of a call that takes time of its own.
type stage int

const (
	stageApproval stage = iota // waits for a person's approval
	stageInput                 // waits for a person's answers to the tool's questions
	stageQueue                 // waits for a slot
	stageStart                 // waits until the plugin has started and has listed its tools
	stageCall                  // runs in the plugin
)

var stageNames = [...]string{"approval", "input", "queue", "start", "call"}

// The upper bounds of the histograms' buckets, in seconds.
var (
	callBounds   = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900}
	recordBounds = []float64{.00001, .000025, .00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, .5, 2.5}
)

const instrumentationScope = "github.com/toolhost/toolhost/host"

// newInstruments returns those of the options, nil without providers, and reuses the ones of old.
func (h *Host) newInstruments(o Options, old *snapshot) (*instruments, error) {
	if old != nil && same(old.options.TracerProvider, o.TracerProvider) &&
		same(old.options.MeterProvider, o.MeterProvider) {
		return old.instruments, nil
	}
	if o.TracerProvider == nil && o.MeterProvider == nil {
		return nil, nil //nolint:nilnil // none
	}
	i := &instruments{stop: func() {}}
	i.labels.Store(&labels{tools: map[string]*toolLabels{}, plugins: map[string]*pluginLabels{}})
	if o.TracerProvider != nil {
		i.tracer = o.TracerProvider.Tracer(instrumentationScope)
	}
	if o.MeterProvider == nil {
		return i, nil
	}
	i.decision = []metric.RecordOption{kindLabel(audit.KindDecision)}
	i.end = []metric.RecordOption{kindLabel(audit.KindCall)}
	return i, i.meter(h, o.MeterProvider.Meter(instrumentationScope))
}

func kindLabel(kind audit.Kind) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String("toolhost.record.kind", string(kind))))
}

// meter makes the metrics.
func (i *instruments) meter(h *Host, m metric.Meter) (err error) {
	if i.calls, err = m.Int64Counter("toolhost.calls", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that have ended, by tool and outcome.")); err != nil {
		return err
	}
	for _, one := range []struct {
		to                *metric.Float64Histogram
		name, description string
		bounds            []float64
	}{
		{&i.duration, "toolhost.call.duration", "How long calls took as a whole, by tool.", callBounds},
		{&i.stages, "toolhost.call.stage.duration", "How long calls were in a stage, by plugin. " +
			"A call that is not in a stage, such as one that need not wait, is not counted.", callBounds},
		{&i.recorded, "toolhost.record.duration", "How long it took to write a line of the record.", recordBounds},
	} {
		*one.to, err = m.Float64Histogram(one.name, metric.WithUnit("s"), metric.WithDescription(one.description),
			metric.WithExplicitBucketBoundaries(one.bounds...))
		if err != nil {
			return err
		}
	}
	return i.observe(h, m)
}

// observe registers what is read of the host when someone asks for it.
func (i *instruments) observe(h *Host, m metric.Meter) error {
	running, err := m.Int64ObservableUpDownCounter("toolhost.queue.running", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that have a slot."))
	if err != nil {
		return err
	}
	waiting, err := m.Int64ObservableUpDownCounter("toolhost.queue.waiting", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that wait for a slot."))
	if err != nil {
		return err
	}
	approvals, err := m.Int64ObservableUpDownCounter("toolhost.approvals.waiting", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that wait for a person's approval."))
	if err != nil {
		return err
	}
	registered, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(approvals, h.approving.Load())
		n, w := h.calls.Counts()
		o.ObserveInt64(running, int64(n), queueLabel("host"))
		o.ObserveInt64(waiting, int64(w), queueLabel("host"))
		for plugin, q := range h.now.Load().queues {
			n, w := q.Counts()
			o.ObserveInt64(running, int64(n), queueLabel("plugin:"+plugin))
			o.ObserveInt64(waiting, int64(w), queueLabel("plugin:"+plugin))
		}
		return nil
	}, running, waiting, approvals)
	if err != nil {
		return err
	}
	i.stop = func() { _ = registered.Unregister() }
	return nil
}

func queueLabel(name string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String("toolhost.queue", name)))
}

// replaceWith ends what is observed when others take over.
func (i *instruments) replaceWith(next *instruments) {
	if i != nil && i != next {
		i.stop()
	}
}

// telemetry makes a span of each call, and counts it.
func (h *snapshot) telemetry(next CallFunc) CallFunc {
	i := h.instruments
	if i == nil {
		return next
	}
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		ctx, span := i.start(ctx, c)
		result, err := next(ctx, c)
		about := c.recorded()
		l, e := i.labelsOf(about.Definition), failure(result, err)
		if i.calls != nil {
			i.calls.Add(ctx, 1, l.outcome(e)...)
			i.duration.Record(ctx, c.took.Seconds(), l.duration...)
		}
		if span != nil {
			span.SetName(l.span) // the tool may be known only now
			about.describe(span, e, l)
			h.addContent(span, about, result)
			span.End()
		}
		return result, err
	}
}

// start begins the span of a call; nil if nobody keeps it.
func (i *instruments) start(ctx context.Context, c *Call) (context.Context, trace.Span) {
	if i.tracer == nil {
		return ctx, nil
	}
	l := i.labels.Load().tools[c.Tool]
	if l == nil {
		l = unknownTool
	}
	ctx, span := i.tracer.Start(ctx, l.span, l.start...)
	if !span.IsRecording() {
		return ctx, nil
	}
	return ctx, span
}

// describe adds the attributes of GenAI's semantic conventions, and some of toolhost's own. An error's message is none
// of them: it may quote arguments and results.
func (c *Call) describe(span trace.Span, e *sdk.Error, l *toolLabels) {
	attributes := []attribute.KeyValue{
		attribute.String("gen_ai.tool.name", c.spanTool()),
		attribute.String("gen_ai.tool.call.id", cutText(c.id, maxCallName)),
		l.name[1],
	}
	add := func(key, value string) {
		if value != "" {
			attributes = append(attributes, attribute.String(key, cutText(value, maxCallName)))
		}
	}
	add("gen_ai.agent.id", c.Caller)
	add("gen_ai.conversation.id", c.SessionID)
	add("toolhost.decision", string(c.Decision.Effect))
	if c.nested != nil {
		add("toolhost.via.tool", c.nested.via.Tool)
	}
	if attempts, generation := c.attempts(); attempts > 0 {
		attributes = append(attributes, attribute.Int("toolhost.attempts", attempts),
			attribute.Int("toolhost.plugin.generation", generation))
	}
	if e != nil {
		add("error.type", string(errorLabel(e.Code)))
		add("toolhost.error.name", e.Name)
		add("toolhost.outcome", string(e.Outcome))
		span.SetStatus(codes.Error, "")
	}
	span.SetAttributes(attributes...)
}

// spanTool is the tool's name or, if it is not known, what the caller wrote.
func (c *Call) spanTool() string {
	if c.Definition != nil {
		return c.Definition.Name
	}
	return cutText(c.called, 100)
}

// maxSpanContent is how many characters of the arguments, and of the result, a span has.
const maxSpanContent = 8 << 10

// addContent adds arguments and result, if the operator wants them.
func (h *snapshot) addContent(span trace.Span, c *Call, result *sdk.Result) {
	prepare := h.options.TraceContent
	if prepare == nil {
		return
	}
	span.SetAttributes(attribute.String("gen_ai.tool.call.arguments",
		cutText(prepare(string(c.Arguments)), maxSpanContent)))
	if result != nil {
		text := cmp.Or(joinTexts(result.Content), string(result.Structured))
		span.SetAttributes(attribute.String("gen_ai.tool.call.result", cutText(prepare(text), maxSpanContent)))
	}
}

// A stageRun is a call in one of its stages. The zero value is of a host without instruments.
type stageRun struct {
	of     *instruments
	ctx    context.Context
	stage  stage
	plugin *pluginLabels
	began  time.Time
	span   trace.Span // nil if nobody keeps it
}

// enter begins a stage of the call. Calls of plugins and people within it get the context that it returns.
func (c *Call) enter(ctx context.Context, s stage) (context.Context, stageRun) {
	if c.callState == nil || c.snapshot == nil || c.snapshot.instruments == nil { // one that only looks for a tool
		return ctx, stageRun{}
	}
	i := c.snapshot.instruments
	run := stageRun{of: i, ctx: ctx, stage: s, plugin: i.labelsOf(c.Definition).plugin, began: time.Now()}
	if i.tracer != nil && trace.SpanFromContext(ctx).IsRecording() {
		ctx, run.span = i.tracer.Start(ctx, stageNames[s], trace.WithTimestamp(run.began))
		run.ctx = ctx
	}
	return ctx, run
}

// leave ends the stage. Waited is how much of it was another one, the start of the plugin.
func (s stageRun) leave(e *sdk.Error, waited time.Duration) {
	if s.of == nil {
		return
	}
	took := time.Since(s.began)
	if s.of.stages != nil {
		s.of.stages.Record(s.ctx, (took - waited).Seconds(), s.plugin.stages[s.stage]...)
		if waited > 0 {
			s.of.stages.Record(s.ctx, waited.Seconds(), s.plugin.stages[stageStart]...)
		}
	}
	if s.span == nil {
		return
	}
	if waited > 0 {
		_, start := s.of.tracer.Start(s.ctx, stageNames[stageStart], trace.WithTimestamp(s.began))
		start.End(trace.WithTimestamp(s.began.Add(waited)))
	}
	if e != nil {
		s.span.SetAttributes(attribute.String("error.type", string(errorLabel(e.Code))))
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End(trace.WithTimestamp(s.began.Add(took)))
}

// recordTook counts a line of the record.
func (i *instruments) recordTook(kind audit.Kind, took time.Duration) {
	if i == nil || i.recorded == nil {
		return
	}
	labels := i.end
	if kind == audit.KindDecision {
		labels = i.decision
	}
	i.recorded.Record(context.Background(), took.Seconds(), labels...)
}

// knownCodes bound the label of errors: a plugin in the host's own process could make up others.
var knownCodes = map[sdk.Code]bool{sdk.CodeTool: true, sdk.CodeToolNotFound: true, sdk.CodeInvalidArgs: true,
	sdk.CodeNotInCatalog: true, sdk.CodeDenied: true, sdk.CodeRejected: true, sdk.CodeApprovalTimeout: true,
	sdk.CodeApprovalUnavailable: true, sdk.CodeLimit: true, sdk.CodeTimeout: true, sdk.CodeCanceled: true,
	sdk.CodePluginCrashed: true, sdk.CodePluginUnavailable: true, sdk.CodeProtocol: true,
	sdk.CodeResultTooLarge: true, sdk.CodeInternal: true}

// errorLabel is the code, or what the semantic conventions have for any other.
func errorLabel(c sdk.Code) sdk.Code {
	if knownCodes[c] {
		return c
	}
	return "_OTHER"
}

var knownOutcomes = map[sdk.Outcome]bool{"": true, sdk.OutcomeNotSent: true, sdk.OutcomeFailed: true,
	sdk.OutcomeUnknown: true}

// unknownTool has the labels of calls whose tool is not known.
var unknownTool = newToolLabels(unknownLabel, newPluginLabels(unknownLabel), unknownLabel)

// labelsOf returns the labels of a tool, nil for an unknown one.
func (i *instruments) labelsOf(t *Tool) *toolLabels {
	if t == nil {
		return unknownTool
	}
	if l := i.labels.Load().tools[t.Name]; l != nil {
		return l
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	now := *i.labels.Load()
	if l := now.tools[t.Name]; l != nil {
		return l
	}
	name, plugin := t.Name, t.Plugin
	if len(now.tools) >= maxLabeledTools {
		name = otherLabel
	}
	if now.plugins[plugin] == nil && len(now.plugins) >= maxLabeledPlugins {
		plugin = otherLabel
	}
	of := now.plugins[plugin]
	if of == nil {
		of = newPluginLabels(plugin)
		now.plugins = maps.Clone(now.plugins)
		now.plugins[plugin] = of
	}
	if name == otherLabel {
		name += ":" + plugin // below, one set of labels for all such tools of a plugin
	}
	l := now.tools[name]
	if l == nil {
		l = newToolLabels(t.Name, of, plugin)
		if name != t.Name {
			l = newToolLabels(otherLabel, of, plugin)
		}
		now.tools = maps.Clone(now.tools)
		now.tools[name] = l
	}
	i.labels.Store(&now)
	return l
}

func newToolLabels(tool string, plugin *pluginLabels, pluginName string) *toolLabels {
	name := attribute.String("gen_ai.tool.name", tool)
	of := attribute.String("toolhost.plugin", pluginName)
	span := "execute_tool"
	if tool != unknownLabel && tool != otherLabel {
		span += " " + tool
	}
	l := &toolLabels{span: span, plugin: plugin, name: [2]attribute.KeyValue{name, of},
		start: []trace.SpanStartOption{trace.WithAttributes(attribute.String("gen_ai.operation.name", "execute_tool"),
			attribute.String("gen_ai.tool.type", "function"), name)},
		duration: []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(name, of))},
		ok: []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(name, of,
			attribute.String("toolhost.outcome", StatusOK)))}}
	l.failed.Store(&map[failedAs][]metric.AddOption{})
	return l
}

func newPluginLabels(plugin string) *pluginLabels {
	l := &pluginLabels{}
	for s, name := range stageNames {
		l.stages[s] = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(
			attribute.String("toolhost.plugin", plugin), attribute.String("toolhost.stage", name)))}
	}
	return l
}

// outcome returns the labels of a call that has ended with e, or without an error.
func (l *toolLabels) outcome(e *sdk.Error) []metric.AddOption {
	if e == nil {
		return l.ok
	}
	as := failedAs{errorLabel(e.Code), e.Outcome}
	if !knownOutcomes[as.outcome] {
		as.outcome = sdk.OutcomeUnknown
	}
	for {
		all := l.failed.Load()
		if out := (*all)[as]; out != nil {
			return out
		}
		next := maps.Clone(*all)
		next[as] = []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(l.name[0], l.name[1],
			attribute.String("toolhost.outcome", string(as.outcome)), attribute.String("error.type", string(as.code))))}
		l.failed.CompareAndSwap(all, &next)
	}
}

// WithTraceParent returns a context whose calls belong to the trace of a caller: traceparent and tracestate are the
// headers of W3C Trace Context, of HTTP or of MCP's _meta. What is not valid is ignored, as the standard asks. The
// plugin gets the trace too, also from a host without a TracerProvider.
func WithTraceParent(ctx context.Context, traceparent, tracestate string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent,
		"tracestate": tracestate})
}

// maxTraceState is the longest tracestate that a plugin gets, in bytes: what the standard asks to pass on.
const maxTraceState = 512

// traceParent returns the trace that a plugin's call belongs to; it is empty outside of any.
func traceParent(ctx context.Context) (parent, state string) {
	s := trace.SpanContextFromContext(ctx)
	if !s.IsValid() {
		return "", ""
	}
	if state = s.TraceState().String(); len(state) > maxTraceState {
		state = ""
	}
	return "00-" + s.TraceID().String() + "-" + s.SpanID().String() + "-" + s.TraceFlags().String(), state
}
