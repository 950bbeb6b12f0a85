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

// The test binary is a stage when it is called so; with LOWERED it first lowers its limit of open files, and root loses the
// capability that stands in for no_new_privs.
func TestMain(m *testing.M) {
	if os.Getenv("LOWERED") != "" {
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 100, Max: 100})
		runtime.LockOSThread()
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_ADMIN, 0, 0, 0)
		panic(syscall.Exec("/proc/self/exe", []string{StageName}, nil))
	}
	os.Exit(m.Run())
}

// staged runs a program behind a stage with lowered limits and capabilities, and gives what both have said.
func staged(t *testing.T, text []byte) (stdout string, r Report, state *os.ProcessState) {
	t.Helper()
	ordersR, ordersW := pipe(t)
	statusR, statusW := pipe(t)
	var out bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stdout, cmd.ExtraFiles = []string{"LOWERED=1"}, &out, []*os.File{ordersR, statusW}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = ordersR.Close(), statusW.Close()
	_, _ = ordersW.Write(text)
	_ = ordersW.Close()
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

var core = Limit{"RLIMIT_CORE", syscall.RLIMIT_CORE, 0}

// files is a limit; the stage itself is allowed a hundred.
func files(most uint64) Limit { return Limit{"RLIMIT_NOFILE", syscall.RLIMIT_NOFILE, most} }

func TestItBecomesTheProgram(t *testing.T) {
	out, r, state := staged(t, Program{Path: "/bin/sh", Argv: []string{"named", "-c", `echo "$0 $1 $(umask) $(ulimit -n) $(ulimit -c) $A"; ls -x /proc/$$/fd; kill -9 $$`, "zero", "one"},
		Env: []string{"A=kept", "PATH=/usr/bin:/bin"}, Orders: Orders{Umask: true, NoNewPrivileges: true, Limits: []Limit{core, files(64)}}}.Encode())
	if out != "zero one 0077 64 0 kept\n0  1  2\n" || r != (Report{}) {
		t.Errorf("it said %q, %+v", out, r)
	}
	if w := state.Sys().(syscall.WaitStatus); w.Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v: it is not the process that was started", state)
	}
}

// No limit is above what the launcher has.
func TestLimitsOnlyFall(t *testing.T) {
	out, _, _ := staged(t, Program{Path: "/bin/sh", Argv: []string{"sh", "-c", "ulimit -n"}, Orders: Orders{Limits: []Limit{files(4096)}}}.Encode())
	if out != "100\n" {
		t.Errorf("of 100 files it made %q", out)
	}
}

func TestByHandItSaysWhatItIs(t *testing.T) {
	for _, name := range []string{Name, StageName} {
		cmd := exec.Command(os.Args[0])
		cmd.Args = []string{name, "/bin/echo", "run"}
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), "never by hand") || cmd.ProcessState.ExitCode() != usage {
			t.Errorf("%s says %q, %v", name, out, cmd.ProcessState)
		}
	}
}

// Whatever fails, nothing is run, and it is said which call failed and why.
func TestItFailsClosed(t *testing.T) {
	writes := [3]uint64{unix.LANDLOCK_ACCESS_FS_WRITE_FILE}
	allow := []syscall.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
	for name, c := range map[string]struct {
		path   string
		orders Orders
		want   Report
		needs  bool // Landlock; without it that is what fails
	}{
		"no program":                  {"/proc/nowhere", Orders{}, Report{Failed: "exec", Errno: syscall.ENOENT}, false},
		"no executable":               {"/etc/passwd", Orders{}, Report{Failed: "exec", Errno: syscall.EACCES}, false},
		"a path through a file":       {"/bin/sh", Orders{NoNewPrivileges: true, Ruleset: writes, Rules: []Rule{{"/etc/passwd/x", writes[0]}}}, Report{Errno: syscall.ENOTDIR, Call: `opening "/etc/passwd/x"`}, true},
		"Landlock with privileges":    {"/bin/sh", Orders{Ruleset: writes}, Report{Errno: syscall.EPERM, Call: "landlock_restrict_self"}, true},
		"rights that nobody knows":    {"/bin/sh", Orders{NoNewPrivileges: true, Ruleset: [3]uint64{1 << 60}}, Report{Errno: syscall.EINVAL, Call: "landlock_create_ruleset"}, true},
		"rights that are not handled": {"/bin/sh", Orders{NoNewPrivileges: true, Ruleset: writes, Rules: []Rule{{"/", 1 << 60}}}, Report{Errno: syscall.EINVAL, Call: `landlock_add_rule "/"`}, true},
		"a filter with privileges":    {"/bin/sh", Orders{Filter: allow}, Report{Errno: syscall.EACCES, Call: "prctl(PR_SET_SECCOMP)"}, false},
		"a filter that is none":       {"/bin/sh", Orders{NoNewPrivileges: true, Filter: []syscall.SockFilter{{Code: 0xffff}}}, Report{Errno: syscall.EINVAL, Call: "prctl(PR_SET_SECCOMP)"}, false},
		"a limit that nobody knows":   {"/bin/sh", Orders{Limits: []Limit{{"RLIMIT_X", 999, 1}}}, Report{Errno: syscall.EINVAL, Call: "setrlimit(RLIMIT_X)"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			mark := filepath.Join(t.TempDir(), "ran")
			if c.want.Failed == "" {
				c.want.Failed = "restrict"
			}
			_, r, _ := staged(t, Program{Path: c.path, Argv: []string{"sh", "-c", "echo ran > " + mark}, Orders: c.orders}.Encode())
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

// Orders that do not arrive whole are not followed in part.
func TestOrdersCutShort(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	whole := Program{Path: "/bin/sh", Argv: []string{"sh", "-c", "echo ran > " + mark}, Orders: Orders{Umask: true}}.Encode()
	for _, text := range [][]byte{nil, whole[:2], whole[:len(whole)/2], whole[:len(whole)-1], bytes.Replace(whole, []byte("\nend"), []byte("\nxnd"), 1)} {
		if _, r, _ := staged(t, text); r.Failed != "restrict" || r.Errno != syscall.EBADMSG {
			t.Errorf("%d bytes: it says %+v", len(text), r)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the program was run")
	}
}
