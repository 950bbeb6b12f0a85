package telemetry

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

// The ratio is that of traces that begin here, by the block or by the variables. A caller that has decided decides.
func TestSampling(t *testing.T) {
	c := newCollector(t)
	for _, each := range []struct {
		name, sampler, argument string
		ratio                   float64
		most, least             int // of 2,000 traces
	}{{"block", "", "", 0.1, 260, 140}, {"none", "", "", 0, 0, 0}, {"all", "", "", 1, 2000, 2000},
		{"variables", parentBasedRatio, "0.1", 1, 260, 140}, {"another sampler", "always_on", "", 0, 2000, 2000},
		{"trace ids", "traceidratio", "0.1", 1, 260, 140}} {
		t.Run(each.name, func(t *testing.T) {
			t.Setenv("OTEL_TRACES_SAMPLER", each.sampler)
			t.Setenv("OTEL_TRACES_SAMPLER_ARG", each.argument)
			tel, err := New(t.Context(), Options{Settings: config.Telemetry{Endpoint: c.URL, SampleRatio: &each.ratio}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tel.Shutdown(t.Context()) }()
			tracer, n := tel.TracerProvider().Tracer("test"), 0
			for range 2000 {
				ctx, span := tracer.Start(t.Context(), "outer")
				_, inner := tracer.Start(ctx, "inner")
				if span.IsRecording() != inner.IsRecording() && each.sampler != "traceidratio" {
					t.Fatal("a part of a trace is not what the whole is")
				}
				if span.IsRecording() {
					n++
				}
				inner.End()
				span.End()
			}
			if n > each.most || n < each.least {
				t.Errorf("%d of 2000 traces are kept", n)
			}
			if each.sampler != "" {
				return
			}
			for flag, want := range map[string]bool{"01": true, "00": false} {
				ctx := host.WithTraceParent(context.Background(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"+flag, "")
				ctx, span := tracer.Start(ctx, "called")
				if span.IsRecording() != want || trace.SpanContextFromContext(ctx).TraceID().String() !=
					"4bf92f3577b34da6a3ce929d0e0e4736" {
					t.Errorf("with the flags %s: recording %v, %v", flag, span.IsRecording(), trace.SpanContextFromContext(ctx))
				}
				span.End()
			}
		})
	}
}
