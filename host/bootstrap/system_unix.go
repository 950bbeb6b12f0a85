//go:build unix

package bootstrap

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// stamp is a text that differs for each state of a file; folders have none.
func stamp(path string) (state string, folder bool) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil || s.Mode&unix.S_IFMT == unix.S_IFDIR {
		return "none", err == nil
	}
	return fmt.Sprint(s.Dev, s.Ino, s.Mode, s.Size, s.Mtim, s.Ctim), false
}
