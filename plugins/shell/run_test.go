//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// A lifeline is a named pipe. Its end shows that all processes that opened it for writing are gone.
type lifeline struct {
	path string
	ends chan error
}

func newLifeline(t *testing.T) *lifeline {
	t.Helper()
	l := &lifeline{path: filepath.Join(t.TempDir(), "lifeline"), ends: make(chan error, 1)}
	if err := syscall.Mkfifo(l.path, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		f, err := os.Open(l.path) // waits for the first writer
		if err == nil {
			_, err = io.Copy(io.Discard, f) // waits for the last one
			_ = f.Close()
		}
		l.ends <- err
	}()
	return l
}

// wantEnd waits until no process holds the pipe.
func (l *lifeline) wantEnd(t *testing.T) {
	t.Helper()
	select {
	case err := <-l.ends:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("a process that the command started is still there")
	}
}

// leftBehind is a command that leaves a process behind that holds the lifeline, as far out of reach as the system's
// containment can follow.
func (l *lifeline) leftBehind() string {
	start := "sh -c"
	if proctree.Containment() == "process-tree" {
		start = "setsid sh -c"
	}
	return start + ` 'exec 9>"` + l.path +
		`"; trap "" TERM HUP; echo up >&9; while :; do sleep 60 || :; done' >/dev/null 2>&1 & `
}

func TestNothingIsLeftBehind(t *testing.T) {
	l := newLifeline(t)
	p := sdktest.Start(t, newPlugin())
	begin := time.Now()
	// Opening the pipe a second time waits until the background process has it.
	r := execIn(t, p, t.TempDir(), map[string]any{"command": l.leftBehind() + `exec 8>"` + l.path + `"; echo done`})
	if r.Error != nil || outcomeOf(t, r).Stdout != "done\n" {
		t.Fatalf("error %+v, %s", r.Error, r.Structured)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("the call took %v: it waited for what it left behind", took)
	}
	l.wantEnd(t)
}

func TestLeftProcessesAreReported(t *testing.T) {
	want := "done" // where they are not counted
	if proctree.Containment() == "process-tree" {
		want += "\nBackground processes ended with the call: 1"
	}
	r := execIn(t, sdktest.Start(t, newPlugin()), t.TempDir(), map[string]any{"command": "sleep 600 & echo done"})
	if got := contentOf(t, r); got != want {
		t.Errorf("content %q, want %q", got, want)
	}
}

func TestTimeout(t *testing.T) {
	l := newLifeline(t)
	p := sdktest.Start(t, newPlugin())
	r := execIn(t, p, t.TempDir(), map[string]any{"timeout_seconds": 1.5,
		"command": `exec 9>"` + l.path + `"; echo so far; echo warning >&2; sleep 600`})
	wantError(t, r, sdk.CodeTimeout, "Timeout", "not done after 1.5s")
	o := outcomeOf(t, r)
	if !o.TimedOut || o.Stdout != "so far\n" || o.Stderr != "warning\n" || o.DurationMS < 1000 {
		t.Errorf("structured %+v", o)
	}
	if o.Signal != "SIGTERM" || o.ExitCode != -1 {
		t.Errorf("structured %+v", o)
	}
	if got, want := contentOf(t, r), "so far\n[stderr]\nwarning"; got != want { // the rest is in the error
		t.Errorf("content %q, want %q", got, want)
	}
	if !strings.Contains(r.Error.Suggestion, "timeout_seconds") || strings.Contains(r.Error.Message, "the call had") {
		t.Errorf("error %+v", r.Error)
	}
	l.wantEnd(t)
}

func TestTimeoutOfACommandThatIgnoresTERM(t *testing.T) {
	t.Parallel()
	l := newLifeline(t)
	r := execIn(t, sdktest.Start(t, newPlugin()), t.TempDir(), map[string]any{"timeout_seconds": 1,
		"command": `exec 9>"` + l.path + `"; trap "" TERM; echo up; while :; do sleep 60 || :; done`})
	wantError(t, r, sdk.CodeTimeout, "Timeout")
	if o := outcomeOf(t, r); o.Signal != "SIGKILL" || o.Stdout != "up\n" {
		t.Errorf("structured %+v", o)
	}
	l.wantEnd(t)
}

