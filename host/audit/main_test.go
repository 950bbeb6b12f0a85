package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// day is when all records of the tests happened.
var day = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// logPath is where a test has its log.
func logPath(t testing.TB) string { return filepath.Join(t.TempDir(), "audit.jsonl") }

func openLog(t testing.TB, path string, o Options) *Log {
	t.Helper()
	l, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// call is the record of one call, number n.
func call(n int) Record {
	return Record{Time: day.Add(time.Duration(n) * time.Second), Kind: KindCall, CallID: fmt.Sprint("c", n),
		Tool: "shell__exec", Plugin: "shell",
		Status: "ok", DurationMS: 1.5, Attempts: 1, Generation: 1}
}

func add(t testing.TB, l *Log, all ...Record) {
	t.Helper()
	for _, r := range all {
		if err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
}

// written returns the path of a log of n calls, closed.
func written(t testing.TB, n int) string {
	t.Helper()
	path := logPath(t)
	l := openLog(t, path, Options{})
	for i := range n {
		add(t, l, call(i+1))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func verified(t testing.TB, path string) Report {
	t.Helper()
	r, err := Verify(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkWhole makes sure that the chain is whole and has n records.
func checkWhole(t testing.TB, path string, n int) {
	t.Helper()
	if r := verified(t, path); !r.OK() || r.Records != n || r.Newer != 0 {
		t.Errorf("%d records, %d newer, problems %v; want %d records and no problem", r.Records, r.Newer, r.Problems, n)
	}
}

// faults are the problems as LINE:FAULT.
func faults(r Report) string {
	var out []string
	for _, p := range r.Problems {
		out = append(out, fmt.Sprintf("%d:%s", p.Line, p.Fault))
	}
	return strings.Join(out, " ")
}
