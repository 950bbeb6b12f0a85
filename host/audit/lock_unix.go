//go:build unix

package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
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
func lock(f *os.File, how int, began, freed time.Time) error {
	size, quiet := sizeOf(f), began
	if freed.After(began) {
		quiet = freed
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
func (l *Log) lock(began time.Time) error {
	return lock(l.file, unix.LOCK_EX, began, l.freed)
}

func (l *Log) unlock() {
	l.freed = time.Now()
	unlock(l.file)
}

func lockForReading(f *os.File) error { return lock(f, unix.LOCK_SH, time.Now(), time.Time{}) }

// unlock cannot fail on an open file; closing it unlocks too.
func unlock(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// holder names the process that has the file locked, as Linux reports it, or returns "". See
// https://man7.org/linux/man-pages/man5/proc_locks.5.html.
func holder(f *os.File) string {
	var st unix.Stat_t // whose fields have other types elsewhere
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return ""
	}
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino) //nolint:unconvert // an int32 on macOS
	locks, _ := os.ReadFile("/proc/locks")
	for line := range bytes.Lines(locks) {
		// 1: FLOCK ADVISORY WRITE 708 00:13:11 0 EOF
		if l := strings.Fields(string(line)); len(l) > 5 && l[1] == "FLOCK" && l[5] == file {
			name, _ := os.ReadFile("/proc/" + l[4] + "/comm")
			return fmt.Sprintf(", process %s (%q)", l[4], bytes.TrimSpace(name))
		}
	}
	return ""
}
