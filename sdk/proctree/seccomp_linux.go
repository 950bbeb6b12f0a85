//go:build !proctree_group

package proctree

import (
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// The filter of system calls, see https://docs.kernel.org/userspace-api/seccomp_filter.html.

// Offsets in struct seccomp_data of the number, the architecture, and the low half of each argument.
const (
	atNumber       = 0
	atArchitecture = 4
	atArguments    = 16
)

// newNamespaces are the flags that put a process into new namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// x32 is set in the numbers of another ABI of the same kernel.
const x32 = 0x40000000

// rings submit calls in bulk, which no filter sees. Their numbers are the same on all processors.
var rings = []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// rareCalls are calls that ordinary programs do not make.
var rareCalls = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, // other processes
	unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, // the kernel
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_CHROOT, unix.SYS_SETNS,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_QUOTACTL, unix.SYS_SWAPON, unix.SYS_SWAPOFF, // file systems
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, // the machine
}

// architecture is the number of this one, 0 where there is no filter.
func architecture() uint32 {
	return map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
}

// A code is a program for the kernel. It jumps forwards only.
type code []unix.SockFilter

func (s *Sandbox) filter() code {
	var p code
	p.load(atArchitecture)
	if !s.NoSockets && !s.NoRareCalls && !s.NoMetadata {
		p.older(s)
	}
	p.unless(architecture(), unix.SECCOMP_RET_KILL_PROCESS)
	p.load(atNumber)
	if runtime.GOARCH == "amd64" {
		p.when(unix.BPF_JGE, x32, errnoAction(unix.EPERM))
	}
	p.files(s, tables[runtime.GOARCH])
	if s.NoSockets || s.NoRareCalls {
		p.refuse(unix.SYS_PIDFD_GETFD, unix.EPERM)
		p.refuseAll(rings)
	}
	if s.NoRareCalls {
		p.rareCalls()
	}
	if s.NoSockets {
		p.sockets()
	}
	p.give(unix.SECCOMP_RET_ALLOW)
	return p
}

// older lets 32-bit programs that this processor can run pass, with the rules for files.
func (p *code) older(s *Sandbox) {
	arch, table := uint32(unix.AUDIT_ARCH_I386), tables["386"]
	if runtime.GOARCH == "arm64" {
		arch, table = unix.AUDIT_ARCH_ARM, tables["arm"]
	}
	var inner code
	inner.load(atNumber)
	inner.files(s, table)
	inner.give(unix.SECCOMP_RET_ALLOW)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, uint8(len(inner)), arch)
	*p = append(*p, inner...)
}

// files are the rules for files and limits, by the numbers of a processor.
func (p *code) files(s *Sandbox, t table) {
	if s.NoInterference {
		p.interference(t)
	}
	if s.NoMetadata {
		p.metadata(t)
	} else if s.NoSetID {
		p.setID(t)
	}
}

// interference allows prlimit only for the caller's own process, given as 0, as libraries do, and no leases.
func (p *code) interference(t table) {
	p.only(t.prlimit, 0, func(b *code) { b.unless(0, errnoAction(unix.EPERM)) })
	for _, number := range t.fcntl {
		p.only(number, 1, func(b *code) { b.when(unix.BPF_JEQ, unix.F_SETLEASE, errnoAction(unix.EPERM)) })
	}
}

const (
	setIDs = unix.S_ISUID | unix.S_ISGID
	// creating are O_CREAT and the bit of O_TMPFILE, with which open has a mode: without them the register holds an
	// unrelated value.
	creating = 0x40 | 0x400000
)

// setID refuses modes with the bits that give a program the rights of its owner or group. The mode of openat2 cannot
// be seen, nor what rings receive; libraries fall back to openat when there is no openat2.
func (p *code) setID(t table) {
	p.refuseAll(rings)
	p.refuse(unix.SYS_OPENAT2, unix.ENOSYS)
	for _, call := range t.modes {
		p.only(call[0], call[1], func(b *code) { b.when(unix.BPF_JSET, setIDs, errnoAction(unix.EPERM)) })
	}
	for _, call := range t.opens {
		p.only(call[0], call[1], func(b *code) {
			b.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, 0, 3, creating)
			b.load(atArguments + 8*(call[1]+1))
			b.when(unix.BPF_JSET, setIDs, errnoAction(unix.EPERM))
		})
	}
}

// metadata refuses all changes of a file's metadata, including setID's.
func (p *code) metadata(t table) {
	p.refuseAll(t.metadata)
	p.only(unix.SYS_IOCTL, 1, func(b *code) {
		for _, request := range []uint32{unix.FS_IOC_SETFLAGS, fsSetXattr, fsSetVersion} {
			b.when(unix.BPF_JEQ, request, errnoAction(unix.EPERM))
		}
	})
	p.setID(t)
}

// rareCalls refuses those calls, and new namespaces. The flags of clone3 cannot be seen; libraries fall back to clone
// when there is no such call. Inserting input into a terminal is refused.
func (p *code) rareCalls() {
	p.refuseAll(rareCalls)
	p.refuse(unix.SYS_CLONE3, unix.ENOSYS)
	p.only(unix.SYS_CLONE, 0, func(b *code) { b.when(unix.BPF_JSET, newNamespaces, errnoAction(unix.EPERM)) })
	p.only(unix.SYS_UNSHARE, 0, func(b *code) {
		b.when(unix.BPF_JSET, newNamespaces|unix.CLONE_NEWTIME, errnoAction(unix.EPERM))
	})
	p.only(unix.SYS_IOCTL, 1, func(b *code) { b.when(unix.BPF_JEQ, unix.TIOCSTI, errnoAction(unix.EPERM)) })
}

