package proctree

import (
	"fmt"
	"syscall"
)

// Restrictions are what a program, and all that it starts, is to be without. The zero value of a field leaves that as it is.
// But for Expendable none is ever skipped: what cannot be set up fails the start with a [*RestrictionError], before the program's first
// instruction. Only Linux has them. In all cases there are no core dumps.
type Restrictions struct {
	// Umask sets the umask to 077.
	Umask bool
	// NoNewPrivileges keeps programs such as sudo from gaining any. All below but the limits need it.
	NoNewPrivileges bool
	// Files, FileSize, Memory and Processes are the resource limits NOFILE, FSIZE (bytes), DATA (bytes) and NPROC. None is
	// set above what this process has.
	Files, FileSize, Memory, Processes uint64
	// ABI is the version of Landlock to be used, at most that of [Offered]: what it can do of the following is done. Without
	// one Writes and Reads cannot be had.
	ABI int
	// Writes restricts writing to the paths of Write, and takes most capabilities from root; from version 6 of Landlock on
	// it keeps signals and abstract sockets in. Reads restricts reading to Read and Write. Each path, a file or a folder
	// with all in it, is looked at when the program starts; one that is not there is left out.
	Writes, Reads bool
	Write, Read   []string
	// NoTCP forbids to bind and connect TCP sockets, from version 4 of Landlock on.
	NoTCP bool
	// NoSockets forbids all sockets but Unix ones that listen, and NoKernel what ordinary programs do not ask of the kernel,
	// such as mounts and namespaces; both by a filter of system calls.
	NoSockets, NoKernel bool
	// NoInterference forbids, by the same filter, two ways to disturb other processes of the user: to set their resource
	// limits, since one of processor time ends them, and leases on files, which hold up for a minute whoever opens them.
	NoInterference bool
	// NoSetID forbids, by the same filter, to give files the bits that make a program run with the rights of its owner or group,
	// and takes most capabilities from root. A folder cannot be given its group's bit either. NoMetadata forbids to change
	// modes, owners, times and attributes of files at all, for programs that are not in a sealed namespace, see [Cmd].
	NoSetID, NoMetadata bool
	// Expendable has the kernel end the program, and what it starts, before others that are as large when there is no memory
	// left: its oom_score_adj is 500 at least. Where that cannot be set, it stays as it is.
	Expendable bool
}

// A RestrictionError is why a program was not restricted, and so not run. It is the cause of a [*StartError].
type RestrictionError struct {
	Call  string        // the system call that failed, and on what: `opening "/a/b"`
	Errno syscall.Errno // and what it said
}

// Error gives both.
func (e *RestrictionError) Error() string { return fmt.Sprintf("%s: %v", e.Call, e.Errno) }

// Unwrap gives the number.
func (e *RestrictionError) Unwrap() error { return e.Errno }

// An Offer is what a system has to restrict programs with, besides [Namespaces].
type Offer struct {
	Restrictions    bool // it has any: Linux
	NoNewPrivileges bool
	Landlock        int  // the version of its interface, 0 for none
	Filters         bool // of system calls, with one for this processor
	Fixed           bool // files can be fixed in a namespace, see [Cmd]
}

// unrestricted is the error of a start that would have to do without its restrictions.
func (p *program) unrestricted(call string, errno syscall.Errno) *StartError {
	return &StartError{p.name, fmt.Sprintf("its restrictions cannot be set up: %s: %v", call, errno), &RestrictionError{call, errno}}
}
