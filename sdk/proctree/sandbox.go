package proctree

import (
	"fmt"
	"reflect"
	"syscall"
)

// A Sandbox restricts a program and all that it starts. The zero value of a field restricts nothing. Nothing but
// OOMScoreAdj is ever skipped: what cannot be set up fails the start with a [*StartError], before the program's first
// instruction. Only Linux has sandboxes; [DetectCapabilities] reports what this machine supports.
type Sandbox struct {
	// Namespaces runs the program in its own process, mount and IPC namespaces, with its own /proc, /dev/shm and,
	// unless Cmd.Terminal is set, /dev/pts. It sees, signals and traces no process outside, cannot end its launcher,
	// and the kernel ends all of it when the launcher ends, for whatever reason. Shared memory, semaphores and message
	// queues, those of System V and of POSIX, are separate too. Users other than root need a user namespace for it, in
	// which programs such as sudo gain nothing, and files of other users and groups appear to belong to no one. A
	// system that does not allow it fails the start with [ErrNamespace]; [Namespaces] finds that out in advance.
	Namespaces bool

	// ReadOnlyRoot makes every file system read-only, except for the files and folders of Writable, with their content,
	// and /dev/shm: elsewhere nothing can be written, and no mode, owner, time or attribute of a file be changed.
	// Devices, sockets and named pipes remain writable. Paths of Writable are like those of Pinned, but one that does
	// not exist is left out.
	ReadOnlyRoot bool
	Writable     []string
	// Pinned are files and folders that cannot be moved, removed or replaced; ReadOnly those that, with their content,
	// cannot be changed either; Masked files that appear empty, so that nothing can read or lock them. Paths are
	// absolute and without symbolic links, not the root, and exist. Links to and from them cannot be made, nor can
	// files be renamed into or out of a pinned folder. A path that is replaced from outside is no longer pinned. Root
	// can undo them unless RestrictWrites prevents that. These and ReadOnlyRoot need Namespaces, and Linux 5.12.
	Pinned, ReadOnly, Masked []string
	// PinnedLinks are symbolic links that cannot be moved, removed or replaced; only the last part of such a path is a
	// link. A dangling one prevents the creation of its path.
	PinnedLinks []string

	// Umask sets the umask to 077.
	Umask bool
	// NoNewPrivileges prevents programs such as sudo from gaining any. All below except the limits and OOMScoreAdj need
	// it.
	NoNewPrivileges bool
	// NoCoreDumps prevents core dumps.
	NoCoreDumps bool
	// MaxFiles, MaxFileSize (bytes), MaxMemory (bytes) and MaxProcesses are the resource limits NOFILE, FSIZE, DATA and
	// NPROC; 0 is none. None is set above that of this process.
	MaxFiles, MaxFileSize, MaxMemory, MaxProcesses uint64
	// OOMScoreAdj is the least oom_score_adj, 0 to 1000: the higher, the sooner the kernel ends the program when there
	// is no memory left. Where it cannot be set, it stays unchanged.
	OOMScoreAdj int

	// Landlock is the version of Landlock to use, at most that of [Capabilities]: the following are applied as far as
	// it supports them. RestrictWrites and RestrictReads need one.
	Landlock int
	// RestrictWrites restricts writing to the paths of Write, and takes most capabilities from root; from version 6 of
	// Landlock on it restricts signals and abstract sockets to the sandbox. RestrictReads restricts reading to Read and
	// Write. Each path, a file or a folder with its content, is looked up when the program starts; one that does not
	// exist is left out.
	RestrictWrites, RestrictReads bool
	Write, Read                   []string
	// NoTCP forbids binding and connecting TCP sockets, from version 4 of Landlock on.
	NoTCP bool

	// The following are filters of system calls (seccomp). NoSockets forbids all sockets except Unix ones that listen.
	NoSockets bool
	// NoRareCalls forbids system calls that ordinary programs do not make, such as mounts and namespaces.
	NoRareCalls bool
	// NoInterference forbids two ways to disturb other processes of the user: setting their resource limits, since one
	// of processor time ends them, and leases on files, which delay others that open them by up to a minute.
	NoInterference bool
	// NoSetID forbids giving files the bits that make a program run with the rights of its owner or group, and takes
	// most capabilities from root. Folders cannot be given the setgid bit either.
	NoSetID bool
	// NoMetadata forbids all changes of modes, owners, times and attributes of files, for programs without
	// ReadOnlyRoot.
	NoMetadata bool
}

func (s *Sandbox) isZero() bool { return reflect.ValueOf(s).Elem().IsZero() }

// A SandboxError is why a sandbox could not be set up, so that the program was not run. It is the cause of a
// [*StartError].
type SandboxError struct {
	Call  string        // the system call that failed, and on what: `opening "/a/b"`
	Errno syscall.Errno // and its error
}

// Error returns both.
func (e *SandboxError) Error() string { return fmt.Sprintf("%s: %v", e.Call, e.Errno) }

// Unwrap returns the number.
func (e *SandboxError) Unwrap() error { return e.Errno }

// sandboxError is the error of a start whose sandbox is not available.
func (p *program) sandboxError(call string, errno syscall.Errno) *StartError {
	reason := fmt.Sprintf("its sandbox cannot be set up: %s: %v", call, errno)
	return &StartError{p.name, reason, &SandboxError{call, errno}}
}

// Capabilities are the sandbox features of a machine.
type Capabilities struct {
	Sandbox          bool   // any at all: Linux
	NoNewPrivs       bool   // programs can be prevented from gaining privileges
	Landlock         int    // version of its interface, 0 for none
	Seccomp          bool   // filters of system calls
	Namespaces       bool   // process namespaces
	NamespacesError  string // why not
	NoReadOnlyMounts bool   // no read-only mounts in them: Linux before 5.12
}

// ReadOnlyMounts reports whether Sandbox.ReadOnlyRoot and the like work.
func (c Capabilities) ReadOnlyMounts() bool { return c.Namespaces && !c.NoReadOnlyMounts }

// DetectCapabilities reports what this machine supports. The first call tries to make a namespace, which takes a few
// milliseconds, see [Namespaces].
func DetectCapabilities() Capabilities {
	_ = Namespaces()
	return AssumedCapabilities()
}

// AssumedCapabilities is DetectCapabilities without that try: namespaces are assumed to work until a start finds out
// that they do not.
func AssumedCapabilities() Capabilities {
	c := kernelCapabilities()
	refused := NamespacesRefused()
	if c.Namespaces = refused == nil; refused != nil {
		c.NamespacesError = refused.Error()
	}
	return c
}
