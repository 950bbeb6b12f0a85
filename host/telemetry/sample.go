package telemetry

import (
	"context"
	"math/rand/v2"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/toolhost/toolhost/host/config"
)

// parentBasedRatio is the value of OTEL_TRACES_SAMPLER that does what Telemetry.SampleRatio does.
const parentBasedRatio = "parentbased_traceidratio"

// rootRatio returns the part of the traces that begin here which are exported; ok is false when OTEL_TRACES_SAMPLER
// says otherwise how they are chosen, which the SDK does then.
func rootRatio(s config.Telemetry) (ratio float64, ok bool) {
	switch folded("OTEL_TRACES_SAMPLER") {
	case parentBasedRatio:
		n, err := ratioArgument()
		return n, err == nil
	case "":
		if s.SampleRatio == nil {
			return 1, true
		}
		return *s.SampleRatio, true
	}
	return 0, false
}

// A rootSampler decides about a trace that begins here before the SDK makes its span: nine of ten calls at a ratio of
// 0.1 then take none of the 1.5 µs of a span that nobody keeps. They belong to no trace, so their plugins get none.
type rootSampler struct {
	embedded.TracerProvider
	sdk   *sdktrace.TracerProvider
	ratio float64
}

// Tracer implements trace.TracerProvider.
func (s *rootSampler) Tracer(name string, o ...trace.TracerOption) trace.Tracer {
	return &rootTracer{sdk: s.sdk.Tracer(name, o...), ratio: s.ratio}
}

type rootTracer struct {
	embedded.Tracer
	sdk   trace.Tracer
	ratio float64
}

// dropped is the span of all traces that are not exported. Contexts have it, so that no part of such a trace begins
// another one.
var dropped trace.Span = &droppedSpan{trace.SpanFromContext(context.Background())}

type droppedSpan struct{ trace.Span }

// Start implements trace.Tracer.
func (t *rootTracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	switch outer := trace.SpanFromContext(ctx); {
	case outer == dropped:
		return ctx, dropped
	case !outer.SpanContext().IsValid() && rand.Float64() >= t.ratio: //nolint:gosec // no one gains by guessing it
		return trace.ContextWithSpan(ctx, dropped), dropped
	}
	return t.sdk.Start(ctx, name, o...)
}
