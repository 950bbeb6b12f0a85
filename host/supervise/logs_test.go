//go:build unix

package supervise

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A recorder is a slog.Handler that keeps the records.
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

func TestPluginOutput(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"plain text":     {"hello\nworld\n", []string{"DEBUG hello", "DEBUG world"}},
		"no newline yet": {"hello", nil},
		"blank lines":    {"\n\n  \n", nil},
		"hclog": {`{"@level":"info","@message":"m","@module":"x","z":2,"n":1}` + "\n",
			[]string{"INFO m fields=[n=1 z=2]"}},
		"an error is the host's to say": {`{"@level":"error","@message":"m"}` + "\n", []string{"WARN m"}},
		"message is no string":          {`{"@message":1}` + "\n", []string{`DEBUG {"@message":1}`}},
		"level is no string":            {`{"@message":"m","@level":{}}` + "\n", []string{"DEBUG m"}},
		"broken JSON":                   {`{"@message":` + "\n", []string{`DEBUG {"@message":`}},
		"control characters in fields": {`{"@message":"m","a\u001b":"\u001b[2J\u202ex","b":[{"c\u0007":"\u202e"}]}` + "\n",
			[]string{`DEBUG m fields=[a=[2Jx b=[{"c\u0007":""}]]`}},
		"control characters": {"a\x1b[2Jb\x00c\u202e\td\r\n", []string{"DEBUG a[2Jbc d"}},
		"invalid UTF-8":      {"a\xffb\n", []string{"DEBUG a\uFFFDb"}},
		"a line that is too long": {strings.Repeat("x", maxLine+5) + "\nnext\n",
			[]string{"DEBUG " + strings.Repeat("x", maxLine) + "... (cut)", "DEBUG next"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, piece := range []int{len(c.in), 1} { // at once, and byte by byte
				r := &recorder{}
				p := newOutputLog(slog.New(r), "stderr", nil, References{})
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
		p := newOutputLog(slog.New(r), "stderr", nil, References{})
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
		for range 1000 {
			_, _ = p.Write(line)
		}
		time.Sleep(time.Second)
		_, _ = p.Write([]byte("\n"))
		if last := r.lines[len(r.lines)-1]; !strings.HasPrefix(last, "DEBUG plugin prints too much") {
			t.Errorf("the second time: %q", last)
		}
	})
}

// What is printed without end is read slowly, and what comes after a pause at once.
func TestFloodIsReadSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pacedReader{Reader: bytes.NewReader(make([]byte, 30<<20))}
		for i, least := range []time.Duration{900 * time.Millisecond, 900 * time.Millisecond} {
			began := time.Now()
			_, err := io.CopyN(io.Discard, p, 5<<20)
			if took := time.Since(began); err != nil || took < least || took > 2*least {
				t.Errorf("%d: 5 MiB are read in %s, %v", i, took, err)
			}
			time.Sleep(time.Minute)
		}
		began := time.Now()
		if _, err := io.CopyN(io.Discard, p, maxPaced); err != nil || time.Since(began) > 0 {
			t.Errorf("the next are read after %s, %v", time.Since(began), err)
		}
		ended := make(chan struct{})
		close(ended)
		p = &pacedReader{Reader: bytes.NewReader(make([]byte, 5<<20)), ended: ended}
		if _, err := io.Copy(io.Discard, p); err != nil || time.Since(began) > 0 {
			t.Errorf("the last of a program that has ended are read after %s, %v", time.Since(began), err)
		}
	})
}

func TestTail(t *testing.T) {
	var tl tail
	for i := range 100 {
		tl.add([]byte(fmt.Sprint(i)), false)
	}
	if got := tl.last(3); !cmp.Equal(got, []string{"97", "98", "99"}) {
		t.Error(got)
	}
	if got := tl.last(1000); len(got) != tailLines {
		t.Error(len(got))
	}
	tl.add([]byte("panic: boom"), false)
	tl.add([]byte(strings.Repeat("é", 1000)), false)
	if got := tl.summary(); !cmp.Equal(got, []string{"panic: boom"}) {
		t.Error(got)
	}
	for range 250 {
		tl.add([]byte("long after"), false)
	}
	if got := tl.summary(); len(got) != 3 || got[0] != "long after" {
		t.Errorf("a panic of long ago is reported: %q", got)
	}
	tl.add([]byte(strings.Repeat("é", 1000)), false)
	if got := tl.last(1)[0]; len(got) > tailWidth+3 || strings.Contains(got, "\uFFFD") {
		t.Errorf("a wide line is kept with %d bytes", len(got))
	}
}

