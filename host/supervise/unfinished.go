//go:build unix

package supervise

import (
	"os"
	"path/filepath"
	"time"
)

// This file removes private folders that were never finished, see makeRunDir.

const (
	unfinished = ".new-" + runPrefix // begins the name of a folder that is being made
	// makingTime is more than that takes: an older one is of a host that was killed meanwhile.
	makingTime = time.Hour
)

// sweepUnfinished removes a folder of ours that no host can still be making.
func sweepUnfinished(dir string) {
	info, err := os.Lstat(dir)
	if err == nil && time.Since(info.ModTime()) >= makingTime && ownFolder(dir) {
		unmake(dir)
	}
}

// unmake removes a folder that was not finished. Nothing is opened for it: too many open files may be why.
func unmake(fresh string) {
	_ = os.Remove(filepath.Join(fresh, lockName))
	_ = os.Remove(fresh)
}
