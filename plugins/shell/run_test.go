//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// A lifeline is a pipe with a name. Processes that open it for writing show by its end that they are gone.
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

// wantEnd waits for all processes that hold the pipe to end.
func (l *lifeline) wantEnd(t *testing.T) {
	t.Helper()
	select {
	case err := <-l.ends:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("a process that the command started is still there")
	}
}

// leftBehind is a command that leaves a process behind which holds the lifeline, as far out of reach as the system's
// containment promises to follow.
func (l *lifeline) leftBehind() string {
	start := "sh -c"
	if proctree.Containment() == "process-tree" {
		start = "setsid sh -c"
	}
	return start + ` 'exec 9>"` + l.path + `"; trap "" TERM HUP; echo up >&9; while :; do sleep 60 || :; done' >/dev/null 2>&1 & `
}

func TestNothingIsLeftBehind(t *testing.T) {
	l := newLifeline(t)
	p := sdktest.Start(t, newPlugin())
	begin := time.Now()
	// Opening the pipe a second time waits until the process in the background has it.
	r := execIn(t, p, t.TempDir(), map[string]any{"command": l.leftBehind() + `exec 8>"` + l.path + `"; echo done`})
	if r.Error != nil || outcomeOf(t, r).Stdout != "done\n" {
		t.Fatalf("error %+v, %s", r.Error, r.Structured)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("the call took %v: it waited for what it left behind", took)
	}
	l.wantEnd(t)
}

func TestLeftProcessesAreTold(t *testing.T) {
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
	// The command goes on only when its first line has been seen.
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
	r, err := withDeadline(t.Context(), t, sdktest.Start(t, newPlugin()), events, map[string]any{"command": "cat", "stdin": want})
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

// inUse is how much memory is in use, without what waits to be collected. The first collection only moves pooled memory
// aside; the second frees it.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestFloodOfOutput(t *testing.T) {
	const printed = 200_000_000
	p := sdktest.Start(t, newPlugin())
	before, peak, streamed, events := inUse(), uint64(0), 0, 0
	watch := func(e sdk.Event) {
		streamed += len(e.Data)
		if events++; events%20 == 0 {
			peak = max(peak, inUse())
		}
	}
	begin := time.Now()
	r, err := withDeadline(t.Context(), t, p, watch, map[string]any{"command": "yes | head -c 200000000", "timeout_seconds": 100})
	if err != nil || r.Error != nil {
		t.Fatalf("%v, %+v", err, r)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	o := outcomeOf(t, r)
	if o.StdoutBytes != printed || !o.Truncated || !r.Truncated {
		t.Errorf("%d bytes counted, %d streamed, want %d; truncated %v %v", o.StdoutBytes, streamed, printed, o.Truncated, r.Truncated)
	}
	if took := time.Since(begin).Seconds(); streamed < liveBurst || float64(streamed) > liveBurst+liveRate*(took+1) {
		t.Errorf("%d bytes were streamed in %v s", streamed, took)
	}
	want := strings.Repeat("y\n", 16<<10) + "[... 199934464 bytes left out ...]\n" + strings.Repeat("y\n", 16<<10)
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
	// A control character takes six bytes in JSON, the most that there is.
	r := execIn(t, p, t.TempDir(), map[string]any{"command": `head -c 2000000 /dev/zero | tr '\000' '\001' | tee /dev/stderr`})
	if r.Error != nil {
		t.Fatalf("%+v", r.Error)
	}
	if o := outcomeOf(t, r); !o.Truncated || o.StdoutBytes != 2_000_000 || o.StderrBytes != 2_000_000 {
		t.Errorf("truncated %v, %d and %d bytes", o.Truncated, o.StdoutBytes, o.StderrBytes)
	}
}

func TestInputThatNobodyReads(t *testing.T) {
	r := execIn(t, sdktest.Start(t, newPlugin()), t.TempDir(), map[string]any{"command": "exit 0", "stdin": strings.Repeat("x", 900<<10)})
	if r.Error != nil || outcomeOf(t, r).ExitCode != 0 {
		t.Errorf("%+v %s", r.Error, r.Structured)
	}
}
