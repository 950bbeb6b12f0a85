//go:build !proctree_group

package proctree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// all is everything that this machine supports, with writing to the folder and to what a shell needs.
func all(write string) Sandbox {
	k := kernelCapabilities()
	return Sandbox{
		Umask: true, NoNewPrivileges: true, NoCoreDumps: true, MaxFiles: 512, MaxFileSize: 1 << 20,
		Landlock: k.Landlock, RestrictWrites: k.Landlock > 0, RestrictReads: k.Landlock > 0, NoTCP: true,
		NoSockets: k.Seccomp, NoRareCalls: k.Seccomp, NoInterference: k.Seccomp,
		Write: []string{write, "/dev/null"},
		Read:  []string{"/usr", "/lib", "/lib64", "/bin", "/proc", filepath.Dir(os.Args[0])},
	}
}

// routes are the ways in which a sandbox is set up: by a launcher that is the first process of a namespace, and by a
// confiner, in a tree or where the launcher would not survive it.
var routes = map[string]struct {
	namespace bool
	memory    uint64
}{
	"by the launcher":              {true, 0},
	"by a confiner in a namespace": {true, 1 << 40},
	"by a confiner in a tree":      {false, 0},
}

func TestRestrictionsHold(t *testing.T) {
	for name, route := range routes {
		t.Run(name, func(t *testing.T) {
			outside, inside := t.TempDir(), t.TempDir()
			c, out := script(`umask; ulimit -n; ulimit -c; ulimit -f; echo x > "$1/in" && echo inside; (echo x > "$2/out") 2>/dev/null && echo outside
(ls "$2") >/dev/null 2>&1 && echo listed; grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status`, inside, outside)
			c.Sandbox = all(inside)
			c.Sandbox.Namespaces, c.Sandbox.MaxMemory = route.namespace && Namespaces() == nil, route.memory
			mustRun(t, c)
			want := "0077\n512\n0\n2048\ninside\n"
			if !c.Sandbox.RestrictWrites {
				want += "outside\nlisted\n"
			}
			want += "NoNewPrivs:\t1\nSeccomp:\t" + map[bool]string{true: "2\n", false: "0\n"}[c.Sandbox.NoRareCalls]
			if strings.ReplaceAll(out.String(), "ulimit: ", "") != want {
				t.Errorf("it says\n%s, want\n%s", out, want)
			}
		})
	}
}

// Restrictions without a namespace and a domain are set up by the launcher as well, and in a tree by it alone.
func TestRestrictionsInATree(t *testing.T) {
	c, out := script(`umask; ulimit -n; ulimit -c; grep NoNewPrivs /proc/self/status /proc/$PPID/status | cut -f 2`)
	c.Sandbox = Sandbox{Umask: true, NoNewPrivileges: true, NoCoreDumps: true, MaxFiles: 100}
	if mustRun(t, c); out.String() != "0077\n100\n0\n1\n1\n" {
		t.Errorf("it says %q", out)
	}
}

// A launcher that is restricted itself ends its tree like any other.
func TestRestrictedTreesEnd(t *testing.T) {
	for name, end := range map[string]func(pid int, cancel func()){
		"canceled":        func(_ int, cancel func()) { cancel() },
		"program killed":  func(pid int, _ func()) { _ = syscall.Kill(pid, syscall.SIGKILL) },
		"launcher killed": func(pid int, _ func()) { _ = syscall.Kill(parent(pid), syscall.SIGKILL) },
	} {
		for route, r := range routes {
			if name == "launcher killed" && (!r.namespace || Namespaces() != nil) {
				continue // a process that has cleared its environment may live on
			}
			t.Run(name+", "+route, func(t *testing.T) {
				ctx, cancel := context.WithCancel(bounded(t))
				defer cancel()
				o, started := newProcessPipe(t), make(chan int, 1)
				c := Command("sh", "-c", everything(), self(t))
				o.attach(c)
				c.Sandbox, c.Grace = all(t.TempDir()), 20*time.Millisecond
				c.Sandbox.Namespaces = r.namespace && Namespaces() == nil
				c.Sandbox.MaxMemory, c.Started = r.memory, func(pid int) { started <- pid }
				run := begin(ctx, c)
				o.await(t, patience, "all started\n")
				end(<-started, cancel)
				o.w.Close()
				o.awaitEnd(t, patience)
				if _, err := run.end(t, patience); err != nil && !errors.Is(err, ErrLost) {
					t.Errorf("Run: %v", err)
				}
			})
		}
	}
}

// The end of a namespace's first process would end everything in it: it takes no signal from processes inside, not
// even in the same domain.
func TestRestrictedLauncherIgnoresSignals(t *testing.T) {
	if !allowed(t) {
		return
	}
	c, out := script(`for s in $(seq 1 64); do kill -$s 1; done 2>/dev/null; cat /proc/1/environ 2>/dev/null; readlink ` +
		`/proc/1/exe; (echo x > /proc/1/mem) 2>/dev/null && echo written; exit 3`)
	c.Sandbox = all(t.TempDir())
	c.Sandbox.Namespaces = true
	if exit := mustRun(t, c); exit.Code != 3 || out.Len() > 0 {
		t.Errorf("exit %v, output %q", exit, out)
	}
}

