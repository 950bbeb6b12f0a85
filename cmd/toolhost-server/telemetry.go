package main

import (
	"context"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/host/config"
	"github.com/toolhost/toolhost/host/telemetry"
)

// startTelemetry prepares the export of traces and metrics as the configuration and OTEL_* say.
func (p *program) startTelemetry(ctx context.Context) func(*config.Config) (trace.TracerProvider,
	metric.MeterProvider, error) {
	return func(c *config.Config) (trace.TracerProvider, metric.MeterProvider, error) {
		o := telemetry.Options{Version: version, Logger: p.log}
		if c.Telemetry != nil {
			o.Settings = *c.Telemetry
		}
		t, err := telemetry.New(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		p.telemetry = t
		return t.TracerProvider(), t.MeterProvider(), nil
	}
}

// endTelemetry exports what is left.
func (p *program) endTelemetry() {
	if p.telemetry == nil {
		return
	}
	if err := p.telemetry.Shutdown(context.Background()); err != nil {
		p.log.Warn("traces or metrics are lost", "error", err)
	}
}
