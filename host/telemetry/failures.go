package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/toolhost/toolhost/internal/textutil"
)

// quietTime is the least time between two lines of the log about exports that fail.
const quietTime = time.Minute

// failures counts exports that fail, and logs few of them.
type failures struct {
	log *slog.Logger

	mu     sync.Mutex
	total  int64
	silent int64     // since the last line
	logged time.Time // the last line
}

func newFailures(log *slog.Logger) *failures {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &failures{log: log}
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

// maxErrorText is how many bytes of a collector's answer are logged.
const maxErrorText = 500

// observe reports the count as a metric.
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
