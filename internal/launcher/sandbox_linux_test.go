package launcher

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The test binary is a confiner when it is called so; with LOWERED it first lowers its limit of open files, and root
// loses the capability that stands in for no_new_privs.
func TestMain(m *testing.M) {
	if os.Getenv("LOWERED") != "" {
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 100, Max: 100})
		runtime.LockOSThread()
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_ADMIN, 0, 0, 0)
		panic(syscall.Exec("/proc/self/exe", []string{confinerName}, nil))
	}
	os.Exit(m.Run())
}

// confined runs a program through a confiner with lowered limits and capabilities, and returns the output of both.
func confined(t *testing.T, text []byte) (stdout string, r Report, state *os.ProcessState) {
	t.Helper()
	controlR, controlW := pipe(t)
	statusR, statusW := pipe(t)
	var out bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stdout, cmd.ExtraFiles = []string{"LOWERED=1"}, &out, []*os.File{controlR, statusW}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = controlR.Close(), statusW.Close()
	_, _ = controlW.Write(text)
	_ = controlW.Close()
	said, err := io.ReadAll(statusR)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return out.String(), ParseReport(string(said)), cmd.ProcessState
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

var core = Rlimit{"RLIMIT_CORE", syscall.RLIMIT_CORE, 0}

// files is a limit; the confiner itself is allowed a hundred.
func files(most uint64) Rlimit { return Rlimit{"RLIMIT_NOFILE", syscall.RLIMIT_NOFILE, most} }

func TestItBecomesTheProgram(t *testing.T) {
	out, r, state := confined(t,
		Program{Path: "/bin/sh", Argv: []string{"named", "-c",
			`echo "$0 $1 $(umask) $(ulimit -n) $(ulimit -c) $A"; ls -x /proc/$$/fd; kill -9 $$`, "zero", "one"},
			Env:     []string{"A=kept", "PATH=/usr/bin:/bin"},
			Sandbox: Sandbox{Umask: true, NoNewPrivileges: true, Rlimits: []Rlimit{core, files(64)}}}.Encode())
	if out != "zero one 0077 64 0 kept\n0  1  2\n" || r != (Report{}) {
		t.Errorf("it said %q, %+v", out, r)
	}
	if w := state.Sys().(syscall.WaitStatus); w.Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v: it is not the process that was started", state)
	}
}

// No limit is above the launcher's.
func TestLimitsOnlyFall(t *testing.T) {
	out, _, _ := confined(t, Program{Path: "/bin/sh", Argv: []string{"sh", "-c", "ulimit -n"},
		Sandbox: Sandbox{Rlimits: []Rlimit{files(4096)}}}.Encode())
	if out != "100\n" {
		t.Errorf("of 100 files it made %q", out)
	}
}

func TestRunByHandPrintsWhatItIs(t *testing.T) {
	for _, name := range []string{Name, confinerName} {
		cmd := exec.Command(os.Args[0])
		cmd.Args = []string{name, "/bin/echo", "run"}
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), "do not run it by hand") || cmd.ProcessState.ExitCode() != usage {
			t.Errorf("%s says %q, %v", name, out, cmd.ProcessState)
		}
	}
}

