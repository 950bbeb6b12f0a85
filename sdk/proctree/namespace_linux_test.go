//go:build !proctree_group

package proctree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// allowed reports whether this machine has namespaces. If not, a Cmd that requires one must not run.
func allowed(t *testing.T) bool {
	t.Helper()
	err := Namespaces()
	if err == nil {
		return true
	}
	t.Logf("this machine has none: %v", err)
	c, out := script("echo ran")
	c.Sandbox.Namespaces = true
	if _, err := c.Run(bounded(t)); !errors.Is(err, ErrNamespace) || out.Len() > 0 {
		t.Errorf("%v, output %q", err, out)
	}
	return false
}

// isolated runs everything in a namespace and returns when all of it runs, with the pids of the program and the
// launcher as we see them.
func isolated(t *testing.T, ctx context.Context) (o *processPipe, run *outcome, program, launcher int) {
	t.Helper()
	o = newProcessPipe(t)
	c := Command("sh", "-c", everything(), self(t))
	o.attach(c)
	started := make(chan int, 1)
	c.Sandbox.Namespaces, c.Started, c.Grace = true, func(pid int) { started <- pid }, 20*time.Millisecond
	run = begin(ctx, c)
	o.await(t, patience, "all started\n")
	program = <-started
	return o, run, program, parent(program)
}

func parent(pid int) (ppid int) {
	_, _ = fmt.Sscanf(procStatus(pid, "PPid"), "PPid: %d", &ppid)
	return ppid
}

// Whichever process is killed, none is left.
func TestNamespaceEnds(t *testing.T) {
	if !allowed(t) {
		return
	}
	tests := []struct {
		name string
		end  func(program, launcher int, cancel func())
		lost bool
	}{
		{"program killed", func(program, _ int, _ func()) { _ = syscall.Kill(program, syscall.SIGKILL) }, false},
		{"launcher killed", func(_, launcher int, _ func()) { _ = syscall.Kill(launcher, syscall.SIGKILL) }, true},
		{"launcher stopped and killed", func(_, launcher int, _ func()) {
			_ = syscall.Kill(launcher, syscall.SIGSTOP)
			_ = syscall.Kill(launcher, syscall.SIGKILL)
		}, true},
		{"canceled", func(_, _ int, cancel func()) { cancel() }, false},
		{"launcher stopped and canceled",
			func(_, launcher int, cancel func()) { _ = syscall.Kill(launcher, syscall.SIGSTOP); cancel() }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(bounded(t))
			defer cancel()
			o, run, program, launcher := isolated(t, ctx)
			test.end(program, launcher, cancel)
			o.w.Close()
			o.awaitEnd(t, patience)
			if _, err := run.end(t, patience); fmt.Sprint(err) != endText(test.lost) || errors.Is(err, ErrLost) != test.lost ||
				errors.Is(err, ErrLoose) {
				t.Errorf("Run: %v", err)
			}
			if alive(launcher) {
				t.Error("the launcher is alive")
			}
		})
	}
}

func endText(lost bool) string {
	if lost {
		return "the watcher of the command was killed (SIGKILL); what the command did is not known, and the kernel has " +
			"ended all processes it started"
	}
	return "<nil>"
}

// Reported pids are those outside, and the program has its own, with a /proc for them.
func TestNamespaceNumbers(t *testing.T) {
	if !allowed(t) {
		return
	}
	var pid, inner int
	c, out := script("echo $$ $PPID; set -- /proc/[0-9]*; echo $#; cat /proc/1/comm; readlink /proc/self/ns/pid; ls -x " +
		"/proc/$$/fd")
	c.Sandbox.Namespaces, c.Started = true, func(n int) { pid, inner = n, innerPID(n) }
	mustRun(t, c)
	lines := strings.Split(out.String(), "\n")
	if pid < 2 || lines[0] != fmt.Sprintf("%d 1", inner) || lines[1] != "2" || lines[2] != "toolhost-launch" {
		t.Errorf("pid %d, inside %d; the program sees %q", pid, inner, lines)
	}
	if lines[4] != "0  1  2" {
		t.Errorf("its files are %s", lines[4])
	}
	if ours, _ := os.Readlink("/proc/self/ns/pid"); lines[3] == ours || c.Containment() != inNamespace {
		t.Errorf("containment %s, namespace %s, ours %s", c.Containment(), lines[3], ours)
	}
}

