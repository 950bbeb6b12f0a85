package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLineHasEverything(t *testing.T) {
	path := logPath(t)
	l := openLog(t, path, Options{Content: true})
	add(t, l, Record{Time: day.Add(5), Kind: KindDecision, CallID: "c1", Tool: "shell__exec", Plugin: "shell",
		Caller: "agent", SessionID: "s1", Workdir: "/src",
		Arguments: json.RawMessage(`{"command": "ls <a>"}`), Effect: "ask", Rule: "everyday", Layer: "project",
		Source: "config.hcl:4", Reason: "not on a list",
		Approval: &Approval{By: "ann", Answer: "approved", Scope: "tool"}, Seq: 77, Prev: "x", Hash: "y", Torn: &Torn{},
		Head: &Head{}, Sync: true})
	want := `{"seq":1,"time":"2026-11-20T10:00:00.000000005Z","kind":"decision","call_id":"c1","tool":"shell__exec",` +
		`"plugin":"shell","caller":"agent","session_id":"s1",` +
		`"workdir":"/src","arguments_sha256":"` + Hash([]byte(`{"command": "ls <a>"}`)) +
		`","arguments_bytes":21,"arguments":{"command": "ls <a>"},` +
		`"effect":"ask","rule":"everyday","layer":"project","source":"config.hcl:4","reason":"not on a ` +
		`list","approval":{"by":"ann","answer":"approved","scope":"tool"},` +
		`"prev":"` + noHash + `"}`
	want = strings.TrimSuffix(want, "}") + `,"hash":"` + Hash([]byte(want)) + "\"}\n"
	if diff := cmp.Diff(want, read(t, path)); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
	if got, want := read(t, path+".head"), "00000000000000000001 "+l.known.last.Hash+"\n"; got != want {
		t.Errorf("head %q, want %q", got, want)
	}
}

func TestChainGoesOn(t *testing.T) {
	path := written(t, 3)
	add(t, openLog(t, path, Options{}), call(4), call(5))
	checkWhole(t, path, 5)
	one, two := openLog(t, path, Options{}), openLog(t, path, Options{})
	add(t, one, call(6))
	add(t, two, call(7), call(8))
	add(t, one, call(9))
	checkWhole(t, path, 9)
}

func TestSameRecordsSameBytes(t *testing.T) {
	if a, b := read(t, written(t, 20)), read(t, written(t, 20)); a != b {
		t.Error("two logs of the same records differ")
	}
}

