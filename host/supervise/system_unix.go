//go:build unix

package supervise

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// systemProblem is why plugins cannot run on this system at all; nil where they can.
func systemProblem() error { return nil }

const nonBlocking = syscall.O_NONBLOCK

// signalGroup signals a process and all of its group.
func signalGroup(pid int, sig syscall.Signal) { _ = syscall.Kill(-pid, sig) }

// hasEnded reports whether the process has ended, also before it is reaped. It is false where the kernel does not
// report it.
func hasEnded(p *os.Process) (ended bool) {
	_ = p.WithHandle(func(handle uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, 0)
		ended = err == nil && n > 0
	})
	return ended
}

// readNow reads what is there, and does not wait.
func readNow(fd uintptr, b []byte) (int, error) { return unix.Read(int(fd), b) }

// errnoName is the symbol of an error number, such as ENOENT.
func errnoName(e syscall.Errno) string { return unix.ErrnoName(e) }

// ownFolder is true for a folder of this user. Other users may make theirs beside it, in /tmp.
func ownFolder(dir string) bool {
	var st syscall.Stat_t
	return syscall.Lstat(dir, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFDIR && int(st.Uid) == os.Geteuid()
}