func TestExitCodeAfterATimeout(t *testing.T) {
	r := execIn(t, sdktest.Start(t, newPlugin()), t.TempDir(), map[string]any{"timeout_seconds": 1,
		"command": `trap 'echo bye; exit 7' TERM; sleep 600 & wait; wait`})
	wantError(t, r, sdk.CodeTimeout, "Timeout")
	if got := contentOf(t, r); got != "bye\nExit code: 7" {
		t.Errorf("content %q", got)
	}
}

func TestCancel(t *testing.T) {
	l := newLifeline(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := withDeadline(ctx, t, sdktest.Start(t, newPlugin()), func(e sdk.Event) {
		if e.Type == sdk.EventOutput {
			cancel()
		}
	}, map[string]any{"command": l.leftBehind() + `exec 8>"` + l.path + `"; echo up; sleep 600`})
	if code := sdk.CodeOf(err); code != sdk.CodeCanceled {
		t.Errorf("code %s, want %s: %v", code, sdk.CodeCanceled, err)
	}
	l.wantEnd(t)
}

func TestOutputComesWhileTheCommandRuns(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	var streams []string
	events := func(e sdk.Event) {
		if e.Type != sdk.EventOutput {
			return
		}
		if streams = append(streams, e.Stream+" "+string(e.Data)); len(streams) == 1 {
			go func() { opened <- os.WriteFile(gate, []byte("go\n"), 0) }()
		}
	}
	// The command continues only after its first line was received.
	r, err := withDeadline(t.Context(), t, sdktest.Start(t, newPlugin()), events,
		map[string]any{"command": `echo one; read word <"` + gate + `"; echo "$word" >&2`, "timeout_seconds": 30})
	if err != nil || r.Error != nil {
		t.Fatalf("%v, %+v", err, r)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
	if got := strings.Join(streams, "|"); got != "stdout one\n|stderr go\n" {
		t.Errorf("events %q", got)
	}
}

func TestEventsHoldAllOutputInWholeCharacters(t *testing.T) {
	var got bytes.Buffer
	events := func(e sdk.Event) {
		if e.Type != sdk.EventOutput {
			return
		}
		if len(e.Data) > 32<<10 || !utf8.Valid(e.Data) {
			t.Errorf("an event of %d bytes, valid UTF-8: %v", len(e.Data), utf8.Valid(e.Data))
		}
		got.Write(e.Data)
	}
	want := strings.Repeat("aäあ😀", 50_000)
	r, err := withDeadline(t.Context(), t, sdktest.Start(t, newPlugin()), events,
		map[string]any{"command": "cat", "stdin": want})
	if err != nil || r.Error != nil {
		t.Fatalf("%v, %+v", err, r)
	}
	if got.String() != want {
		t.Errorf("the events hold %d bytes, want %d equal ones", got.Len(), len(want))
	}
	o := outcomeOf(t, r)
	head, rest, ok := strings.Cut(o.Stdout, "\n[... ")
	_, tail, ok2 := strings.Cut(rest, " bytes left out ...]\n")
	if !ok || !ok2 || !strings.HasPrefix(want, head) || !strings.HasSuffix(want, tail) || !r.Truncated || !o.Truncated {
		t.Errorf("kept %d bytes, truncated %v %v: %.100q ... %.100q", len(o.Stdout), r.Truncated, o.Truncated, head, tail)
	}
}

func TestFloodOfOutput(t *testing.T) {
	const printed = 100_000_000
	p := sdktest.Start(t, newPlugin())
	before, peak, streamed, events := testutil.HeapInUse(), 0, 0, 0
	watch := func(e sdk.Event) {
		streamed += len(e.Data)
		if events++; events%20 == 0 {
			peak = max(peak, testutil.HeapInUse())
		}
	}
	begin := time.Now()
	r, err := withDeadline(t.Context(), t, p, watch,
		map[string]any{"command": "yes | head -c 100000000", "timeout_seconds": 600})
	if err != nil || r.Error != nil {
		t.Fatalf("%v, %+v", err, r)
	}
	o := outcomeOf(t, r)
	if o.StdoutBytes != printed || !o.Truncated || !r.Truncated {
		t.Errorf("%d bytes counted, %d streamed, want %d; truncated %v %v", o.StdoutBytes, streamed, printed, o.Truncated,
			r.Truncated)
	}
	if took := time.Since(begin).Seconds(); streamed < liveBurst || float64(streamed) > liveBurst+liveRate*(took+1) {
		t.Errorf("%d bytes were streamed in %v s", streamed, took)
	}
	want := strings.Repeat("y\n", 16<<10) + "[... 99934464 bytes left out ...]\n" + strings.Repeat("y\n", 16<<10)
	if info, err := os.Stat(o.StdoutFile); err != nil || info.Size() != defaultSave {
		t.Errorf("the file has %v, %v", info, err)
	}
	if o.Stdout != want {
		t.Errorf("kept %d bytes, want %d: %.200q", len(o.Stdout), len(want), o.Stdout)
	}
	if peak == 0 || peak > before+32<<20 {
		t.Errorf("%d MiB were in use before, %d MiB meanwhile", before>>20, peak>>20)
	}
}

func TestLargestConfiguredOutputFitsTheWire(t *testing.T) {
	p := sdktest.Start(t, newPlugin())
	p.MustConfigure(t, `{"max_output_bytes":262144}`)
	// A control character takes six bytes in JSON, the maximum.
	r := execIn(t, p, t.TempDir(),
		map[string]any{"command": `head -c 2000000 /dev/zero | tr '\000' '\001' | tee /dev/stderr`})
	if r.Error != nil {
		t.Fatalf("%+v", r.Error)
	}
	if o := outcomeOf(t, r); !o.Truncated || o.StdoutBytes != 2_000_000 || o.StderrBytes != 2_000_000 {
		t.Errorf("truncated %v, %d and %d bytes", o.Truncated, o.StdoutBytes, o.StderrBytes)
	}
}

func TestInputThatNobodyReads(t *testing.T) {
	r := execIn(t, sdktest.Start(t, newPlugin()), t.TempDir(),
		map[string]any{"command": "exit 0", "stdin": strings.Repeat("x", 900<<10)})
	if r.Error != nil || outcomeOf(t, r).ExitCode != 0 {
		t.Errorf("%+v %s", r.Error, r.Structured)
	}
}

func TestEffectiveLimit(t *testing.T) {
	const call = "; the caller or the user's configuration sets the limit of the call, and timeout_seconds cannot raise it"
	own, callers := limit{Limits: proctree.Limits{Run: 1250 * time.Millisecond}},
		limit{Limits: proctree.Limits{Run: 8998 * time.Millisecond, Call: 9997 * time.Millisecond}}
	for _, test := range []struct {
		name      string
		err       error
		want      string
		raiseable bool
	}{
		{"own", own.exceeded(nil), "the command was not done after 1.25s and was stopped, with everything it had started",
			true},
		{"own, with trouble", own.exceeded(errors.New("it stays")),
			"the command was not done after 1.25s and was stopped; it stays", true},
		{"own, over before the start", own.tooShort(), "there was no time to start the command; nothing was run", true},
		{"the caller's", callers.exceeded(nil),
			"the command was not done after 10s and was stopped, with everything it had started" + call, false},
		{"the caller's, over before the start", callers.tooShort(),
			"there was no time to start the command; nothing was run" + call, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, ok := errors.AsType[*sdk.Error](test.err)
			if !ok || e.Code != sdk.CodeTimeout || e.Message != test.want {
				t.Fatalf("got  %q\nwant %q", test.err, test.want)
			}
			if strings.Contains(e.Suggestion, "timeout_seconds") != test.raiseable ||
				!strings.Contains(e.Suggestion, "smaller steps") {
				t.Errorf("suggestion %q", e.Suggestion)
			}
		})
	}
}

// A printed piece is what a command wrote at once: "1" or "2" for the stream, then the text.
func transcriptOf(keep int, pieces ...string) *transcript {
	t := newTranscript(keep, nil)
	for _, p := range pieces {
		t.add(int(p[0]-'1'), []byte(p[1:]))
	}
	return t
}

func TestStreamsAreMerged(t *testing.T) {
	for _, test := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"nothing", nil, ""},
		{"one stream", []string{"1a\n", "1b"}, "a\nb"},
		{"the other stream", []string{"2a\n"}, "[stderr]\na\n"},
		{"both", []string{"1a\n", "2b\n", "1c\n"}, "a\n[stderr]\nb\n[stdout]\nc\n"},
		{"lines are whole", []string{"1a", "2b\n", "1c\n"}, "[stderr]\nb\n[stdout]\nac\n"},
		{"no line break at the ends", []string{"1a", "2b"}, "a\n[stderr]\nb"},
		{"characters in pieces", []string{"1\xc3", "2x\n", "1\xa4\n"}, "[stderr]\nx\n[stdout]\nä\n"},
		{"the middle is left out", []string{"10123456\n", "1" + strings.Repeat("x", 100) + "\n", "2err\n", "1the end\n"},
			"0123456\n[stderr]\nerr\n[stdout]\n[... 101 bytes left out ...]\nthe end\n"},
		{"all of the middle is of one stream",
			[]string{"10123456\n", "2e\n", "1" + strings.Repeat("x\n", 100), "2f\n", "101234567"},
			"0123456\n[stderr]\ne\nf\n[stdout]\n[... 200 bytes left out ...]\n01234567"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := transcriptOf(16, test.pieces...).since([2]int64{})
			if v.combined != test.want {
				t.Errorf("got  %q\nwant %q", v.combined, test.want)
			}
		})
	}
}

