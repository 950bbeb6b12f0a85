//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// keepAlive locks a file that was just made for as long as it is open. It is false if the file was removed meanwhile.
// Where there are no locks, no process removes it either.
func keepAlive(f *os.File) bool {
	if !tryLock(f) {
		return false
	}
	var st syscall.Stat_t
	return syscall.Fstat(int(f.Fd()), &st) != nil || st.Nlink > 0
}

// tryLock reports false while another open file has the lock, and true where there are no locks.
func tryLock(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// lockTime is how long lock waits. Writers of this package hold a file for milliseconds; what another program has
// locked for longer is written all the same.
const lockTime = time.Second

// lock locks the file at the place against writers of this package in other processes, from their check to their
// rename: the second to rename would undo what the first wrote. It returns the function that unlocks the file.
func (p *Place) lock() (unlock func()) {
	f, err := p.root.root.OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil { // check has more to say
		return func() {}
	}
	for begun := time.Now(); !tryLock(f) && time.Since(begun) < lockTime; {
		time.Sleep(2 * time.Millisecond)
	}
	return func() { _ = f.Close() }
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
