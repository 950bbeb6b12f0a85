package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// fiveFields are typical arguments of a model.
const fiveFields = `{"path":"src/main.go","start_line":10,"end_line":40,"pattern":"func main","all":true}`

func fiveFieldTool() sdk.Tool {
	t := tool("run")
	t.InputSchema = []byte(`{"type":"object","required":["path"],"additionalProperties":false,"properties":{
		"path":{"type":"string","minLength":1},"start_line":{"type":"integer","minimum":1},"end_line":{"type":"integer","minimum":1},
		"pattern":{"type":"string"},"all":{"type":"boolean"}}}`)
	return t
}

func benchmark(b *testing.B, h *host.Host, c host.Call) {
	b.Helper()
	if r := h.Call(b.Context(), c); r.Error != nil {
		b.Fatal(r.Error)
	}
	b.ReportAllocs()
	for b.Loop() {
		h.Call(b.Context(), c)
	}
}

func BenchmarkCall(b *testing.B) {
	b.Run("fake", func(b *testing.B) {
		benchmark(b, single(b, answering(sdk.Text("done"), nil, fiveFieldTool()), host.Options{}),
			call("test__run", fiveFields))
	})
	b.Run("fake with log", func(b *testing.B) {
		log := slog.New(slog.NewTextHandler(nowhere{}, nil))
		benchmark(b, single(b, answering(sdk.Text("done"), nil, fiveFieldTool()), host.Options{Logger: log}),
			call("test__run", fiveFields))
	})
	b.Run("fake with 100 KB", func(b *testing.B) {
		benchmark(b, single(b, answering(sdk.Text("done"), nil), host.Options{}),
			call("test__run", `{"text":"`+strings.Repeat("x", 100_000)+`"}`))
	})
	b.Run("wire", func(b *testing.B) {
		benchmark(b, single(b, overWire(b), host.Options{}), call("test__echo", fiveFields))
	})
}

// BenchmarkRefusedCall makes a call with one property too many.
func BenchmarkRefusedCall(b *testing.B) {
	h := single(b, answering(sdk.Text("done"), nil, fiveFieldTool()), host.Options{})
	b.ReportAllocs()
	for b.Loop() {
		h.Call(b.Context(), call("test__run", `{"path":"a","line":1}`))
	}
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkLimits measures the cost of limits for a call that none of them delays.
func BenchmarkLimits(b *testing.B) {
	cases := []struct {
		name   string
		limits host.Limits
	}{
		{"none", host.Limits{}},
		{"concurrency", host.Limits{Concurrency: 8}},
		{"rate", host.Limits{Rate: 1e9}},
		{"max calls", host.Limits{MaxCalls: math.MaxInt}},
		{"all", host.Limits{Concurrency: 8, Rate: 1e9, MaxCalls: math.MaxInt}},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			o := onPlugin(c.limits)
			o.Tools = onTool(c.limits).Tools
			benchmark(b, single(b, answering(sdk.Text("done"), nil, fiveFieldTool()), o), call("test__run", fiveFields))
		})
	}
}

// BenchmarkLine has eight callers share one turn.
func BenchmarkLine(b *testing.B) {
	h := single(b, answering(sdk.Text("done"), nil), onTool(host.Limits{Concurrency: 1, Queue: 1000}))
	c := call("test__run", "")
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if r := h.Call(b.Context(), c); r.Error != nil {
				b.Error(r.Error)
			}
		}
	})
}

func BenchmarkCallAll(b *testing.B) {
	h := single(b, answering(sdk.Text("done"), nil), host.Options{})
	calls := slices.Repeat([]host.Call{call("test__run", "")}, 8)
	b.ReportAllocs()
	for b.Loop() {
		h.CallAll(b.Context(), calls, host.BatchOptions{})
	}
}

// BenchmarkOverload makes 10,000 calls at once of a plugin that can run four, with and without a record, and
// meanwhile calls another plugin repeatedly. It reports how long a refusal takes from the start of its call, and the
// other plugin's p99 compared with before, in the same run. The 10,000 come from one caller, and from as many.
func BenchmarkOverload(b *testing.B) {
	for _, recorded := range []bool{false, true} {
		for _, callers := range []int{1, 10_000} {
			b.Run(fmt.Sprintf("record=%t/callers=%d", recorded, callers),
				func(b *testing.B) { benchmarkOverload(b, recorded, callers) })
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

// flood makes 10,000 calls at once, and returns how long the refused ones took, and the other calls meanwhile and for
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

// hostOf is a host with that many tools, twenty per plugin, already listed.
func hostOf(t testing.TB, n int) *host.Host {
	t.Helper()
	plugins := map[string]host.Plugin{}
	for i := range n / 20 {
		var tools []sdk.Tool
		for j := range 20 {
			tools = append(tools, toolWith(fmt.Sprintf("tool_%d", j), func(d *sdk.Tool) {
				d.Description = "Reads a text file and gives its lines with their numbers. Use start_line and end_line for a " +
					"part of a long file."
				d.InputSchema = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"The file, relative to the work folder"},
					"start_line":{"type":"integer","description":"First line, from 1"}}}`)
				if j%2 == 0 {
					reads(d)
				}
			}))
		}
		plugins[fmt.Sprintf("plugin-%d", i)] = answering(sdk.Text("done"), nil, tools...)
	}
	h := newHost(t, plugins, host.Options{})
	if tools, problems := h.Tools(t.Context()); len(tools) != n || len(problems) > 0 {
		t.Fatalf("%d tools, problems %v", len(tools), problems)
	}
	return h
}

func BenchmarkCatalog(b *testing.B) {
	h := hostOf(b, 500)
	f := host.Filter{Tools: []string{"plugin-1*__*", "plugin-2*__tool_1*", "plugin-3__*"}, Exclude: []string{"*__tool_7"},
		ReadOnly: true}
	c := catalog(b, h, f)
	b.Run("make", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := h.Catalog(f); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Tools", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Tools(b.Context())
		}
	})
	b.Run("make and Tools", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			catalog(b, h, f).Tools(b.Context())
		}
	})
	b.Run("Call", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r := c.Call(b.Context(), call("plugin-1__tool_2", "{}")); r.Error != nil {
				b.Fatal(r.Error)
			}
		}
	})
	b.Run("host Call", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if r := h.Call(b.Context(), call("plugin-1__tool_2", "{}")); r.Error != nil {
				b.Fatal(r.Error)
			}
		}
	})
}
