package telemetry

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Protocols are those of Settings.
var Protocols = []string{"http/protobuf", "grpc"}

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
func spanExporter(ctx context.Context, s Settings) (sdktrace.SpanExporter, error) {
	if byVariables("TRACES") {
		e, err := autoexport.NewSpanExporter(ctx)
		if err != nil || autoexport.IsNoneSpanExporter(e) {
			return nil, err
		}
		return e, nil
	}
	if err := s.check(); err != nil || s.Endpoint == "" {
		return nil, err
	}
	if s.Protocol == "grpc" {
		return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(s.Endpoint), otlptracegrpc.WithHeaders(s.Headers))
	}
	return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(s.path("traces")), otlptracehttp.WithHeaders(s.Headers))
}

// metricReader returns nil when no metrics are exported over OTLP.
func metricReader(ctx context.Context, s Settings) (sdkmetric.Reader, error) {
	if byVariables("METRICS") {
		r, err := autoexport.NewMetricReader(ctx)
		if err != nil || autoexport.IsNoneMetricReader(r) {
			return nil, err
		}
		return r, nil
	}
	if err := s.check(); err != nil || s.Endpoint == "" {
		return nil, err
	}
	var e sdkmetric.Exporter
	var err error
	if s.Protocol == "grpc" {
		e, err = otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpointURL(s.Endpoint), otlpmetricgrpc.WithHeaders(s.Headers))
	} else {
		e, err = otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(s.path("metrics")),
			otlpmetrichttp.WithHeaders(s.Headers))
	}
	if err != nil {
		return nil, err
	}
	return sdkmetric.NewPeriodicReader(e), nil
}

// path is the URL of a signal: the endpoint's with /v1/SIGNAL, as for OTEL_EXPORTER_OTLP_ENDPOINT.
func (s Settings) path(signal string) string {
	u, err := url.Parse(s.Endpoint)
	if err != nil { // check has refused it
		return s.Endpoint
	}
	return u.JoinPath("v1", signal).String()
}

// check refuses settings that the exporters would silently replace by their defaults.
func (s Settings) check() error {
	u, err := url.Parse(s.Endpoint)
	switch {
	case s.Endpoint == "":
		return nil
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the endpoint %.100q is not a URL of http or https, such as http://127.0.0.1:4318", s.Endpoint)
	case s.Protocol != "" && s.Protocol != Protocols[0] && s.Protocol != Protocols[1]:
		return fmt.Errorf("the protocol %.100q is not one of http/protobuf, grpc", s.Protocol)
	}
	return nil
}

// samplerOptions leave the choice to OTEL_TRACES_SAMPLER when that is set, which the SDK reads.
func samplerOptions(s Settings) []sdktrace.TracerProviderOption {
	if os.Getenv("OTEL_TRACES_SAMPLER") != "" || s.SampleRatio == nil {
		return nil
	}
	return []sdktrace.TracerProviderOption{sdktrace.WithSampler(
		sdktrace.ParentBased(sdktrace.TraceIDRatioBased(*s.SampleRatio)))}
}
