package launcher

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// namespaceInit is the pid of a launcher that was started in a process namespace of
// its own. Nobody in there can kill or stop it, and whatever ends it ends all.
const namespaceInit = 1

// NamespaceCapabilities are what a launcher needs in a user namespace of its own to
// mount /proc and to give up all capabilities: CAP_SETPCAP and CAP_SYS_ADMIN.
var NamespaceCapabilities = []uintptr{8, 21}

// furnish gives the namespace a /proc that shows it and nothing else, and shared memory
// that ends with it, and gives up what that took. On failure it says at which step.
func furnish() (step string, err error) {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return "mount", err
	}
	const mode = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC
	if err := syscall.Mount("proc", "/proc", "proc", mode, ""); err != nil {
		return "mount", err
	}
	err = syscall.Mount("tmpfs", "/dev/shm", "tmpfs", mode, "mode=1777,size=25%")
	if err != nil && !errors.Is(err, syscall.ENOENT) { // a system without
		return "mount", err
	}
	if os.Geteuid() == 0 {
		return "", nil // there is no user namespace: the capabilities are those of our parent
	}
	return "capset", dropCapabilities()
}

// dropCapabilities leaves this thread, and so the program that it starts, without
// any, and without a way to get some.
func dropCapabilities() error {
	const dropBounding, ambient, clearAmbient, version = 24, 47, 4, 0x20080522
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
	header := struct {
		version uint32
		pid     int32
	}{version: version}
	var none [2]struct{ effective, permitted, inheritable uint32 }
	_, _, e := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0)
	if e != 0 {
		return e
	}
	return nil
}

// signalNamespace reaches every process of the namespace but this one in one step.
func signalNamespace(signals []syscall.Signal) {
	for _, s := range signals {
		_ = syscall.Kill(-1, s)
	}
}
