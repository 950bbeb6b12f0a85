package confine

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/sdk/proctree/internal/launcher"
)

// The filter of system calls, see https://docs.kernel.org/userspace-api/seccomp_filter.html.

// Where struct seccomp_data has the number, the architecture, and the low half of each argument.
const (
	atNumber       = 0
	atArchitecture = 4
	atArguments    = 16
)

// namespaces are the flags that put a process into new ones.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// x32 is set in the numbers of another way to call the same kernel.
const x32 = 0x40000000

// rings take calls in bulk, which no filter sees. Their numbers are the same on all processors.
var rings = []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// uncommon are calls that ordinary programs do not make.
var uncommon = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, // other processes
	unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, // the kernel
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_CHROOT, unix.SYS_SETNS,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_QUOTACTL, unix.SYS_SWAPON, unix.SYS_SWAPOFF, // file systems
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, // the machine
}

// architecture is the number of ours, 0 where there is no filter.
func architecture() uint32 {
	return map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
}

// filterOf is the filter for the kernel, none if nothing needs one.
func filterOf(r *Restrictions) (filter []syscall.SockFilter, err error) {
	if !r.NoSockets && !r.NoKernel && !r.NoInterference && !r.NoSetID && !r.NoMetadata {
		return nil, nil
	}
	if architecture() == 0 {
		return nil, &launcher.Failure{Call: "seccomp", Errno: syscall.ENOSYS}
	}
	for _, i := range programOf(r) {
		filter = append(filter, syscall.SockFilter(i))
	}
	return filter, nil
}

// A code is a program for the kernel. It jumps forwards only.
type code []unix.SockFilter

func programOf(r *Restrictions) code {
	var p code
	p.load(atArchitecture)
	if !r.NoSockets && !r.NoKernel && !r.NoMetadata {
		p.older(r)
	}
	p.unless(architecture(), unix.SECCOMP_RET_KILL_PROCESS)
	p.load(atNumber)
	if runtime.GOARCH == "amd64" {
		p.when(unix.BPF_JGE, x32, refusal(unix.EPERM))
	}
	p.files(r, tables[runtime.GOARCH])
	if r.NoSockets || r.NoKernel {
		p.refuse(unix.SYS_PIDFD_GETFD, unix.EPERM)
		p.refuseAll(rings)
	}
	if r.NoKernel {
		p.kernel()
	}
	if r.NoSockets {
		p.sockets()
	}
	p.give(unix.SECCOMP_RET_ALLOW)
	return p
}

// older lets programs for the 32-bit processor run that ours can also be, with what holds for files.
func (p *code) older(r *Restrictions) {
	arch, table := uint32(unix.AUDIT_ARCH_I386), tables["386"]
	if runtime.GOARCH == "arm64" {
		arch, table = unix.AUDIT_ARCH_ARM, tables["arm"]
	}
	var inner code
	inner.load(atNumber)
	inner.files(r, table)
	inner.give(unix.SECCOMP_RET_ALLOW)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, uint8(len(inner)), arch)
	*p = append(*p, inner...)
}

// files are the rules for files and limits, by the numbers of a processor.
func (p *code) files(r *Restrictions, t table) {
	if r.NoInterference {
		p.interference(t)
	}
	if r.NoMetadata {
		p.metadata(t)
	} else if r.NoSetID {
		p.setID(t)
	}
}

// interference takes prlimit for one's own process only when it is given as 0, as libraries do, and no leases.
func (p *code) interference(t table) {
	p.only(t.prlimit, 0, func(b *code) { b.unless(0, refusal(unix.EPERM)) })
	for _, number := range t.fcntl {
		p.only(number, 1, func(b *code) { b.when(unix.BPF_JEQ, unix.F_SETLEASE, refusal(unix.EPERM)) })
	}
}

const (
	setIDs = unix.S_ISUID | unix.S_ISGID
	// creating are O_CREAT and the bit of O_TMPFILE, with which open has a mode: what it is given without is left over in a
	// register.
	creating = 0x40 | 0x400000
)