// Whatever fails, nothing is run, and the error says which call failed and why.
func TestSandboxFailsClosed(t *testing.T) {
	writes := [3]uint64{unix.LANDLOCK_ACCESS_FS_WRITE_FILE}
	allow := []syscall.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
	for name, c := range map[string]struct {
		path    string
		sandbox Sandbox
		want    Report
		needs   bool // Landlock; without it that fails
	}{
		"no program":    {"/proc/nowhere", Sandbox{}, Report{Failed: "exec", Errno: syscall.ENOENT}, false},
		"no executable": {"/etc/passwd", Sandbox{}, Report{Failed: "exec", Errno: syscall.EACCES}, false},
		"a path through a file": {"/bin/sh",
			Sandbox{NoNewPrivileges: true, Landlock: writes, LandlockRules: []LandlockRule{{"/etc/passwd/x", writes[0]}}},
			Report{Errno: syscall.ENOTDIR, Call: `opening "/etc/passwd/x"`}, true},
		"Landlock with privileges": {"/bin/sh", Sandbox{Landlock: writes},
			Report{Errno: syscall.EPERM, Call: "landlock_restrict_self"}, true},
		"rights that nobody knows": {"/bin/sh", Sandbox{NoNewPrivileges: true, Landlock: [3]uint64{1 << 60}},
			Report{Errno: syscall.EINVAL, Call: "landlock_create_ruleset"}, true},
		"rights that are not handled": {"/bin/sh",
			Sandbox{NoNewPrivileges: true, Landlock: writes, LandlockRules: []LandlockRule{{"/", 1 << 60}}},
			Report{Errno: syscall.EINVAL, Call: `landlock_add_rule "/"`}, true},
		"a filter with privileges": {"/bin/sh", Sandbox{Seccomp: allow},
			Report{Errno: syscall.EACCES, Call: "prctl(PR_SET_SECCOMP)"}, false},
		"a filter that is none": {"/bin/sh",
			Sandbox{NoNewPrivileges: true, Seccomp: []syscall.SockFilter{{Code: 0xffff}}},
			Report{Errno: syscall.EINVAL, Call: "prctl(PR_SET_SECCOMP)"}, false},
		"a limit that nobody knows": {"/bin/sh", Sandbox{Rlimits: []Rlimit{{"RLIMIT_X", 999, 1}}},
			Report{Errno: syscall.EINVAL, Call: "setrlimit(RLIMIT_X)"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			mark := filepath.Join(t.TempDir(), "ran")
			if c.want.Failed == "" {
				c.want.Failed = "restrict"
			}
			_, r, _ := confined(t, Program{Path: c.path, Argv: []string{"sh", "-c", "echo ran > " + mark},
				Sandbox: c.sandbox}.Encode())
			if c.needs && (r.Errno == syscall.ENOSYS || r.Errno == syscall.EOPNOTSUPP) {
				c.want.Call, c.want.Errno = "landlock_create_ruleset", r.Errno
			}
			if r != c.want {
				t.Errorf("it says %+v, want %+v", r, c.want)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("the program was run")
			}
		})
	}
}

// An incomplete description of a sandbox is not set up in part.
func TestProgramCutShort(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	whole := Program{Path: "/bin/sh", Argv: []string{"sh", "-c", "echo ran > " + mark},
		Sandbox: Sandbox{Umask: true}}.Encode()
	for _, text := range [][]byte{nil, whole[:2], whole[:len(whole)/2], whole[:len(whole)-1]} {
		if _, r, _ := confined(t, text); r.Failed != "restrict" || r.Errno != syscall.EBADMSG {
			t.Errorf("%d bytes: it says %+v", len(text), r)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the program was run")
	}
}

// Restrictions that the launcher would not survive, or that would put its program on a level with it, need a
// confiner.
func TestNeedsConfiner(t *testing.T) {
	for name, c := range map[string]struct {
		sandbox     Sandbox
		tree, first bool // whether it does, in a tree and as the first process of a namespace
	}{
		"none": {Sandbox{}, false, false},
		"supervised": {Sandbox{Umask: true, NoNewPrivileges: true,
			Rlimits: []Rlimit{core, files(leastFiles), {"RLIMIT_FSIZE", syscall.RLIMIT_FSIZE, 0}}}, false, false},
		"few files":    {Sandbox{Rlimits: []Rlimit{files(leastFiles - 1)}}, true, true},
		"memory":       {Sandbox{Rlimits: []Rlimit{{"RLIMIT_DATA", syscall.RLIMIT_DATA, 1 << 40}}}, true, true},
		"processes":    {Sandbox{Rlimits: []Rlimit{{"RLIMIT_NPROC", 6, 1 << 20}}}, true, true},
		"capabilities": {Sandbox{DropCapabilities: true}, true, false},
		"folders":      {Sandbox{Landlock: [3]uint64{1}}, true, false},
		"no TCP":       {Sandbox{Landlock: [3]uint64{0, 1}}, true, false},
		"scopes":       {Sandbox{Landlock: [3]uint64{0, 0, 1}}, true, false},
		"a filter":     {Sandbox{Seccomp: make([]syscall.SockFilter, 1)}, true, false},
		"memory as well": {Sandbox{DropCapabilities: true, Rlimits: []Rlimit{{"RLIMIT_DATA", syscall.RLIMIT_DATA, 1}}}, true,
			true},
	} {
		if tree, first := c.sandbox.needsConfiner(false), c.sandbox.needsConfiner(true); tree != c.tree || first != c.first {
			t.Errorf("%s: %t in a tree, %t in a namespace", name, tree, first)
		}
	}
}
