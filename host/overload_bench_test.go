package host_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// BenchmarkOverload makes 10,000 calls at once of a plugin that can run four, with and without a record, and meanwhile
// calls another plugin over and over. It reports how long a refusal takes from when its call begins, and the other plugin's
// p99 against what it was before, in the same run. The 10,000 come from one caller, and from as many.
func BenchmarkOverload(b *testing.B) {
	for _, recorded := range []bool{false, true} {
		for _, callers := range []int{1, 10_000} {
			b.Run(fmt.Sprintf("record=%t/callers=%d", recorded, callers), func(b *testing.B) { benchmarkOverload(b, recorded, callers) })
		}
	}
}

func benchmarkOverload(b *testing.B, recorded bool, callers int) {
	o := host.Options{Plugins: map[string]host.PluginOptions{"busy": {Limits: host.Limits{Concurrency: 4}}},
		Policy: must(policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{{Name: "all", Effect: policy.Allow}}}))}
	if recorded {
		log, err := audit.Open(filepath.Join(b.TempDir(), "audit.jsonl"), audit.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = log.Close() })
		o.Audit = log
	}
	busy := calling(func(ctx context.Context, _ *sdk.Request) (*sdk.Result, error) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
		return sdk.Text("done"), nil
	}, writes("run"))
	h := newHost(b, map[string]host.Plugin{"busy": busy, "other": answering(sdk.Text("done"), nil)}, o)
	other := func() time.Duration {
		began := time.Now()
		if r := h.Call(b.Context(), call("other__run", fiveFields)); r.Error != nil {
			b.Error(r.Error)
		}
		return time.Since(began)
	}
	for range 100 {
		other()
	}
	h.Call(b.Context(), call("busy__run", "")) // it is listed from here on
	var refusals, alone, beside []time.Duration
	for b.Loop() {
		for range 2000 {
			alone = append(alone, other())
		}
		took, others := flood(b, h, callers, other)
		refusals, beside = append(refusals, took...), append(beside, others...)
	}
	b.ReportMetric(milliseconds(percentile(refusals, 50)), "p50-refusal-ms")
	b.ReportMetric(milliseconds(percentile(refusals, 99)), "p99-refusal-ms")
	b.ReportMetric(milliseconds(percentile(alone, 99)), "p99-other-alone-ms")
	b.ReportMetric(float64(percentile(beside, 99))/float64(percentile(alone, 99)), "p99-other-ratio")
	b.ReportMetric(float64(percentile(beside, 50))/float64(percentile(alone, 50)), "p50-other-ratio")
	b.ReportMetric(0, "ns/op")
}

// flood makes 10,000 calls at once, and gives how long those that were refused took, and the other calls meanwhile and for
// a second after.
func flood(b *testing.B, h *host.Host, callers int, other func() time.Duration) (refusals, others []time.Duration) {
	var all sync.WaitGroup
	var mu sync.Mutex
	start := make(chan struct{})
	for i := range 10_000 {
		c := call("busy__run", fiveFields)
		c.SessionID = fmt.Sprint(i % callers)
		all.Go(func() {
			<-start
			began := time.Now()
			r := h.Call(b.Context(), c)
			took := time.Since(began)
			if r.Error != nil && r.Error.Code == sdk.CodeLimit && r.Error.Outcome == sdk.OutcomeNotSent {
				mu.Lock()
				defer mu.Unlock()
				refusals = append(refusals, took)
			}
		})
	}
	ended := make(chan struct{})
	close(start)
	go func() { all.Wait(); close(ended) }()
	for over := false; !over || len(others) < 2000; {
		others = append(others, other())
		select {
		case <-ended:
			over = true
		default:
		}
	}
	if len(refusals) < 9000 {
		b.Errorf("only %d calls were refused", len(refusals))
	}
	return refusals, others
}

func percentile(d []time.Duration, p int) time.Duration {
	slices.Sort(d)
	return d[len(d)*p/100]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
