package host_test

import (
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// fiveFields are arguments as models send them.
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
		benchmark(b, single(b, answering(sdk.Text("done"), nil, fiveFieldTool()), host.Options{}), call("test__run", fiveFields))
	})
	b.Run("fake with log", func(b *testing.B) {
		log := slog.New(slog.NewTextHandler(nowhere{}, nil))
		benchmark(b, single(b, answering(sdk.Text("done"), nil, fiveFieldTool()), host.Options{Logger: log}), call("test__run", fiveFields))
	})
	b.Run("fake with 100 KB", func(b *testing.B) {
		benchmark(b, single(b, answering(sdk.Text("done"), nil), host.Options{}), call("test__run", `{"text":"`+strings.Repeat("x", 100_000)+`"}`))
	})
	b.Run("wire", func(b *testing.B) {
		benchmark(b, single(b, overWire(b), host.Options{}), call("test__echo", fiveFields))
	})
}

// BenchmarkRefusedCall is a call with one property too many.
func BenchmarkRefusedCall(b *testing.B) {
	h := single(b, answering(sdk.Text("done"), nil, fiveFieldTool()), host.Options{})
	b.ReportAllocs()
	for b.Loop() {
		h.Call(b.Context(), call("test__run", `{"path":"a","line":1}`))
	}
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkLimits is what the limits cost a call that none of them holds up.
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