func TestStreamsThatAlternateTooOften(t *testing.T) {
	tr := newTranscript(1<<20, nil)
	for i := range 2000 {
		tr.add(stdout, fmt.Appendf(nil, "out %d\n", i))
		tr.add(stderr, fmt.Appendf(nil, "err %d\n", i))
	}
	got := tr.since([2]int64{}).combined
	if strings.Count(got, "[stderr]\n") != 1 || !strings.HasPrefix(got, "out 0\nout 1\n") ||
		!strings.Contains(got, "out 1999\n[stderr]\nerr 0\n") {
		t.Errorf("it is %.100q", got)
	}
	if !strings.HasSuffix(got,
		"err 1999\n[the order of stdout and stderr is not shown: they alternated more than 1000 times]\n") {
		t.Errorf("it ends with %q", got[len(got)-120:])
	}
}

// Memory is bounded, however often a command changes between the streams.
func TestRunsAreForgotten(t *testing.T) {
	tr := newTranscript(1000, nil)
	for range 100_000 {
		tr.add(stdout, []byte("a\n"))
		tr.add(stderr, []byte("b\n"))
	}
	if len(tr.runs) > 4*1000 || cap(tr.runs) > 16*1000 {
		t.Errorf("%d runs of 2000 bytes, room for %d", len(tr.runs), cap(tr.runs))
	}
	if v := tr.since([2]int64{}); !v.truncated || strings.Count(v.combined, "bytes left out") != 2 {
		t.Errorf("truncated %v: %q", v.truncated, v.combined)
	}
}

