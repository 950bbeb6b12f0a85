//go:build unix

package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// Each is a real process that fails at its start: a typed error within the start's time, no process left, and another
// plugin works on.
func TestBadStarts(t *testing.T) {
	t.Parallel()
	// for those that do not end by themselves; three of them must get as far as the handshake
	limits := map[string]time.Duration{
		"silent": time.Second, "stopped": time.Second, "slow": time.Second, "half": 10 * time.Second,
		"mute": 10 * time.Second, "bequeaths": 10 * time.Second,
	}
	for role, words := range map[string][]string{
		"garbage":     {"hello, I am no plugin", "not a toolhost plugin"},
		"half":        {`not ready within 10s: no handshake; it printed "1|1|unix", and not the end of that line`},
		"long":        {"not a toolhost plugin"},
		"silent":      {"not ready within 1s: no handshake;", "serve before all slow work"},
		"stopped":     {"not ready within 1s: no handshake;"},
		"exits":       {"before the handshake", "exited with code 3", "I cannot go on"},
		"panics":      {"exited with code 2", "panic: no good"},
		"tcp":         {"must listen on a Unix socket"},
		"elsewhere":   {"outside its own socket folder"},
		"certificate": {"certificate, which the host did not ask for"},
		"future":      {"version \"2\"", "speaks version 1"},
		"netrpc":      {"must speak grpc"},
		"mute":        {"not ready within 10s: it did not describe itself"},
		"bequeaths":   {"not ready within 10s"},
		"unfinished":  {"exited with code 3", "the key is missing"},
		"vanishes":    {"could not be started: exited with code 5 while it started"},
		"closes":      {"it closed its standard output before the handshake"},
		"daemon":      {"exited with code 0 before the handshake: did it call the serve function of its kit?"},
		"later":       {"not yet"},
		"slow":        {"could not be started"}, // by its own message, or by the host's clock
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			s := supervisor(t)
			spec := fixture("bad", role)
			if limit, ok := limits[role]; ok {
				spec.StartTimeout = limit
			}
			p, good := add(t, s, spec), add(t, s, fixture("good", "good"))
			started := time.Now()
			_, err := call(t, p, "echo", "")
			if took := time.Since(started); took > spec.StartTimeout+slack*stopTime {
				t.Errorf("the error took %s", took)
			}
			checkError(t, err, sdk.CodePluginUnavailable, append(words, `plugin "bad"`)...)
			if got := mustCall(t, good, "echo", "unharmed"); got != "unharmed" {
				t.Errorf("the other plugin gave %q", got)
			}
			if s := p.Status(); s.State != Crashed || s.PID != 0 || s.LastError == "" {
				t.Errorf("status %+v", s)
			}
		})
	}
}

// Plugins that wait for something in their start delay others only for a moment.
func TestSilentPluginsDelayNoOthers(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	for i := range cap(s.starts) {
		spec := fixture(fmt.Sprintf("silent%d", i), "silent")
		spec.Eager, spec.StartTimeout = true, time.Hour
		add(t, s, spec)
	}
	soon(t, "all are starting", patience, func() bool { return len(s.starts) == cap(s.starts) })
	mustCall(t, add(t, s, fixture("good", "good")), "echo", "")
}

// go-plugin's client keeps everything that a plugin sends to its broker; ours refuses the broker.
func TestBrokerIsRefused(t *testing.T) {
	s := supervisor(t)
	p := add(t, s, fixture("knocks", "knocks"))
	if _, err := p.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	g, err := p.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := testutil.HeapInUse()
	within(time.Second, g.done()) // it lives on, and keeps dialing
	if grown := testutil.HeapInUse() - before; grown > 16<<20 {
		t.Errorf("the host's memory grew by %d bytes in a second", grown)
	}
	g.child.kill("") // it ignores everything else
}