// A program inside reaches neither its launcher nor any process outside.
func TestNamespaceHoldsSignals(t *testing.T) {
	if !allowed(t) {
		return
	}
	c, out := script("kill -KILL 1; kill -STOP 1; kill -KILL \"$1\" 2>/dev/null || echo nobody; exit 3",
		fmt.Sprint(os.Getpid()))
	c.Sandbox.Namespaces = true
	if exit := mustRun(t, c); exit.Code != 3 || out.String() != "nobody\n" {
		t.Errorf("exit %v, output %q", exit, out)
	}
}

// Shared memory stays among the programs of a namespace, and ends with them.
func TestNamespaceMemory(t *testing.T) {
	const shared = "/dev/shm"
	if info, err := os.Stat(shared); err != nil || !info.IsDir() || !allowed(t) {
		t.Logf("this machine has no %s, or no namespaces", shared)
		return
	}
	outside, err := os.CreateTemp(shared, "proctree-test-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(outside.Name())
	_ = outside.Close()
	c, out := script(`ls /dev/shm; echo kept > "$1" && cat "$1"; stat -c %a /dev/shm`, outside.Name())
	c.Sandbox.Namespaces = true
	mustRun(t, c)
	if text, err := os.ReadFile(outside.Name()); err != nil || len(text) > 0 || out.String() != "kept\n1777\n" {
		t.Errorf("inside: %q; outside: %q, %v", out, text, err)
	}
}

func init() { roles["signals"] = sendSignals }

// sendSignals sends the first process each signal, both as kill does and with a value.
func sendSignals() {
	const queued = -1 // SI_QUEUE
	for n := range uintptr(64) {
		info := [16]uint64{uint64(n + 1), uint64(queued & 0xffffffff)} // siginfo_t
		_ = syscall.Kill(1, syscall.Signal(n+1))
		_, _, _ = syscall.RawSyscall(syscall.SYS_RT_SIGQUEUEINFO, 1, n+1, uintptr(unsafe.Pointer(&info)))
	}
	within(nil, 50*time.Millisecond) // the last may still be on their way
	os.Exit(7)
}

// No signal from within ends or stops the launcher, not even one at which a Go program crashes.
func TestNamespaceKeepsItsLauncher(t *testing.T) {
	if !allowed(t) {
		return
	}
	c := Command(self(t))
	c.Sandbox.Namespaces, c.Env = true, append(os.Environ(), roleVar+"=signals")
	if exit := mustRun(t, c); exit.Code != 7 {
		t.Error(exit)
	}
}

// Except for other processes, a program sees the same as outside.
func TestNamespaceKeepsTheRest(t *testing.T) {
	if !allowed(t) {
		return
	}
	tests := []struct{ name, script string }{
		{"user", "id -u; id -ru; id -g; id -rg"},
		{"folder", "pwd -P"},
		{"signals", "grep Sig..n /proc/self/status; grep SigBlk /proc/self/status"},
		{"environment", "exec env"},
		{"umask and limits", "umask; ulimit -a"},
		{"mounts", "cut -d' ' -f 2 /proc/mounts | grep -v -e ^/proc -e ^/dev/shm -e ^/dev/mqueue -e ^/dev/pts | sort"},
		{"own file", "f=$(mktemp) && stat -c '%u %g' $f && rm $f"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, out := script(test.script)
			c.Sandbox.Namespaces, c.Dir = true, "/tmp"
			mustRun(t, c)
			ours := exec.Command("sh", "-c", test.script, "sh")
			ours.Dir = "/tmp"
			want, err := ours.Output()
			if err != nil || len(want) == 0 {
				t.Fatalf("os/exec: %q, %v", want, err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("(-os/exec +proctree):\n%s", diff)
			}
		})
	}
}

// Root keeps its capabilities; other users get none of those needed for the namespace.
func TestNamespaceCapabilities(t *testing.T) {
	if !allowed(t) {
		return
	}
	const show = "grep ^Cap /proc/self/status"
	c, out := script(show)
	c.Sandbox.Namespaces = true
	mustRun(t, c)
	want := ""
	for _, set := range []string{"Inh", "Prm", "Eff", "Bnd", "Amb"} {
		want += "Cap" + set + ":\t0000000000000000\n"
	}
	if os.Geteuid() == 0 {
		text, _ := exec.Command("sh", "-c", show).Output()
		want = string(text)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The namespace has its own terminals: the user's are out of reach, and new ones can be made within a sandbox.
func TestNamespaceHasTerminalsOfItsOwn(t *testing.T) {
	terminals, err := os.ReadDir("/dev/pts")
	if !allowed(t) || err != nil || len(terminals) == 0 {
		t.Logf("this system has no terminals: %v", err)
		return
	}
	var out bytes.Buffer
	c := Command(self(t))
	c.Env, c.Stdout, c.Stderr, c.Sandbox = append(os.Environ(), roleVar+"=terminals"), &out, &out, all(t.TempDir())
	c.Sandbox.Namespaces = true
	c.Sandbox.Write = append(c.Sandbox.Write, "/dev/ptmx", "/dev/pts")
	if mustRun(t, c); out.String() != "[ptmx] [0 ptmx] /dev/pts/0 <nil>\n" {
		t.Errorf("it says %s", out.String())
	}
}

func init() {
	roles["terminals"] = func() {
		names := func() (names []string) {
			all, _ := os.ReadDir("/dev/pts")
			for _, e := range all {
				names = append(names, e.Name())
			}
			return names
		}
		before := names()
		ours, theirs, err := pty.Open()
		if err != nil {
			fmt.Println(before, err)
			return
		}
		defer ours.Close()
		defer theirs.Close()
		fmt.Println(before, names(), theirs.Name(), err)
	}
}

func TestNamespaceWithTerminal(t *testing.T) {
	if !allowed(t) {
		return
	}
	out := &trigger{text: "none", do: func() {}}
	c := Command("sh", "-c", "test -t 0 && stty size </dev/tty && exit 4")
	c.Sandbox.Namespaces, c.Terminal, c.Stdout = true, &Size{Columns: 80, Rows: 24}, out
	if exit := mustRun(t, c); exit.Code != 4 || out.String() != "24 80\r\n" {
		t.Errorf("exit %v, output %q", exit, out)
	}
}

// A process inside that uses the package ends each tree separately, and others continue.
func TestNamespaceWithinNamespace(t *testing.T) {
	if !allowed(t) {
		return
	}
	for name, asks := range map[string]string{"tree": "", "namespace": "1"} {
		t.Run(name, func(t *testing.T) {
			c, out := script(`sleep 1000 & p=$!
PROCTREE_ROLE=host PROCTREE_NAMESPACE=`+asks+` "$1" 'setsid sleep 1001 & (sleep 1002 &) ; sleep 1003 & exit 5'
for x in /proc/[0-9]*/cmdline; do tr '\0' ' ' <$x; echo; done | grep '^sleep'; kill $p`, self(t))
			c.Sandbox.Namespaces = true
			if exit := mustRun(t, c); exit.Code != 0 || out.String() != "host done: exit code 5 <nil>\nsleep 1000 \n" {
				t.Errorf("exit %v, output %q", exit, out)
			}
		})
	}
}

// A run whose namespace is refused fails, and the next one knows. A run that got one shows that they are allowed.
// Both are learned without a probe, in a separate process.
func TestNamespacesAreLearned(t *testing.T) {
	allowedHere := allowed(t)
	for name, refuse := range map[string]Sandbox{
		"allowed":           {},
		"no new namespaces": {NoNewPrivileges: true, NoRareCalls: true},
		"no mounts": {NoNewPrivileges: true, Landlock: kernelCapabilities().Landlock, RestrictWrites: true,
			Write: []string{"/"}},
	} {
		if refuse.NoRareCalls && !kernelCapabilities().Seccomp || refuse.RestrictWrites && refuse.Landlock == 0 {
			t.Logf("nothing refuses here: %s", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := Command(self(t))
			c.Env, c.Stdout, c.Stderr, c.Sandbox = []string{roleVar + "=learner"}, &out, &out, refuse
			mustRun(t, c)
			want := "refused false, then ran true, refused false, then ran true\n"
			if !refuse.isZero() || !allowedHere {
				want = "refused false, then ran false, refused true, then ran false\n"
			}
			if out.String() != want {
				t.Errorf("it says %q, want %q", out.String(), want)
			}
		})
	}
}

func init() {
	roles["learner"] = func() {
		run := func() bool {
			c := Command("/bin/true")
			c.Sandbox.Namespaces = true
			_, err := c.Run(context.Background())
			if err != nil && (!errors.Is(err, ErrNamespace) || NamespacesRefused() == nil) {
				fmt.Println(err)
			}
			return err == nil
		}
		fmt.Printf("refused %t, then ran %t, ", NamespacesRefused() != nil, run())
		fmt.Printf("refused %t, then ran %t\n", Namespaces() != nil, run())
	}
}

// A cause that may be gone the next time is not remembered.
func TestTemporaryErrorsAreNoRefusal(t *testing.T) {
	tr := &tree{name: "x", program: program{sandbox: Sandbox{Namespaces: true}}}
	for _, errno := range []syscall.Errno{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE} {
		if err := tr.refused("fork", errno); errors.Is(err, ErrNamespace) || !errors.Is(err, errno) {
			t.Errorf("%v", err)
		}
	}
}

// A process that cannot probe for lack of files has learned nothing.
func TestNamespacesAreTriedAgain(t *testing.T) {
	c, out := script("")
	c.Path, c.Env = self(t), []string{roleVar + "=crowded"}
	mustRun(t, c)
	if want := fmt.Sprintf("tried true, learned false, then refused %t\n", !allowed(t)); out.String() != want {
		t.Errorf("it says %q, want %q", out, want)
	}
}

func init() {
	roles["crowded"] = func() {
		var files syscall.Rlimit
		_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: files.Max})
		fmt.Printf("tried %t, learned %t, ", errors.Is(Namespaces(), ErrNamespace), NamespacesRefused() != nil)
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files)
		fmt.Printf("then refused %t\n", Namespaces() != nil)
	}
}

