package audit

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
)

const (
	// lockWait is how long to wait for a process that holds the lock and adds nothing; each holds it for one record.
	lockWait = 5 * time.Second
	// busyWait is how long to wait while others add records: the lock does not go to the process that waits longest.
	busyWait = time.Minute

	firstPause = 20 * time.Microsecond
	maxPause   = 2 * time.Millisecond
)

// lock locks the log for one writer, or for several readers. It does not wait in the kernel: a process that is stopped
// while it holds the lock would block all others permanently. freed is when this process had the lock last.
func lock(f *os.File, alone bool, began, freed time.Time) error {
	size, quiet := sizeOf(f), began
	if freed.After(began) {
		quiet = freed
	}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := fsutil.LockFile(f, alone)
		if err == nil {
			return nil
		}
		if !errors.Is(err, fsutil.ErrLocked) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("%s cannot be locked: %w", f.Name(), err)
		}
		if now := sizeOf(f); now != size {
			size, quiet = now, time.Now()
		}
		switch {
		case time.Since(quiet) > lockWait:
			return fmt.Errorf("%s has been locked by another process for %v%s; find out why it keeps the lock, and end it",
				f.Name(), lockWait, holder(f))
		case time.Since(began) > busyWait:
			return fmt.Errorf("%s was locked by other processes that write to it for %v; find out what writes so much", f.Name(),
				busyWait)
		}
		time.Sleep(pause)
	}
}

// sizeOf changes when others write.
func sizeOf(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return -1
	}
	return info.Size()
}

// lock is for a caller that began to wait some time ago, maybe for others of this process: their wait says nothing
// about the process that has the lock now.
func (l *Log) lock(began time.Time) error { return lock(l.file, true, began, l.freed) }

func (l *Log) unlock() {
	l.freed = time.Now()
	unlock(l.file)
}

func lockForReading(f *os.File) error { return lock(f, false, time.Now(), time.Time{}) }

// unlock cannot fail on an open file; closing it unlocks too.
func unlock(f *os.File) { _ = fsutil.UnlockFile(f) }
