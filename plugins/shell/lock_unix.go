//go:build unix

package main

import (
	"os"
	"syscall"
)

// sweeps says that folders that were left can be told from those in use.
const sweeps = true

// takeLock opens a file and locks it, until it is closed or the process ends; it fails if another process has the lock.
// Programs that the plugin runs do not get the file.
func takeLock(path string, create int) (*os.File, error) {
	f, err := os.OpenFile(path, create|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
