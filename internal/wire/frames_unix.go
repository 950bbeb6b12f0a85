//go:build unix

package wire

import "syscall"

const canTryWrite = true

// writeOnce writes what fits into the socket's buffer, and does not wait.
func (f *Frames) writeOnce(fd uintptr) bool {
	n, err := syscall.Write(int(fd), f.out)
	f.written = max(n, 0)
	if err != syscall.EAGAIN && err != syscall.EINTR {
		f.writeFail = err
	}
	return true
}
