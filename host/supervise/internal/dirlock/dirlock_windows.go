package dirlock

import (
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/internal/fsutil"
)

const openFlags = os.O_RDWR | os.O_CREATE

func locked(dir string) string { return filepath.Join(dir, ".lock") }

// Upgrade turns a shared lock into one of this process alone, if no other process has it.
func Upgrade(f *os.File) bool { return fsutil.UnlockFile(f) == nil && fsutil.LockFile(f, true) == nil }
