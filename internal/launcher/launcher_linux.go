// Package launcher is the process between a program and the one that runs it with package proctree: a program of its
// own (cmd/toolhost-launcher), or the same one that runs it. It is separate from proctree because of its imports:
// packages are initialized in the order of their paths as soon as their imports are, and with so few imports this one
// precedes most of a large executable. A single import whose path sorts late, such as strings, would undo that: bytes
// does the same, and sorts early.
package launcher

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"github.com/toolhost/toolhost/internal/procstat"
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

// syscall.Exit skips exit hooks, such as those of the race detector: they take up to a second and report nothing
// about a launcher. Init functions run on the first thread, on which the program's Pdeathsig depends: locking it again
// would only start another.
func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		syscall.Exit(launch())
	}
}

// launcher is the process between a program and its parent. It has one goroutine, which waits in one system call for
// all events: a command must not depend on the scheduler finding another thread for it.
type launcher struct {
	control *os.File // referenced, or it would be closed when collected
	status  *os.File
	look    func() lister

	pid      int  // of the program
	found    bool // the parent has received its pid
	pidfd    int  // the process to poll; -1 where there is none
	started  time.Time
	ended    bool
	wait     syscall.WaitStatus
	took     time.Duration
	killed   int
	sweeping bool
}

// launch runs one program. It returns the launcher's exit code, which matters only
// if it was started by hand.
func launch() int {
	if !startedByUs() {
		return ByHand(Name)
	}
	keepFiles()
	l := &launcher{control: os.NewFile(controlFile, "control"), status: os.NewFile(statusFile, "status")}
	if os.Getpid() == namespaceInit { // while the parent still prepares the program
		if err := isolate(); err != nil {
			reportFailure(l.status, "mount", err)
			return 1
		}
	}
	p, err := decodeProgram(l.control)
	if err != nil {
		return 1 // the parent has ended already
	}
	if step, err := l.start(p); err != nil {
		reportFailure(l.status, step, err)
		return 1
	}
	l.follow()
	l.sweep()
	return 0
}

// startedByUs reports whether this package has started the process.
func startedByUs() bool { return isPipe(controlFile) && isPipe(statusFile) }

// usage is the exit code of a launcher, or confiner, that was not started by this package.
const usage = 2

// ByHand says on standard error that a launcher, or confiner, was not started by this package, and returns its exit
// code.
func ByHand(name string) int {
	_, _ = os.Stderr.WriteString(name + " is an internal process of toolhost; do not run it by hand\n")
	return usage
}

func isPipe(fd int) bool {
	var st syscall.Stat_t
	return syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFIFO
}

// keepFiles makes sure that the program gets files 0 to 2 and no other, not even one that our parent has inherited
// unknowingly.
func keepFiles() {
	for _, fd := range procstat.NumbersIn("/proc/self/fd", -1) {
		if fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// report writes a line of the status. It does not matter if the parent has ended.
func (l *launcher) report(format string, args ...any) { _, _ = fmt.Fprintf(l.status, format, args...) }

// start starts the program. On failure it returns the step: "mount", "protect", "capset", "proc", "prctl", "chdir",
// "confiner", "restrict" or "exec".
func (l *launcher) start(p Program) (step string, err error) {
	p.Sandbox.raiseOOMScore() // before /proc is read-only
	first := os.Getpid() == namespaceInit
	if first {
		if step, err := setUpNamespace(p); err != nil {
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
	keepSignalsOut()
	l.started = time.Now()
	if step, err := l.startProgram(p, first); err != nil {
		return step, err
	}
	for s := firstQueued; s <= lastSignal; s++ { // the program has the default actions by now
		setAction(s, sigaction{handler: ignoreHandler})
	}
	l.report(startedLine, l.pid)
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		_ = f.Close() // only the program decides when its output ends
	}
	return "", nil
}

// startProgram starts the program inside its sandbox. When the launcher restricts itself for that, its later work
// does not need what it loses.
func (l *launcher) startProgram(p Program, first bool) (step string, err error) {
	if p.Sandbox.needsConfiner(first) {
		return "confiner", l.startConfiner(p)
	}
	if err := p.Sandbox.restrict(); err != nil {
		return "restrict", err
	}
	l.pid, err = syscall.ForkExec(p.Path, p.Argv, &syscall.ProcAttr{
		Env: p.Env, Files: []uintptr{0, 1, 2}, Sys: l.attributes(p)})
	return "exec", err
}

// attributes are those of the program.
func (l *launcher) attributes(p Program) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: p.Terminal, Pdeathsig: syscall.SIGKILL, PidFD: &l.pidfd}
}

// becomeSubreaper makes the kernel hand the orphans of the tree to this process instead of init. It also sets the
// name that ps and top show, otherwise "exe", and forbids the tree, which runs as the same user, to trace this
// process.
func becomeSubreaper() syscall.Errno {
	const setDumpable, setName, setChildSubreaper = 4, 15, 36
	name := []byte(Name[:15] + "\x00")
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setName, uintptr(unsafe.Pointer(&name[0])), 0)
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0)
	_, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
	return e
}