// Too many namespaces are not a refusal; a limit of zero is.
func TestLimitsOfNamespaces(t *testing.T) {
	if !allowed(t) {
		return
	}
	for limit, want := range map[string]string{"1": "ran false, refused false, then ran true\n",
		"0": "ran false, refused true, then ran false\n"} {
		var out bytes.Buffer
		c := exec.Command(self(t), limit)
		c.Env, c.Stdout, c.Stderr = []string{roleVar + "=limited"}, &out, &out
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: mapped(os.Getuid()),
			GidMappings: mapped(os.Getgid())}
		if err := c.Run(); err != nil {
			t.Logf("this machine has no namespaces of users: %v", err)
			return
		}
		if out.String() != want {
			t.Errorf("with a limit of %s it says %q, want %q", limit, out.String(), want)
		}
	}
}

// Where /proc is not mounted, or shows the processes of another namespace, the error says so, and does not look like one
// about the program.
func TestWithoutProc(t *testing.T) {
	for name, c := range map[string]struct {
		namespace uintptr
		want      string
	}{
		"none": {syscall.CLONE_NEWNS, "/proc is not mounted, and no program can be started without /proc/self/exe"},
		"another": {syscall.CLONE_NEWPID, "the launcher is not in /proc, which is that of another process namespace; " +
			"mount its own: unshare --mount-proc, bwrap --proc /proc"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			cmd := exec.Command(self(t))
			cmd.Env, cmd.Stdout, cmd.Stderr = []string{roleVar + "=procless", "PROC=" + name}, &out, &out
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | c.namespace,
				UidMappings: mapped(os.Getuid()), GidMappings: mapped(os.Getgid())}
			if err := cmd.Run(); err != nil {
				t.Skipf("this machine has no such namespaces: %v", err)
			}
			if want := `exec: "/bin/true": ` + c.want + ", missing false\n"; out.String() != want {
				t.Errorf("it says %q, want %q", out.String(), want)
			}
		})
	}
}

