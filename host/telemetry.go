package host

import (
	"cmp"
	"context"
	"encoding/hex"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/sdk"
)

// This file and metrics.go make the traces and metrics of calls, by OpenTelemetry's API alone; package telemetry
// exports them, and docs/observability.md lists them. Without providers a host has no instruments, and a call no step
// for them.

// A stage is a part of a call that takes time of its own.
type stage int

const (
	stagePreview  stage = iota // the plugin says what it would do
	stageApproval              // waits for a person's approval
	stageInput                 // waits for a person's answers to the tool's questions
	stageQueue                 // waits for a slot
	stageStart                 // waits until the plugin has started and has listed its tools
	stageCall                  // runs in the plugin
)

var stageNames = [...]string{"preview", "approval", "input", "queue", "start", "call"}

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
	with, span := i.tracer.Start(ctx, l.span) // attributes cost half a microsecond, also of a span that nobody keeps
	ctx = callctx.WithValues(ctx, with)
	if !span.IsRecording() {
		return ctx, nil
	}
	c.traced = true
	return ctx, span
}

var (
	operation = attribute.String("gen_ai.operation.name", "execute_tool")
	toolType  = attribute.String("gen_ai.tool.type", "function")
)

// describe adds the attributes of GenAI's semantic conventions, and some of toolhost's own. An error's message is none
// of them: it may quote arguments and results.
func (c *Call) describe(span trace.Span, e *sdk.Error, l *toolLabels) {
	attributes := make([]attribute.KeyValue, 0, 16)
	attributes = append(attributes, operation, toolType, attribute.String("gen_ai.tool.name", c.spanTool()),
		attribute.String("gen_ai.tool.call.id", cutText(c.id, maxCallName)), l.name[1])
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
	attempts, generation := c.attempts()
	if attempts > 0 {
		attributes = append(attributes, attribute.Int("toolhost.attempts", attempts),
			attribute.Int("toolhost.plugin.generation", generation))
	}
	if e != nil {
		add("error.type", string(errorLabel(e.Code)))
		if attempts == 0 { // otherwise the name may be the plugin's
			add("toolhost.error.name", e.Name)
		}
		add("toolhost.outcome", string(e.Outcome))
		span.SetStatus(codes.Error, "")
	}
	span.SetAttributes(attributes...)
}

// spanSecrets finds what looks like a secret, as the record does.
var spanSecrets = redact.New()

// spanTool is the tool's name or, if it is not known, what the caller wrote, without what looks like a secret.
func (c *Call) spanTool() string {
	if c.Definition != nil {
		return c.Definition.Name
	}
	return cutText(spanSecrets.Text(c.called), 100)
}

const maxSpanContent = 8 << 10 // how many characters of the arguments, and of the result, a span has

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
	return c.enterOf(ctx, s, func(i *instruments) *pluginLabels { return i.labelsOf(c.Definition).plugin })
}

// enterStart is enter for the start of a plugin whose tools are not known yet.
func (c *Call) enterStart(ctx context.Context, plugin string) (context.Context, stageRun) {
	return c.enterOf(ctx, stageStart, func(i *instruments) *pluginLabels { return i.labelsOfPlugin(plugin) })
}

func (c *Call) enterOf(ctx context.Context, s stage, plugin func(*instruments) *pluginLabels) (context.Context,
	stageRun) {
	if c.callState == nil || c.snapshot == nil || c.snapshot.instruments == nil { // one that only looks for a tool
		return ctx, stageRun{}
	}
	i := c.snapshot.instruments
	run := stageRun{of: i, ctx: ctx, stage: s, plugin: plugin(i), began: time.Now()}
	if c.traced && i.tracer != nil { // a reload may have ended traces
		run.ctx, run.span = i.tracer.Start(ctx, stageNames[s], trace.WithTimestamp(run.began))
		run.ctx = callctx.WithValues(ctx, run.ctx)
	}
	return run.ctx, run
}

// end ends the stage. Waited is how much of it was another one, the start of the plugin.
func (s stageRun) end(e *sdk.Error, waited time.Duration) {
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

// WithTraceParent returns a context whose calls belong to the trace of a caller: traceparent and tracestate are the
// headers of W3C Trace Context, of HTTP or of MCP's _meta; headers of several lines are joined with commas. Invalid
// values are ignored, as the standard asks. The plugin gets the trace too, also from a host without a TracerProvider.
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
	id, span, flags := s.TraceID(), s.SpanID(), s.TraceFlags()
	text := make([]byte, 0, len("00-")+2*len(id)+1+2*len(span)+len("-00")) // one object, where String makes four
	text = hex.AppendEncode(append(text, "00-"...), id[:])
	text = hex.AppendEncode(append(text, '-'), span[:])
	return string(hex.AppendEncode(append(text, '-'), []byte{byte(flags)})), state
}
