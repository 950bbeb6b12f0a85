package launcher

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// confinerName is the argv[0] that makes this executable a confiner: the process that restricts itself and then
// becomes the program, where the launcher cannot restrict itself, see [Sandbox.needsConfiner]. It is started like a
// launcher, and reports only failures; its end of the status pipe closes when it has become the program.
const confinerName = "toolhost-confine"

func init() {
	if len(os.Args) > 0 && os.Args[0] == confinerName {
		runtime.LockOSThread() // restrictions hold for this thread
		syscall.Exit(confine())
	}
}

// confine becomes the program. It returns only after a failure, which it has reported.
func confine() int {
	if !startedByUs() {
		return ByHand(confinerName)
	}
	keepFiles()
	control, status := os.NewFile(controlFile, "control"), os.NewFile(statusFile, "status")
	p, err := decodeProgram(control)
	if err != nil {
		reportFailure(status, "restrict", failed("reading the program", syscall.EBADMSG))
		return 1
	}
	step, err := "restrict", p.Sandbox.restrict()
	if err == nil {
		step, err = "exec", syscall.Exec(p.Path, p.Argv, p.Env)
	}
	reportFailure(status, step, err)
	return 1
}

// startConfiner starts the program through a confiner, and returns when that has become the program, or has failed.
// An error is a *reported; if the parent ends the confiner first, nothing more is known.
func (l *launcher) startConfiner(p Program) (err error) {
	var control, status [2]int
	if err := syscall.Pipe2(control[:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	if err := syscall.Pipe2(status[:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	l.pid, err = syscall.ForkExec("/proc/self/exe", []string{confinerName}, &syscall.ProcAttr{
		Env:   os.Environ(), // what the launcher was loaded with
		Files: []uintptr{0, 1, 2, uintptr(control[0]), uintptr(status[1])},
		Sys:   l.attributes(p),
	})
	_, _ = syscall.Close(control[0]), syscall.Close(status[1])
	if err != nil {
		return err
	}
	theirs, answer := os.NewFile(uintptr(control[1]), "program"), os.NewFile(uintptr(status[0]), "answer")
	defer answer.Close()
	_, _ = theirs.Write(p.Encode()) // if it has died, the answer shows it
	_ = theirs.Close()
	fds := []pollFD{{fd: controlFile, events: pollIn}, {fd: int32(answer.Fd()), events: pollIn}}
	for fds[1].revents == 0 { // no longer than the parent waits
		poll(fds, tick)
		if fds[0].revents != 0 && !l.runCommand() {
			return nil
		}
	}
	text, err := io.ReadAll(answer)
	if err != nil || len(text) == 0 {
		return err
	}
	_, _ = syscall.Wait4(l.pid, nil, 0, nil)
	return &reported{text}
}

// reported is the failure that a confiner has reported.
type reported struct{ line []byte }

func (e *reported) Error() string { return string(e.line) }

// A Failure is why a program was not restricted. It was not run.
type Failure struct {
	Call  string        // the system call, such as "landlock_restrict_self", and on what
	Errno syscall.Errno // and its error
}

func (f *Failure) Error() string { return f.Call + ": " + f.Errno.Error() }

// Unwrap returns the number, for errors.Is.
func (f *Failure) Unwrap() error { return f.Errno }

// failed is nil without an error.
func failed(call string, err error) error {
	if err == nil || err == error(syscall.Errno(0)) { //nolint:errorlint // nothing wraps a number that means success
		return nil
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return &Failure{call, errno}
	}
	return &Failure{call, syscall.EINVAL}
}

// leastFiles is the fewest open files that a launcher needs.
const leastFiles = 64

// needsConfiner reports whether a separate process has to set up the sandbox, because the launcher cannot restrict
// itself that way. Restrictions that would end or delay its own work always need one. The others do not if it is the
// first process of a namespace; otherwise a program in the same Landlock domain could kill it.
func (s *Sandbox) needsConfiner(first bool) bool {
	for _, l := range s.Rlimits {
		switch {
		case l.Resource == syscall.RLIMIT_CORE, l.Resource == syscall.RLIMIT_FSIZE:
		case l.Resource == syscall.RLIMIT_NOFILE && l.Max >= leastFiles:
		default:
			return true
		}
	}
	return !first && (s.DropCapabilities || s.Landlock != [3]uint64{} || len(s.Seccomp) > 0)
}

// restrict sets up everything but the mounts and the oom score for this thread: a program that it starts, or becomes,
// inherits from the calling thread. Other threads of the Go runtime do not matter. An error is a *Failure.
func (s *Sandbox) restrict() error {
	const setNoNewPrivileges, setSeccomp, modeFilter = 38, 22, 2
	if s.Umask {
		syscall.Umask(0o077)
	}
	if err := s.setLimits(); err != nil {
		return err
	}
	if s.NoNewPrivileges {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivileges, 1, 0, 0, 0, 0)
		if err := failed("prctl(PR_SET_NO_NEW_PRIVS)", errno); err != nil {
			return err
		}
	}
	if err := s.dropCapabilities(); err != nil {
		return err
	}
	if err := s.setLandlock(); err != nil {
		return err
	}
	if len(s.Seccomp) == 0 {
		return nil
	}
	prog := syscall.SockFprog{Len: uint16(len(s.Seccomp)), Filter: &s.Seccomp[0]}
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setSeccomp, modeFilter, uintptr(unsafe.Pointer(&prog)))
	return failed("prctl(PR_SET_SECCOMP)", errno)
}

// raiseOOMScore makes the kernel end this process, and what it starts, before others when there is no memory left,
// see https://man7.org/linux/man-pages/man5/proc_pid_oom_score_adj.5.html. Where that cannot be set, nothing else is
// lost. The process must be dumpable.
func (s *Sandbox) raiseOOMScore() {
	if s.OOMScoreAdj == 0 {
		return
	}
	fd, err := syscall.Open("/proc/self/oom_score_adj", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = syscall.Close(fd) }()
	var text [8]byte
	n, _ := syscall.Read(fd, text[:])
	if now, err := strconv.Atoi(string(bytes.TrimSpace(text[:max(n, 0)]))); err == nil && now < s.OOMScoreAdj {
		_, _ = syscall.Write(fd, strconv.AppendInt(nil, int64(s.OOMScoreAdj), 10))
	}
}

// setLimits uses package syscall, which then no longer restores the limit of open files that Go has raised for itself.
func (s *Sandbox) setLimits() error {
	for _, l := range s.Rlimits {
		call := "setrlimit(" + l.Name + ")"
		var now syscall.Rlimit
		if err := syscall.Getrlimit(l.Resource, &now); err != nil {
			return failed(call, err)
		}
		most := min(l.Max, now.Max)
		if err := syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return failed(call, err)
		}
	}
	return nil
}

// Arguments of capget(2) and capset(2): a header, and the sets of the first 32 capabilities and of the others.
type (
	capabilityHeader struct {
		version uint32
		pid     int32 // 0 is this thread
	}
	capabilitySets struct{ effective, permitted, inheritable uint32 }
)

const capabilityVersion = 0x20080522

// capset gives this thread these capabilities, which it must already be permitted to have.
func capset(sets [2]capabilitySets) syscall.Errno {
	header := capabilityHeader{version: capabilityVersion}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET,
		uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
	return errno
}

// dropCapabilities takes capabilities from root. Without new privileges execve restores none of them.
func (s *Sandbox) dropCapabilities() error {
	if !s.DropCapabilities {
		return nil
	}
	header := capabilityHeader{version: capabilityVersion}
	var sets [2]capabilitySets
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPGET,
		uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
	if errno != 0 {
		return failed("capget", errno)
	}
	for i, keep := range []uint32{s.KeepCapabilities, 0} {
		sets[i].permitted &= keep
		sets[i].effective &= keep
		sets[i].inheritable = 0
	}
	return failed("capset", capset(sets))
}

// dropAllCapabilities leaves this thread, and so the program that it starts, without capabilities, and without a way
// to get some.
func dropAllCapabilities() error {
	const dropBounding, ambient, clearAmbient = 24, 47, 4
	for number := uintptr(0); ; number++ {
		_, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, dropBounding, number, 0)
		if e == syscall.EINVAL {
			break // the kernel has no more
		}
		if e != 0 {
			return e
		}
	}
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, ambient, clearAmbient, 0, 0, 0, 0); e != 0 {
		return e
	}
	return failed("capset", capset([2]capabilitySets{}))
}