func TestSinceLastRead(t *testing.T) {
	tr := newTranscript(16, nil)
	var seen [2]int64
	for _, step := range []struct{ piece, want string }{
		{"1first\n", "first\n"},
		{"1", ""},
		{"2oops\n", "[stderr]\noops\n"},
		{"1prompt> ", "prompt> "},
		{"1yes\n", "yes\n"},
		{"1\xc3", "\uFFFD"},
		{"1\xa4\n", "ä\n"},
		{"1" + strings.Repeat("x", 30) + "\n", "[... 23 bytes left out ...]\nxxxxxxx\n"},
	} {
		tr.add(int(step.piece[0]-'1'), []byte(step.piece[1:]))
		v := tr.since(seen)
		if seen = v.next; v.combined != step.want {
			t.Errorf("after %q it shows %q, want %q", step.piece, v.combined, step.want)
		}
	}
}

// For any output, nothing is lost or repeated as long as there is room, and the shown text is bounded when there is
// not.
func TestTranscriptProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keep := rapid.IntRange(2, 64).Draw(rt, "keep")
		pieces := rapid.SliceOf(rapid.StringMatching(`[12][a-c\n]{0,20}`)).Draw(rt, "pieces")
		var want [2]string
		for _, p := range pieces {
			want[p[0]-'1'] += p[1:]
		}
		v := transcriptOf(keep, pieces...).since([2]int64{})
		for i := range want {
			if v.totals[i] != int64(len(want[i])) {
				rt.Fatalf("%d bytes of stream %d, want %d", v.totals[i], i, len(want[i]))
			}
			if len(want[i]) <= keep/2*2 && v.streams[i] != want[i] {
				rt.Fatalf("stream %d is %q, want %q", i, v.streams[i], want[i])
			}
		}
		if most := 2*keep + 20*len(pieces) + 200; len(v.combined) > most || !utf8.ValidString(v.combined) {
			rt.Fatalf("%d bytes are shown: %q", len(v.combined), v.combined)
		}
		if !v.truncated {
			terminalText := strings.NewReplacer("[stdout]\n", "", "[stderr]\n", "").Replace(v.combined)
			if n := len(want[0]) + len(want[1]); strings.ReplaceAll(terminalText, "\n", "") == "" &&
				n > strings.Count(want[0]+want[1], "\n") {
				rt.Fatalf("%d bytes are shown as %q", n, v.combined)
			}
			for _, letter := range []string{"a", "b", "c"} {
				if strings.Count(terminalText, letter) != strings.Count(want[0]+want[1], letter) {
					rt.Fatalf("%q does not show all of %q and %q", v.combined, want[0], want[1])
				}
			}
		}
	})
}

