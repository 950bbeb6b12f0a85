package telemetry

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	metriccollector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host/config"
)

// A counted has the metrics of one provider.
type counted struct {
	provider metric.MeterProvider
	reader   *sdkmetric.ManualReader
}

// newCounted returns the SDK's alone, or with own aggregates.
func newCounted(own bool, limit int) counted {
	to := newAggregates(limit)
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(to))
	p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithCardinalityLimit(limit),
		sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter))
	if !own {
		return counted{p, reader}
	}
	return counted{&meterProvider{p, to}, reader}
}

// collect returns all metrics by scope and name.
func (c counted) collect(t *testing.T) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := c.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]metricdata.Metrics{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			key := fmt.Sprint(s.Scope, " ", m.Name)
			if _, twice := out[key]; twice {
				t.Errorf("%s is there twice", key)
			}
			out[key] = m
		}
	}
	return out
}

// The exporters get what the SDK's own instruments would give them, also beyond the limit of series, of instruments
// that are made twice, and of those that are the SDK's in both.
func TestAggregatesAreLikeTheSDKs(t *testing.T) {
	const limit = 8
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		both := []counted{newCounted(false, limit), newCounted(true, limit)}
		type meter struct {
			calls    []metric.Int64Counter
			duration []metric.Float64Histogram
			plain    metric.Float64Histogram
			size     metric.Int64UpDownCounter
		}
		var meters [2][2]meter // by provider and scope
		for p, c := range both {
			for s := range meters[p] {
				m, to := c.provider.Meter("scope", metric.WithInstrumentationVersion(fmt.Sprint(s))), &meters[p][s]
				for range 2 {
					calls, err := m.Int64Counter("calls", metric.WithUnit("{call}"), metric.WithDescription("Calls."))
					if err != nil {
						t.Fatal(err)
					}
					duration, err := m.Float64Histogram("duration", metric.WithUnit("s"), metric.WithDescription("Time."),
						metric.WithExplicitBucketBoundaries(-1, 0, 1, 2.5, 10))
					if err != nil {
						t.Fatal(err)
					}
					to.calls, to.duration = append(to.calls, calls), append(to.duration, duration)
				}
				to.plain, _ = m.Float64Histogram("plain")
				to.size, _ = m.Int64UpDownCounter("size")
				_, _ = m.Int64Counter("unused")
			}
		}
		var start [2]map[string]time.Time
		for range 3 {
			for range random.IntN(200) {
				scope, twin := random.IntN(2), random.IntN(2)
				label := metric.WithAttributeSet(attribute.NewSet(attribute.Int("label", random.IntN(1+int(seed)))))
				more := metric.WithAttributes(attribute.Bool("more", random.IntN(2) == 0))
				n, v := random.Int64N(5), float64(random.IntN(30)-4)/2 // sums of halves are exact
				for p := range both {
					m := meters[p][scope]
					m.calls[twin].Add(t.Context(), n, label)
					m.duration[twin].Record(t.Context(), v, label, more)
					m.plain.Record(t.Context(), v)
					m.size.Add(t.Context(), n-2, label)
				}
			}
			want, got := both[0].collect(t), both[1].collect(t)
			if len(got) != len(want) {
				t.Errorf("%d metrics, want %d", len(got), len(want))
			}
			for name := range want {
				metricdatatest.AssertEqual(t, want[name], got[name], metricdatatest.IgnoreTimestamp())
			}
			for p, all := range []map[string]metricdata.Metrics{want, got} {
				if start[p] == nil {
					start[p] = map[string]time.Time{}
				}
				for name, m := range all {
					if h, is := m.Data.(metricdata.Histogram[float64]); is {
						for _, d := range h.DataPoints {
							if first, seen := start[p][name]; seen && !first.Equal(d.StartTime) || d.Time.Before(d.StartTime) {
								t.Errorf("%s began at %v and at %v, ends at %v", name, first, d.StartTime, d.Time)
							}
							start[p][name] = d.StartTime
						}
					}
				}
			}
		}
	}
}

