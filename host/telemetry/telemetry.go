// Package telemetry exports the traces and metrics of a host: traces over OTLP, metrics over OTLP and to Prometheus.
// Package host makes them by OpenTelemetry's API; this package has its SDK, so only a long-lived host links it.
//
// The standard OTEL_* variables configure it, and the telemetry block of a configuration where they are not set. A
// collector that is down or slow delays no call: what does not fit into bounded queues is dropped, and the log has one
// line a minute about it.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel"
	prometheusexporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/toolhost/toolhost/host/config"
)

// Options of Telemetry. The zero value works.
type Options struct {
	// Settings are used where no variable is set. They have been checked.
	Settings config.Telemetry
	// Version is the program's, for the resource that all traces and metrics name.
	Version string
	// Logger receives at most one line a minute about exports that fail; nil disables it.
	Logger *slog.Logger
}

// Telemetry has the providers and exporters of one host. Make one with New.
type Telemetry struct {
	traces   *sdktrace.TracerProvider // nil when no traces are exported
	tracers  trace.TracerProvider     // what hosts get of it
	metrics  *sdkmetric.MeterProvider // nil when OTEL_SDK_DISABLED is set
	meters   metric.MeterProvider     // what hosts get of it
	registry *prometheus.Registry
	failures *failures
}

// maxSeries is how many combinations of labels one metric may have. Further ones are counted together.
const maxSeries = 10_000

// New prepares providers and exporters. It does not connect: a collector may come up later. It fails for a setting or a
// variable that cannot be used.
func New(ctx context.Context, o Options) (*Telemetry, error) {
	t := &Telemetry{registry: prometheus.NewRegistry(), failures: newFailures(o.Logger)}
	if folded("OTEL_SDK_DISABLED") == "true" {
		return t, nil
	}
	if err := checkVariables(o.Settings); err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(t.failures.add)) // a process has one
	about, err := describe(ctx, o.Version)
	if err != nil {
		return nil, fmt.Errorf("telemetry: reading OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	spans, err := spanExporter(ctx, o.Settings)
	if err != nil {
		return nil, fmt.Errorf("telemetry: traces: %w", err)
	}
	if spans != nil {
		t.startTraces(spans, o.Settings, about)
	}
	if err := t.startMetrics(ctx, o.Settings, about); err != nil {
		return nil, errors.Join(fmt.Errorf("telemetry: metrics: %w", err), t.Shutdown(ctx))
	}
	return t, nil
}

func (t *Telemetry) startTraces(spans sdktrace.SpanExporter, s config.Telemetry, about *resource.Resource) {
	options := []sdktrace.TracerProviderOption{sdktrace.WithSpanProcessor(newBatcher(spans)),
		sdktrace.WithResource(about)}
	ratio, ours := rootRatio(s)
	if ours { // otherwise the SDK reads OTEL_TRACES_SAMPLER
		options = append(options, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())))
	}
	t.traces = sdktrace.NewTracerProvider(options...)
	t.tracers = t.traces
	if ours && ratio < 1 {
		t.tracers = &rootSampler{sdk: t.traces, ratio: ratio}
	}
}

// startMetrics makes the provider of metrics, which are always kept for Prometheus.
func (t *Telemetry) startMetrics(ctx context.Context, s config.Telemetry, about *resource.Resource) error {
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	own := newAggregates(maxSeries)
	scraped, err := prometheusexporter.New(prometheusexporter.WithRegisterer(t.registry),
		prometheusexporter.WithoutScopeInfo(), prometheusexporter.WithProducer(own),
		prometheusexporter.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	if err != nil {
		return err
	}
	options := []sdkmetric.Option{sdkmetric.WithReader(scraped), sdkmetric.WithResource(about),
		sdkmetric.WithCardinalityLimit(maxSeries)}
	if os.Getenv("OTEL_METRICS_EXEMPLAR_FILTER") == "" { // exemplars take a tenth of what a span takes
		options = append(options, sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter))
	}
	pushed, err := metricReader(ctx, s, own)
	if err != nil {
		return err
	}
	if pushed != nil {
		options = append(options, sdkmetric.WithReader(pushed))
	}
	t.metrics = sdkmetric.NewMeterProvider(options...)
	t.meters = t.metrics
	if !sdkCounts() {
		t.meters = &meterProvider{t.metrics, own}
	}
	return t.failures.observe(t.metrics)
}

// TracerProvider is for host.Options; nil when no traces are exported.
func (t *Telemetry) TracerProvider() trace.TracerProvider {
	return t.tracers
}

// MeterProvider is for host.Options; nil when OTEL_SDK_DISABLED is true.
func (t *Telemetry) MeterProvider() metric.MeterProvider {
	return t.meters
}

// Limits of a scrape.
const (
	maxScrapes  = 4 // at once; a further one is answered with status 503
	scrapeLimit = 10 * time.Second
)

// Handler serves the metrics in the formats of Prometheus, for /metrics.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{Registry: t.registry, MaxRequestsInFlight: maxScrapes,
		Timeout: scrapeLimit, EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError})
}

const shutdownLimit = 5 * time.Second // how long Shutdown waits for a collector

// Shutdown exports what is waiting, for at most five seconds, and ends all exports.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownLimit)
	defer cancel()
	ended := make(chan error, 1)
	go func() { // an exporter may not watch its context
		var err error
		if t.traces != nil {
			err = t.traces.Shutdown(ctx)
		}
		if t.metrics != nil {
			err = errors.Join(err, t.metrics.Shutdown(ctx))
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("telemetry: exporting what was left: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("telemetry: exporting what was left: %w", ctx.Err())
	}
}

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