func init() {
	roles["procless"] = func() {
		if os.Getenv("PROC") == "none" {
			if err := errors.Join(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""),
				syscall.Mount("none", "/proc", "tmpfs", 0, "")); err != nil {
				os.Exit(1)
			}
		}
		_, err := Command("/bin/true").Run(context.Background())
		fmt.Printf("%v, missing %t\n", err, errors.Is(err, fs.ErrNotExist))
	}
}

// mapped makes one of our users or groups root.
func mapped(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }

func init() {
	roles["limited"] = func() {
		if err := os.WriteFile("/proc/sys/user/max_pid_namespaces", []byte(os.Args[1]), 0); err != nil {
			os.Exit(1)
		}
		holder := exec.Command("/bin/sleep", "1000")
		holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		held := holder.Start() == nil
		c := Command("/bin/true")
		c.Sandbox.Namespaces = true
		_, err := c.Run(context.Background())
		fmt.Printf("ran %t, refused %t, ", err == nil, NamespacesRefused() != nil)
		if held {
			_ = holder.Process.Kill()
			_ = holder.Wait()
		}
		for deadline := time.Now().Add(patience); err != nil && NamespacesRefused() == nil && time.Now().Before(deadline); {
			_, err = c.Run(context.Background()) // the kernel takes a moment to remove one
		}
		fmt.Printf("then ran %t\n", err == nil)
	}
}

