package launcher

import (
	"syscall"
	"time"
	"unsafe"
)

// pollFD is struct pollfd of poll(2), and pollIn its POLLIN.
type pollFD struct {
	fd      int32 // passed over if negative
	events  int16
	revents int16
}

const pollIn = 1

// poll waits until one of the files is ready or has ended, a child has ended, or
// the limit is over. That a child has ended is told by SIGCHLD, which cuts the
// wait short; but it may come a moment too early.
func poll(fds []pollFD, limit time.Duration) {
	for i := range fds {
		fds[i].revents = 0
	}
	timeout := syscall.NsecToTimespec(limit.Nanoseconds())
	first := unsafe.Pointer(unsafe.SliceData(fds))
	_, _, _ = syscall.Syscall6(syscall.SYS_PPOLL, uintptr(first), uintptr(len(fds)), uintptr(unsafe.Pointer(&timeout)), 0, 0, 0)
}
