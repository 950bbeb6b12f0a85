//go:build unix

package client

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// writeNow writes what a pipe takes without waiting.
func writeNow(f *os.File, b []byte) (n int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	failure := raw.Write(func(fd uintptr) bool {
		n, err = unix.Write(int(fd), b)
		return true
	})
	if n = max(n, 0); errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) {
		err = nil
	}
	return n, errors.Join(failure, err)
}
