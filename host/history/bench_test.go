package history

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/audit"
)

// benchmarkCalls is how many calls the record of the benchmarks has: `make bench-history` asks for a million.
func benchmarkCalls(b *testing.B) int {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("TOOLHOST_BENCH_CALLS"), "20000"))
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// generate writes a record of n calls as hosts of a month leave it: a decision and an end of each, of 60 tools, 20
// callers and a session for every 200 calls, with arguments and results.
func generate(b *testing.B, path string, n int) {
	b.Helper()
	l, err := audit.Open(path, audit.Options{Content: true})
	if err != nil {
		b.Fatal(err)
	}
	g := newGenerator()
	for i := range n {
		decision, end := g.call(i, n)
		for _, r := range []audit.Record{decision, end} {
			if err := l.Append(r); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}

type generator struct {
	*rand.Rand
	tools, words, errors *rand.Zipf
}

func newGenerator() *generator {
	r := rand.New(rand.NewPCG(1, 2))
	return &generator{r, rand.NewZipf(r, 1.2, 3, 59), rand.NewZipf(r, 1.3, 20, 99_999), rand.NewZipf(r, 1.5, 1, 5)}
}

func (g *generator) text(n int) string {
	text := []byte{}
	for range n {
		w := g.words.Uint64()
		text = append(text, benchWords[w%uint64(len(benchWords))]...)
		if w >= uint64(len(benchWords)) {
			text = strconv.AppendUint(text, w, 36)
		}
		text = append(text, ' ')
	}
	return string(text)
}

var benchWords = []string{"connection", "config", "main", "test", "error", "file", "build", "go", "host", "plugin", "value", "path",
	"module", "return", "string", "package", "import", "server", "client", "request"}

func (g *generator) call(i, n int) (decision, end audit.Record) {
	tool, session := int(g.tools.Uint64()), i/200
	at := day.Add(time.Duration(float64(i) / float64(n) * 30 * 24 * float64(time.Hour)))
	arguments, _ := json.Marshal(map[string]any{"path": fmt.Sprintf("/srv/p%d/src/%s.go", session%50, g.text(1)),
		"command": g.text(6)})
	decision = audit.Record{Time: at, Kind: audit.KindDecision, Later: true,
		CallID: fmt.Sprintf("%016X%010X", g.Uint64(), i), Tool: fmt.Sprintf("plugin%d__tool%d", tool%12, tool),
		Plugin: fmt.Sprint("plugin", tool%12), Caller: fmt.Sprint("agent-", session%20),
		SessionID: fmt.Sprintf("session-%06x", session), Workdir: fmt.Sprint("/srv/p", session%50),
		Arguments: arguments, Effect: "allow", Rule: fmt.Sprint("rule-", tool%15), Layer: "project",
		Source: fmt.Sprintf("/srv/p%d/config.hcl:%d", session%50, 10+tool%15), Reason: "everyday commands are allowed"}
	if i%25 == 0 {
		decision.Effect, decision.Approval = "ask", &audit.Approval{By: "terminal", Answer: "approved"}
	}
	end = decision
	took := math.Exp(g.NormFloat64()*1.5 + 3) // 20 ms in the middle
	end.Kind, end.Time, end.DurationMS, end.Status = audit.KindCall, at.Add(time.Duration(took*1e6)), took, "ok"
	end.Attempts, end.Generation = 1, 1+i/10_000
	if g.IntN(12) == 0 {
		code := int(g.errors.Uint64())
		end.Status, end.Code = "error", []string{"E_TOOL", "E_TIMEOUT", "E_DENIED", "E_TOOL_INVALID_ARGS", "E_LIMIT",
			"E_PLUGIN_CRASHED"}[code]
		end.Reason, end.Outcome = "permission denied: "+g.text(5), "failed"
		return decision, end
	}
	end.Result, _ = json.Marshal(map[string]any{"content": []map[string]string{{"type": "text", "text": g.text(15)}}})
	return decision, end
}

// BenchmarkHistory builds an index and searches it. An interrupted run leaves its files in TOOLHOST_BENCH_DIR, if that is
// set, for the next one.
func BenchmarkHistory(b *testing.B) {
	n := benchmarkCalls(b)
	dir := cmp.Or(os.Getenv("TOOLHOST_BENCH_DIR"), b.TempDir())
	record := filepath.Join(dir, fmt.Sprintf("audit-%d.jsonl", n))
	if _, err := os.Stat(record); err != nil {
		generate(b, record, n)
	}
	i, err := Open(b.Context(), Options{Record: record})
	if err != nil {
		b.Fatal(err)
	}
	defer i.Close()
	began := time.Now()
	if err := i.Sync(b.Context()); err != nil {
		b.Fatal(err)
	}
	built := time.Since(began)
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
		}
		b.ReportMetric(built.Seconds(), "s")
		b.ReportMetric(float64(fileSize(b, record))/1e6, "MB-record")
		b.ReportMetric(float64(fileSize(b, audit.IndexPath(record)))/1e6, "MB-index")
		b.ReportMetric(0, "ns/op")
	})
	first := Page{Size: 100}
	half := day.Add(15 * 24 * time.Hour)
	for _, s := range []struct {
		name   string
		filter Filter
	}{
		{"all", Filter{}},
		{"tool", Filter{Tool: "plugin0__tool0"}}, {"rare-tool", Filter{Tool: "plugin11__tool59"}},
		{"glob", Filter{Tool: "plugin1__*"}}, {"wide-glob", Filter{Tool: "*__tool*"}}, {"plugin", Filter{Plugin: "plugin1"}},
		{"session", Filter{SessionID: fmt.Sprintf("session-%06x", n/400)}}, {"caller", Filter{Caller: "agent-7"}},
		{"status", Filter{Status: "error"}}, {"ok", Filter{Status: "ok"}},
		{"code", Filter{Codes: []string{"E_TIMEOUT", "E_LIMIT"}}}, {"effect", Filter{Effects: []string{"ask"}}},
		{"hour", Filter{Since: half, Until: half.Add(time.Hour)}}, {"half", Filter{Until: half}},
		{"slow", Filter{AtLeast: time.Second}}, {"not-fast", Filter{AtLeast: 5 * time.Millisecond}},
		{"word", Filter{Text: "connection"}}, {"rare-word", Filter{Text: "connection2bz"}},
		{"phrase", Filter{Text: `"permission denied"`}}, {"path", Filter{Text: "/srv/p7/config.hcl"}},
		{"common-words", Filter{Text: "allowed commands everyday main"}},
		{"no-match", Filter{Tool: "plugin0__tool0", Rule: "rule-1"}},
		{"tool+error", Filter{Tool: "plugin0__tool0", Status: "error"}},
		{"caller+effect+half", Filter{Caller: "agent-7", Effects: []string{"ask"}, Until: half}},
		{"plugin+word+ok", Filter{Plugin: "plugin2", Text: "config", Status: "ok"}},
		{"error+word+half", Filter{Status: "error", Text: "connection", Since: half}},
		{"tool+slow+word", Filter{Tool: "plugin0__tool0", AtLeast: time.Second, Text: "main"}},
	} {
		search := func(name string, p Page) {
			b.Run(s.name+"/"+name, func(b *testing.B) {
				measure(b, func() error {
					_, err := i.Search(context.Background(), s.filter, p)
					return err
				})
			})
		}
		search("first", first)
		if cursor := middle(b, i, s.filter); cursor != "" {
			search("deep", Page{Size: 100, Cursor: cursor})
		}
		search("count", Page{Size: 1, Count: true})
	}
	stats := func(name string, f Filter, o StatsOptions) {
		b.Run("stats/"+name, func(b *testing.B) {
			measure(b, func() error {
				_, err := i.Stats(context.Background(), f, o)
				return err
			})
		})
	}
	month := day.Add(30 * 24 * time.Hour)
	stats("month", Filter{Since: day, Until: month}, StatsOptions{GroupBy: "tool"})
	stats("month-1000", Filter{Since: day, Until: month}, StatsOptions{GroupBy: "code", Steps: 1000})
	stats("hour", Filter{Since: half, Until: half.Add(time.Hour)}, StatsOptions{GroupBy: "tool"})
	stats("caller", Filter{Since: day, Until: month, Caller: "agent-7"}, StatsOptions{GroupBy: "tool"})
	stats("error-word", Filter{Since: day, Until: month, Status: "error", Text: "connection"}, StatsOptions{})
	found, err := i.Search(b.Context(), Filter{}, Page{Size: 1, Cursor: middle(b, i, Filter{})})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("call", func(b *testing.B) {
		measure(b, func() error {
			_, err := i.Lines(context.Background(), found.Calls[0].CallID)
			return err
		})
	})
}

// measure also reports processor time, which says more than the clock on a busy machine.
func measure(b *testing.B, f func() error) {
	b.Helper()
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(used)/1e6/float64(b.N), "cpu-ms/op")
}

// middle returns the cursor of a page in the middle of what matches, "" for less than two pages.
func middle(b *testing.B, i *Index, f Filter) string {
	b.Helper()
	var cursor string
	err := i.onSnapshot(b.Context(), func(v *view) error {
		_, next, _, err := v.page(b.Context(), &f, Page{Size: 100})
		if err == nil && next != "" {
			cursor = v.cursor((v.oldest + v.next) / 2)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return cursor
}

func fileSize(b *testing.B, path string) int64 {
	b.Helper()
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}