// ignored are the signals at which a Go program ends or crashes when another process sends them.
var ignored = []syscall.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGBUS,
	syscall.SIGFPE, syscall.SIGILL, syscall.SIGSEGV, syscall.SIGSTKFLT, syscall.SIGSYS, syscall.SIGTRAP,
}

// harmless are the signals whose default action does not end a process, and SIGKILL, which can have no other.
var harmless = []syscall.Signal{
	syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT,
}

// keepSignalsOut makes sure that no signal but SIGKILL ends this process. The kernel alone does not make sure of it for
// the first process of a namespace: it drops signals from within that would end the process, but not while its first
// thread blocks them, as threads do in handlers; another thread takes the signal then, and the process ends. Signals
// that the runtime leaves alone, such as 32 to 34, get a handler: the program that is started would inherit that they
// are ignored. Those that queue are ignored once it has started, or a flood of them would keep this process busy.
func keepSignalsOut() {
	for _, s := range ignored {
		setAction(s, sigaction{handler: ignoreHandler})
	}
	handled := actionOf(syscall.SIGUSR1) // by the runtime
	handled.handler = codeOf(doNothing)
	for s := syscall.Signal(1); s <= lastSignal; s++ {
		if actionOf(s).handler == defaultHandler && !slices.Contains(harmless, s) {
			setAction(s, handled)
		}
	}
}

// doNothing is a signal handler. It is compiled to a return, and needs nothing that Go code has and a handler has not.
//
//go:nosplit
//go:noinline
//go:norace
func doNothing() {}

// codeOf is the address of the code of a function without variables of its own.
func codeOf(f func()) uintptr { return **(**uintptr)(unsafe.Pointer(&f)) }

// sigaction is the kernel's struct sigaction. What lies behind the handler differs between processors, and is only
// copied.
type sigaction struct {
	handler uintptr
	rest    [7]uintptr
}

const (
	defaultHandler, ignoreHandler = 0, 1                                   // SIG_DFL and SIG_IGN
	firstQueued, lastSignal       = syscall.Signal(32), syscall.Signal(64) // of those that are delivered as often as sent
	signalSetSize                 = 8                                      // in bytes
)

// setAction bypasses the runtime, which does not ignore signals that its own faults may cause; the kernel still ends a
// process that causes one. Since the runtime does not know, it resets each in a child, like all that it handles: so
// this can happen before there is a program to send any.
func setAction(s syscall.Signal, action sigaction) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0,
		signalSetSize, 0, 0)
}

func actionOf(s syscall.Signal) (action sigaction) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), 0, uintptr(unsafe.Pointer(&action)),
		signalSetSize, 0, 0)
	return action
}

// reportFailure writes the line of the status that says why the program was not started. A confiner has written its
// own.
func reportFailure(status io.Writer, step string, err error) {
	if r, ok := errors.AsType[*reported](err); ok {
		_, _ = status.Write(r.line)
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
