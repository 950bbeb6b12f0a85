//go:build !proctree_group

package proctree

import (
	"encoding/binary"
	"runtime"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A made is a system call as a filter sees it.
type made struct {
	number, arch uint32
	args         [6]uint32
}

// words is struct seccomp_data in the byte order of the machine that runs the filter here.
func (m made) words() []byte {
	out := make([]byte, 0, 64)
	for _, w := range []uint32{m.number, m.arch, 0, 0} {
		out = binary.BigEndian.AppendUint32(out, w)
	}
	for _, a := range m.args {
		out = binary.BigEndian.AppendUint32(out, a)
		out = binary.BigEndian.AppendUint32(out, 0)
	}
	return out
}

const (
	permitted = unix.SECCOMP_RET_ALLOW
	refused   = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown   = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	killed    = unix.SECCOMP_RET_KILL_PROCESS
)

// The filters are run by an interpreter, call by call: also for calls that this kernel or this user cannot make.
func TestFilter(t *testing.T) {
	sockets, kernel := Sandbox{NoSockets: true}, Sandbox{NoRareCalls: true}
	both := Sandbox{NoSockets: true, NoRareCalls: true}
	ours := architecture()
	call := func(number int, args ...uint32) made {
		m := made{number: uint32(number), arch: ours}
		copy(m.args[:], args)
		return m
	}
	for name, c := range map[string]struct {
		call                  made
		sockets, kernel, both uint32
	}{
		"read":                {call(unix.SYS_READ), permitted, permitted, permitted},
		"another processor's": {made{number: unix.SYS_READ, arch: unix.AUDIT_ARCH_I386}, killed, killed, killed},
		"connect":             {call(unix.SYS_CONNECT), refused, permitted, refused},
		"a TCP socket":        {call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM), refused, permitted, refused},
		"a TCP6 socket":       {call(unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM), refused, permitted, refused},
		"a packet socket":     {call(unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW), refused, permitted, refused},
		"a Unix socket":       {call(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM), permitted, permitted, permitted},
		"a Unix socket, with flags": {call(unix.SYS_SOCKET, unix.AF_UNIX,
			unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK), permitted, permitted, permitted},
		"a datagram socket": {call(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC), refused,
			permitted, refused},
		"a raw Unix socket": {call(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_RAW), refused, permitted, refused},
		"a pair": {call(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM), permitted, permitted,
			permitted},
		"a pair for datagrams": {call(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_DGRAM), refused, permitted, refused},
		"bind, listen, accept": {call(unix.SYS_ACCEPT4), permitted, permitted, permitted},
		"io_uring":             {call(unix.SYS_IO_URING_SETUP), refused, refused, refused},
		"pidfd_getfd":          {call(unix.SYS_PIDFD_GETFD), refused, refused, refused},
		"ptrace":               {call(unix.SYS_PTRACE), permitted, refused, refused},
		"mount":                {call(unix.SYS_MOUNT), permitted, refused, refused},
		"the last of the rare": {call(int(rareCalls[len(rareCalls)-1])), permitted, refused, refused},
		"clone3":               {call(unix.SYS_CLONE3), permitted, unknown, unknown},
		"a thread": {call(unix.SYS_CLONE,
			unix.CLONE_VM|unix.CLONE_FS|unix.CLONE_FILES|unix.CLONE_SIGHAND|unix.CLONE_THREAD), permitted, permitted, permitted},
		"a child": {call(unix.SYS_CLONE, uint32(unix.SIGCHLD)|unix.CLONE_VFORK|unix.CLONE_VM), permitted,
			permitted, permitted},
		"a child in a namespace": {call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uint32(unix.SIGCHLD)), permitted, refused,
			refused},
		"a new network":         {call(unix.SYS_UNSHARE, unix.CLONE_NEWNET), permitted, refused, refused},
		"own files":             {call(unix.SYS_UNSHARE, unix.CLONE_FILES), permitted, permitted, permitted},
		"typing for a terminal": {call(unix.SYS_IOCTL, 0, unix.TIOCSTI), permitted, refused, refused},
		"another ioctl":         {call(unix.SYS_IOCTL, unix.TIOCSTI, unix.TCGETS), permitted, permitted, permitted},
	} {
		t.Run(name, func(t *testing.T) {
			for orders, want := range map[*Sandbox]uint32{&sockets: c.sockets, &kernel: c.kernel, &both: c.both} {
				if got := runFilter(t, orders, c.call); got != want {
					t.Errorf("with sockets %t, kernel %t: %#x, want %#x", orders.NoSockets, orders.NoRareCalls, got, want)
				}
			}
		})
	}
	if runtime.GOARCH == "amd64" {
		if got := runFilter(t, &sockets, call(x32|unix.SYS_READ)); got != refused {
			t.Errorf("x32: %#x", got)
		}
	}
}

