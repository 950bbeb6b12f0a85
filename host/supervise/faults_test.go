package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/sdk"
)

// lines is how many the role of that name prints before it ends.
const lines = 300

func init() {
	plays["lines"] = func() {
		for i := range lines {
			fmt.Fprintln(os.Stderr, "line", i)
		}
	}
	plays["overflows"] = func() { debug.SetMaxStack(1 << 20); fmt.Println(deep(1 << 30)) }
	plays["panicky"] = func() {
		p := goodPlugin()
		sdk.AddTool(p, sdk.Tool{Name: "panic", Description: "panics"}, func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
			panic("no reason")
		})
		sdk.Serve(p)
	}
}

// deep calls itself n times, which takes more stack than there is.
func deep(n int) int {
	if n == 0 {
		return 0
	}
	return deep(n-1) + n
}

// faults are the known faults of go-plugin and of programs that use it as it comes, and which test holds us to be without
// each of them.
var faults = []struct{ fault, test string }{
	{"a log line with fields of a wrong type makes the host panic", "TestWhatPluginsPrint"},
	{"a certificate that nobody asked for makes the host panic", "TestHandshake"},
	{"a panic in a start is the host's", "TestPanicInAStart"},
	{"a stopped plugin cannot be stopped, and no question to it ends", "TestCloseIsBounded"},
	{"a grandchild that holds a pipe hides the plugin's end", "TestDeathIsSeenThroughAGrandchild"},
	{"whoever else holds a pipe hides the plugin's end", "TestDeathIsSeenWhilePipesAreHeld"},
	{"a client that fails after the start leaves the process", "TestFailedStartLeavesNoProcess"},
	{"each crash leaves goroutines", "TestCrashesLeaveNothing"},
	{"each crash leaves a socket", "TestCrashesLeaveNothing"},
	{"nobody is told of an end, nothing is restarted", "TestEventsOfALife"},
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

// Pipes that are held by a process that nothing can end, since it is none of the plugin's, hide the plugin's end no better.
func TestDeathIsSeenWhilePipesAreHeld(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), playing("good", "good"))
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
			spec := playing("bad", role)
			spec.StartTimeout = 3 * time.Second // which it must have begun in
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

// go-plugin panics where nobody expects it, and the checks before it may miss how.
func TestPanicInAStart(t *testing.T) {
	t.Parallel()
	s := supervisor(t)
	good := s.machine
	s.machine = func() sandbox.Means { panic("no reason") }
	p := add(t, s, playing("good", "good"))
	_, err := call(t, p, "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "go-plugin panic: no reason")
	s.machine = good
	mustCall(t, p, "echo", "")
}

// What says most is told of a death, also when the trace of all goroutines comes after it.
func TestLongTrace(t *testing.T) {
	t.Parallel()
	_, err := call(t, add(t, supervisor(t), playing("bad", "overflows")), "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "its last lines: fatal error: stack overflow")
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
	spec := playing("good", "good")
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
	err := filepath.WalkDir(s.dir.path, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type() == os.ModeSocket {
			out = append(out, path)
		}
		return nil // what goes while we look has gone
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
	_, _ = call(t, add(t, s, playing("bad", "lines")), "echo", "")
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

// A panic costs the call that it was in, and no other.
func TestPanicInAHandler(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), playing("good", "panicky"))
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
	spec := playing("good", "good")
	spec.SHA256 = must(Inspect(spec)).SHA256
	p := add(t, supervisor(t), spec)
	_, _ = call(t, p, "die", "once")
	mustCall(t, p, "echo", "")
	if s := p.Status(); s.Generation != 2 {
		t.Errorf("status: %+v", s)
	}
}

func TestStandardInputIsNotTheHosts(t *testing.T) {
	p := add(t, supervisor(t), playing("good", "good"))
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
