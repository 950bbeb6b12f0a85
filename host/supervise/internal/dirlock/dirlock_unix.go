//go:build unix

package dirlock

import (
	"os"
	"syscall"

	"github.com/toolhost/toolhost/internal/fsutil"
)

const openFlags = os.O_RDONLY | syscall.O_DIRECTORY | syscall.O_NOFOLLOW

func locked(dir string) string { return dir }

// Upgrade turns a shared lock into one of this process alone, if no other process has it.
func Upgrade(f *os.File) bool { return fsutil.LockFile(f, true) == nil }
