package audit

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/toolhost/toolhost/internal/fsutil"
)

const (
	// lockWait is how long to wait for other processes; each holds the lock for one record.
	lockWait = 5 * time.Second

	firstPause = 20 * time.Microsecond
	maxPause   = 2 * time.Millisecond
)

// lock locks the log for one writer, or for several readers.
func lock(f *os.File, alone bool) error {
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := fsutil.LockFile(f, alone)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, fsutil.ErrLocked):
			return fmt.Errorf("%s cannot be locked: %w", f.Name(), err)
		case time.Since(began) > lockWait:
			return fmt.Errorf("%s has been locked by another process for %v; find out why it keeps the lock, and end it",
				f.Name(), lockWait)
		}
		time.Sleep(pause)
	}
}

func (l *Log) lock(time.Time) error { return lock(l.file, true) }

func (l *Log) unlock() {
	l.freed = time.Now()
	unlock(l.file)
}

func lockForReading(f *os.File) error { return lock(f, false) }

// unlock cannot fail on an open file; closing it unlocks too.
func unlock(f *os.File) { _ = fsutil.UnlockFile(f) }
