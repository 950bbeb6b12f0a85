//go:build unix

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives f the owner and group that old has, or the group alone, as far as this process may.
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