// A second death in a repeated call is reported as such.
func TestIdempotentCallDiesTwice(t *testing.T) {
	spec := fixture("good", "good")
	spec.Idempotent = []string{"die"}
	_, err := call(t, add(t, supervisor(t), spec), "die", "twice")
	checkError(t, err, sdk.CodePluginCrashed, "exited with code 7")
}

// A preview that a stopped plugin leaves unanswered causes a health check, like a call.
func TestPreviewOfAStoppedPlugin(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), fixture("good", "good"))
	mustCall(t, p, "echo", "")
	stop(t, p.Status().PID)
	ctx, ended := lateIn(t), make(chan error, 1)
	go func() { _, err := p.Preview(ctx, request("echo", "")); ended <- err }()
	soon(t, "it is asked", patience, func() bool { return p.Status().Calls == 1 })
	ctx.pass()
	checkError(t, <-ended, sdk.CodeTimeout)
	soon(t, "the stopped process is killed", patience, func() bool { return p.Status().State == Crashed })
}

// A plugin that dies in a preview has not got the call.
func TestPreviewOfADyingPlugin(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), fixture("good", "good"))
	mustCall(t, p, "echo", "")
	stop(t, p.Status().PID)
	ended := make(chan error, 1)
	go func() { _, err := p.Preview(t.Context(), request("echo", "")); ended <- err }()
	soon(t, "it is asked", patience, func() bool { return p.Status().Calls == 1 })
	kill(p, Ready)
	err := <-ended
	checkError(t, err, sdk.CodePluginCrashed, "died before the call reached it")
	if e, _ := errors.AsType[*sdk.Error](err); !strings.Contains(string(e.Details), `"delivered":false`) {
		t.Errorf("details %s", e.Details)
	}
}

// Plugins that can be configured later are not marked invalid.
func TestRefusalForNow(t *testing.T) {
	p := add(t, supervisor(t), fixture("later", "later"))
	_, err := call(t, p, "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "not yet")
	if got := p.Status().State; got == Invalid {
		t.Error("it is never started again")
	}
}

func TestFloodOfStderrAffectsNoOthers(t *testing.T) {
	p := add(t, supervisor(t), fixture("flood", "flood"))
	for range 20 {
		if got := mustCall(t, p, "echo", "through"); got != "through" {
			t.Fatal(got)
		}
	}
}

func TestBadPrograms(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		program string
		words   string
	}{
		"gone":           {filepath.Join(dir, "nothing"), "does not exist"},
		"not in PATH":    {"no-such-program-anywhere", "no-such-program-anywhere was not found in PATH"},
		"not executable": {write("plain", "#!/bin/sh\n", 0o644), "permission denied"},
		"a folder":       {dir, "is a folder"},
		"no program":     {write("text", "just text", 0o755), "cannot be run"},
		"no interpreter": {write("script", "#!/no/such/interpreter\n", 0o755), "interpreter"},
		"ends at once": {write("true", "#!/bin/sh\nexit 0\n", 0o755),
			"exited with code 0 before the handshake: did it call the serve function of its kit?"},
	} {
		t.Run(name, func(t *testing.T) {
			p := add(t, supervisor(t), Spec{Name: "bad", Command: []string{c.program}})
			_, err := call(t, p, "echo", "")
			checkError(t, err, sdk.CodePluginUnavailable, c.words)
		})
	}
}