func TestRefusalText(t *testing.T) {
	tests := map[string]error{
		"refuses a process namespace: no space left on device; the limits user.max_*_namespaces": &StartError{"",
			"start the launcher: x", &fs.PathError{Op: "fork/exec", Path: "/proc/self/exe", Err: syscall.ENOSPC}},
		"refuses a process namespace: mount: operation not permitted; a container": &StartError{"",
			"mount: operation not permitted", syscall.EPERM},
		"refuses a process namespace: invalid argument; the kernel was built without": &StartError{"",
			"start the launcher: x", &fs.PathError{Op: "fork/exec", Path: "/proc/self/exe", Err: syscall.EINVAL}},
		"refuses a process namespace: " + ErrLost.Error(): ErrLost,
		"refuses a process namespace, once": &StartError{"", "",
			fmt.Errorf("%w, once", ErrNamespace)},
	}
	for want, err := range tests {
		if got := refusal(err); !strings.Contains(got.Error(), want) {
			t.Errorf("%v, want %q", got, want)
		}
	}
}

func TestNamespaceStartErrors(t *testing.T) {
	if !allowed(t) {
		return
	}
	for _, c := range []*Cmd{{Path: "/no/such/program"}, {Path: "/bin/true", Dir: "/no/such/folder"}} {
		c.Sandbox.Namespaces = true
		_, err := c.Run(bounded(t))
		if e, ok := errors.AsType[*StartError](err); !ok || !errors.Is(err, syscall.ENOENT) {
			t.Errorf("%s: %v, %v", c.Path, e, err)
		}
	}
}

func BenchmarkRunInNamespace(b *testing.B) {
	c := Command("/bin/true")
	c.Sandbox.Namespaces = true
	for b.Loop() {
		if _, err := c.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, c.Containment())
}

func init() { roles["ipc"] = lookForIPC }

// Flags of ipc(5), the same on all architectures.
const (
	ipcCreate = 0o1000
	ipcRemove = 0
)

// An ipcObject is a way in which processes of a user that know a name reach each other.
type ipcObject struct {
	name   string
	open   func(flags int) error
	remove func()
}

