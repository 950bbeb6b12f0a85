//go:build unix

package sandbox

import (
	"os"
	"syscall"
)

// ofOtherUser reports whether a folder belongs to a user other than this one.
func ofOtherUser(dir string) bool {
	var s syscall.Stat_t
	return syscall.Stat(dir, &s) == nil && int(s.Uid) != os.Geteuid()
}