// setID refuses modes with the bits that give a program the rights of its owner or group. The mode of openat2 cannot be seen,
// nor what rings are given; who is told that there is no openat2 uses openat.
func (p *code) setID(t table) {
	p.refuseAll(rings)
	p.refuse(unix.SYS_OPENAT2, unix.ENOSYS)
	for _, call := range t.modes {
		p.only(call[0], call[1], func(b *code) { b.when(unix.BPF_JSET, setIDs, refusal(unix.EPERM)) })
	}
	for _, call := range t.opens {
		p.only(call[0], call[1], func(b *code) {
			b.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, 0, 3, creating)
			b.load(atArguments + 8*(call[1]+1))
			b.when(unix.BPF_JSET, setIDs, refusal(unix.EPERM))
		})
	}
}

// metadata refuses all that changes what the kernel keeps of a file besides its content, and setID too.
func (p *code) metadata(t table) {
	p.refuseAll(t.metadata)
	p.only(unix.SYS_IOCTL, 1, func(b *code) {
		for _, request := range []uint32{unix.FS_IOC_SETFLAGS, fsSetXattr, fsSetVersion} {
			b.when(unix.BPF_JEQ, request, refusal(unix.EPERM))
		}
	})
	p.setID(t)
}

// kernel refuses what is uncommon, and new namespaces. The flags of clone3 cannot be seen; libraries that are told that
// there is no such call use clone. A terminal is not typed into for its owner.
func (p *code) kernel() {
	p.refuseAll(uncommon)
	p.refuse(unix.SYS_CLONE3, unix.ENOSYS)
	p.only(unix.SYS_CLONE, 0, func(b *code) { b.when(unix.BPF_JSET, namespaces, refusal(unix.EPERM)) })
	p.only(unix.SYS_UNSHARE, 0, func(b *code) { b.when(unix.BPF_JSET, namespaces|unix.CLONE_NEWTIME, refusal(unix.EPERM)) })
	p.only(unix.SYS_IOCTL, 1, func(b *code) { b.when(unix.BPF_JEQ, unix.TIOCSTI, refusal(unix.EPERM)) })
}

// sockets leaves Unix sockets that stand for connections, and nobody to connect to: a datagram needs no connection, but
// an address that cannot be seen here.
func (p *code) sockets() {
	p.refuse(unix.SYS_CONNECT, unix.EPERM)
	for _, number := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		p.only(number, 0, func(b *code) { b.unless(unix.AF_UNIX, refusal(unix.EPERM)) })
		p.only(number, 1, func(b *code) {
			b.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0, 0, 0xf) // without SOCK_CLOEXEC and SOCK_NONBLOCK
			b.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 2, 0, unix.SOCK_STREAM)
			b.unless(unix.SOCK_SEQPACKET, refusal(unix.EPERM))
		})
	}
}

func refusal(e syscall.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

func (p *code) add(op uint16, yes, no uint8, k uint32) {
	*p = append(*p, unix.SockFilter{Code: op, Jt: yes, Jf: no, K: k})
}

func (p *code) load(at uint32)    { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, at) }
func (p *code) give(value uint32) { p.add(unix.BPF_RET|unix.BPF_K, 0, 0, value) }

// when ends the program with a value when what was loaded compares so to k, unless ends it when it is not k.
func (p *code) when(compare uint16, k, value uint32) {
	p.add(unix.BPF_JMP|compare|unix.BPF_K, 0, 1, k)
	p.give(value)
}

func (p *code) unless(k, value uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 1, 0, k)
	p.give(value)
}

func (p *code) refuse(number uint32, e syscall.Errno) { p.when(unix.BPF_JEQ, number, refusal(e)) }

func (p *code) refuseAll(numbers []uint32) {
	for _, number := range numbers {
		p.refuse(number, unix.EPERM)
	}
}

// only looks at an argument of one call, and loads the number again for what comes after.
func (p *code) only(number uint32, argument uint32, look func(*code)) {
	var inner code
	inner.load(atArguments + 8*argument)
	look(&inner)
	inner.load(atNumber)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, uint8(len(inner)), number)
	*p = append(*p, inner...)
}
