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
	// lockWait is how long to wait for a process that holds the lock and adds nothing; each holds it for one record.
	lockWait = 5 * time.Second
	// turnWait is how long to wait while others add records: who comes first gets the lock, not who waits longest.
	turnWait = time.Minute

	firstPause = 20 * time.Microsecond
	maxPause   = 2 * time.Millisecond
)

// lock takes the log for one writer, or for readers side by side. It does not wait in the kernel, because a process
// that is stopped while it holds the lock would hold everybody. Heard is when the lock was last free for us.
func lock(f *os.File, how int, began, heard time.Time) error {
	size, quiet := sizeOf(f), began
	if heard.After(began) {
		quiet = heard
	}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("%s cannot be locked: %w", f.Name(), err)
		}
		if now := sizeOf(f); now != size {
			size, quiet = now, time.Now()
		}
		switch {
		case time.Since(quiet) > lockWait:
			return fmt.Errorf("%s has been locked by another process for %v%s; see why it keeps the lock, and end it", f.Name(), lockWait, holder(f))
		case time.Since(began) > turnWait:
			return fmt.Errorf("%s had others write to it for %v, and this process never had a turn; look for what writes so much", f.Name(), turnWait)
		}
		time.Sleep(pause)
	}
}

// sizeOf tells whether others write.
func sizeOf(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return -1
	}
	return info.Size()
}

// lock is for a caller who began to wait some time ago, maybe for others of this process: their wait tells nothing of who
// holds the file now.
func (l *Log) lock(began time.Time) error {
	return lock(l.file, unix.LOCK_EX, began, l.heard)
}

func (l *Log) unlock() {
	l.heard = time.Now()
	unlock(l.file)
}

func lockForReading(f *os.File) error { return lock(f, unix.LOCK_SH, time.Now(), time.Time{}) }

// unlock cannot fail on a file that is open, and closing it unlocks as well.
func unlock(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }
