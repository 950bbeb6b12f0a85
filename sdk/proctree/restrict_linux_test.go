//go:build !proctree_group

package proctree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// all is what this machine can do, with writing to the folder and to what a shell needs.
func all(write string) *Restrictions {
	r := &Restrictions{Umask: true, NoNewPrivileges: true, Files: 512, FileSize: 1 << 20}
	o := Offered()
	r.ABI, r.Writes, r.Reads, r.NoTCP = o.Landlock, o.Landlock > 0, o.Landlock > 0, true
	r.NoSockets, r.NoKernel, r.NoInterference = o.Filters, o.Filters, o.Filters
	r.Write, r.Read = []string{write, "/dev/null"}, []string{"/usr", "/lib", "/lib64", "/bin", "/proc", filepath.Dir(os.Args[0])}
	return r
}

// routes are the ways in which restrictions are set up: by a launcher that is the first process of a namespace, and by a
// stage, in a tree or where the launcher would not survive them.
var routes = map[string]struct {
	namespace bool
	memory    uint64
}{"by the launcher": {true, 0}, "by a stage in a namespace": {true, 1 << 40}, "by a stage in a tree": {false, 0}}

func TestRestrictionsHold(t *testing.T) {
	for name, route := range routes {
		t.Run(name, func(t *testing.T) {
			outside, inside := t.TempDir(), t.TempDir()
			c, out := script(`umask; ulimit -n; ulimit -c; ulimit -f; echo x > "$1/in" && echo inside; (echo x > "$2/out") 2>/dev/null && echo outside
(ls "$2") >/dev/null 2>&1 && echo listed; grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status`, inside, outside)
			c.Restrict, c.Namespace = all(inside), route.namespace && Namespaces() == nil
			c.Restrict.Memory = route.memory
			mustRun(t, c)
			want := "0077\n512\n0\n2048\ninside\n"
			if !c.Restrict.Writes {
				want += "outside\nlisted\n"
			}
			want += "NoNewPrivs:\t1\nSeccomp:\t" + map[bool]string{true: "2\n", false: "0\n"}[c.Restrict.NoKernel]
			if strings.ReplaceAll(out.String(), "ulimit: ", "") != want {
				t.Errorf("it says\n%s, want\n%s", out, want)
			}
		})
	}
}

// What is asked for without a namespace and a domain is set up by the launcher as well, and by it alone in the tree.
func TestRestrictionsInATree(t *testing.T) {
	c, out := script(`umask; ulimit -n; ulimit -c; grep NoNewPrivs /proc/self/status /proc/$PPID/status | cut -f 2`)
	c.Restrict = &Restrictions{Umask: true, NoNewPrivileges: true, Files: 100}
	if mustRun(t, c); out.String() != "0077\n100\n0\n1\n1\n" {
		t.Errorf("it says %q", out)
	}
}

// A launcher that is restricted itself ends its tree as any other does.
func TestRestrictedTreesEnd(t *testing.T) {
	for name, end := range map[string]func(pid int, cancel func()){
		"canceled":        func(_ int, cancel func()) { cancel() },
		"program killed":  func(pid int, _ func()) { _ = syscall.Kill(pid, syscall.SIGKILL) },
		"launcher killed": func(pid int, _ func()) { _ = syscall.Kill(parent(pid), syscall.SIGKILL) },
	} {
		for route, r := range routes {
			if name == "launcher killed" && (!r.namespace || Namespaces() != nil) {
				continue // what has cleared its environment may live on
			}
			t.Run(name+", "+route, func(t *testing.T) {
				ctx, cancel := context.WithCancel(bounded(t))
				defer cancel()
				o, started := newOutlet(t), make(chan int, 1)
				c := Command("sh", "-c", everything(), self(t))
				o.attach(c)
				c.Restrict, c.Namespace, c.Grace = all(t.TempDir()), r.namespace && Namespaces() == nil, 20*time.Millisecond
				c.Restrict.Memory, c.Started = r.memory, func(pid int) { started <- pid }
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

// What ends the first process of a namespace would end all: it takes no signal from those it has let in, not even when it is
// in the same domain.
func TestRestrictedLauncherTakesNoSignals(t *testing.T) {
	if !allowed(t) {
		return
	}
	c, out := script(`for s in $(seq 1 64); do kill -$s 1; done 2>/dev/null; cat /proc/1/environ 2>/dev/null; readlink /proc/1/exe; (echo x > /proc/1/mem) 2>/dev/null && echo written; exit 3`)
	c.Namespace, c.Restrict = true, all(t.TempDir())
	if exit := mustRun(t, c); exit.Code != 3 || out.Len() > 0 {
		t.Errorf("exit %v, output %q", exit, out)
	}
}

// What cannot be set up ends the start, and nothing is run; a program that cannot be is told apart from that.
func TestRestrictionsThatFail(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("\x7fELF, or not"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path   string
		change func(*Restrictions)
		call   string // "" is a fault of the program
		errno  syscall.Errno
	}{
		"a path through a file":  {"/bin/sh", func(r *Restrictions) { r.Read = append(r.Read, "/etc/passwd/x") }, `opening "/etc/passwd/x"`, syscall.ENOTDIR},
		"a path that is no text": {"/bin/sh", func(r *Restrictions) { r.Read = append(r.Read, "/a\x00b\n\xff") }, `opening "/a\x00b\n\xff"`, syscall.EINVAL},
		"files without Landlock": {"/bin/sh", func(r *Restrictions) { r.Writes, r.ABI = true, 0 }, "landlock", syscall.ENOSYS},
		"no program":             {"/proc/nowhere/at/all", nil, "", syscall.ENOENT},
		"no executable":          {"/usr/lib/os-release", nil, "", syscall.EACCES},
		"no format":              {script, nil, "", syscall.ENOEXEC},
	} {
		for route, r := range routes {
			t.Run(name+", "+route, func(t *testing.T) {
				mark := filepath.Join(t.TempDir(), "ran")
				cmd := Command(c.path, "-c", "echo ran > "+mark)
				cmd.Restrict, cmd.Namespace = all(filepath.Dir(mark)), r.namespace && Namespaces() == nil
				cmd.Restrict.Memory, cmd.Restrict.Read = r.memory, append(cmd.Restrict.Read, filepath.Dir(script))
				if c.change != nil {
					c.change(cmd.Restrict)
				}
				cmd.Started = func(int) { t.Error("it says that it runs") }
				if strings.HasPrefix(c.call, "opening") && Offered().Landlock == 0 {
					cmd.Restrict.ABI, cmd.Restrict.Writes, c.call, c.errno = 1, true, "landlock_create_ruleset", noLandlock()
				}
				_, err := cmd.Run(bounded(t))
				e, ok := errors.AsType[*RestrictionError](err)
				if _, start := errors.AsType[*StartError](err); !start || !errors.Is(err, c.errno) || ok != (c.call != "") || ok && e.Call != c.call {
					t.Errorf("%v, %+v", err, e)
				}
				if _, err := os.Stat(mark); err == nil {
					t.Error("the program was run")
				}
			})
		}
	}
}

// noLandlock is what a kernel says that has none.
func noLandlock() syscall.Errno {
	_, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return errno
}

// A stage that cannot go on does not hold up whoever waits for its program.
func TestCanceledBehindAStage(t *testing.T) {
	ctx, cancel := context.WithCancel(bounded(t))
	c, _ := script("sleep 1000")
	c.Restrict, c.Grace = all(t.TempDir()), -1
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
			c.Namespace, c.Restrict = route.namespace, all(b.TempDir())
			c.Restrict.Memory = route.memory
			for b.Loop() {
				if _, err := c.Run(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
