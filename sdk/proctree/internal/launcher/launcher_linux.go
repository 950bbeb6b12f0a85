// Package launcher is the process between a program and the one that runs it
// with package proctree. It is apart from proctree for the sake of its imports:
// packages are initialized in the order of their paths as soon as what they
// import is, and with so few imports this one comes before most of the rest of a
// large executable. A single import whose name comes late, such as strings, would
// undo that: bytes does the same, and is early.
package launcher

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// Name is the argv[0] that makes this executable a launcher.
const Name = "toolhost-launcher"

// SweepLimit is how long the launcher works on killing a tree before it reports
// the processes that are still there.
const SweepLimit = 2 * time.Second

// The files that a launcher is started with, besides standard input and output.
const (
	controlFile = 3
	statusFile  = 4
)

// syscall.Exit skips exit hooks, such as those of the race detector: they take
// up to a second and have nothing to say about a launcher.
func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		runtime.LockOSThread() // the program's Pdeathsig hangs on this thread
		syscall.Exit(launch())
	}
}

// launcher is the process between a program and its parent. It has one
// goroutine, which waits in one system call for all that may happen: an order
// must not depend on the scheduler finding another thread for it.
type launcher struct {
	control *os.File // kept, or it would be closed when collected
	status  *os.File
	look    func() lister

	pid      int  // of the program
	found    bool // the parent has heard of it
	pidfd    int  // the same, to poll; -1 where there is none
	started  time.Time
	ended    bool
	wait     syscall.WaitStatus
	took     time.Duration
	killed   int
	sweeping bool
}

// launch runs one program. Its result is the launcher's exit code, which nobody
// reads unless it was started by hand.
func launch() int {
	if !startedByUs(Name) {
		return usage
	}
	keepFiles()
	l := &launcher{control: os.NewFile(controlFile, "control"), status: os.NewFile(statusFile, "status")}
	p, err := decodeProgram(l.control)
	if err != nil {
		return 1 // the parent has ended already
	}
	if step, err := l.start(p); err != nil {
		tellFailure(l.status, step, err)
		return 1
	}
	l.follow()
	l.sweep()
	return 0
}

// usage is the exit code of a launcher, or stage, that somebody else has started.
const usage = 2

// startedByUs tells whoever has not started this process from here that he should not.
func startedByUs(name string) bool {
	ours := isPipe(controlFile) && isPipe(statusFile)
	if !ours {
		_, _ = os.Stderr.WriteString(name + " is started by a toolhost program, never by hand\n")
	}
	return ours
}

func isPipe(fd int) bool {
	var st syscall.Stat_t
	return syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFIFO
}

// keepFiles sees to it that the program gets files 0 to 2 and no other, not even
// one that our parent has inherited without knowing.
func keepFiles() {
	for _, fd := range numbersIn("/proc/self/fd") {
		if fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// say writes a line of the status. If the parent has ended nobody listens, which
// changes nothing.
func (l *launcher) say(format string, args ...any) { _, _ = fmt.Fprintf(l.status, format, args...) }

// start starts the program. On failure it says at which step.
func (l *launcher) start(p Program) (step string, err error) {
	p.Orders.raiseScore() // before /proc is read-only
	if os.Getpid() == namespaceInit {
		if step, err := furnish(p); err != nil {
			return step, err
		}
	}
	if l.look, err = chooseLister(); err != nil {
		return "proc", err
	}
	if e := becomeSubreaper(); e != 0 {
		return "prctl", e
	}
	if p.Dir != "" {
		if err := os.Chdir(p.Dir); err != nil {
			return "chdir", err
		}
	}
	for _, s := range ignored {
		ignore(s)
	}
	l.started = time.Now()
	if step, err := l.startProgram(p); err != nil {
		return step, err
	}
	l.say(startedLine, l.pid)
	settle()
	return "", nil
}

// startProgram starts the program with no more than its orders leave it. When the launcher itself follows those, what it has
// to do later must not need what they take.
func (l *launcher) startProgram(p Program) (step string, err error) {
	if p.Orders.apart(os.Getpid() == namespaceInit) {
		return "stage", l.startStage(p)
	}
	if err := p.Orders.follow(); err != nil {
		return "restrict", err
	}
	l.pid, err = syscall.ForkExec(p.Path, p.Argv, &syscall.ProcAttr{Env: p.Env, Files: []uintptr{0, 1, 2}, Sys: l.attributes(p)})
	return "exec", err
}

// attributes are those of the program.
func (l *launcher) attributes(p Program) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: p.Terminal, Pdeathsig: syscall.SIGKILL, PidFD: &l.pidfd}
}

// becomeSubreaper makes the kernel hand the orphans of the tree to this process
// and not to init. It also sets the name that ps and top show, else "exe", and
// forbids the tree to trace this process, which is of the same user.
func becomeSubreaper() syscall.Errno {
	const setDumpable, setName, setChildSubreaper = 4, 15, 36
	name := []byte(Name[:15] + "\x00")
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setName, uintptr(unsafe.Pointer(&name[0])), 0)
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0)
	_, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
	return e
}

// ignored are the signals that end a launcher, those too at which a Go program crashes when another process sends them. The
// first process of a namespace is safe from those sent within only as long as it does not handle them.
var ignored = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGBUS,
	syscall.SIGFPE, syscall.SIGILL, syscall.SIGSEGV, syscall.SIGSTKFLT, syscall.SIGSYS, syscall.SIGTRAP}

// ignore goes past the runtime, which lets nobody ignore a signal that a fault of its own may cause; the kernel still ends
// who causes one. And since the runtime knows of nothing, it gives a child the default for each, as for all that it handles:
// so this may come before there is a program to send any.
func ignore(s syscall.Signal) {
	action := [8]uintptr{1} // struct sigaction with SIG_IGN
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
}

// settle closes the program's files, since only that is to decide when its output has an end.
func settle() {
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		_ = f.Close()
	}
}

// tellFailure writes the line of the status that says why the program was not started. A stage has worded its own.
func tellFailure(status io.Writer, step string, err error) {
	if t, ok := errors.AsType[*told](err); ok {
		_, _ = status.Write(t.line)
		return
	}
	call, errno := "", syscall.EINVAL
	if f, ok := errors.AsType[*Failure](err); ok {
		call = f.Call
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		errno = e
	}
	_, _ = fmt.Fprintf(status, failedLine, step, errno, call)
}