// sockets allows Unix stream sockets, which cannot be connected to anything: a datagram needs no connection, only an
// address that cannot be seen here.
func (p *code) sockets() {
	p.refuse(unix.SYS_CONNECT, unix.EPERM)
	for _, number := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		p.only(number, 0, func(b *code) { b.unless(unix.AF_UNIX, errnoAction(unix.EPERM)) })
		p.only(number, 1, func(b *code) {
			b.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0, 0, 0xf) // without SOCK_CLOEXEC and SOCK_NONBLOCK
			b.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 2, 0, unix.SOCK_STREAM)
			b.unless(unix.SOCK_SEQPACKET, errnoAction(unix.EPERM))
		})
	}
}

func errnoAction(e syscall.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

func (p *code) add(op uint16, yes, no uint8, k uint32) {
	*p = append(*p, unix.SockFilter{Code: op, Jt: yes, Jf: no, K: k})
}

func (p *code) load(at uint32)    { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, at) }
func (p *code) give(value uint32) { p.add(unix.BPF_RET|unix.BPF_K, 0, 0, value) }

// when ends the program with a value when the loaded number compares so to k, unless ends it when it is not k.
func (p *code) when(compare uint16, k, value uint32) {
	p.add(unix.BPF_JMP|compare|unix.BPF_K, 0, 1, k)
	p.give(value)
}

func (p *code) unless(k, value uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 1, 0, k)
	p.give(value)
}

func (p *code) refuse(number uint32, e syscall.Errno) { p.when(unix.BPF_JEQ, number, errnoAction(e)) }

func (p *code) refuseAll(numbers []uint32) {
	for _, number := range numbers {
		p.refuse(number, unix.EPERM)
	}
}

// only examines an argument of one call, and loads the call's number again for the code after it.
func (p *code) only(number uint32, argument uint32, look func(*code)) {
	var inner code
	inner.load(atArguments + 8*argument)
	look(&inner)
	inner.load(atNumber)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, uint8(len(inner)), number)
	*p = append(*p, inner...)
}

// A table has the numbers of system calls on one processor, see
// https://man7.org/linux/man-pages/man2/syscalls.2.html. The 32-bit ones are for programs that a 64-bit kernel runs
// too.
type table struct {
	prlimit uint32
	fcntl   []uint32
	// chmod and the like, and calls that create files: their numbers, and the index of the mode argument
	modes [][2]uint32
	opens [][2]uint32 // open: its number, and the index of the flags argument, before the mode
	// metadata are the calls that change modes, owners, times and attributes.
	metadata []uint32
}

// Calls with the same numbers everywhere: fchmodat2, and those for attributes that were added later.
const fchmodat2 = 452

var later = []uint32{fchmodat2, 463 /* setxattrat */, 466 /* removexattrat */, 469 /* file_setattr */}

// Requests of ioctl that change flags, projects and generations of files.
const (
	fsSetXattr   = 0x401c5820 // FS_IOC_FSSETXATTR
	fsSetVersion = 0x40087602 // FS_IOC_SETVERSION
)

var tables = map[string]table{
	"amd64": {
		prlimit: 302, fcntl: []uint32{72},
		modes: [][2]uint32{
			{90, 1} /* chmod */, {91, 1} /* fchmod */, {268, 2} /* fchmodat */, {fchmodat2, 2},
			{85, 1} /* creat */, {133, 1} /* mknod */, {259, 2}, /* mknodat */
		},
		opens: [][2]uint32{{2, 1}, {257, 2} /* openat */},
		metadata: slices.Concat(later, []uint32{
			90, 91, 268, // chmod
			92, 93, 94, 260, // chown
			132, 235, 261, 280, // utime, utimes, futimesat, utimensat
			188, 189, 190, 197, 198, 199, // setxattr, removexattr
		}),
	},
	"arm64": {
		prlimit: 261, fcntl: []uint32{25},
		modes: [][2]uint32{{52, 1} /* fchmod */, {53, 2} /* fchmodat */, {fchmodat2, 2}, {33, 2} /* mknodat */},
		opens: [][2]uint32{{56, 2} /* openat */},
		metadata: slices.Concat(later, []uint32{
			52, 53, // chmod
			54, 55, // chown
			88,                  // utimensat
			5, 6, 7, 14, 15, 16, // setxattr, removexattr
		}),
	},
	"386": {
		prlimit: 340, fcntl: []uint32{55, 221},
		modes: [][2]uint32{
			{15, 1} /* chmod */, {94, 1} /* fchmod */, {306, 2} /* fchmodat */, {fchmodat2, 2},
			{8, 1} /* creat */, {14, 1} /* mknod */, {297, 2}, /* mknodat */
		},
		opens: [][2]uint32{{5, 1}, {295, 2} /* openat */},
	},
	"arm": {
		prlimit: 369, fcntl: []uint32{55, 221},
		modes: [][2]uint32{
			{15, 1} /* chmod */, {94, 1} /* fchmod */, {333, 2} /* fchmodat */, {fchmodat2, 2},
			{8, 1} /* creat */, {14, 1} /* mknod */, {324, 2}, /* mknodat */
		},
		opens: [][2]uint32{{5, 1}, {322, 2} /* openat */},
	},
}