// A checksum is taken of the file that runs: relative to the folder that the plugin starts in, and never of a pipe.
func TestChecksumOfTheRightFile(t *testing.T) {
	workdir, elsewhere := t.TempDir(), t.TempDir()
	for _, dir := range []string{workdir, elsewhere} {
		if err := os.WriteFile(filepath.Join(dir, "p"), []byte("#!/bin/sh\necho "+filepath.Base(dir)+dir+"\n"),
			0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(elsewhere)
	sum, err := sumOf("p")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{RunDir: shortDir(t), Workdir: workdir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = call(t, add(t, s, Spec{Name: "p", Command: []string{"./p"}, SHA256: sum}), "x", "")
	checkError(t, err, sdk.CodePluginUnavailable, "sha256")
	if err := syscall.Mkfifo(filepath.Join(workdir, "pipe"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = call(t, add(t, s, Spec{Name: "pipe", Command: []string{"./pipe"}, SHA256: sum}), "x", "")
	checkError(t, err, sdk.CodePluginUnavailable, "not a regular file")
}

func TestChecksum(t *testing.T) {
	sum, err := sumOf(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	s := supervisor(t)
	right, wrong := fixture("right", "good"), fixture("wrong", "good")
	right.SHA256, wrong.SHA256 = strings.ToUpper(sum), strings.Repeat("0", 64)
	mustCall(t, add(t, s, right), "echo", "")
	p := add(t, s, wrong)
	_, err = call(t, p, "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "sha256", "changed or is another version")
	if got := p.Status(); got.State != Invalid {
		t.Errorf("state %s", got.State)
	}
}

// A plugin that dies at every start is tried less and less often, and calls in between fail at once.
func TestDyingAtEveryStart(t *testing.T) {
	t.Parallel()
	spec := fixture("bad", "exits")
	spec.Restart = Restart{MaxCrashes: 3, Window: time.Hour, Backoff: time.Millisecond, BackoffMax: time.Millisecond}
	p := add(t, supervisor(t), spec)
	soon(t, "quarantine", patience, func() bool {
		_, _ = call(t, p, "echo", "")
		return p.Status().State == Quarantined
	})
	if got := p.Status().Generation; got != 4 {
		t.Errorf("started %d times before the quarantine, want 4", got)
	}
	_, err := call(t, p, "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "crashed 4 times", "quarantined for another", "I cannot go on")
	if facts := factsOf(t, err); facts["retry_after_ms"].(float64) < 200_000 {
		t.Errorf("details: %v", facts)
	}
}

func TestConfigurationForAPluginThatTakesNone(t *testing.T) {
	spec := fixture("good", "good")
	spec.Config, spec.Source = []byte(`{"a":1}`), "config.hcl:7"
	p := add(t, supervisor(t), spec)
	_, err := call(t, p, "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "takes no configuration", "config.hcl:7")
}

func TestStartEndsWithItsCaller(t *testing.T) {
	p := add(t, supervisor(t), fixture("silent", "silent"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.Call(ctx, request("echo", ""))
	checkError(t, err, sdk.CodeTimeout)
}

// lines is how many lines the fixture of that name prints before it ends.
const lines = 300

func init() {
	fixtures["lines"] = func() {
		for i := range lines {
			fmt.Fprintln(os.Stderr, "line", i)
		}
	}
	fixtures["overflows"] = func() { debug.SetMaxStack(1 << 20); fmt.Println(deep(1 << 30)) }
	fixtures["panicky"] = func() {
		p := goodPlugin()
		sdk.AddTool(p, sdk.Tool{Name: "panic", Description: "panics"},
			func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
				panic("no reason")
			})
		sdk.Serve(p)
	}
}

// deep recurses n times, which overflows the stack.
func deep(n int) int {
	if n == 0 {
		return 0
	}
	return deep(n-1) + n
}

// faults are the known faults of go-plugin and of programs that use it unchanged, and the test that shows toolhost
// without each.
var faults = []struct{ fault, test string }{
	{"a log line with fields of a wrong type makes the host panic", "TestPluginOutput"},
	{"a certificate that nobody asked for makes the host panic", "TestHandshake"},
	{"a panic in a start is the host's", "TestPanicInAStart"},
	{"a stopped plugin cannot be stopped, and no question to it ends", "TestCloseIsBounded"},
	{"a grandchild that holds a pipe hides the plugin's end", "TestDeathIsSeenThroughAGrandchild"},
	{"whoever else holds a pipe hides the plugin's end", "TestDeathIsSeenWhilePipesAreHeld"},
	{"a client that fails after the start leaves the process", "TestFailedStartLeavesNoProcess"},
	{"each crash leaves goroutines", "TestCrashesLeaveNothing"},
	{"each crash leaves a socket", "TestCrashesLeaveNothing"},
	{"no end is reported, nothing is restarted", "TestEventsOfALife"},
	{"a long first line ends the reading", "TestBadStarts"},
	{"lines of one message lose their order", "TestLinesStayInOrder"},
	{"the broker cannot be used by many, and keeps what it is sent", "TestBrokerIsRefused"},
	{"a plugin may listen on the network", "TestBadStarts"},
	{"many starts make many sockets", "TestLazySingleFlightStart"},
	{"a panic in a handler ends all calls", "TestPanicInAHandler"},
	{"a checksum cannot be checked twice", "TestChecksumAfterACrash"},
	{"the host's environment wins over what is set", "TestEnvironmentIsAnAllowList"},
	{"the plugin reads the host's standard input", "TestStandardInputIsNotTheHosts"},
	{"nothing ends a start but its timeout", "TestCloseDuringTheStart"},
}

// The table above names tests that exist.
func TestFaultsHaveTests(t *testing.T) {
	var all strings.Builder
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, f := range faults {
		if !strings.Contains(all.String(), "\nfunc "+f.test+"(t *testing.T) {") {
			t.Errorf("%s: there is no %s", f.fault, f.test)
		}
	}
}

// A process that does not belong to the plugin and holds its pipes cannot hide the plugin's end.
func TestDeathIsSeenWhilePipesAreHeld(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), fixture("good", "good"))
	mustCall(t, p, "echo", "")
	pid := p.Status().PID
	for fd := 1; fd <= 2; fd++ {
		held := must(os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", pid, fd), os.O_WRONLY, 0))
		defer held.Close()
	}
	ended := begin(t, t.Context(), p, "")
	check(t, syscall.Kill(pid, syscall.SIGKILL))
	checkError(t, <-ended, sdk.CodePluginCrashed, "killed by SIGKILL")
	mustCall(t, p, "echo", "")
}

func TestFailedStartLeavesNoProcess(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"mute", "netrpc", "half", "slow", "later", "silent"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			pids := filepath.Join(t.TempDir(), "pids")
			spec := fixture("bad", role)
			spec.StartTimeout = 3 * time.Second // within which it must have begun
			spec.Command = []string{"/bin/sh", "-c", "echo $$ >> " + pids + "; exec " + os.Args[0]}
			p := add(t, supervisor(t), spec)
			_, err := call(t, p, "echo", "")
			checkError(t, err, sdk.CodePluginUnavailable)
			for pid := range strings.FieldsSeq(contents(pids)) {
				var n int
				if _, err := fmt.Sscan(pid, &n); err != nil || alive(n) {
					t.Errorf("process %s is left, %v", pid, err)
				}
			}
			if contents(pids) == "" {
				t.Error("nothing was started")
			}
		})
	}
}

// go-plugin panics in unexpected places, and the checks before it may miss an input.
func TestPanicInAStart(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	good := s.capabilities
	s.capabilities = func() proctree.Capabilities { panic("no reason") }
	p := add(t, s, fixture("good", "good"))
	_, err := call(t, p, "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "go-plugin panicked during the handshake: no reason")
	s.capabilities = good
	mustCall(t, p, "echo", "")
}

// The error of a death shows the most informative lines, even when the trace of all goroutines follows them.
func TestLongTrace(t *testing.T) {
	t.Parallel()
	_, err := call(t, add(t, supervisor(t), fixture("bad", "overflows")), "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "Last line on stderr: fatal error: stack overflow")
}

func contents(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// openFiles counts the descriptors of this process.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}

func TestCrashesLeaveNothing(t *testing.T) {
	s := supervisor(t)
	spec := fixture("good", "good")
	spec.Restart = Restart{MaxCrashes: 1000, Backoff: time.Nanosecond, BackoffMax: time.Nanosecond}
	p := add(t, s, spec)
	crash := func() {
		mustCall(t, p, "echo", "")
		if _, err := call(t, p, "die", "often"); err == nil {
			t.Fatal("it lives")
		}
	}
	crash()
	mustCall(t, p, "echo", "")
	goroutines, files := runtime.NumGoroutine(), openFiles()
	for range 30 {
		crash()
	}
	mustCall(t, p, "echo", "")
	soon(t, "goroutines and files are as before", patience, func() bool {
		return runtime.NumGoroutine() <= goroutines+2 && openFiles() <= files+2
	})
	soon(t, "one socket is left", patience, func() bool { return len(sockets(t, s)) == 1 })
}

func sockets(t *testing.T, s *Supervisor) (out []string) {
	t.Helper()
	err := filepath.WalkDir(s.runDir.path, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type() == os.ModeSocket {
			out = append(out, path)
		}
		return nil // closed meanwhile
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLinesStayInOrder(t *testing.T) {
	r := &recorder{}
	s, err := New(Options{RunDir: shortDir(t), Logger: slog.New(r)})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = call(t, add(t, s, fixture("bad", "lines")), "echo", "")
	_ = s.Close() // then all is read
	next := 0
	for _, line := range r.lines {
		if strings.HasPrefix(line, "DEBUG line ") {
			if want := fmt.Sprint("DEBUG line ", next); line != want {
				t.Fatalf("the log has %q where %q belongs", line, want)
			}
			next++
		}
	}
	if next != lines {
		t.Errorf("%d lines of %d", next, lines)
	}
}

// A panic fails its call, and no other.
func TestPanicInAHandler(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), fixture("good", "panicky"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := begin(t, ctx, p, "")
	_, err := call(t, p, "panic", "")
	checkError(t, err, sdk.CodeTool, "no reason")
	if s := p.Status(); s.Generation != 1 || s.Calls != 1 || s.State != Ready {
		t.Errorf("status: %+v", s)
	}
	cancel()
	checkError(t, <-ended, sdk.CodeCanceled)
}

func TestChecksumAfterACrash(t *testing.T) {
	spec := fixture("good", "good")
	spec.SHA256 = must(spec.Inspect()).SHA256
	p := add(t, supervisor(t), spec)
	_, _ = call(t, p, "die", "once")
	mustCall(t, p, "echo", "")
	if s := p.Status(); s.Generation != 2 {
		t.Errorf("status: %+v", s)
	}
}

func TestStandardInputIsNotTheHosts(t *testing.T) {
	p := add(t, supervisor(t), fixture("good", "good"))
	mustCall(t, p, "echo", "")
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", p.Status().PID))
	if err != nil {
		t.Fatal(err)
	}
	ours, _ := os.Readlink("/proc/self/fd/0")
	if theirs == ours || !strings.HasPrefix(theirs, "pipe:") {
		t.Errorf("the plugin's standard input is %s, the host's is %s", theirs, ours)
	}
}

// An outcomeCounts counts the outcomes of calls.
type outcomeCounts struct{ ok, failed, late atomic.Int64 }

// one makes a call and checks it: an answer in time, at most one run, and exactly one if it succeeded.
func (c *outcomeCounts) one(t *testing.T, p *Process, dir, id string) {
	const deadline = time.Second
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	began := time.Now()
	result, err := p.Call(ctx, &sdk.Request{CallID: id, Tool: "count", Arguments: []byte(`{}`), Workdir: "/"})
	if took := time.Since(began); took > deadline+stopTime {
		t.Errorf("%s was answered after %s", id, took)
	}
	runs := size(filepath.Join(dir, id))
	switch {
	case runs > 1, err == nil && (result.Error != nil || runs != 1):
		t.Errorf("%s ran %d times: %+v, %v", id, runs, result, err)
	case err == nil:
		c.ok.Add(1)
	case sdk.CodeOf(err) == sdk.CodeTimeout:
		c.late.Add(1)
	default:
		c.failed.Add(1)
	}
}

// Kills, stops, good and bad reloads, and resets at random while calls run: each call gets an answer, none runs
// twice, and in the end the plugin works and nothing is left.
func TestFaultsUnderLoad(t *testing.T) {
	const steps = 60
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	spec := counting("1", "DIR="+dir)
	spec.Restart = Restart{MaxCrashes: 1000, Backoff: time.Millisecond, BackoffMax: 5 * time.Millisecond}
	spec.DrainTimeout = 2 * time.Second
	s := supervisor(t)
	p := add(t, s, spec)
	mustCall(t, p, "count", "")
	goroutines, files := runtime.NumGoroutine(), openFiles()

	var counts outcomeCounts
	var wg sync.WaitGroup
	over := make(chan struct{})
	for c := range 8 {
		wg.Go(func() {
			for n := 0; !isClosed(over); n++ {
				counts.one(t, p, dir, fmt.Sprintf("c%d-%d", c, n))
			}
		})
	}
	signal := func(sig syscall.Signal) func() {
		return func() {
			if pid := p.Status().PID; pid > 0 {
				_ = syscall.Kill(pid, sig)
			}
		}
	}
	broken := fixture("counts", "exits")
	faultsUnderLoad := []func(){
		signal(syscall.SIGKILL), signal(syscall.SIGTERM), signal(syscall.SIGSTOP), signal(syscall.SIGCONT), p.Reset,
		func() { _ = p.Reload(t.Context(), spec) },
		func() { _ = p.Reload(t.Context(), broken) },
		func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(20))*time.Millisecond)
			defer cancel()
			_ = p.Reload(ctx, spec)
		},
	}
	for range steps {
		faultsUnderLoad[random.IntN(len(faultsUnderLoad))]()
		checkLegal(t, p.Status())
		<-time.After(time.Duration(random.IntN(50)) * time.Millisecond)
	}
	close(over)
	wg.Wait()
	// a plugin stopped last would be detected only at the next call's deadline
	signal(syscall.SIGCONT)()
	if p.spec.Load().Env["FIXTURE"] == "exits" { // a plugin that is not running takes any spec
		t.Log("reloaded, since the last spec it took is the broken one")
		mustReload(t, p, spec)
	}
	soon(t, "the plugin works", patience, func() bool { _, err := call(t, p, "count", ""); return err == nil })
	soon(t, "old processes have ended", patience, func() bool { return p.Status().Draining == 0 })
	soon(t, "nothing is left", patience, func() bool {
		return runtime.NumGoroutine() <= goroutines+3 && openFiles() <= files+3 && len(sockets(t, s)) == 1
	})
	t.Logf("%d answered, %d failed, %d late", counts.ok.Load(), counts.failed.Load(), counts.late.Load())
	if counts.ok.Load() == 0 {
		t.Error("no call was answered")
	}
}

// checkLegal checks that a status is consistent.
func checkLegal(t *testing.T, s Status) {
	t.Helper()
	legal := []State{Known, Starting, Ready, Crashed, Backoff}
	if !slices.Contains(legal, s.State) || s.Reason == "" || s.Since.IsZero() || (s.State == Ready) != (s.PID != 0) ||
		s.Calls < 0 || s.Draining < 0 || s.Draining > maxDraining || (s.State == Backoff) == s.RetryAt.IsZero() {
		t.Errorf("status: %+v", s)
	}
}

func init() { fixtures["poor"] = runWithFewFiles }

// runWithFewFiles is a host that makes one call, and prints its answer or its error.
func runWithFewFiles() {
	s, err := New(Options{RunDir: os.Getenv("RUN")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := must(s.Add(fixture("good", "good"))).Call(ctx, request("echo", "it worked"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Content[0].Text)
}

// A host with too low a limit of open files says so, ends, and leaves nothing that the next one does not remove.
func TestTooFewFiles(t *testing.T) {
	t.Parallel()
	run, outputs := shortDir(t), ""
	for files := 12; files <= 60; files += 4 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", fmt.Sprintf("ulimit -n %d; exec %s", files, os.Args[0]))
		cmd.Env = append(os.Environ(), "FIXTURE=poor", "RUN="+run)
		cmd.WaitDelay = time.Second
		out, err := cmd.CombinedOutput()
		cancel()
		outputs += fmt.Sprintf("%d files: %s", files, out)
		if text := string(out); err != nil || !strings.Contains(text, "too many open files") &&
			!strings.Contains(text, "raise the limit (ulimit -n)") && text != "it worked\n" {
			t.Errorf("with %d files: %v, %s", files, err, out)
		}
	}
	for _, words := range []string{"raise the limit (ulimit -n)", ": it worked\n"} {
		if !strings.Contains(outputs, words) {
			t.Errorf("nowhere %q:\n%s", words, outputs)
		}
	}
	check(t, must(makeRunDir(run)).remove())
	if left := must(os.ReadDir(run)); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// The error of a start that the machine prevents says what to do.
func TestStartProblems(t *testing.T) {
	for why, words := range map[error]string{
		syscall.EMFILE:  "too many open files; close some, or raise the limit (ulimit -n)",
		syscall.ENFILE:  "too many open files; close some, or raise the limit (ulimit -n)",
		syscall.EAGAIN:  "its user has too many processes; end some, or raise the limit (ulimit -u)",
		syscall.ETXTBSY: "another process still writes to it; try again when it is complete",
	} {
		err := launchError(Spec{Command: []string{"./p"}},
			fmt.Errorf("start the launcher: %w", &os.PathError{Op: "fork/exec", Path: "p", Err: why}))
		if want := "./p cannot be run: " + words; err.Error() != want {
			t.Errorf("%v: %v", why, err)
		}
	}
}

// The error about a folder that cannot be made says how to name another one, and no partial folder is left.
func TestNoPrivateFolder(t *testing.T) {
	file := filepath.Join(shortDir(t), "file")
	check(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("TMPDIR", filepath.Join(file, "no"))
	t.Setenv("XDG_RUNTIME_DIR", "")
	_, err := New(Options{})
	if err == nil || !strings.Contains(err.Error(), "Fix: set XDG_RUNTIME_DIR or TMPDIR") {
		t.Errorf("got %v", err)
	}
}

// The error of a call to a plugin that is down says what to do.
func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	wrong, ends := fixture("x", "good"), fixture("x", "exits")
	wrong.SHA256 = strings.Repeat("0", 64)
	ends.Restart = Restart{MaxCrashes: 9, Backoff: time.Hour, BackoffMax: time.Hour}
	gone := Spec{Name: "x", Command: []string{filepath.Join(t.TempDir(), "gone")}}
	const advice = "do without its tools, or ask the user to fix it."
	for name, c := range map[string]struct {
		spec Spec
		want []string // for consecutive calls
	}{
		"invalid": {wrong, []string{"D" + advice[1:], "D" + advice[1:]}},
		"no file": {gone, []string{"D" + advice[1:]}},
		"ends":    {ends, []string{"Try again once; then " + advice, "Try again once; then " + advice, "Try again in "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := add(t, supervisor(t), c.spec)
			for i, want := range c.want {
				_, err := call(t, p, "echo", "")
				if e, ok := errors.AsType[*sdk.Error](err); !ok || !strings.HasPrefix(e.Suggestion, want) {
					t.Errorf("call %d fails with %+v, want %q", i+1, err, want)
				}
			}
		})
	}
}
