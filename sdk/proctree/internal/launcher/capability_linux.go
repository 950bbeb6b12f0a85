package launcher

import (
	"syscall"
	"unsafe"
)

// What capget(2) and capset(2) take: a header, and the sets of the first 32 capabilities and the others.
type (
	capabilityHeader struct {
		version uint32
		pid     int32 // 0 is this thread
	}
	capabilitySets struct{ effective, permitted, inheritable uint32 }
)

const capabilityVersion = 0x20080522

// capset gives this thread these capabilities, which it must have.
func capset(sets [2]capabilitySets) syscall.Errno {
	header := capabilityHeader{version: capabilityVersion}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
	return errno
}