// ipcObjects are those of a key, and a queue with a name derived from it.
func ipcObjects(key int) []ipcObject {
	k := uintptr(key)
	sysv := func(name string, find func(flags uintptr) (uintptr, syscall.Errno), remove func(id uintptr)) ipcObject {
		open := func(flags int) error {
			if _, e := find(uintptr(flags) | 0o600); e != 0 {
				return e
			}
			return nil
		}
		return ipcObject{name, open, func() { id, _ := find(0); remove(id) }}
	}
	return []ipcObject{
		sysv("shared memory",
			func(f uintptr) (uintptr, syscall.Errno) {
				id, _, e := unix.Syscall(unix.SYS_SHMGET, k, 4096, f)
				return id, e
			},
			func(id uintptr) { _, _, _ = unix.Syscall(unix.SYS_SHMCTL, id, ipcRemove, 0) }),
		sysv("semaphores",
			func(f uintptr) (uintptr, syscall.Errno) {
				id, _, e := unix.Syscall(unix.SYS_SEMGET, k, 1, f)
				return id, e
			},
			func(id uintptr) { _, _, _ = unix.Syscall6(unix.SYS_SEMCTL, id, 0, ipcRemove, 0, 0, 0) }),
		sysv("message queue",
			func(f uintptr) (uintptr, syscall.Errno) {
				id, _, e := unix.Syscall(unix.SYS_MSGGET, k, f, 0)
				return id, e
			},
			func(id uintptr) { _, _, _ = unix.Syscall(unix.SYS_MSGCTL, id, ipcRemove, 0) }),
		posixQueue("proctree-" + strconv.Itoa(key)),
	}
}

func posixQueue(name string) ipcObject {
	c := unsafe.Pointer(unsafe.StringData(name + "\x00"))
	open := func(flags int) error {
		how := os.O_RDWR
		if flags&ipcCreate != 0 {
			how |= os.O_CREATE
		}
		fd, _, e := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(c), uintptr(how), 0o600, 0, 0, 0)
		if e != 0 {
			return e
		}
		return syscall.Close(int(fd))
	}
	return ipcObject{"POSIX message queue", open, func() { _, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(c), 0, 0) }}
}

// lookForIPC prints which objects of the key in the arguments exist.
func lookForIPC() {
	key, _ := strconv.Atoi(os.Args[1])
	for _, o := range ipcObjects(key) {
		if o.open(0) == nil {
			fmt.Println(o.name)
		}
	}
}

// seenIPC returns which objects of the key a program finds.
func seenIPC(t *testing.T, key int, namespace bool) string {
	t.Helper()
	var out strings.Builder
	c := Command(self(t), strconv.Itoa(key))
	c.Sandbox.Namespaces, c.Env, c.Stdout = namespace, append(os.Environ(), roleVar+"=ipc"), &out
	mustRun(t, c)
	return out.String()
}

// Objects that the user's processes share by a key or a name are not visible in a namespace.
func TestNamespaceKeepsIPC(t *testing.T) {
	key, made := os.Getpid()<<8|0x5a, ""
	for _, o := range ipcObjects(key) {
		if err := o.open(ipcCreate); err != nil {
			t.Logf("this machine has no %s: %v", o.name, err)
			continue
		}
		defer o.remove()
		made += o.name + "\n"
	}
	if got := seenIPC(t, key, false); got != made {
		t.Errorf("without a namespace %q are seen, want %q", got, made)
	}
	if !allowed(t) {
		return
	}
	if got := seenIPC(t, key, true); got != "" {
		t.Errorf("in a namespace %q are seen", got)
	}
}

// A queue can be opened by its path too, where the system shows them.
func TestNamespaceShowsItsOwnQueues(t *testing.T) {
	if !allowed(t) {
		return
	}
	queue := posixQueue("proctree-" + strconv.Itoa(os.Getpid()))
	if err := queue.open(ipcCreate); err == nil {
		defer queue.remove()
	}
	want := ""
	if info, err := os.Stat("/dev/mqueue"); err == nil && info.IsDir() {
		want = "shown\n"
	}
	c, out := script("grep -q ' /dev/mqueue mqueue ' /proc/mounts && echo shown; ls -A /dev/mqueue 2>/dev/null")
	c.Sandbox.Namespaces = true
	mustRun(t, c)
	if out.String() != want {
		t.Errorf("it sees %q, want %q", out, want)
	}
}
