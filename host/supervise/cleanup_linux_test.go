package supervise

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/supervise/internal/removal"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/procstat"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/proctree"
)

func init() {
	fixtures["ugly"] = func() { growTree(); sdk.Serve(goodPlugin()) }
	fixtures["embedder"] = runEmbedder
}

// processTree starts a process group, a session, a daemon that ignores signals, a pipeline, and a stopped process.
const processTree = `sleep 1000 &
bash -mc 'sleep 1000 & wait' &
setsid sleep 1000 &
setsid sh -c '(trap "" HUP TERM INT; (exec sleep 1000) &) &' &
sh -c 'sleep 1000 | sleep 1000 | sleep 1000' &
setsid sh -c 'kill -STOP $$' &
echo grown`

// growTree starts the tree and returns once all of it runs.
func growTree() {
	cmd := exec.Command("sh", "-c", processTree)
	cmd.Env = append(os.Environ(), "FIXTURE=")
	out := must(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	_ = must(out.Read(make([]byte, 10)))
}

// levels are the levels with and without a process namespace that the machine supports.
var levels = []sandbox.Level{sandbox.Supervised, sandbox.Confined}

// contained is the containment of a level on this machine.
func contained(l sandbox.Level) string {
	return (&proctree.Cmd{Sandbox: proctree.Sandbox{Namespaces: l != sandbox.Supervised}}).Containment()
}

// A mark identifies the processes of one test by a variable that they inherit.
func newMark(t *testing.T) string {
	return fmt.Sprintf("%s-%d-%d", t.Name(), os.Getpid(), rand.Uint64())
}

func markedProcesses(mark string) (found []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if bytes.Contains(env, []byte("MARK="+mark+"\x00")) {
			cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			found = append(found, filepath.Base(dir)+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return found
}

// checkGone waits until no process has the mark.
func checkGone(t *testing.T, mark string) {
	t.Helper()
	var left []string
	defer func() {
		if len(left) > 0 {
			t.Logf("left are:\n%s", strings.Join(left, "\n"))
		}
	}()
	soon(t, "all with the mark end", patience, func() bool { left = markedProcesses(mark); return len(left) == 0 })
}

func processTreeAt(t *testing.T, l sandbox.Level) (spec Spec, mark string) {
	spec, mark = fixture("ugly", "ugly"), newMark(t)
	spec.Env["MARK"], spec.Sandbox.Level = mark, l
	return spec, mark
}

// At whatever moment the host is killed, no process of its plugin is left, and the next host starts normally.
func TestHostKilledAtAnyMoment(t *testing.T) {
	for _, l := range levels {
		t.Run(string(l), func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d, %s", seed, contained(l))
			random := rand.New(rand.NewPCG(seed, 0))
			for range 20 {
				killedHost(t, l, time.Duration(random.IntN(60_000))*time.Microsecond)
			}
		})
	}
}

func killedHost(t *testing.T, l sandbox.Level, after time.Duration) {
	run, mark := shortDir(t), newMark(t)
	h := hostFixture(t, "RUN="+run, "ROLE=ugly", "LEVEL="+string(l), "MARK="+mark)
	soon(t, "the host has its folder", patience, func() bool {
		made, _ := filepath.Glob(filepath.Join(run, runPrefix+"*"))
		return len(made) > 0
	})
	<-time.After(after)
	h.kill(t)
	checkGone(t, mark)
	checkSwept(t, run)
}

// When a launcher is killed, its plugin ends too. The running call fails, and the next one has a new process.
func TestLauncherKilled(t *testing.T) {
	t.Parallel()
	for _, l := range levels {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			spec, mark := processTreeAt(t, l)
			p := add(t, supervisor(t), spec)
			ended := begin(t, t.Context(), p, "")
			if err := syscall.Kill(procstat.ParentOf(p.Status().PID), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			rest := map[string]string{"pid-namespace": "the kernel has ended all processes that it started",
				"process-tree": "processes that it started may still run"}
			checkError(t, <-ended, sdk.CodePluginCrashed, "SIGKILL", "its launcher was killed (SIGKILL); "+rest[contained(l)])
			checkGone(t, mark)
			if got := mustCall(t, p, "echo", "again"); got != "again" || p.Status().Generation != 2 {
				t.Errorf("the next call gave %q, generation %d", got, p.Status().Generation)
			}
		})
	}
}

// A stopped launcher delays neither calls nor the plugin's end.
func TestLauncherStopped(t *testing.T) {
	t.Parallel()
	for _, l := range levels {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			spec, mark := processTreeAt(t, l)
			s := supervisor(t)
			p := add(t, s, spec)
			mustCall(t, p, "echo", "")
			launcher := procstat.ParentOf(p.Status().PID)
			if err := syscall.Kill(launcher, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			soon(t, "it is stopped", patience, func() bool { return procstat.IsStopped(launcher) })
			mustCall(t, p, "echo", "")
			started := time.Now()
			_ = s.Close()
			if took := time.Since(started); took > slack*stopTime {
				t.Errorf("the end took %s", took)
			}
			checkGone(t, mark)
			if alive(launcher) {
				t.Error("the launcher is still there")
			}
		})
	}
}

