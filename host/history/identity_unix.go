//go:build unix

package history

import (
	"os"
	"strconv"
	"syscall"
)

// identity distinguishes files that successively had the same name. The device is not part of it: that of some file
// systems changes with each mount.
func identity(info os.FileInfo) string {
	if s, is := info.Sys().(*syscall.Stat_t); is {
		return strconv.FormatUint(uint64(s.Ino), 10) //nolint:unconvert // 32 bits on some systems
	}
	return ""
}
