package main

import (
	"context"
	"reflect"

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
		o.Settings = exported(c)
		p.exports.used, p.exports.logged = o.Settings, o.Settings
		t, err := telemetry.New(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		p.telemetry = t
		return t.TracerProvider(), t.MeterProvider(), nil
	}
}

// exported is what the configuration says of exports. The rest of its block is up to date after a reload.
func exported(c *config.Config) (s config.Telemetry) {
	if c.Telemetry != nil {
		s = *c.Telemetry
		s.Content = false
	}
	return s
}

// logTelemetryChange logs when a reload has changed where traces and metrics go: the exporters stay until the end.
func (p *program) logTelemetryChange() {
	now := exported(p.instance.Config())
	if reflect.DeepEqual(now, p.exports.logged) {
		return
	}
	if p.exports.logged = now; reflect.DeepEqual(now, p.exports.used) {
		return
	}
	p.log.Warn("the telemetry block has changed, which takes effect when the host starts again. Fix: toolhost serve "+
		"--stop, then start it again", "config", p.instance.Config().Path)
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