// A plugin that dies while its launcher is stopped is reported as dead, and the next one starts at once.
func TestPluginOfStoppedLauncherDies(t *testing.T) {
	for _, l := range levels {
		t.Run(string(l), func(t *testing.T) {
			spec, mark := processTreeAt(t, l)
			p := add(t, supervisor(t), spec)
			ended := begin(t, t.Context(), p, "")
			launcher := procstat.ParentOf(p.Status().PID)
			if err := syscall.Kill(launcher, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			soon(t, "it is stopped", patience, func() bool { return procstat.IsStopped(launcher) })
			_ = syscall.Kill(p.Status().PID, syscall.SIGKILL)
			err := <-ended
			if fd, missing := unix.PidfdOpen(os.Getpid(), 0); missing != nil {
				checkError(t, err, sdk.CodeProtocol) // the kernel does not report the end of processes that are not children
			} else {
				_ = unix.Close(fd)
				checkError(t, err, sdk.CodePluginCrashed, "killed by SIGKILL")
			}
			checkOutcome(t, err, sdk.OutcomeUnknown)
			checkGone(t, mark)
			if got := mustCall(t, p, "echo", "again"); got != "again" || p.Status().Generation != 2 {
				t.Errorf("the next call gave %q, generation %d", got, p.Status().Generation)
			}
		})
	}
}

// A launcher that is stopped again and again, which in a namespace only an outsider can do, delays nothing either.
func TestLauncherStoppedAgainAndAgain(t *testing.T) {
	t.Parallel()
	spec, mark := processTreeAt(t, sandbox.Supervised)
	s := supervisor(t)
	p := add(t, s, spec)
	mustCall(t, p, "echo", "")
	launcher := must(os.FindProcess(procstat.ParentOf(p.Status().PID))) // and no other process with its number, once it has ended
	var stopping sync.WaitGroup
	stopping.Go(func() {
		for launcher.Signal(syscall.SIGSTOP) == nil {
		}
	})
	started := time.Now()
	_ = s.Close()
	if took := time.Since(started); took > slack*stopTime {
		t.Errorf("the end took %s", took)
	}
	checkGone(t, mark)
	stopping.Wait()
}

// However a plugin ends, all processes that it started end with it.
func TestProcessTreesEndWithTheirPlugin(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*testing.T, *Supervisor, *Process){
		"killed": func(t *testing.T, _ *Supervisor, p *Process) { _ = syscall.Kill(p.Status().PID, syscall.SIGKILL) },
		"exits":  func(t *testing.T, _ *Supervisor, p *Process) { _, _ = call(t, p, "die", "it") },
		"closed": func(t *testing.T, s *Supervisor, _ *Process) { _ = s.Close() },
	}
	for _, l := range levels {
		for name, end := range ends {
			t.Run(string(l)+"/"+name, func(t *testing.T) {
				t.Parallel()
				spec, mark := processTreeAt(t, l)
				s := supervisor(t)
				p := add(t, s, spec)
				mustCall(t, p, "echo", "")
				end(t, s, p)
				checkGone(t, mark)
			})
		}
	}
}

// The status describes the containment of the running process, and its pid as the host sees it, whatever the plugin
// sees.
func TestStatusReportsContainment(t *testing.T) {
	for _, l := range levels {
		t.Run(string(l), func(t *testing.T) {
			spec := fixture("good", "good")
			spec.Sandbox.Level = l
			p := add(t, supervisor(t), spec)
			if got := p.Status().Containment; got != "" {
				t.Errorf("before the start: %q", got)
			}
			inner := mustCall(t, p, "pid", "")
			s := p.Status()
			if s.Containment != contained(l) || !alive(s.PID) || procstat.Read(procstat.ParentOf(s.PID)).Text(procstat.State) == "" {
				t.Errorf("status %+v, want %s", s, contained(l))
			}
			if same := inner == strconv.Itoa(s.PID); same != (s.Containment != "pid-namespace") {
				t.Errorf("it has the pid %s here, and %d outside", inner, s.PID)
			}
		})
	}
}

