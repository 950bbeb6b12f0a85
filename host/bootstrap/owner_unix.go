//go:build unix

package bootstrap

import (
	"io/fs"
	"os"
	"syscall"
)

// forged tells why a file of rules may be somebody else's word, or "".
func forged(info fs.FileInfo, byRoot bool) string {
	owner := -1
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(s.Uid)
	}
	switch {
	case info.Mode().Perm()&0o022 != 0:
		return "others can write the file; take that right away with chmod go-w"
	case byRoot && owner != 0:
		return "its owner is not root"
	case owner != 0 && owner != os.Getuid():
		return "its owner is another user"
	}
	return ""
}
