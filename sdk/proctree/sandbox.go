package proctree

import (
	"fmt"
	"reflect"
	"syscall"
)

// A Sandbox restricts a program and all that it starts. The zero value of a field restricts nothing. None but
// OOMScoreAdj is ever skipped: what cannot be set up fails the start with a [*StartError], before the program's first
// instruction. Only Linux has sandboxes; [DetectCapabilities] reports what this machine can do.
type Sandbox struct {
	// Namespaces runs the program in process, mount and IPC namespaces of its own, with a /proc, a /dev/shm and, unless
	// Cmd.Terminal is set, a /dev/pts of their own. It sees, signals and traces no process outside, cannot end its
	// launcher, and the kernel ends all of it when that ends, for whatever reason. Shared memory, semaphores and message
	// queues, those of System V and of POSIX, are its own too. Users other than root need a user namespace for it, in
	// which programs such as sudo gain nothing, and files of other users and groups show as those of no one. A system
	// that does not allow it fails the start with [ErrNamespace]; [Namespaces] finds that out in advance.
	Namespaces bool

	// ReadOnlyRoot makes every file system read-only, but for the files and folders of Writable, with all in them, and
	// /dev/shm: elsewhere nothing can be written, and no mode, owner, time or attribute be changed, of any file.
	// Devices, sockets and named pipes can be written to all the same. Paths of Writable are like those of Pinned, but one
	// that does not exist is left out.
	ReadOnlyRoot bool
	Writable     []string
	// Pinned are files and folders that cannot be moved, removed or replaced; ReadOnly those that cannot be changed
	// either, nor what is in them; Masked files that are empty in there, so that nothing can read or lock them. Paths
	// are absolute and without symbolic links, not the root, and exist. Links to and from them cannot be made, nor can
	// files be renamed into or out of a pinned folder. What is replaced from outside is pinned no longer. Root can undo
	// them unless RestrictWrites takes that from it. These and ReadOnlyRoot need Namespaces, and Linux 5.12.
	Pinned, ReadOnly, Masked []string
	// PinnedLinks are symbolic links that cannot be moved, removed or replaced; of their paths only the last part is a
	// link. One that leads nowhere prevents making what it stands for.
	PinnedLinks []string

	// Umask sets the umask to 077.
	Umask bool
	// NoNewPrivileges keeps programs such as sudo from gaining any. All below but the limits and OOMScoreAdj need it.
	NoNewPrivileges bool
	// NoCoreDumps prevents core dumps.
	NoCoreDumps bool
	// MaxFiles, MaxFileSize (bytes), MaxMemory (bytes) and MaxProcesses are the resource limits NOFILE, FSIZE, DATA and
	// NPROC; 0 is none. None is set above what this process has.
	MaxFiles, MaxFileSize, MaxMemory, MaxProcesses uint64
	// OOMScoreAdj is the least oom_score_adj, 0 to 1000: the higher, the sooner the kernel ends the program when there
	// is no memory left. Where it cannot be set, it stays unchanged.
	OOMScoreAdj int

	// Landlock is the version of Landlock to use, at most that of [Capabilities]: what it can do of the following is done.
	// RestrictWrites and RestrictReads need one.
	Landlock int
	// RestrictWrites restricts writing to the paths of Write, and takes most capabilities from root; from version 6 of
	// Landlock on it keeps signals and abstract sockets in. RestrictReads restricts reading to Read and Write. Each
	// path, a file or a folder with all in it, is looked up when the program starts; one that does not exist is left
	// out.
	RestrictWrites, RestrictReads bool
	Write, Read                   []string
	// NoTCP forbids to bind and connect TCP sockets, from version 4 of Landlock on.
	NoTCP bool

	// The following are filters of system calls (seccomp). NoSockets forbids all sockets but Unix ones that listen.
	NoSockets bool
	// NoRareCalls forbids what ordinary programs do not ask of the kernel, such as mounts and namespaces.
	NoRareCalls bool
	// NoInterference forbids two ways to disturb other processes of the user: to set their resource limits, since one of
	// processor time ends them, and leases on files, which delay others that open them for a minute.
	NoInterference bool
	// NoSetID forbids to give files the bits that make a program run with the rights of its owner or group, and takes most
	// capabilities from root. A folder cannot be given its group's bit either.
	NoSetID bool
	// NoMetadata forbids to change modes, owners, times and attributes of files at all, for programs without ReadOnlyRoot.
	NoMetadata bool
}

func (s *Sandbox) isZero() bool { return reflect.ValueOf(s).Elem().IsZero() }

// A SandboxError is why a sandbox could not be set up, and so the program not run. It is the cause of a [*StartError].
type SandboxError struct {
	Call  string        // the system call that failed, and on what: `opening "/a/b"`
	Errno syscall.Errno // and its error
}

// Error returns both.
func (e *SandboxError) Error() string { return fmt.Sprintf("%s: %v", e.Call, e.Errno) }

// Unwrap returns the number.
func (e *SandboxError) Unwrap() error { return e.Errno }

// sandboxError is the error of a start that would have to do without its sandbox.
func (p *program) sandboxError(call string, errno syscall.Errno) *StartError {
	reason := fmt.Sprintf("its sandbox cannot be set up: %s: %v", call, errno)
	return &StartError{p.name, reason, &SandboxError{call, errno}}
}

// Capabilities are what a machine offers for sandboxes.
type Capabilities struct {
	Sandbox          bool   // there are any: Linux
	NoNewPrivs       bool   // programs can be kept from gaining privileges
	Landlock         int    // version of its interface, 0 for none
	Seccomp          bool   // filters of system calls
	Namespaces       bool   // process namespaces
	NamespacesError  string // why not
	NoReadOnlyMounts bool   // no read-only mounts in them: Linux before 5.12
}

// ReadOnlyMounts reports whether Sandbox.ReadOnlyRoot and its like work.
func (c Capabilities) ReadOnlyMounts() bool { return c.Namespaces && !c.NoReadOnlyMounts }

// DetectCapabilities reports what this machine offers. The first call tries to make a namespace, which takes a few
// milliseconds, see [Namespaces].
func DetectCapabilities() Capabilities {
	_ = Namespaces()
	return AssumedCapabilities()
}

// AssumedCapabilities is DetectCapabilities without a try: namespaces are assumed to work until a start finds out
// that they do not.
func AssumedCapabilities() Capabilities {
	c := kernelCapabilities()
	refused := NamespacesRefused()
	if c.Namespaces = refused == nil; refused != nil {
		c.NamespacesError = refused.Error()
	}
	return c
}
