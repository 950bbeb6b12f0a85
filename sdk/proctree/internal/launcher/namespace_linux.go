package launcher

import (
	"errors"
	"os"
	"syscall"
)

// namespaceInit is the pid of a launcher that was started in a process namespace of
// its own. Nobody in there can kill or stop it, and whatever ends it ends all.
const namespaceInit = 1

// NamespaceCapabilities are what a launcher needs in a user namespace of its own to
// mount /proc and to give up all capabilities: CAP_SETPCAP and CAP_SYS_ADMIN.
var NamespaceCapabilities = []uintptr{8, 21}

const sharedMemory = "/dev/shm"

// A mount is a file system of the namespace's own.
type mount struct {
	kind, path, options string
	optional            bool // there are systems without
}

// furniture is a /proc that shows the namespace and nothing else, shared memory that ends with it, and its own message
// queues, which could else be opened by the paths of those outside.
var furniture = []mount{
	{kind: "proc", path: "/proc"},
	{kind: "tmpfs", path: sharedMemory, options: "mode=1777,size=25%", optional: true},
	{kind: "mqueue", path: "/dev/mqueue", optional: true},
}

// furnish gives the namespace its furniture, fixes what the program is not to change, and gives up what that took. On
// failure it says at which step.
func furnish(p Program) (step string, err error) {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return "mount", err
	}
	for _, m := range furniture {
		err := syscall.Mount(m.kind, m.path, m.kind, syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, m.options)
		if missing := errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENODEV); err != nil && !(m.optional && missing) {
			return "mount", err
		}
	}
	if err := p.fix(); err != nil {
		return "fix", err
	}
	if os.Geteuid() == 0 {
		return "", nil // there is no user namespace: the capabilities are those of our parent
	}
	return "capset", dropAllCapabilities()
}

// dropAllCapabilities leaves this thread, and so the program that it starts, without
// any, and without a way to get some.
func dropAllCapabilities() error {
	const dropBounding, ambient, clearAmbient = 24, 47, 4
	for number := uintptr(0); ; number++ {
		_, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, dropBounding, number, 0)
		if e == syscall.EINVAL {
			break // the kernel knows no more
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

// signalNamespace reaches every process of the namespace but this one in one step.
func signalNamespace(signals []syscall.Signal) {
	for _, s := range signals {
		_ = syscall.Kill(-1, s)
	}
}