// The kernel protects the first process of a namespace only at moments when it does not block the signal: so none has an
// action that ends it, while the program has the default actions.
func TestNoSignalEndsTheLauncher(t *testing.T) {
	for route, r := range routes {
		t.Run(route, func(t *testing.T) {
			c, out := script(`for p in $PPID self; do sed -n 's/^Sig\(Ign\|Cgt\):\s*//p' /proc/$p/status; done`)
			c.Sandbox.Namespaces, c.Sandbox.MaxMemory = r.namespace && Namespaces() == nil, r.memory
			mustRun(t, c)
			var ignored, handled, ignoredInside, handledInside uint64
			if _, err := fmt.Sscanf(out.String(), "%x\n%x\n%x\n%x\n", &ignored, &handled, &ignoredInside,
				&handledInside); err != nil {
				t.Fatalf("%v: %q", err, out)
			}
			var harmless uint64
			for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN,
				syscall.SIGTTOU, syscall.SIGCONT} {
				harmless |= 1 << (s - 1)
			}
			if left := ^(ignored | handled | harmless); left != 0 {
				t.Errorf("signals %#x end it", left)
			}
			if more := ignoredInside &^ ignoredHere(t); more != 0 {
				t.Errorf("the program ignores %#x", more)
			}
		})
	}
}

// ignoredHere are the signals that this process ignores, as its parent had it, and so has what it starts: GNU C starts
// programs with signals 32 and 33 ignored.
func ignoredHere(t *testing.T) (signals uint64) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "SigIgn:")
	if _, err := fmt.Sscanf(rest, "%x", &signals); err != nil {
		t.Fatal(err)
	}
	return signals
}

// Signals that queue, sent without a pause, do not keep a launcher from its work: it ignores them.
func TestQueuedSignalsAreIgnored(t *testing.T) {
	for route, r := range routes {
		t.Run(route, func(t *testing.T) {
			c, out := script(`until grep -q '^SigIgn:\s*ffffffff[89a-f]' /proc/$PPID/status; do :; done; echo ignored`)
			c.Sandbox.Namespaces, c.Sandbox.MaxMemory = r.namespace && Namespaces() == nil, r.memory
			if mustRun(t, c); out.String() != "ignored\n" {
				t.Errorf("it says %q", out)
			}
		})
	}
}

// A restriction that cannot be set up fails the start, and nothing is run; the error differs from that of a program
// that cannot be run.
func TestRestrictionsThatFail(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("\x7fELF, or not"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path   string
		change func(*Sandbox)
		call   string // "" is a fault of the program
		errno  syscall.Errno
	}{
		"a path through a file": {"/bin/sh", func(r *Sandbox) { r.Read = append(r.Read, "/etc/passwd/x") },
			`opening "/etc/passwd/x"`, syscall.ENOTDIR},
		"a path that is no text": {"/bin/sh", func(r *Sandbox) { r.Read = append(r.Read, "/a\x00b\n\xff") },
			`opening "/a\x00b\n\xff"`, syscall.EINVAL},
		"files without Landlock": {"/bin/sh", func(r *Sandbox) { r.RestrictWrites, r.Landlock = true, 0 }, "landlock",
			syscall.ENOSYS},
		"no program":    {"/proc/nowhere/at/all", nil, "", syscall.ENOENT},
		"no executable": {"/usr/lib/os-release", nil, "", syscall.EACCES},
		"no format":     {script, nil, "", syscall.ENOEXEC},
	} {
		for route, r := range routes {
			t.Run(name+", "+route, func(t *testing.T) {
				mark := filepath.Join(t.TempDir(), "ran")
				cmd := Command(c.path, "-c", "echo ran > "+mark)
				cmd.Sandbox = all(filepath.Dir(mark))
				cmd.Sandbox.Namespaces = r.namespace && Namespaces() == nil
				cmd.Sandbox.MaxMemory, cmd.Sandbox.Read = r.memory, append(cmd.Sandbox.Read, filepath.Dir(script))
				if c.change != nil {
					c.change(&cmd.Sandbox)
				}
				cmd.Started = func(int) { t.Error("it says that it runs") }
				if strings.HasPrefix(c.call, "opening") && kernelCapabilities().Landlock == 0 {
					cmd.Sandbox.Landlock, cmd.Sandbox.RestrictWrites, c.call, c.errno = 1, true, "landlock_create_ruleset",
						noLandlock()
				}
				_, err := cmd.Run(bounded(t))
				e, ok := errors.AsType[*SandboxError](err)
				if _, start := errors.AsType[*StartError](err); !start || !errors.Is(err, c.errno) || ok != (c.call != "") || ok &&
					e.Call != c.call {
					t.Errorf("%v, %+v", err, e)
				}
				if _, err := os.Stat(mark); err == nil {
					t.Error("the program was run")
				}
			})
		}
	}
}

// noLandlock is the answer of a kernel without Landlock.
func noLandlock() syscall.Errno {
	_, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return errno
}

// A confiner that hangs does not delay a canceled run.
func TestCanceledBehindAConfiner(t *testing.T) {
	ctx, cancel := context.WithCancel(bounded(t))
	c, _ := script("sleep 1000")
	c.Sandbox, c.Grace = all(t.TempDir()), -1
	c.Started = func(int) { cancel() }
	exit, err := c.Run(ctx)
	if err != nil || exit.Signal != syscall.SIGKILL || !exit.Canceled {
		t.Errorf("%v, %v", exit, err)
	}
}

func BenchmarkRunRestricted(b *testing.B) {
	for name, route := range routes {
		b.Run(name, func(b *testing.B) {
			c := Command("/bin/true")
			c.Sandbox = all(b.TempDir())
			c.Sandbox.Namespaces, c.Sandbox.MaxMemory = route.namespace, route.memory
			for b.Loop() {
				if _, err := c.Run(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