func TestLastLines(t *testing.T) {
	for _, test := range []struct {
		text string
		n    int
		want string
	}{{"", 3, ""}, {"a\nb\nc\n", 2, "b\nc\n"}, {"a\nb\nc", 2, "b\nc"}, {"a\nb\n", 2, "a\nb\n"}, {"a\nb\n", 9, "a\nb\n"},
		{"\n\n\n", 1, "\n"}, {"a", 1, "a"}} {
		if got := lastLines(test.text, test.n); got != test.want {
			t.Errorf("the last %d lines of %q are %q, want %q", test.n, test.text, got, test.want)
		}
	}
}

func TestLastLinesNameTheirStream(t *testing.T) {
	for lines, want := range map[int]string{1: "[stderr]\ne\n", 2: "[stderr]\nd\ne\n", 3: "[stderr]\nd\ne\n",
		4: "c\n[stderr]\nd\ne\n", 5: "[stdout]\nc\n[stderr]\nd\ne\n", 6: "[stderr]\nb\n[stdout]\nc\n[stderr]\nd\ne\n"} {
		v := transcriptOf(100, "1a\n", "2b\n", "1c\n", "2d\ne\n").since([2]int64{})
		if v.last(lines); v.combined != want || !v.truncated {
			t.Errorf("the last %d lines are %q, want %q", lines, v.combined, want)
		}
	}
}

func BenchmarkTranscript(b *testing.B) {
	line := []byte(strings.Repeat("some words in a line of output\n", 1000))
	for name, files := range map[string]*sessionOutput{"kept": nil,
		"in a file too": {outputStore: &outputStore{}, limit: 1 << 40}} {
		b.Run(name, func(b *testing.B) {
			if files != nil {
				b.Setenv("TMPDIR", b.TempDir())
				files.limit = 64 << 20
				defer files.outputStore.close()
			}
			tr := newTranscript(defaultKeep, files)
			defer tr.close()
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				tr.add(stdout, line)
			}
		})
	}
}

// A shell that is not started because the system has no more of something says what would help.
func TestStartWithoutResources(t *testing.T) {
	for cause, want := range map[error]string{
		syscall.EAGAIN: "ulimit -u", syscall.EMFILE: "ulimit -n", syscall.ENFILE: "ulimit -n", syscall.ENOMEM: "free memory",
		syscall.EPERM: "",
	} {
		err := notStarted(t.Context(), &proctree.StartError{Path: "bash", Reason: cause.Error(), Err: cause}, limit{})
		e, ok := errors.AsType[*sdk.Error](err)
		if !ok || e.Name != "NotStarted" || !strings.Contains(e.Suggestion, want) || (e.Suggestion == "") != (want == "") {
			t.Errorf("%v: %+v", cause, err)
		}
	}
}
