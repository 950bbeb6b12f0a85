//go:build unix

package main

import (
	"os"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// sweeps reports whether abandoned folders can be distinguished from those in use.
const sweeps = true

// takeLock opens a file and locks it, until it is closed or the process ends; it fails if another process has the
// lock. Programs that the plugin runs do not inherit the file.
func takeLock(path string, create int) (*os.File, error) {
	return fsutil.TryLock(path, create|os.O_RDWR)
}