// What cannot be an instrument is none.
func TestAggregatesRefuseWhatTheSDKDoes(t *testing.T) {
	m := newCounted(true, maxSeries).provider.Meter("scope")
	if _, err := m.Int64Counter("0 calls"); err == nil {
		t.Error("the name is taken")
	}
	if _, err := m.Float64Histogram("duration", metric.WithExplicitBucketBoundaries(2, 1)); err == nil {
		t.Error("the bounds are taken")
	}
}

// Nothing is lost or counted twice while others count and collect.
func TestAggregatesCountConcurrently(t *testing.T) {
	const workers, each, labels = 8, 2000, 20
	c := newCounted(true, labels) // the last label, and those after it, overflow
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			m := c.provider.Meter("scope")
			calls, _ := m.Int64Counter("calls")
			duration, _ := m.Float64Histogram("duration", metric.WithExplicitBucketBoundaries(0.5, 1))
			for n := range each {
				label := metric.WithAttributes(attribute.Int("label", (n+w)%labels))
				calls.Add(t.Context(), 1, label)
				duration.Record(t.Context(), 1, label)
			}
		})
	}
	sums := func() (series int, calls int64, count, inBuckets uint64, sum float64) {
		for _, m := range c.collect(t) {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					calls += p.Value
				}
				series = len(d.DataPoints)
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					count, inBuckets, sum = count+p.Count, inBuckets+p.BucketCounts[1], sum+p.Sum
				}
			}
		}
		return series, calls, count, inBuckets, sum
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		if _, _, count, inBuckets, sum := sums(); count != inBuckets || sum != float64(count) {
			t.Fatalf("%d values, %d in buckets, sum %g", count, inBuckets, sum)
		}
	}
	const all = workers * each
	if series, calls, count, _, _ := sums(); series != labels || calls != all || count != all {
		t.Errorf("%d series, %d calls, %d values", series, calls, count)
	}
}

// Who wants values since the last export gets them, from the SDK.
func TestTemporalityPreference(t *testing.T) {
	for value, want := range map[string]metrics.AggregationTemporality{
		"":           metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE,
		"Cumulative": metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE,
		"delta":      metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA,
		"lowmemory":  metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA,
	} {
		for _, byVariable := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", value, byVariable), func(t *testing.T) {
				c := newCollector(t)
				settings := config.Telemetry{Endpoint: c.URL}
				if byVariable {
					settings = config.Telemetry{}
					t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
				}
				t.Setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", value)
				a := newApp(t, Options{Settings: settings})
				a.call("steady__read")
				if err := a.telemetry.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := c.sum(t, "toolhost.calls").GetAggregationTemporality(); got != want {
					t.Errorf("the temporality is %v", got)
				}
			})
		}
	}
}

// sum returns a counter that was received.
func (c *collector) sum(t *testing.T, name string) *metrics.Sum {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, path := range c.requests {
		var all metriccollector.ExportMetricsServiceRequest
		if path != "/v1/metrics" {
			continue
		}
		if err := proto.Unmarshal([]byte(c.bodies[i]), &all); err != nil {
			t.Fatal(err)
		}
		for _, of := range all.ResourceMetrics {
			for _, scope := range of.ScopeMetrics {
				for _, m := range scope.Metrics {
					if m.Name == name {
						return m.GetSum()
					}
				}
			}
		}
	}
	t.Fatalf("%s is not exported", name)
	return nil
}

// Exemplars are the SDK's: with the variable its instruments count.
func TestExemplarsByVariable(t *testing.T) {
	c := newCollector(t)
	for _, filter := range []string{"", "always_off", "trace_based"} {
		t.Run(filter, func(t *testing.T) {
			t.Setenv("OTEL_METRICS_EXEMPLAR_FILTER", filter)
			a := newApp(t, Options{Settings: config.Telemetry{Endpoint: c.URL}})
			a.call("steady__read")
			out := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			r.Header.Set("Accept", "application/openmetrics-text")
			a.telemetry.Handler().ServeHTTP(out, r)
			if err := a.telemetry.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			text := out.Body.String()
			if !strings.Contains(text, "toolhost_calls_total") {
				t.Fatal(text)
			}
			if got := strings.Contains(text, "trace_id="); got != (filter == "trace_based") {
				t.Errorf("exemplars: %t", got)
			}
		})
	}
}