// NoInterference allows everything else, also for the 32-bit programs that this processor can run.
func TestFilterOfNoInterference(t *testing.T) {
	old, prlimit := map[string][2]uint32{"amd64": {unix.AUDIT_ARCH_I386, 340},
		"arm64": {unix.AUDIT_ARCH_ARM, 369}}[runtime.GOARCH], uint32(unix.SYS_PRLIMIT64)
	for name, c := range map[string]struct {
		call made
		want uint32
	}{
		"its own":           {made{number: prlimit, arch: architecture()}, permitted},
		"another's":         {made{number: prlimit, arch: architecture(), args: [6]uint32{77}}, refused},
		"its own, 32 bit":   {made{number: old[1], arch: old[0]}, permitted},
		"another's, 32 bit": {made{number: old[1], arch: old[0], args: [6]uint32{77}}, refused},
		"read, 32 bit":      {made{number: 3, arch: old[0], args: [6]uint32{77}}, permitted},
		"a lease": {made{number: unix.SYS_FCNTL, arch: architecture(),
			args: [6]uint32{3, unix.F_SETLEASE, unix.F_WRLCK}}, refused},
		"a lock": {made{number: unix.SYS_FCNTL, arch: architecture(), args: [6]uint32{3, unix.F_SETLK}},
			permitted},
		"a lease, 32 bit":     {made{number: 221, arch: old[0], args: [6]uint32{3, unix.F_SETLEASE}}, refused},
		"an older one":        {made{number: 55, arch: old[0], args: [6]uint32{3, unix.F_SETLEASE}}, refused},
		"io_uring":            {made{number: unix.SYS_IO_URING_SETUP, arch: architecture()}, permitted},
		"a foreign processor": {made{number: 3, arch: unix.AUDIT_ARCH_S390}, killed},
	} {
		if got := runFilter(t, &Sandbox{NoInterference: true}, c.call); got != c.want {
			t.Errorf("%s: %#x, want %#x", name, got, c.want)
		}
	}
	strict := Sandbox{NoInterference: true, NoRareCalls: true}
	if got := runFilter(t, &strict, made{number: 3, arch: old[0]}); got != killed {
		t.Errorf("32 bit when all is strict: %#x", got)
	}
	if got := runFilter(t, &strict, made{number: prlimit, arch: architecture(), args: [6]uint32{77}}); got != refused {
		t.Errorf("another's when all is strict: %#x", got)
	}
}

// Modes that give a program the rights of its owner or group are refused in every call, and all changes of metadata
// where nothing else prevents them.
func TestFilterOfModes(t *testing.T) {
	for arch, name := range map[uint32]string{unix.AUDIT_ARCH_X86_64: "amd64", unix.AUDIT_ARCH_I386: "386",
		unix.AUDIT_ARCH_AARCH64: "arm64", unix.AUDIT_ARCH_ARM: "arm"} {
		numbers := tables[name]
		own := arch == architecture()
		foreign := runtime.GOARCH == "amd64" && name != "amd64" && name != "386" || runtime.GOARCH == "arm64" &&
			name != "arm64" && name != "arm"
		check := func(what string, o Sandbox, want, number uint32, args ...uint32) {
			t.Helper()
			m := made{number: number, arch: arch}
			copy(m.args[:], args)
			if foreign || o.NoMetadata && !own {
				want = killed
			}
			if got := runFilter(t, &o, m); got != want {
				t.Errorf("%s, %s (%d %#o): %#x, want %#x", name, what, number, args, got, want)
			}
		}
		setID := Sandbox{NoSetID: true, NoInterference: true}
		for _, c := range numbers.modes {
			with := func(mode uint32) []uint32 { return append(make([]uint32, c[1]), mode) }
			for mode, want := range map[uint32]uint32{0o644: permitted, 0o1777: permitted, 0o100755: permitted, 0o4755: refused,
				0o2755: refused, 0o106777: refused} {
				check("a mode", setID, want, c[0], with(mode)...)
			}
		}
		for _, c := range numbers.opens {
			with := func(flags, mode uint32) []uint32 { return append(make([]uint32, c[1]), flags, mode) }
			check("reading, with what a register held", setID, permitted, c[0], with(0, 0o6755)...)
			check("a new file", setID, permitted, c[0], with(unix.O_CREAT|unix.O_WRONLY, 0o755)...)
			check("a new program with its owner's rights", setID, refused, c[0], with(unix.O_CREAT|unix.O_WRONLY, 0o4755)...)
			check("one without a name", setID, refused, c[0], with(unix.O_TMPFILE|unix.O_WRONLY, 0o2755)...)
		}
		check("openat2", setID, unknown, unix.SYS_OPENAT2)
		check("io_uring", setID, refused, unix.SYS_IO_URING_SETUP)
		check("another's limits", setID, refused, numbers.prlimit, 77)
		for _, number := range numbers.metadata {
			check("what is known of a file", Sandbox{NoMetadata: true, NoSetID: true}, refused, number)
		}
	}
	ioctl := made{number: unix.SYS_IOCTL, arch: architecture(), args: [6]uint32{3, unix.FS_IOC_SETFLAGS}}
	if got := runFilter(t, &Sandbox{NoMetadata: true}, ioctl); got != refused {
		t.Errorf("flags: %#x", got)
	}
}

func runFilter(t *testing.T, o *Sandbox, m made) uint32 {
	t.Helper()
	var raw []bpf.RawInstruction
	for _, i := range o.filter() {
		raw = append(raw, bpf.RawInstruction{Op: i.Code, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	program, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("the filter has instructions that are none")
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	out, err := vm.Run(m.words())
	if err != nil {
		t.Fatal(err)
	}
	return uint32(out)
}
