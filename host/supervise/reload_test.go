//go:build unix

package supervise

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/sdk"
)

func init() {
	fixtures["counts"] = func() { sdk.Serve(countingPlugin()) }
	fixtures["gated"] = func() {
		_ = mark(os.Getenv("GATE") + ".reached")
		for {
			switch contents(os.Getenv("GATE")) {
			case "open":
				sdk.Serve(countingPlugin())
			case "shut":
				os.Exit(3)
			}
			<-time.After(time.Millisecond)
		}
	}
}

// countingPlugin records each run of its tool count in a file named after the call's id. Its name, the duration of a
// run and its other tools come from its environment.
func countingPlugin() *sdk.Plugin {
	p := sdk.New("counts", os.Getenv("VERSION"))
	sdk.AddTool(p, sdk.Tool{Name: "count", Description: "notes its run"},
		func(_ context.Context, r *sdk.Request, _ textArgs) (*sdk.Result, error) {
			if takes, err := time.ParseDuration(os.Getenv("TAKES")); err == nil {
				<-time.After(takes)
			}
			if dir := os.Getenv("DIR"); dir != "" {
				return sdk.Text(os.Getenv("VERSION")), mark(filepath.Join(dir, r.CallID))
			}
			return sdk.Text(os.Getenv("VERSION")), nil
		})
	sdk.AddTool(p, sdk.Tool{Name: "wait", Description: "waits"}, waitTool)
	sdk.AddTool(p, sdk.Tool{Name: "die", Description: "ends the plugin"},
		func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
			os.Exit(7)
			return nil, nil
		})
	for name := range strings.FieldsSeq(os.Getenv("TOOLS")) {
		sdk.AddTool(p, sdk.Tool{Name: name, Description: "one more"},
			func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
				return sdk.Text(name), nil
			})
	}
	return p
}

// mark makes a file one byte longer.
func mark(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write([]byte("x"))
	return err
}

func counting(version string, env ...string) Spec {
	spec := fixture("counts", "counts")
	spec.Env["VERSION"] = version
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		spec.Env[name] = value
	}
	return spec
}

