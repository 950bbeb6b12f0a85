package telemetry

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/internal/textutil"
)

// describe names the program and this run of it. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
func describe(ctx context.Context, version string) (*resource.Resource, error) {
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "toolhost"), attribute.String("service.version", version),
		attribute.String("service.instance.id", rand.Text())), resource.WithFromEnv())
}

// byVariables reports whether variables say how a signal is exported, such as "TRACES". Without any, nothing is: a
// program that runs on many desks does not look for a collector on each.
func byVariables(signal string) bool {
	return os.Getenv("OTEL_"+signal+"_EXPORTER") != "" || os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" ||
		os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// spanExporter returns nil when no traces are exported.
func spanExporter(ctx context.Context, s config.Telemetry) (sdktrace.SpanExporter, error) {
	if byVariables("TRACES") {
		e, err := autoexport.NewSpanExporter(ctx)
		if err != nil || autoexport.IsNoneSpanExporter(e) {
			return nil, err
		}
		return e, nil
	}
	if s.Endpoint == "" {
		return nil, nil //nolint:nilnil // none
	}
	if s.Protocol == "grpc" {
		return otlptracegrpc.New(ctx, options(s, s.Endpoint, otlptracegrpc.WithEndpointURL, otlptracegrpc.WithHeaders)...)
	}
	at, err := signalURL(s.Endpoint, "traces")
	if err != nil {
		return nil, err
	}
	return otlptracehttp.New(ctx, options(s, at, otlptracehttp.WithEndpointURL, otlptracehttp.WithHeaders)...)
}

// metricReader returns nil when no metrics are exported over OTLP. The reader also exports what own has.
func metricReader(ctx context.Context, s config.Telemetry, own sdkmetric.Producer) (sdkmetric.Reader, error) {
	if byVariables("METRICS") && sdkCounts() {
		r, err := autoexport.NewMetricReader(ctx)
		if err != nil || autoexport.IsNoneMetricReader(r) {
			return nil, err
		}
		return r, nil
	}
	e, err := metricExporter(ctx, s)
	if e == nil || err != nil {
		return nil, err
	}
	return sdkmetric.NewPeriodicReader(e, sdkmetric.WithProducer(own)), nil
}

func metricExporter(ctx context.Context, s config.Telemetry) (sdkmetric.Exporter, error) {
	if byVariables("METRICS") {
		protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"))
		switch {
		case os.Getenv("OTEL_METRICS_EXPORTER") == "none":
			return nil, nil //nolint:nilnil // none
		case protocol == "grpc":
			return otlpmetricgrpc.New(ctx)
		}
		return otlpmetrichttp.New(ctx)
	}
	if s.Endpoint == "" {
		return nil, nil //nolint:nilnil // none
	}
	if s.Protocol == "grpc" {
		return otlpmetricgrpc.New(ctx, options(s, s.Endpoint, otlpmetricgrpc.WithEndpointURL, otlpmetricgrpc.WithHeaders)...)
	}
	at, err := signalURL(s.Endpoint, "metrics")
	if err != nil {
		return nil, err
	}
	return otlpmetrichttp.New(ctx, options(s, at, otlpmetrichttp.WithEndpointURL, otlpmetrichttp.WithHeaders)...)
}

// options are those of an exporter, which have a type of their own in each of its packages.
func options[Option any](s config.Telemetry, endpoint string, withEndpoint func(string) Option,
	withHeaders func(map[string]string) Option) []Option {
	out := []Option{withEndpoint(endpoint)}
	if len(s.Headers) > 0 { // none would replace those of OTEL_EXPORTER_OTLP_HEADERS
		out = append(out, withHeaders(s.Headers))
	}
	return out
}

// signalURL is the URL of a signal: the endpoint's with /v1/SIGNAL, as for OTEL_EXPORTER_OTLP_ENDPOINT.
func signalURL(endpoint, signal string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	return u.JoinPath("v1", signal).String(), nil
}

const quietTime = time.Minute // the least time between two lines of the log about exports that fail

// failures counts exports that fail, and logs few of them.
type failures struct {
	log *slog.Logger

	mu     sync.Mutex
	total  int64
	silent int64     // since the last line
	logged time.Time // the last line
}

func newFailures(log *slog.Logger) *failures {
	return &failures{log: cmp.Or(log, slog.New(slog.DiscardHandler))}
}

func (f *failures) add(err error) {
	f.mu.Lock()
	f.total++
	f.silent++
	n, now := f.silent, time.Now()
	quiet := !f.logged.IsZero() && now.Sub(f.logged) < quietTime
	if !quiet {
		f.silent, f.logged = 0, now
	}
	f.mu.Unlock()
	if !quiet {
		f.log.Warn("traces or metrics are lost, because an export failed", "failures", n,
			"error", textutil.Cut(err.Error(), maxErrorText))
	}
}

const maxErrorText = 500 // how many bytes of a collector's answer are logged

func (f *failures) observe(p metric.MeterProvider) error {
	_, err := p.Meter(scope).Int64ObservableCounter("toolhost.telemetry.failures", metric.WithUnit("{failure}"),
		metric.WithDescription("Exports of traces or metrics that failed, and other errors of telemetry itself."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			o.Observe(f.total)
			return nil
		}))
	return err
}

// scope is the instrumentation scope of this package's metrics.
const scope = "github.com/toolhost/toolhost/host/telemetry"
