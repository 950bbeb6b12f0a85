package binaries

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// closedByAll waits until nobody has the file open for writing any more: a process that was forked while we wrote has a
// copy of our descriptor until it executes its program, and the kernel runs no file that is open for writing. It gives
// up after a second.
func closedByAll(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		// A read lease is only given on a file that nobody writes to, and ends when the file is closed.
		_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
		if !errors.Is(err, unix.EAGAIN) {
			_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// noExec is the ST_NOEXEC of statfs(2).
const noExec = 8

// runsPrograms says whether programs in the folder can be run; a mount may forbid it.
func runsPrograms(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) != nil || s.Flags&noExec == 0
}