// The trace of a panic may be longer than the kept lines.
// Programs in other languages print what is wrong before the stack, and some print more behind it.
func TestTailOfStackTraces(t *testing.T) {
	for want, text := range map[string]string{
		"Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /a.js": `node:internal/modules/reader:267
  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);
        ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x' imported from /a.js
    at Object.getPackageJSONURL (node:internal/modules/package_json_reader:267:9)
    at async node:internal/process/esm_loader:34:15 {
  code: 'ERR_MODULE_NOT_FOUND'
}

Node.js v20.20.2
`,
		"TypeError: x is not a function (a.js:1)": "before\n/x/a.js:1\nx()\n^\n\nTypeError: x is not a function\n    at " +
			"Object.<anonymous> (/x/a.js:1:1)\n" +
			"\nNode.js v20.20.2\n",
		"SyntaxError: Unexpected end of input (plugin.js:5)": "file:///p/plugin.js:5\n\n\n\nSyntaxError: Unexpected end of " +
			"input\n    at wrapSafe (node:internal/modules/cjs/loader:1464:18)\n\nNode.js v20.20.2\n",
		`TypeError: tool "a" is there twice (tools.js:8)`: `file:///p/vendor/toolhost/index.js:56
        throw new TypeError(other === name
        ^

TypeError: tool "a" is there twice
    at Plugin.tool (file:///p/vendor/toolhost/index.js:56:15)
    at Array.map (<anonymous>)
    at add (file:///p/node_modules/many/tools.js:3:5)
    at file:///p/tools.js:8:25
    at plugin.js:2:1
    at ModuleJob.run (node:internal/modules/esm/module_job:343:25)
`,
		`Exception in thread "main" java.lang.IllegalStateException: no key`: "starting\n" +
			`Exception in thread "main" java.lang.IllegalStateException: no key` + "\n\tat Main.main(Main.java:5)\n",
		"Unhandled exception. System.Exception: no": "Unhandled exception. System.Exception: no\n   at " +
			"Program.Main() in a.cs:line 3\n",
		"a.rb:1:in 'f': no (RuntimeError)": "a.rb:1:in 'f': no (RuntimeError)\n\tfrom a.rb:2:in '<main>'\n",
		"KeyError: 'key' (a.py:1)": "Traceback (most recent call last):\n  File \"a.py\", line 1\n  " +
			"  f()\nKeyError: 'key'\n",
		"ModuleNotFoundError: No module named 'google' (plugin.py:3)": `Traceback (most recent call last):
  File "/a b/plugin.py", line 3, in <module>
    from toolhost import Plugin
  File "/a b/toolhost/wire.py", line 6, in <module>
    from google.protobuf import descriptor_pool
ModuleNotFoundError: No module named 'google'
`,
		"ValueError: two lines: (helper.py:8)": `Traceback (most recent call last):
  File "/p/plugin.py", line 3, in <module>
    helper.f()
  File "/p/helper.py", line 8, in f
    json.loads("")
    ~~~~~~~~~~^^^^
  File "/usr/lib/python3.11/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
ValueError: two lines:
one and two
`,
		"SyntaxError: invalid syntax (plugin.py:2)": "  File \"/p/plugin.py\", line 2\n    x = = 1\n        ^\n" +
			"SyntaxError: invalid syntax\n",
		"indented:|all|of it": "indented:\n  all\n  of it\n",
		"one|two|three":       "one\ntwo\nthree\n",
	} {
		var tl tail
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\n"); line != "" {
				tl.add([]byte(line), false)
			}
		}
		if got := strings.Join(tl.summary(), "|"); got != want {
			t.Errorf("%s\nis %q, want %q", text, got, want)
		}
	}
}

func TestTailOfALongTrace(t *testing.T) {
	for _, start := range []string{"panic: boom", "fatal error: stack overflow", "SIGSEGV: segmentation violation"} {
		var tl tail
		tl.add([]byte(start), false)
		for range 100 {
			tl.add([]byte("goroutine 1 [running]:"), false)
			for range 200 {
				tl.add([]byte("main.f(0x1)"), false)
			}
		}
		if got := tl.summary(); !cmp.Equal(got, []string{start}) {
			t.Errorf("of %q is reported %q", start, got)
		}
	}
}

