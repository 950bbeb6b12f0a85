//go:build unix

package history

import (
	"fmt"
	"os"
	"syscall"
)

// identity tells files apart that have one name after another.
func identity(info os.FileInfo) string {
	if s, is := info.Sys().(*syscall.Stat_t); is {
		return fmt.Sprintf("%d:%d", s.Dev, s.Ino)
	}
	return ""
}
