//go:build unix

package audit

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lockWait is how long to wait for other processes; each holds the lock for one record.
	lockWait = 5 * time.Second

	firstPause = 20 * time.Microsecond
	maxPause   = 2 * time.Millisecond
)

// lock takes the log for one writer, or for readers side by side. It does not wait in the kernel, because a process
// that is stopped while it holds the lock would hold everybody.
func lock(f *os.File, how int, until time.Time) error {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("%s cannot be locked: %w", f.Name(), err)
		}
		if time.Now().After(until) {
			return fmt.Errorf("%s has been locked by another process for %v; look for one that is stopped", f.Name(), lockWait)
		}
		time.Sleep(pause)
	}
}

func lockForOne(f *os.File, until time.Time) error { return lock(f, unix.LOCK_EX, until) }

func lockForReading(f *os.File) error { return lock(f, unix.LOCK_SH, time.Now().Add(lockWait)) }

// unlock cannot fail on a file that is open, and closing it unlocks as well.
func unlock(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }
