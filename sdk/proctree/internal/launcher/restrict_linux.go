package launcher

import (
	"bytes"
	"errors"
	"strconv"
	"syscall"
	"unsafe"
)

// A Failure is why a program was not restricted. It was not run.
type Failure struct {
	Call  string        // the system call, such as "landlock_restrict_self", and on what
	Errno syscall.Errno // and what it said
}

func (f *Failure) Error() string { return f.Call + ": " + f.Errno.Error() }

// Unwrap gives the number, for errors.Is.
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

// follow takes away from this thread what the orders name: a program that it starts, or becomes, has what the calling thread
// has. Other threads of the Go runtime need not be looked after. An error is a *Failure.
func (o *Orders) follow() error {
	if o.Umask {
		syscall.Umask(0o077)
	}
	for _, step := range []func() error{o.limit, o.noNewPrivileges, o.dropCapabilities, o.landlock, o.filter} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// raiseScore has the kernel end this, and what it starts, before others when there is no memory left, see
// https://man7.org/linux/man-pages/man5/proc_pid_oom_score_adj.5.html. Where that cannot be asked for, nothing else is lost.
// It takes a process that is dumpable.
func (o *Orders) raiseScore() {
	if o.Score == 0 {
		return
	}
	fd, err := syscall.Open("/proc/self/oom_score_adj", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = syscall.Close(fd) }()
	var text [8]byte
	n, _ := syscall.Read(fd, text[:])
	if now, err := strconv.Atoi(string(bytes.TrimSpace(text[:max(n, 0)]))); err == nil && now < o.Score {
		_, _ = syscall.Write(fd, strconv.AppendInt(nil, int64(o.Score), 10))
	}
}

// limit uses package syscall, which then no longer puts back the limit of open files that Go has raised for itself.
func (o *Orders) limit() error {
	for _, l := range o.Limits {
		call := "setrlimit(" + l.Name + ")"
		var now syscall.Rlimit
		if err := syscall.Getrlimit(l.Resource, &now); err != nil {
			return failed(call, err)
		}
		least := min(l.Most, now.Max)
		if err := syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: least, Max: least}); err != nil {
			return failed(call, err)
		}
	}
	return nil
}

func (o *Orders) noNewPrivileges() error {
	const setNoNewPrivileges = 38
	if !o.NoNewPrivileges {
		return nil
	}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivileges, 1, 0, 0, 0, 0)
	return failed("prctl(PR_SET_NO_NEW_PRIVS)", errno)
}

// dropCapabilities takes them from root. Without new privileges execve gives none of them back.
func (o *Orders) dropCapabilities() error {
	if !o.Drop {
		return nil
	}
	header := capabilityHeader{version: capabilityVersion}
	var sets [2]capabilitySets
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0); errno != 0 {
		return failed("capget", errno)
	}
	for i, keep := range []uint32{o.Keep, 0} {
		sets[i].permitted &= keep
		sets[i].effective &= keep
		sets[i].inheritable = 0
	}
	return failed("capset", capset(sets))
}

// The system calls of Landlock have the same numbers on all processors, see
// https://docs.kernel.org/userspace-api/landlock.html.
const (
	createRuleset = 444
	addRule       = 445
	restrictSelf  = 446

	pathBeneath = 1
	// onFiles are the rights that make sense for what is no folder: to execute, write, read, truncate and control it.
	onFiles = 1<<0 | 1<<1 | 1<<2 | 1<<14 | 1<<15
)

func (o *Orders) landlock() error {
	if o.Ruleset == [3]uint64{} {
		return nil
	}
	ruleset, _, errno := syscall.RawSyscall(createRuleset, uintptr(unsafe.Pointer(&o.Ruleset)), unsafe.Sizeof(o.Ruleset), 0)
	if errno != 0 {
		return failed("landlock_create_ruleset", errno)
	}
	defer func() { _ = syscall.Close(int(ruleset)) }()
	for _, r := range o.Rules {
		if err := r.grant(ruleset); err != nil {
			return err
		}
	}
	_, _, errno = syscall.RawSyscall(restrictSelf, ruleset, 0, 0)
	return failed("landlock_restrict_self", errno)
}

// grant adds the rule. A path that is not there, or that we cannot reach, needs none.
func (r Rule) grant(ruleset uintptr) error {
	const pathOnly = 0x200000 // O_PATH
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

// filter sets the filter of system calls for this thread and what it starts.
func (o *Orders) filter() error {
	const setSeccomp, modeFilter = 22, 2
	if len(o.Filter) == 0 {
		return nil
	}
	prog := syscall.SockFprog{Len: uint16(len(o.Filter)), Filter: &o.Filter[0]}
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setSeccomp, modeFilter, uintptr(unsafe.Pointer(&prog)))
	return failed("prctl(PR_SET_SECCOMP)", errno)
}