func mustReload(t testing.TB, p *Process, spec Spec) {
	t.Helper()
	if err := p.Reload(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
}

// During a hundred reloads under load every call is answered, by one process, and run once. The calls take a while,
// so that each new process starts while calls run in the old one.
func TestReloadsUnderLoad(t *testing.T) {
	const callers, takes = 8, "TAKES=100ms" // shorter calls leave a slow machine no time for reloads
	reloads := testutil.Rounds(100)
	dir := t.TempDir()
	p := add(t, supervisor(t), counting("0", "DIR="+dir, takes))
	mustCall(t, p, "count", "")
	goroutines, files := runtime.NumGoroutine(), openFiles()
	var answered, overtaken atomic.Int64
	var wg sync.WaitGroup
	over := make(chan struct{})
	for c := range callers {
		wg.Go(func() {
			for n := 0; !isClosed(over); n++ {
				id := fmt.Sprintf("c%d-%d", c, n)
				r := &sdk.Request{CallID: id, Tool: "count", Arguments: []byte(`{}`), Workdir: "/"}
				if result, err := p.Call(t.Context(), r); err != nil || result.Error != nil {
					t.Errorf("%s: %+v, %v", id, result, err)
				}
				if ran, err := os.ReadFile(filepath.Join(dir, id)); err != nil || len(ran) != 1 {
					t.Errorf("%s ran %d times, %v", id, len(ran), err)
				}
				answered.Add(1)
				if r.Generation < p.Status().Generation {
					overtaken.Add(1)
				}
			}
		})
	}
	for i := range reloads {
		version := fmt.Sprint(i + 1)
		mustReload(t, p, counting(version, "DIR="+dir, takes))
		if got := mustCall(t, p, "count", ""); got != version {
			t.Errorf("after reload %s version %s answers", version, got)
		}
	}
	close(over)
	wg.Wait()
	soon(t, "the old processes end", patience, func() bool { return p.Status().Draining == 0 })
	soon(t, "nothing is left of them", patience, func() bool {
		return runtime.NumGoroutine() <= goroutines+2 && openFiles() <= files+2
	})
	if s := p.Status(); s.Generation != reloads+1 || s.Restarts != 0 || s.Crashes != 0 || s.State != Ready {
		t.Errorf("status: %+v", s)
	}
	t.Logf("%d calls, of which a reload overtook %d", answered.Load(), overtaken.Load())
	if overtaken.Load() == 0 {
		t.Error("no call was in an old process")
	}
}

// A broken reload leaves the running plugin as it was.
func TestBrokenReloadLeavesTheOldServing(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	for name, spec := range map[string]Spec{
		"ends at once":   fixture("counts", "exits"),
		"no plugin":      fixture("counts", "garbage"),
		"never ready":    fixture("counts", "silent"),
		"no program":     {Name: "counts", Command: []string{"/no/such/program"}},
		"wrong checksum": {Name: "counts", Command: os.Args[:1], SHA256: strings.Repeat("0", 64)},
		"configuration": {Name: "counts", Command: os.Args[:1], Env: map[string]string{"FIXTURE": "good"},
			Config: []byte(`{"a":1}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(counting("old").complete(s.options.Workdir), s.log, s.start, nil)
			defer p.Close()
			before := mustCall(t, p, "count", "")
			spec.StartTimeout = time.Second
			err := p.Reload(t.Context(), spec)
			checkError(t, err, sdk.CodePluginUnavailable, "not reloaded", "is unchanged")
			if got := mustCall(t, p, "count", ""); got != before {
				t.Errorf("%s answers", got)
			}
			status := p.Status()
			if status.State != Ready || status.Generation != 1 || status.Crashes != 0 || status.Draining != 0 ||
				!strings.Contains(err.Error(), strings.TrimPrefix(status.LastError, "not reloaded: ")) {
				t.Errorf("status: %+v", status)
			}
			mustReload(t, p, counting("new"))
			if got := mustCall(t, p, "count", ""); got != "new" || p.Status().LastError != "" {
				t.Errorf("%s answers, last error %q", got, p.Status().LastError)
			}
		})
	}
}

// Watchers are notified once of changed tools, and not of a reload that changes none.
func TestReloadReportsChangedTools(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), counting("1", "TOOLS=a b"))
	_ = toolNames(t, p)
	var reported atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = p.Watch(ctx, func() { reported.Add(1) }) }()
	soon(t, "the watch stands", patience, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.watchers) == 1 })
	mustReload(t, p, counting("2", "TOOLS=a b"))
	mustReload(t, p, counting("3", "TOOLS=a c"))
	soon(t, "reported", patience, func() bool { return reported.Load() > 0 })
	if diff := cmp.Diff([]string{"count", "wait", "die", "a", "c"}, toolNames(t, p)); diff != "" {
		t.Error(diff)
	}
	mustReload(t, p, counting("4", "TOOLS=a c"))
	if n := reported.Load(); n != 1 {
		t.Errorf("reported %d times", n)
	}
}

// A new process that dies right after the swap is restarted like any other.
func TestCrashAfterTheSwap(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), counting("1"))
	ended := begin(t, t.Context(), p, "")
	mustReload(t, p, counting("2"))
	_, err := call(t, p, "die", "")
	checkError(t, err, sdk.CodePluginCrashed, "exited with code 7")
	if got := mustCall(t, p, "count", ""); got != "2" {
		t.Errorf("version %s answers", got)
	}
	if s := p.Status(); s.Crashes != 1 || s.Restarts != 1 || s.Generation != 3 || s.Draining != 1 {
		t.Errorf("status: %+v", s)
	}
	_ = p.Close()
	checkError(t, <-ended, sdk.CodeCanceled, "closed")
}

// A plugin that is not running only gets the spec.
func TestReloadOfAPluginThatDoesNotRun(t *testing.T) {
	p := add(t, supervisor(t), counting("1"))
	mustReload(t, p, counting("2"))
	if s := p.Status(); s.State != Known || s.Generation != 0 {
		t.Errorf("status: %+v", s)
	}
	checkError(t, p.Reload(t.Context(), Spec{Name: "counts", Command: []string{"/no/such/program"}}),
		sdk.CodePluginUnavailable, "not reloaded")
	if err := p.Reload(t.Context(), fixture("other", "good")); err == nil ||
		!strings.Contains(err.Error(), "a plugin keeps its name") {
		t.Error(err)
	}
	if got := mustCall(t, p, "count", ""); got != "2" {
		t.Errorf("version %s answers", got)
	}
}

// A reload ends with its context or with the plugin, and leaves no process.
func TestReloadCanceled(t *testing.T) {
	t.Parallel()
	for name, giveUp := range map[string]func(p *Process, cancel func()){
		"by its caller": func(_ *Process, cancel func()) { cancel() },
		"by Close":      func(p *Process, _ func()) { go p.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := add(t, supervisor(t), counting("1"))
			mustCall(t, p, "count", "")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			pids := filepath.Join(t.TempDir(), "pids")
			spec := fixture("counts", "silent")
			spec.Command, spec.StartTimeout = []string{"/bin/sh", "-c", "echo $$ >> " + pids + "; exec sleep 1000"}, time.Hour
			reloaded := make(chan error, 1)
			go func() { reloaded <- p.Reload(ctx, spec) }()
			var pid int
			soon(t, "the new process runs", patience, func() bool {
				text, _ := os.ReadFile(pids)
				_, err := fmt.Sscan(string(text), &pid)
				return err == nil
			})
			giveUp(p, cancel)
			checkError(t, <-reloaded, sdk.CodePluginUnavailable)
			soon(t, "the new process ends", patience, func() bool { return !alive(pid) })
		})
	}
}

// When the old process dies while the new one starts, calls wait for the new one; if that fails, they are answered as
// after any crash.
func TestOldDiesWhileTheNewStarts(t *testing.T) {
	t.Parallel()
	for gate, version := range map[string]string{"open": "2", "shut": "1"} {
		t.Run(gate, func(t *testing.T) {
			t.Parallel()
			p := add(t, supervisor(t), counting("1"))
			mustCall(t, p, "count", "")
			path := filepath.Join(t.TempDir(), "gate")
			spec := counting("2", "GATE="+path)
			spec.Env["FIXTURE"] = "gated"
			reloaded, answered := make(chan error, 1), make(chan string, 1)
			go func() { reloaded <- p.Reload(t.Context(), spec) }()
			soon(t, "the new one starts", patience, func() bool { return size(path+".reached") > 0 })
			_ = syscall.Kill(p.Status().PID, syscall.SIGKILL)
			soon(t, "the old one is dead", patience, func() bool { return p.Status().PID == 0 })
			if s := p.Status(); s.State != Crashed || s.Generation != 1 {
				t.Errorf("status: %+v", s)
			}
			go func() {
				got, err := call(t, p, "count", "")
				if err != nil {
					got = err.Error()
				}
				answered <- got
			}()
			if err := os.WriteFile(path, []byte(gate), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := <-reloaded; (err == nil) != (gate == "open") {
				t.Errorf("the reload: %v", err)
			}
			if got := <-answered; got != version {
				t.Errorf("version %s answers, want %s", got, version)
			}
		})
	}
}

// Reloads of one plugin run one after the other.
func TestReloadsWaitForEachOther(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), counting("0"))
	mustCall(t, p, "count", "")
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() { mustReload(t, p, counting(fmt.Sprint(i))) })
	}
	wg.Wait()
	if s := p.Status(); s.Generation != 7 || s.State != Ready {
		t.Errorf("status: %+v", s)
	}
	mustCall(t, p, "count", "")
}

// The supervisor's reload adds, removes and reloads what has changed, and touches nothing else.
func TestSupervisorReload(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	replace(t, program, os.Args[0])
	spec := func(name, version string) Spec {
		s := counting(version)
		s.Name, s.Command = name, []string{program}
		return s
	}
	s := supervisor(t)
	if problems := s.Reload(t.Context(),
		[]Spec{spec("stays", "1"), spec("changes", "1"), spec("goes", "1")}); len(problems) > 0 {
		t.Fatal(problems)
	}
	stays, changes, goes := s.Process("stays"), s.Process("changes"), s.Process("goes")
	for _, p := range []*Process{stays, changes} {
		mustCall(t, p, "count", "")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := begin(t, ctx, goes, "")
	moved := spec("stays", "1")
	moved.Source, moved.Idempotent = "config.hcl:9", []string{"count"}
	moved.Lock = Lock{Source: "toolhost.lock.hcl:9", Advice: "lock it"}
	broken := Spec{Name: "broken"}
	problems := s.Reload(t.Context(), []Spec{moved, spec("changes", "2"), spec("comes", "1"), broken, spec("comes", "2")})
	if text := fmt.Sprint(problems); len(problems) != 2 || !strings.Contains(text, "no command") ||
		!strings.Contains(text, "defined twice") {
		t.Errorf("problems: %v", problems)
	}
	if got := stays.Status(); got.Generation != 1 || got.Source != "config.hcl:9" {
		t.Errorf("a plugin whose place in the file has changed: %+v", got)
	}
	if got := mustCall(t, changes, "count", ""); got != "2" {
		t.Errorf("version %s answers", got)
	}
	mustCall(t, s.Process("comes"), "count", "")
	if s.Process("goes") != nil || len(s.Processes()) != 3 {
		t.Errorf("processes: %v", s.Processes())
	}
	_, err := call(t, goes, "count", "")
	checkError(t, err, sdk.CodePluginUnavailable, "closed")
	if got := goes.Status(); got.State != Draining || got.Calls != 1 {
		t.Errorf("a removed plugin with a call: %+v", got)
	}
	cancel()
	checkError(t, <-ended, sdk.CodeCanceled)
	soon(t, "it has gone", patience, func() bool { return goes.Status().State == Stopped })

	replace(t, program, os.Args[0]) // another file of the same name
	if problems := s.Reload(t.Context(), []Spec{moved, spec("changes", "2")}); len(problems) > 0 {
		t.Fatal(problems)
	}
	for p, want := range map[*Process]int{stays: 2, changes: 3} {
		if got := p.Status().Generation; got != want {
			t.Errorf("%s: generation %d after its program was replaced, want %d", p.Name(), got, want)
		}
	}
}

// A failed reload is reported for as long as the spec is wanted.
func TestReloadToTheRunningSpec(t *testing.T) {
	t.Parallel()
	s, good := supervisor(t), fixture("x", "good")
	p := add(t, s, good)
	mustCall(t, p, "echo", "")
	bad := fixture("x", "exits")
	if problems := s.Reload(t.Context(), []Spec{bad}); len(problems) != 1 ||
		!strings.Contains(p.Status().LastError, "not reloaded: ") {
		t.Errorf("problems %v, status %+v", problems, p.Status())
	}
	if problems := s.Reload(t.Context(), []Spec{good}); len(problems) != 0 {
		t.Error(problems)
	}
	if got := p.Status(); got.LastError != "" || got.State != Ready || got.Generation != 1 {
		t.Errorf("after a reload to what runs: %+v", got)
	}
}

// Close waits for a plugin that its user has closed, also when a reload has found it so.
func TestCloseWaitsForAPluginThatAReloadFoundClosed(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	p := add(t, s, fixture("deaf", "deaf"))
	if _, err := p.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.Close() }()
	<-p.closing
	if problems := s.Reload(t.Context(), nil); len(problems) > 0 {
		t.Error(problems)
	}
	if err := s.Close(); err != nil || !isClosed(p.done) {
		t.Errorf("the supervisor has closed before its plugin: %v", err)
	}
}

// Tools that are known without a start are forgotten when the program or the spec changes, and only then.
func TestReloadForgetsToolsOfAnotherProgram(t *testing.T) {
	c := newCaching(t)
	spec := c.fixture("p", "changing")
	dir := t.TempDir()
	tools, program := filepath.Join(dir, "tools"), filepath.Join(dir, "program")
	spec.Env["TOOLS_FILE"], spec.Command = tools, []string{program}
	rewrite(t, tools, []byte("old one\n"))
	replace(t, program, os.Args[0])
	c.list(Options{}, spec)
	c.wantStarts(1, "the first listing")
	check(t, c.with(Options{}, func(s *Supervisor) error {
		p := add(t, s, spec)
		want := func(name string, starts int, when string) {
			t.Helper()
			if problems := s.Reload(t.Context(), []Spec{spec}); len(problems) > 0 {
				t.Error(problems)
			}
			if got := toolNames(t, p); len(got) != 1 || got[0] != name {
				t.Errorf("%s: the tools are %v", when, got)
			}
			c.wantStarts(starts, when)
		}
		want("old", 0, "at first")
		want("old", 0, "nothing has changed")
		rewrite(t, tools, []byte("new one\n"))
		longer := append(must(os.ReadFile(program)), "and more"...)
		check(t, os.WriteFile(program+".new", longer, 0o755))
		check(t, os.Rename(program+".new", program))
		want("new", 1, "another program")
		want("new", 0, "nothing has changed again")
		return nil
	}))
}