func TestGoroutines(t *testing.T) {
	path := logPath(t)
	l := openLog(t, path, Options{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 50 {
				if err := l.Append(call(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	checkWhole(t, path, 400)
}

func TestModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "toolhost", "audit.jsonl")
	add(t, openLog(t, path, Options{}), call(1))
	for p, want := range map[string]os.FileMode{path: 0o600, path + ".head": 0o600, filepath.Dir(path): 0o700 | os.ModeDir,
		filepath.Dir(filepath.Dir(path)): 0o700 | os.ModeDir} {
		if info, err := os.Stat(p); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", p, info.Mode(), err, want)
		}
	}
}

func TestContent(t *testing.T) {
	long := `{"text":"` + strings.Repeat("é", maxContent) + `"}`
	for name, c := range map[string]struct {
		in   string
		want func(kept string) bool
		note bool
	}{
		"JSON":     {`{"a": 1}`, func(k string) bool { return k == `{"a": 1}` }, false},
		"lines":    {"{\"a\":\r\n 1}", func(k string) bool { return k == `{"a":1}` }, false},
		"not JSON": {`{"a"`, func(k string) bool { return k == `"{\"a\""` }, false},
		"secret": {`{"password":"x","to":"hunt\u0065r22"}`,
			func(k string) bool { return k == `{"password":"[redacted]","to":"[redacted]"}` }, false},
		"not JSON, secret": {`{"to":"hunter22`, func(k string) bool { return k == `"{\"to\":\"[redacted]"` }, false},
		"not UTF-8":        {"\"\xff\"", func(k string) bool { return k == "\"\ufffd\"" }, false},
		"too long": {long, func(k string) bool {
			return strings.HasSuffix(k, `é"`) && len(k) > maxContent && len(k) < maxContent+10
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := logPath(t)
			l := openLog(t, path, Options{Content: true, Secrets: []string{"hunter22"}})
			r := call(1)
			r.Arguments, r.Result = json.RawMessage(c.in), json.RawMessage(c.in)
			add(t, l, r)
			checkWhole(t, path, 1)
			got := records(t, path)[0]
			for _, kept := range []json.RawMessage{got.Arguments, got.Result} {
				if !c.want(string(kept)) {
					t.Errorf("kept %.200s", kept)
				}
			}
			if got.ArgumentsSHA256 != Hash([]byte(c.in)) || got.ResultSHA256 != got.ArgumentsSHA256 ||
				got.ArgumentsBytes != int64(len(c.in)) || got.ResultBytes != int64(len(c.in)) {
				t.Errorf("hashes and sizes of another text: %+v", got)
			}
			if (got.Note != "") != c.note {
				t.Errorf("note %q", got.Note)
			}
		})
	}
}

func TestNoContentUnlessAsked(t *testing.T) {
	path := logPath(t)
	r := call(1)
	r.Arguments, r.Result = json.RawMessage(`{"a":1}`), json.RawMessage(`[2]`)
	add(t, openLog(t, path, Options{}), r)
	got := records(t, path)[0]
	if got.Arguments != nil || got.Result != nil || got.ArgumentsBytes != 7 || got.ResultSHA256 != Hash([]byte(`[2]`)) {
		t.Errorf("%+v", got)
	}
}

func TestEveryTextIsRedactedAndCut(t *testing.T) {
	path := logPath(t)
	r := Record{Kind: KindDecision, Approval: &Approval{}}
	for text := range textsOf(&r) {
		*text = "hunter22 " + strings.Repeat("é", maxText)
	}
	approval := *r.Approval
	add(t, openLog(t, path, Options{Secrets: []string{"hunter22"}}), r)
	got := records(t, path)[0]
	for text := range textsOf(&got) {
		if !strings.HasPrefix(*text, "[redacted] éé") || len(*text) > maxText || !strings.HasSuffix(*text, "é") {
			t.Errorf("a text is %.40q, %d bytes", *text, len(*text))
		}
	}
	if *r.Approval != approval {
		t.Error("the caller's own approval was changed")
	}
}

// The largest record there can be fits a line.
func TestLargestRecord(t *testing.T) {
	path := logPath(t)
	r := Record{Kind: KindDecision, Approval: &Approval{}}
	for text := range textsOf(&r) {
		*text = strings.Repeat("\x01", 2*maxText)
	}
	r.Arguments = json.RawMessage(strings.Repeat("\x01", 2*maxContent))
	r.Result = r.Arguments
	add(t, openLog(t, path, Options{Content: true}), r, r)
	checkWhole(t, path, 2)
}

func TestRefusedRecords(t *testing.T) {
	path := logPath(t)
	l := openLog(t, path, Options{})
	for name, r := range map[string]Record{
		"no kind":      {},
		"torn by hand": {Kind: KindTorn},
		"cut by hand":  {Kind: KindCut},
		"no number":    {Kind: KindCall, DurationMS: nan()},
		"infinite":     {Kind: KindCall, DurationMS: math.Inf(1)},
		"no date":      {Kind: KindCall, Time: day.AddDate(9000, 0, 0)},
		"no year":      {Kind: KindCall, Time: day.AddDate(-3000, 0, 0)},
	} {
		if err := l.Append(r); err == nil ||
			!strings.HasPrefix(err.Error(), "nothing was written to the audit log "+path+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	checkWhole(t, path, 0)
	add(t, l, call(1))
	checkWhole(t, path, 1)
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

func records(t testing.TB, path string) (out []Record) {
	t.Helper()
	for r, err := range Read(path) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// What is left for later is in the record when the log is closed, in a chain that verifies, with the time when it came.
func TestLater(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	l, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			for j := range 50 {
				r := Record{Kind: KindCall, CallID: fmt.Sprintf("%d-%d", i, j), Status: "error", Code: "E_LIMIT", Later: j%5 > 0,
					Sync:      j%10 == 0,
					Arguments: []byte(`{"a":1}`)}
				if err := l.Append(r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := Verify(path)
	if err != nil || !report.OK() || report.Records != 2000 {
		t.Fatalf("%+v, %v", report, err)
	}
	seen := map[string]bool{}
	for r, err := range Read(path) {
		if err != nil || seen[r.CallID] || r.ArgumentsBytes != 7 || r.Time.IsZero() {
			t.Fatalf("record %+v, %v", r, err)
		}
		seen[r.CallID] = true
	}
	if err := l.Append(Record{Kind: KindCall, Later: true}); err == nil {
		t.Error("a closed log took a record for later")
	}
}

// Records that Append accepted and that could not be written are reported without another record, each of them once.
func TestLostRecordsAreReportedAtOnce(t *testing.T) {
	for name, act := range removals {
		t.Run(name, func(t *testing.T) {
			path := logPath(t)
			l, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			add(t, l, call(1))
			type loss struct {
				records int
				err     error
			}
			losses := make(chan loss, 1000)
			l.OnLost(func(records int, err error) { losses <- loss{records, err} })
			if err := act(path); err != nil {
				t.Fatal(err)
			}
			const n = 500
			for range n {
				if err := l.Append(Record{Kind: KindCall, Later: true}); err != nil {
					t.Errorf("the error of another record: %v", err)
				}
			}
			first := <-losses // the log is open, and nothing else is added
			if !strings.Contains(first.err.Error(), "was removed or replaced while the log was open") {
				t.Error(first.err)
			}
			_ = l.Close() // which reports the rest
			close(losses)
			lost := first.records
			for more := range losses {
				lost += more.records
			}
			if lost != n {
				t.Errorf("%d of %d lost records are reported", lost, n)
			}
		})
	}
}

// A failure to write records is reported once, and closing does not try them all.
func TestLaterRecordsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	path := logPath(t)
	l, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil { // which it finds out with the next record
		t.Fatal(err)
	}
	var reported error
	for range 1000 {
		reported = errors.Join(reported, l.Append(Record{Kind: KindCall, Later: true}))
	}
	reported = errors.Join(reported, l.Close())
	if reported == nil || !strings.Contains(reported.Error(), "missing") ||
		!strings.Contains(reported.Error(), "was removed") {
		t.Errorf("error %v", reported)
	}
}
