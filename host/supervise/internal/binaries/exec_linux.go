package binaries

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// waitForWriters waits, for at most a second, until no process has the file open for writing: one that was forked
// during the write has a copy of our descriptor until it executes its program, and the kernel runs no file that is open
// for writing.
func waitForWriters(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		// A read lease is granted only on a file that no process writes, and ends when the file is closed.
		_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
		if !errors.Is(err, unix.EAGAIN) {
			_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

const noExec = 8 // the ST_NOEXEC of statfs(2)

// runsPrograms is false for a folder on a mount that does not run programs.
func runsPrograms(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) != nil || s.Flags&noExec == 0
}