// The report of an end is the same in a namespace.
func TestEndsInANamespace(t *testing.T) {
	t.Parallel()
	spec := fixture("good", "good")
	spec.Sandbox.Level = sandbox.Confined
	p := add(t, supervisor(t), spec)
	ended := begin(t, t.Context(), p, "")
	_ = syscall.Kill(p.Status().PID, syscall.SIGKILL)
	err := <-ended
	checkError(t, err, sdk.CodePluginCrashed, "killed by SIGKILL")
	checkOutcome(t, err, sdk.OutcomeUnknown)
	_, err = call(t, p, "die", "boredom")
	checkError(t, err, sdk.CodePluginCrashed, "exited with code 7", "dying of boredom")
	spec = fixture("bad", "exits")
	spec.Sandbox.Level = sandbox.Confined
	_, err = call(t, add(t, supervisor(t), spec), "echo", "")
	checkError(t, err, sdk.CodePluginUnavailable, "exited with code 3", "I cannot go on")
}

// A plugin cannot end, stop or see its launcher or host from within a namespace.
func TestNamespaceKeepsPluginsFromTheHost(t *testing.T) {
	s := supervisor(t)
	spec := Spec{Name: "attacker", Sandbox: sandbox.Spec{Level: sandbox.Confined}, Command: []string{"sh", "-c",
		`kill -KILL $PPID; kill -STOP $PPID; kill -KILL $TOOLHOST_HOST_PID; test -e /proc/$TOOLHOST_HOST_PID; echo "seen: ` +
			`$?" >&2; exit 3`}}
	if contained(sandbox.Confined) != "pid-namespace" {
		spec.Command[2] = "echo seen: 1 >&2; exit 3" // without a namespace nothing prevents it
	}
	_, err := call(t, add(t, s, spec), "x", "")
	checkError(t, err, sdk.CodePluginUnavailable, "exited with code 3", "seen: 1")
}

// A plugin has three open files, whatever the host has open.
func TestPluginsHaveThreeFiles(t *testing.T) {
	leak, err := syscall.Dup(0) // exec would pass it on
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leak)
	for _, l := range levels {
		spec := Spec{Name: "files", Sandbox: sandbox.Spec{Level: l}, Command: []string{"sh", "-c",
			`for f in /proc/$$/fd/*; do test -e "$f" && have="$have ${f##*/}"; done; echo "files:$have." >&2; exit 3`}}
		_, err := call(t, add(t, supervisor(t), spec), "x", "")
		checkError(t, err, sdk.CodePluginUnavailable, "files: 0 1 2.")
	}
}

// The host leaks no files, however often plugins start.
func TestStartsLeakNoFiles(t *testing.T) {
	s := supervisor(t)
	start := func(l sandbox.Level) {
		spec := fixture("good", "good").complete("")
		spec.Sandbox.Level = l
		p := newProcess(spec, s.log, s.start, nil)
		mustCall(t, p, "echo", "")
		_ = p.Close()
	}
	start(sandbox.Supervised)
	start(sandbox.Confined)
	before := openFiles()
	for range 10 {
		start(sandbox.Supervised)
		start(sandbox.Confined)
	}
	soon(t, "as many files as before", patience, func() bool { return openFiles() <= before })
}

// Without free memory the kernel ends plugins before the host, and confined plugins cannot change that.
func TestKernelEndsPluginsFirstWithoutMemory(t *testing.T) {
	score := func(pid string) int {
		return must(strconv.Atoi(strings.TrimSpace(string(must(os.ReadFile("/proc/" + pid + "/oom_score_adj"))))))
	}
	before := score("self")
	want := max(before, 500)
	for _, level := range allLevels {
		p := add(t, supervisor(t), attacker(makeAttackTargets(t), sandbox.Spec{Level: level}))
		out := mustCall(t, p, "run", "echo 0 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj")
		if got, own := score(fmt.Sprint(p.Status().PID)),
			strings.HasSuffix(strings.TrimSpace(out), fmt.Sprint(want)); got != want || level != sandbox.Supervised &&
			reached(level) == level && !own {
			t.Errorf("%s: %d; in it: %s", level, got, out)
		}
	}
	if now := score("self"); now != before {
		t.Errorf("the host had %d and has %d", before, now)
	}
}