// The system calls of Landlock have the same numbers on all processors, see
// https://docs.kernel.org/userspace-api/landlock.html.
const (
	createRuleset = 444
	addRule       = 445
	restrictSelf  = 446

	pathBeneath = 1
	// onFiles are the rights that apply to files that are not folders: to execute, write, read, truncate and control
	// them.
	onFiles = 1<<0 | 1<<1 | 1<<2 | 1<<14 | 1<<15
)

func (s *Sandbox) setLandlock() error {
	if s.Landlock == [3]uint64{} {
		return nil
	}
	ruleset, _, errno := syscall.RawSyscall(createRuleset,
		uintptr(unsafe.Pointer(&s.Landlock)), unsafe.Sizeof(s.Landlock), 0)
	if errno != 0 {
		return failed("landlock_create_ruleset", errno)
	}
	defer func() { _ = syscall.Close(int(ruleset)) }()
	for _, r := range s.LandlockRules {
		if err := r.add(ruleset); err != nil {
			return err
		}
	}
	_, _, errno = syscall.RawSyscall(restrictSelf, ruleset, 0, 0)
	return failed("landlock_restrict_self", errno)
}

// add adds the rule. A path that does not exist, or that cannot be reached, needs none.
func (r LandlockRule) add(ruleset uintptr) error {
	fd, err := syscall.Open(r.Path, pathOnly|syscall.O_CLOEXEC, 0)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.EACCES) {
		return nil
	} else if err != nil {
		return failed("opening "+strconv.Quote(r.Path), err)
	}
	defer func() { _ = syscall.Close(fd) }()
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return failed("fstat", err)
	}
	attr := struct {
		allowed uint64
		parent  int32
	}{r.Rights, int32(fd)}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		attr.allowed &= onFiles
	}
	_, _, errno := syscall.RawSyscall6(addRule, ruleset, pathBeneath, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	return failed("landlock_add_rule "+strconv.Quote(r.Path), errno)
}
