//go:build unix

package bootstrap

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const nonBlocking = unix.O_NONBLOCK

// stamp is a text that differs for each state of a file; folders have none.
func stamp(path string) (state string, folder bool) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil || s.Mode&unix.S_IFMT == unix.S_IFDIR {
		return "none", err == nil
	}
	return fmt.Sprint(s.Dev, s.Ino, s.Mode, s.Size, s.Mtim, s.Ctim), false
}

// forged says why another user may have written a file of rules or of trust, or "".
func forged(path string, info fs.FileInfo, byRoot bool) string {
	owner := -1
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(s.Uid)
	}
	switch {
	case info.Mode().Perm()&0o022 != 0:
		return "other users can write to it. Fix: chmod go-w " + path
	case byRoot && owner != 0:
		return "its owner is not root"
	case owner != 0 && owner != os.Getuid():
		return "its owner is another user"
	}
	return ""
}
