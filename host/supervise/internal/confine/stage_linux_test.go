package confine

import (
	"bytes"
	"errors"
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
		_ = os.Unsetenv("LOWERED")
		panic(syscall.Exec("/proc/self/exe", append([]string{Name}, os.Args[1:]...), os.Environ()))
	}
	os.Exit(m.Run())
}

// staged runs argv behind a stage with these entries of the environment.
func staged(t *testing.T, env []string, change func(*exec.Cmd), argv ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Args, cmd.Env, cmd.Stdout, cmd.Stderr = append([]string{Name}, argv...), env, &out, &errs
	if change != nil {
		change(cmd)
	}
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func TestItBecomesTheProgram(t *testing.T) {
	o := &Orders{Program: "/bin/sh", Umask: true, NoNewPrivileges: true, Files: 64}
	script := `echo "$0 $1 $(umask) $(ulimit -n) $(ulimit -c) $A ${TOOLHOST_CONFINE-stripped}"; kill -9 $$`
	out, _, err := staged(t, []string{"A=kept", o.Variable()}, nil, "named", "-c", script, "zero", "one")
	if out != "zero one 0077 64 0 kept stripped\n" {
		t.Errorf("it said %q", out)
	}
	if e := new(exec.ExitError); !errors.As(err, &e) || e.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v: it is not the process that was started", err)
	}
}

func lowered(c *exec.Cmd) { c.Args[0] = "lowered" }

// No limit is above what the host has.
func TestLimitsOnlyFall(t *testing.T) {
	o := &Orders{Program: "/bin/sh", Files: 4096}
	out, _, err := staged(t, []string{"LOWERED=1", o.Variable()}, lowered, "sh", "-c", "ulimit -n")
	if out != "100\n" {
		t.Errorf("of 100 files it made %q, %v", out, err)
	}
}

func TestByHandItSaysWhatItIs(t *testing.T) {
	out, errs, err := staged(t, nil, nil, "/bin/echo", "run")
	if e := new(exec.ExitError); out != "" || !strings.Contains(errs, "never by hand") || !errors.As(err, &e) || e.ExitCode() != usage {
		t.Errorf("it says %q, %q, %v", out, errs, err)
	}
}

// Whatever fails, nothing is run, and it is said which call failed and why.
func TestItFailsClosed(t *testing.T) {
	for name, c := range map[string]struct {
		orders   Orders
		call     string
		errno    syscall.Errno
		withoutL bool // also without Landlock
	}{
		"no program":               {Orders{Program: "/nowhere"}, "execve", syscall.ENOENT, true},
		"no executable":            {Orders{Program: "/etc/passwd"}, "execve", syscall.EACCES, true},
		"a path through a file":    {Orders{Writes: true, NoNewPrivileges: true, Write: []string{"/etc/passwd/x"}}, `opening "/etc/passwd/x"`, syscall.ENOTDIR, false},
		"Landlock with privileges": {Orders{Writes: true}, "landlock_restrict_self", syscall.EPERM, false},
		"a filter with privileges": {Orders{NoSockets: true}, "seccomp", syscall.EACCES, true},
	} {
		t.Run(name, func(t *testing.T) {
			mark := filepath.Join(t.TempDir(), "ran")
			if c.orders.ABI = Landlock(); c.orders.ABI == 0 && !c.withoutL {
				c.call, c.errno = "", 0 // nothing is asked of it, and the program runs
			}
			if c.orders.Program == "" {
				c.orders.Program = "/bin/sh"
			}
			out, _, _ := staged(t, []string{"LOWERED=1", c.orders.Variable()}, lowered, "sh", "-c", "echo ran > "+mark)
			if f := ParseFailure(strings.TrimSuffix(out, "\n")); c.call != "" && (f == nil || f.Call != c.call || f.Errno != c.errno) {
				t.Errorf("it says %q, want %s: %v", out, c.call, c.errno)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("the program was run")
			}
		})
	}
}

func TestMalformedOrders(t *testing.T) {
	for _, orders := range []string{"", "end", "program \"/bin/sh\"\n", "program \"/bin/sh\"\nabi x\nend"} {
		out, _, _ := staged(t, []string{variable + "=" + orders}, nil, "sh", "-c", "echo ran")
		if f := ParseFailure(strings.TrimSuffix(out, "\n")); f == nil || f.Errno != syscall.EBADMSG {
			t.Errorf("%q: it says %q", orders, out)
		}
	}
}
