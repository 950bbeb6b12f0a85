package supervise

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A recorder is a slog.Handler that keeps what is logged.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }
func (r *recorder) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *recorder) WithGroup(string) slog.Handler            { return r }

func (r *recorder) Handle(_ context.Context, rec slog.Record) error {
	line := rec.Level.String() + " " + rec.Message
	rec.Attrs(func(a slog.Attr) bool {
		if a.Key != "stream" {
			line += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		}
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	return nil
}

func TestWhatPluginsPrint(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"plain text":                    {"hello\nworld\n", []string{"DEBUG hello", "DEBUG world"}},
		"no newline yet":                {"hello", nil},
		"blank lines":                   {"\n\n  \n", nil},
		"hclog":                         {`{"@level":"info","@message":"m","@module":"x","z":2,"n":1}` + "\n", []string{"INFO m fields=[n=1 z=2]"}},
		"an error is the host's to say": {`{"@level":"error","@message":"m"}` + "\n", []string{"WARN m"}},
		"message is no string":          {`{"@message":1}` + "\n", []string{`DEBUG {"@message":1}`}},
		"level is no string":            {`{"@message":"m","@level":{}}` + "\n", []string{"DEBUG m"}},
		"broken JSON":                   {`{"@message":` + "\n", []string{`DEBUG {"@message":`}},
		"control characters in fields":  {`{"@message":"m","a\u001b":"\u001b[2J\u202ex","b":[{"c\u0007":"\u202e"}]}` + "\n", []string{`DEBUG m fields=[a=[2Jx b=[{"c\u0007":""}]]`}},
		"control characters":            {"a\x1b[2Jb\x00c\u202e\td\r\n", []string{"DEBUG a[2Jbc d"}},
		"invalid UTF-8":                 {"a\xffb\n", []string{"DEBUG a\uFFFDb"}},
		"a line that is too long":       {strings.Repeat("x", maxLine+5) + "\nnext\n", []string{"DEBUG " + strings.Repeat("x", maxLine) + "... (cut)", "DEBUG next"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, piece := range []int{len(c.in), 1} { // at once, and byte by byte
				r := &recorder{}
				p := newPump(slog.New(r), "stderr", nil)
				for rest := []byte(c.in); len(rest) > 0; rest = rest[min(piece, len(rest)):] {
					_, _ = p.Write(rest[:min(piece, len(rest))])
				}
				if diff := cmp.Diff(c.want, r.lines); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestFloodIsDroppedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		p := newPump(slog.New(r), "stderr", nil)
		line := []byte(strings.Repeat("x", 1023) + "\n")
		for range 1000 {
			_, _ = p.Write(line)
		}
		if n := len(r.lines); n < 60 || n > 65 {
			t.Errorf("%d lines of 1 KiB were logged in one second", n)
		}
		time.Sleep(time.Second)
		_, _ = p.Write([]byte("after\n"))
		if got := r.lines[len(r.lines)-2:]; !strings.Contains(got[0], "dropped lines=936") || got[1] != "DEBUG after" {
			t.Errorf("then: %q", got)
		}
	})
}

func TestTail(t *testing.T) {
	var tl tail
	for i := range 100 {
		tl.add(fmt.Sprint(i))
	}
	if got := tl.last(3); !cmp.Equal(got, []string{"97", "98", "99"}) {
		t.Error(got)
	}
	if got := tl.last(1000); len(got) != tailLines {
		t.Error(len(got))
	}
	tl.add("panic: boom")
	tl.add(strings.Repeat("é", 1000))
	if got := tl.telling(); !cmp.Equal(got, []string{"panic: boom"}) {
		t.Error(got)
	}
	for range traceGap {
		tl.add("long after")
	}
	if got := tl.telling(); len(got) != 3 || got[0] != "long after" {
		t.Errorf("a panic of long ago is told: %q", got)
	}
	tl.add(strings.Repeat("é", 1000))
	if got := tl.last(1)[0]; len(got) > tailWidth+3 || strings.Contains(got, "\uFFFD") {
		t.Errorf("a wide line is kept with %d bytes", len(got))
	}
}

// The trace of a panic may be longer than what is kept of it.
func TestTailOfALongTrace(t *testing.T) {
	for _, start := range []string{"panic: boom", "fatal error: stack overflow", "SIGSEGV: segmentation violation"} {
		var tl tail
		tl.add(start)
		for range 100 {
			tl.add("goroutine 1 [running]:")
			for range 200 {
				tl.add("main.f(0x1)")
			}
		}
		if got := tl.telling(); !cmp.Equal(got, []string{start}) {
			t.Errorf("of %q is told %q", start, got)
		}
	}
}

func FuzzPump(f *testing.F) {
	f.Add([]byte(`{"@message":"m","@level":"warn","a":[1]}`+"\n"), []byte("panic: x\n"))
	f.Add([]byte("\xff\x00\n"), []byte{})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		r, tl := &recorder{}, &tail{}
		p := newPump(slog.New(r), "stderr", tl)
		_, _ = p.Write(a)
		_, _ = p.Write(b)
		if n := bytes.Count(append(a, b...), []byte("\n")); len(r.lines) > n {
			t.Errorf("%d lines made %d records", n, len(r.lines))
		}
		for _, l := range r.lines {
			if strings.ContainsAny(l, "\n\r\x1b\x00\u202e") {
				t.Errorf("a control character got through: %q", l)
			}
		}
	})
}
