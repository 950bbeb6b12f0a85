package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/host/audit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// day is when the records of the tests begin.
var day = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// oracle reads the record straightforwardly.
type oracle struct {
	calls []Call
	words []string
	lines [][]audit.Record
}

// read joins the lines of the record as Call says.
func readOracle(t testing.TB, record string) *oracle {
	t.Helper()
	o := &oracle{}
	var entries []*entry
	open := map[string]*entry{}
	for r, err := range audit.Read(record) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind != audit.KindDecision && r.Kind != audit.KindCall {
			continue
		}
		e := open[r.CallID]
		if e == nil || r.CallID == "" {
			e = &entry{call: Call{Number: int64(len(entries) + 1)}}
			entries, o.lines = append(entries, e), append(o.lines, nil)
		}
		e.add(&r, lineRef{})
		o.lines[e.call.Number-1] = append(o.lines[e.call.Number-1], r)
		open[r.CallID] = e
		if r.Kind == audit.KindCall {
			delete(open, r.CallID)
		}
	}
	for _, e := range entries {
		o.calls = append(o.calls, e.call)
		o.words = append(o.words, e.words())
	}
	return o
}

// search filters in memory, newest first.
func (o *oracle) search(f *Filter) (out []Call) {
	for i := range slices.Backward(o.calls) {
		if matches(f, &o.calls[i], o.words[i]) {
			out = append(out, o.calls[i])
		}
	}
	return out
}

func matches(f *Filter, c *Call, words string) bool {
	for _, v := range [][2]string{{f.Plugin, c.Plugin}, {f.SessionID, c.SessionID}, {f.Caller, c.Caller},
		{f.Workdir, c.Workdir}, {f.CallID, c.CallID}, {f.ViaCallID, c.ViaCallID}, {f.Status, c.Status}, {f.Name, c.Name},
		{f.Outcome, c.Outcome}, {f.Rule, c.Rule}} {
		if v[0] != "" && v[0] != v[1] {
			return false
		}
	}
	if f.ApprovalAnswer != "" && (c.Approval == nil || c.Approval.Answer != f.ApprovalAnswer) {
		return false
	}
	if f.Tool != "" && f.Tool != "*" {
		if ok, _ := path.Match(f.Tool, c.Tool); c.Tool == "" || !ok {
			return false
		}
	}
	at := c.Time().UnixMicro()
	switch {
	case len(f.Codes) > 0 && (c.Code == "" || !slices.Contains(f.Codes, c.Code)),
		len(f.Effects) > 0 && (c.Effect == "" || !slices.Contains(f.Effects, c.Effect)),
		!f.Since.IsZero() && at < f.Since.UnixMicro(), !f.Until.IsZero() && at >= f.Until.UnixMicro(),
		f.AtLeast > 0 && (c.Status == statusUnfinished || c.Duration < f.AtLeast):
		return false
	}
	phrases, _ := phrasesOf(f.Text)
	for _, phrase := range phrases {
		if !strings.Contains(" "+words, " "+strings.Trim(phrase, `"`)+" ") {
			return false
		}
	}
	return true
}

// hostile are texts that a host of hostile plugins and models records.
var hostile = []string{"", "shell__exec", "readfile__read", `a"b`, "a\x00b", "line\nbreak", "\xff\xfe", "=cmd|' /C calc'!A0",
	"日本語のテキスト", "ñandú Straße", "DROP TABLE calls; --", `" OR "1`, "NEAR(a b)", "* AND *", strings.Repeat("x", 1500),
	"main.go", "Permission denied", "/home/u/project/main.go", "\ue000abc", textBreak, "'quoted'", "ไทย", "é", "E_TOOL",
	"A_b-C.d", "\u202eabc", "a__b", "a___b", "a__b__c", "a_x__", "a__b/c", "__x"}

func anyOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// someRecord draws a record.
func someRecord(r *rand.Rand, n int) audit.Record {
	out := audit.Record{
		Time:   day.Add(time.Duration(n)*time.Second + time.Duration(r.IntN(5000)-2500)*time.Millisecond),
		Kind:   anyOf(r, audit.KindDecision, audit.KindCall, audit.KindCall, audit.KindDecision, audit.KindStart),
		CallID: anyOf(r, fmt.Sprint("c", n), fmt.Sprint("c", n-1), fmt.Sprint("c", r.IntN(n+1)), hostile[r.IntN(len(hostile))]),
		Tool:   anyOf(r, "shell__exec", "readfile__read", "edit__replace", hostile[r.IntN(len(hostile))]),
		Plugin: anyOf(r, "shell", "readfile", ""), Caller: anyOf(r, "alice", "bob", ""),
		SessionID: anyOf(r, "s1", "s2", "s3", ""), Workdir: anyOf(r, "/work", "/home/u/project"),
		Effect: anyOf(r, "allow", "ask", "deny", ""), Rule: anyOf(r, "r1", "", hostile[r.IntN(len(hostile))]),
		Reason:    hostile[r.IntN(len(hostile))],
		Arguments: []byte(anyOf(r, `{"command":"cat main.go"}`, `{"path":"a\nb\u00e9"}`, `[1,2.5e3,"x\"y"]`, `{"a`, `"\ud800"`)),
	}
	if r.IntN(4) == 0 {
		out.ViaCallID, out.ViaTool = fmt.Sprint("c", r.IntN(n+1)), "shell__exec"
	}
	if r.IntN(4) == 0 {
		out.Approval = &audit.Approval{By: anyOf(r, "ann", "bob"), Answer: anyOf(r, "approved", "rejected")}
	}
	if out.Kind == audit.KindCall {
		out.Status, out.DurationMS = anyOf(r, "ok", "error", ""), float64(r.IntN(100_000))/anyOf(r, 1.0, 10, 1000)
		if out.Status == "error" {
			out.Code, out.Name = anyOf(r, "E_TOOL", "E_DENIED", "E_TIMEOUT"), anyOf(r, "MatchNotFound", "")
			out.Outcome = anyOf(r, "failed", "not_sent")
		}
	}
	return out
}

