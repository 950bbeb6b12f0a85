//go:build unix

package supervise

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// tcpLoopback is false: plugins listen on Unix sockets.
const tcpLoopback = false

// tempVariables name the folder for temporary files.
var tempVariables = []string{"TMPDIR"}

// isInherited reports whether plugins get a variable of the host.
func isInherited(name string) bool {
	return slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_")
}

// outputPipe makes a pipe for the output of a process.
func outputPipe() (r, w *os.File, err error) { return os.Pipe() }

// isRunning reports whether a process has not ended.
func isRunning(p *os.Process) bool { return p.Signal(syscall.Signal(0)) == nil && !processHasEnded(p) }

// signalGroup signals a process and all of its group.
func signalGroup(pid int, sig syscall.Signal) { _ = syscall.Kill(-pid, sig) }

// processHasEnded reports whether the process has ended, also before it is reaped. It is false where the kernel does
// not report it.
func processHasEnded(p *os.Process) (ended bool) {
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

// maxRunBase keeps socket paths under the 104 bytes that all systems allow.
const maxRunBase = 45

// makeLocked makes a folder with a locked file in it. It gets its name only when it is locked, so that no other host
// takes it for abandoned before.
func makeLocked(base string) (path string, lock *os.File, err error) {
	fresh, err := os.MkdirTemp(base, unfinished)
	if err != nil {
		return "", nil, err
	}
	lock, err = fsutil.TryLock(filepath.Join(fresh, lockName), os.O_RDWR|os.O_CREATE)
	path = filepath.Join(base, runPrefix+strings.TrimPrefix(filepath.Base(fresh), unfinished))
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		_ = lock.Close() // no error for nil
		removeUnfinished(fresh)
		return "", nil, err
	}
	return path, lock, nil
}

// ownFolder is true for a folder of this user. Other users may make theirs beside it, in /tmp.
func ownFolder(dir string) bool {
	var st syscall.Stat_t
	return syscall.Lstat(dir, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFDIR && int(st.Uid) == os.Geteuid()
}