func FuzzPump(f *testing.F) {
	f.Add([]byte(`{"@message":"m","@level":"warn","a":[1]}`+"\n"), []byte("panic: x\n"))
	f.Add([]byte("\xff\x00\n"), []byte{})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		r, tl := &recorder{}, &tail{}
		p := newOutputLog(slog.New(r), "stderr", tl, References{})
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

// However a flood is split into writes, the log, the count and the tail are the same: lines that are dropped together
// are treated like those that are dropped one by one.
func TestFloodInAnyPieces(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN PRIVATE" + " KEY-----\n" + strings.Repeat("QUJD\n", 30) + "-----END PRIVATE" + " KEY-----\n"
	for name, in := range map[string]string{
		"short lines": strings.Repeat("y\n", 100_000),
		"a panic":     strings.Repeat("y\n", 60_000) + "panic: boom\n" + strings.Repeat("goroutine 1:\nmain.f()\n", 20_000),
		"a signal":    strings.Repeat("y\n", 100_000) + "SIGSEGV: oh\n" + strings.Repeat("x\n", 100),
		"a key":       strings.Repeat("some line\n", 20_000) + key + strings.Repeat("more\n", 10_000) + key,
		"an end":      strings.Repeat("some line\n", 20_000) + strings.Repeat("z", 3*maxLine) + "\nlast\nno end",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logs [][]string
				var tails []*tail
				for _, piece := range []int{len(in), 32 << 10, 100} {
					r, tl := &recorder{}, &tail{}
					p := newOutputLog(slog.New(r), "stderr", tl, References{})
					for rest := []byte(in); len(rest) > 0; rest = rest[min(piece, len(rest)):] {
						_, _ = p.Write(rest[:min(piece, len(rest))])
					}
					time.Sleep(time.Second)
					_, _ = p.Write([]byte("\n"))
					logs, tails = append(logs, r.lines), append(tails, tl)
				}
				for i := range logs {
					if diff := cmp.Diff(logs[0], logs[i]); diff != "" {
						t.Errorf("the log of pieces %d differs: %.2000s", i, diff)
					}
					if diff := cmp.Diff(tails[0].last(tailLines), tails[i].last(tailLines)); diff != "" {
						t.Errorf("the tail of pieces %d differs: %s", i, diff)
					}
					if diff := cmp.Diff(tails[0].summary(), tails[i].summary()); diff != "" {
						t.Errorf("what is reported of pieces %d differs: %s", i, diff)
					}
				}
				if !strings.Contains(strings.Join(logs[0], "\n"), "lines were dropped") {
					t.Error("nothing was dropped")
				}
			})
		})
	}
}

// A private key that is printed line by line reaches neither the log nor errors.
func TestKeysThatArePrinted(t *testing.T) {
	r, tl := &recorder{}, &tail{}
	p := newOutputLog(slog.New(r), "stderr", tl, References{})
	for _, line := range []string{"before", "key: -----BEGIN RSA PRIVATE" + " KEY-----", "Proc-Type: 4,ENCRYPTED", "",
		"U0VDUkVU", "-----END RSA PRIVATE" + " KEY-----",
		`{"@message":"login","password":"U0VDUkVU","n":1,"url":"https://a:U0VDUkVU@x"}`, "use gh" + "p_" +
			strings.Repeat("aB3", 12)} {
		_, _ = p.Write([]byte(line + "\n"))
	}
	want := []string{"DEBUG before", "DEBUG key: [redacted]",
		"DEBUG login fields=[n=1 password=[redacted] url=https://a:[redacted]@x]", "DEBUG use [redacted]"}
	if diff := cmp.Diff(want, r.lines); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"before", "key: [redacted]", "login", "use [redacted]"}, tl.last(tailLines)); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkFlood(b *testing.B) {
	for name, line := range map[string]string{"short": "y\n",
		"long": strings.Repeat("some words of a line that is not short ", 10) + "\n",
		"json": `{"@level":"info","@message":"m","n":1}` + "\n"} {
		b.Run(name, func(b *testing.B) {
			p := newOutputLog(slog.New(slog.DiscardHandler), "stderr", &tail{}, References{})
			chunk := bytes.Repeat([]byte(line), 32<<10/len(line))
			b.SetBytes(int64(len(chunk)))
			for b.Loop() {
				_, _ = p.Write(chunk)
			}
		})
	}
}