// When the context of a start ends before the launcher has started anything, the launcher ends.
func TestStartCanceledBeforeTheLaunch(t *testing.T) {
	s := supervisor(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	spec := fixture("good", "good").complete("")
	how := must(s.prepareSandbox(spec, sandbox.Program{
		Path: os.Args[0], Temp: t.TempDir(), Env: []string{"FIXTURE=silent"}}, s.specs()))
	if _, _, err := launch(ctx, spec, how, must(openStdio(spec, false)), s.log); err == nil {
		t.Error("it was started")
	}
}

// An escaped process that holds the plugin's output does not hide the plugin's end.
func TestOutputHeldByAnEscapedProcess(t *testing.T) {
	t.Parallel()
	p := add(t, supervisor(t), attacker(makeAttackTargets(t), sandbox.Spec{Level: sandbox.Supervised}))
	// Without an environment it has no mark, and in its own session no known group.
	out := mustCall(t, p, "run", "env -i setsid sleep 100 </dev/null >/proc/$PPID/fd/1 2>/proc/$PPID/fd/2 & echo $!")
	away, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	defer func() { _ = syscall.Kill(away, syscall.SIGKILL) }()
	soon(t, "it is in a session of its own", patience,
		func() bool { s, err := unix.Getsid(away); return err == nil && s == away })
	if err := syscall.Kill(procstat.ParentOf(p.Status().PID), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	soon(t, "the plugin's end is known", patience, func() bool { return p.Status().State == Crashed })
	if !alive(away) {
		t.Error("it did not get away, so this shows nothing")
	}
}

// When the host is killed, its plugin and the plugin's child end by themselves, also when the plugin is stopped, and
// the next host removes the folder that is left.
func TestHostKilled(t *testing.T) {
	for name, env := range map[string]string{"serving": "STOP=", "stopped": "STOP=1"} {
		t.Run(name, func(t *testing.T) {
			run := shortDir(t)
			h := hostFixture(t, "RUN="+run, env)
			var plugin, child int
			if _, err := fmt.Sscan(h.line(t), &plugin, &child); err != nil {
				t.Fatal(err)
			}
			launcher := procstat.ParentOf(plugin)
			h.line(t) // everything is in order
			h.kill(t)
			soon(t, "the plugin ends", patience, func() bool { return !alive(plugin) })
			soon(t, "its child ends", patience, func() bool { return !alive(child) })
			soon(t, "its launcher ends", patience, func() bool { return !alive(launcher) })
			checkSwept(t, run)
		})
	}
}

// A program that is not a plugin does not know the lifeline: its launcher ends it with the host.
func TestHostKilledWhileItStartsANonPlugin(t *testing.T) {
	h := hostFixture(t, "RUN="+shortDir(t), "STRANGER=sleep")
	var stranger int
	soon(t, "the stranger runs", patience, func() bool {
		for _, launcher := range procstat.Children(h.cmd.Process.Pid, -1) {
			for _, stranger = range procstat.Children(launcher, -1) {
				return true
			}
		}
		return false
	})
	h.kill(t)
	soon(t, "the stranger ends", patience, func() bool { return !alive(stranger) })
}

func checkSwept(t *testing.T, run string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(run, "*")); len(left) != 1 {
		t.Fatalf("a killed host leaves its folder: %v", left)
	}
	// A process that was starting when the host was killed may hold the lock for another moment.
	soon(t, "the next host removes it", patience, func() bool {
		s, err := New(Options{RunDir: run})
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		left, _ := filepath.Glob(filepath.Join(run, "*"))
		return len(left) == 0
	})
}

type hostProcess struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func hostFixture(t *testing.T, env ...string) *hostProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "FIXTURE=host"), env...)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &hostProcess{cmd, bufio.NewScanner(out)}
}

func (h *hostProcess) line(t *testing.T) string {
	t.Helper()
	if !h.lines.Scan() {
		t.Fatal("the host ended")
	}
	return h.lines.Text()
}

func (h *hostProcess) kill(t *testing.T) {
	t.Helper()
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = h.cmd.Wait()
}

func init() {
	fixtures["burrows"] = func() {
		p := sdk.New("burrows", "1")
		sdk.AddTool(p, sdk.Tool{Name: "burrow", Description: "makes folders in folders"},
			func(context.Context, *sdk.Request, textArgs) (*sdk.Result, error) {
				return sdk.Text("done"), errors.Join(makeDeepFolders(os.Getenv("TMPDIR"), folderDepth),
					makeDeepFolders(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), folderDepth))
			})
		sdk.Serve(p)
	}
}