// someFilter draws a filter, of what the record may have.
func someFilter(r *rand.Rand, n int) (f Filter) {
	for range 1 + r.IntN(3) {
		switch r.IntN(18) {
		case 0:
			f.Tool = anyOf(r, "shell__exec", "*__r*", "*", "shell__*", "a__*", "a_x__*", "[", "nope*", hostile[r.IntN(len(hostile))])
		case 1:
			f.Plugin = anyOf(r, "shell", "readfile", "nope")
		case 2:
			f.SessionID = anyOf(r, "s1", "s2", "nope")
		case 3:
			f.Caller = anyOf(r, "alice", "bob")
		case 4:
			f.Status = anyOf(r, "ok", "error", statusUnfinished)
		case 5:
			f.Codes = anyOf(r, []string{"E_TOOL"}, []string{"E_TOOL", "E_DENIED"}, []string{"E_LIMIT"})
		case 6:
			f.Effects = anyOf(r, []string{"allow"}, []string{"ask", "deny"})
		case 7:
			f.Since = day.Add(time.Duration(r.IntN(n+1)) * time.Second)
		case 8:
			f.Until = day.Add(time.Duration(r.IntN(n+1)) * time.Second)
		case 9, 10, 11:
			f.Text = anyOf(r, "permission", `"permission denied"`, "main.go", "日本", "ÑANDÚ", "shell exec", "exec shell", "x y", "é",
				"1500", hostile[r.IntN(len(hostile))], hostile[r.IntN(len(hostile))])
		case 12:
			f.AtLeast = time.Duration(r.IntN(200_000)) * time.Millisecond / anyOf[time.Duration](r, 1, 10, 1000)
		case 13:
			f.CallID = anyOf(r, fmt.Sprint("c", r.IntN(n+1)), hostile[r.IntN(len(hostile))])
		case 14:
			f.Rule, f.ApprovalAnswer = anyOf(r, "r1", ""), anyOf(r, "approved", "")
		case 15:
			f.Name, f.Outcome = anyOf(r, "MatchNotFound", ""), anyOf(r, "failed", "")
		case 16:
			f.Workdir = anyOf(r, "/work", "/home/u/project", "/nope")
		case 17:
			f.ViaCallID = anyOf(r, fmt.Sprint("c", r.IntN(n+1)), "nope")
		}
	}
	if !f.Since.IsZero() && !f.Until.After(f.Since) {
		f.Until = time.Time{}
	}
	return f
}

func recordPath(t testing.TB) string { return filepath.Join(t.TempDir(), "state", "audit.jsonl") }

func openLog(t testing.TB, path string) *audit.Log {
	t.Helper()
	l, err := audit.Open(path, audit.Options{Content: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func appendAll(t testing.TB, l *audit.Log, all ...audit.Record) {
	t.Helper()
	for _, r := range all {
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
}

// written returns the path of a record with n lines, drawn by the seed.
func written(t testing.TB, seed uint64, n int) string {
	t.Helper()
	path, r := recordPath(t), rand.New(rand.NewPCG(seed, 1))
	l := openLog(t, path)
	for i := range n {
		appendAll(t, l, someRecord(r, i))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func openIndex(t testing.TB, o Options) *Index {
	t.Helper()
	i, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Close() })
	return i
}

func synced(t testing.TB, record string) *Index {
	t.Helper()
	i := openIndex(t, Options{Record: record})
	if err := i.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	return i
}

// all returns all calls that match, by pages of that size.
func all(ctx context.Context, t testing.TB, i *Index, f Filter, size int) (out []Call, count int64) {
	t.Helper()
	p := Page{Size: size, Count: true}
	for {
		r, err := i.Search(ctx, f, p)
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		out = append(out, r.Calls...)
		if p.Count {
			count = r.Count
		}
		if p.Cursor, p.Count = r.Cursor, false; r.Cursor == "" {
			return out, count
		}
	}
}

func appendText(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
