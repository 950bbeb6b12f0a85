//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// keepAlive locks a file that was just made for as long as it is open. It is false if the file was removed meanwhile.
// Where there are no locks, no process removes it either.
func keepAlive(f *os.File) bool {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return false
	}
	var st syscall.Stat_t
	return syscall.Fstat(int(f.Fd()), &st) != nil || st.Nlink > 0
}

// removeLeft removes a file of the user's that no process has a lock on.
func (r *Root) removeLeft(name string) {
	info, err := r.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	f, err := r.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	var st syscall.Stat_t
	if syscall.Fstat(int(f.Fd()), &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFREG &&
		int(st.Uid) == os.Geteuid() &&
		syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		_ = r.root.Remove(name)
	}
}

// keepOwner sets the owner and group of old on f, or the group alone, as far as this process may.
func keepOwner(f *os.File, old fs.FileInfo) {
	stat, ok := old.Sys().(*syscall.Stat_t)
	if ok && f.Chown(int(stat.Uid), int(stat.Gid)) != nil {
		_ = f.Chown(-1, int(stat.Gid))
	}
}

func links(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Nlink)
	}
	return 1
}