// folderDepth exceeds the length limit of paths, and the host's limit of open files.
const folderDepth = 700

// makeDeepFolders makes nested folders, each with a file.
func makeDeepFolders(dir string, depth int) error {
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	for range depth {
		if err != nil {
			return err
		}
		above := at
		err = errors.Join(unix.Mkdirat(above, "deeper", 0o700), unix.Mknodat(above, "file", unix.S_IFREG|0o600, 0))
		if err == nil {
			at, err = unix.Openat(above, "deeper", unix.O_PATH|unix.O_DIRECTORY, 0)
		}
		_ = unix.Close(above)
	}
	_ = unix.Close(at)
	return err
}

// When time runs out, the rest is left together with the lock, and the next host continues.
func TestRemovalInTime(t *testing.T) {
	base := shortDir(t)
	d := must(makeRunDir(base))
	for n := range 20 {
		must(0, os.Mkdir(filepath.Join(d.path, fmt.Sprint("t", n)), 0o700))
	}
	lock := filepath.Join(d.path, lockName)
	if err := removal.Keeping(d.path, lockName, -1); !errors.Is(err, removal.ErrLate) || missing(lock) {
		t.Errorf("%v; the lock is gone: %t", err, missing(lock))
	}
	_ = d.lock.Close()
	soon(t, "other hosts remove it", patience, func() bool { sweepRunDirs(base); return missing(d.path) })
}

// A link is not followed to the folder that it leads to, and a folder of someone else is not removed as abandoned. The
// name of the folder for temporary files is no pattern.
func TestRemovalSparesForeignFolders(t *testing.T) {
	base := filepath.Join(shortDir(t), "a[b*")
	must(0, os.Mkdir(base, 0o700))
	for _, dir := range []string{"kept", runPrefix + "others", runPrefix + "own"} {
		must(0, os.Mkdir(filepath.Join(base, dir), 0o700))
		must(0, os.WriteFile(filepath.Join(base, dir, lockName), nil, 0o666))
	}
	must(0, os.Symlink("kept", filepath.Join(base, runPrefix+"link")))
	theirs := runPrefix + "others"
	if os.Chown(filepath.Join(base, theirs), 1, 1) != nil {
		t.Log("only root can give a folder away: the link alone is tried")
		theirs = "kept"
	}
	sweepRunDirs(base)
	if err := removal.All(filepath.Join(base, runPrefix+"link"), time.Minute); err == nil {
		t.Error("a link was removed as a folder")
	}
	for _, dir := range []string{"kept", theirs} {
		if missing(filepath.Join(base, dir, lockName)) {
			t.Errorf("%s was emptied", dir)
		}
	}
	if !missing(filepath.Join(base, runPrefix+"own")) {
		t.Error("what a dead host left is still there")
	}
}

// Files that a plugin leaves in its folders cost the host neither open files nor, when it closes, time.
func TestPluginsLeaveDeepFolders(t *testing.T) {
	s := must(New(Options{RunDir: shortDir(t)}))
	t.Cleanup(func() { _ = s.Close() })
	p := add(t, s, fixture("burrows", "burrows"))
	mustCall(t, p, "burrow", "")
	before := len(must(os.ReadDir("/proc/self/fd")))
	_ = syscall.Kill(p.Status().PID, syscall.SIGKILL)
	soon(t, "its folders are gone", patience, func() bool {
		if open := len(must(os.ReadDir("/proc/self/fd"))); open > before+folderDepth/2 {
			t.Fatalf("%d open files, %d before", open, before)
		}
		return len(foldersOf(s)) == 0
	})
	mustCall(t, p, "burrow", "") // by the next generation, for the end of the host
	began := time.Now()
	if err := s.Close(); err != nil && !errors.Is(err, removal.ErrLate) { // a busy machine may not get it done in time
		t.Error(err)
	}
	if took := time.Since(began); took > stopTime+removalTime+time.Second { // the second is for the machine
		t.Errorf("closing took %s", took)
	}
	soon(t, "nothing is left", patience,
		func() bool { sweepRunDirs(filepath.Dir(s.runDir.path)); return missing(s.runDir.path) })
}

// foldersOf returns the folders of plugins.
func foldersOf(s *Supervisor) (names []string) {
	entries, _ := os.ReadDir(s.runDir.path)
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
