package telemetry

import (
	"context"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// sdkCounts reports whether a variable asks for what the SDK's instruments alone do: exemplars, values since the last
// export, exponential buckets, or an exporter or a producer of autoexport's.
func sdkCounts() bool {
	for name, same := range map[string]string{"OTEL_METRICS_EXPORTER": "otlp none", "OTEL_METRICS_PRODUCERS": "",
		"OTEL_METRICS_EXEMPLAR_FILTER":                             "always_off",
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE":        "cumulative",
		"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": "explicit_bucket_histogram"} {
		if v := strings.ToLower(os.Getenv(name)); v != "" && !slices.Contains(strings.Fields(same), v) {
			return true
		}
	}
	return false
}

// aggregates are the numbers of what a host counts at each call: of counters, and of histograms with bounds of their
// own. The SDK's instruments check the labels at each call, once more for each exporter; these find a number by
// the labels' hash, and all exporters get them from here when they collect. They are what the SDK would give.
type aggregates struct {
	limit int // how many series an instrument has at most, as of sdkmetric.WithCardinalityLimit

	mu  sync.Mutex
	all map[instrument]*aggregate
}

// An instrument is one that is made twice if nothing of this differs.
type instrument struct {
	scope                   instrumentation.Scope
	name, description, unit string
	histogram               bool
}

func newAggregates(limit int) *aggregates {
	return &aggregates{limit: limit, all: map[instrument]*aggregate{}}
}

// Produce implements sdkmetric.Producer.
func (a *aggregates) Produce(context.Context) (out []metricdata.ScopeMetrics, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	scopes := map[instrumentation.Scope][]metricdata.Metrics{}
	for of, numbers := range a.all {
		if len(*numbers.points.Load()) > 0 {
			scopes[of.scope] = append(scopes[of.scope], metricdata.Metrics{Name: of.name, Description: of.description,
				Unit: of.unit, Data: numbers.collect(of.histogram)})
		}
	}
	for scope, metrics := range scopes {
		out = append(out, metricdata.ScopeMetrics{Scope: scope, Metrics: metrics})
	}
	return out, nil
}

// of returns the numbers of an instrument; the bounds are those of its first use.
func (a *aggregates) of(i instrument, bounds []float64) *aggregate {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all[i] == nil {
		a.all[i] = &aggregate{limit: a.limit, bounds: slices.Clone(bounds), start: time.Now()}
		a.all[i].points.Store(&map[attribute.Distinct]*point{})
	}
	return a.all[i]
}

// An aggregate has the numbers of an instrument.
type aggregate struct {
	limit  int
	bounds []float64 // of a histogram
	start  time.Time

	mu     sync.Mutex                                    // held to add a point
	points atomic.Pointer[map[attribute.Distinct]*point] // replaced as a whole, so that a call reads it without a lock
}

// A point is what was counted with the same labels.
type point struct {
	labels attribute.Set

	mu            sync.Mutex
	n             int64    // of a counter its value, of a histogram how many values were recorded
	buckets       []uint64 // of a histogram, as is what follows
	sum, min, max float64
}

// overflow is the label of what is counted beyond the limit, by OpenTelemetry's specification.
var overflow = attribute.NewSet(attribute.Bool("otel.metric.overflow", true))

func (a *aggregate) point(labels attribute.Set) *point {
	if p := (*a.points.Load())[labels.Equivalent()]; p != nil {
		return p
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	points := *a.points.Load()
	p := points[labels.Equivalent()]
	if p == nil && len(points) >= a.limit-1 {
		labels = overflow
		p = points[labels.Equivalent()]
	}
	if p != nil {
		return p
	}
	p = &point{labels: labels, buckets: make([]uint64, len(a.bounds)+1)}
	points = maps.Clone(points)
	points[labels.Equivalent()] = p
	a.points.Store(&points)
	return p
}

// collect returns the numbers since the start.
func (a *aggregate) collect(histogram bool) metricdata.Aggregation {
	now := time.Now()
	sum := metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
	buckets := metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality}
	for _, p := range *a.points.Load() {
		p.mu.Lock()
		if histogram {
			one := metricdata.HistogramDataPoint[float64]{Attributes: p.labels, StartTime: a.start, Time: now,
				Bounds: slices.Clone(a.bounds), BucketCounts: slices.Clone(p.buckets), Sum: p.sum, Count: uint64(p.n)}
			if p.n > 0 {
				one.Min, one.Max = metricdata.NewExtrema(p.min), metricdata.NewExtrema(p.max)
			}
			buckets.DataPoints = append(buckets.DataPoints, one)
		} else {
			sum.DataPoints = append(sum.DataPoints, metricdata.DataPoint[int64]{Attributes: p.labels,
				StartTime: a.start, Time: now, Value: p.n})
		}
		p.mu.Unlock()
	}
	if histogram {
		return buckets
	}
	return sum
}

// A meterProvider is the SDK's, but for what aggregates count.
type meterProvider struct {
	metric.MeterProvider
	to *aggregates
}

// Meter implements metric.MeterProvider.
func (p *meterProvider) Meter(name string, o ...metric.MeterOption) metric.Meter {
	c := metric.NewMeterConfig(o...)
	return &meter{p.MeterProvider.Meter(name, o...), p.to, instrumentation.Scope{Name: name,
		Version: c.InstrumentationVersion(), SchemaURL: c.SchemaURL(), Attributes: c.InstrumentationAttributes()}}
}

type meter struct {
	metric.Meter
	to    *aggregates
	scope instrumentation.Scope
}

// Int64Counter implements metric.Meter.
func (m *meter) Int64Counter(name string, o ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	sdk, err := m.Meter.Int64Counter(name, o...) // checks the name, and reports nothing while it counts nothing
	if err != nil {
		return sdk, err
	}
	c := metric.NewInt64CounterConfig(o...)
	return &counter{sdk, m.to.of(instrument{m.scope, name, c.Description(), c.Unit(), false}, nil)}, nil
}

// Float64Histogram implements metric.Meter.
func (m *meter) Float64Histogram(name string, o ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	sdk, err := m.Meter.Float64Histogram(name, o...)
	c := metric.NewFloat64HistogramConfig(o...)
	if err != nil || c.ExplicitBucketBoundaries() == nil {
		return sdk, err
	}
	return &histogram{sdk, m.to.of(instrument{m.scope, name, c.Description(), c.Unit(), true},
		c.ExplicitBucketBoundaries())}, nil
}

type counter struct {
	metric.Int64Counter
	to *aggregate
}

// Add implements metric.Int64Counter.
func (c *counter) Add(_ context.Context, n int64, o ...metric.AddOption) {
	p := c.to.point(metric.NewAddConfig(o).Attributes())
	p.mu.Lock()
	p.n += n
	p.mu.Unlock()
}

type histogram struct {
	metric.Float64Histogram
	to *aggregate
}

// Record implements metric.Float64Histogram.
func (h *histogram) Record(_ context.Context, v float64, o ...metric.RecordOption) {
	p := h.to.point(metric.NewRecordConfig(o).Attributes())
	bucket := sort.SearchFloat64s(h.to.bounds, v)
	p.mu.Lock()
	if p.n == 0 || v < p.min {
		p.min = v
	}
	if p.n == 0 || v > p.max {
		p.max = v
	}
	p.n++
	p.buckets[bucket]++
	p.sum += v
	p.mu.Unlock()
}
