package local

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// State says what the process that has a place does.
type State string

// The states of a Holder.
const (
	Starts State = "starts"
	Serves State = "serves"
	Stops  State = "stops"
)

// A Holder is the process that has a place, also while its socket cannot be reached.
type Holder struct {
	// PID is 0 when the process has ended, also when it was killed, and one that has handed over to it still ends its
	// calls.
	PID   int
	State State
}

// Holder returns the process that has the place; nil when none has.
func (p Place) Holder() *Holder {
	if !fsutil.Locked(p.Lock()) {
		return nil
	}
	h := &Holder{}
	f, err := os.Open(p.Lock())
	if err != nil {
		return h
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 100)) // without it the lock alone tells
	var began string
	_, _ = fmt.Sscanf(string(text), "%d %s %s", &h.PID, &h.State, &began) // of an older version parts are missing
	if h.PID != 0 && (gone(h.PID) || began != "" && began != beginning(h.PID)) {
		return &Holder{} // what was killed has not written that it has ended
	}
	return h
}

// beginning tells a process from later ones with its number; "" where the system does not say it.
func beginning(pid int) string {
	name, _, _ := Process(pid) // empty with an error
	_, began, _ := strings.Cut(name, "/")
	return began
}

// Hold writes into the locked file of a place what this process does.
func Hold(lock *os.File, s State) error {
	return write(lock, fmt.Sprintf("%d %s %s", os.Getpid(), s, beginning(os.Getpid())))
}

// Release writes into the locked file of a place that this process has ended.
func Release(lock *os.File) error { return write(lock, "") }

// write replaces the text in one step, with blanks to one width: who reads meanwhile finds the old text or the new one,
// never an empty file, which says that the process has ended.
func write(lock *os.File, text string) error {
	const width = 48
	text = fmt.Sprintf("%-*s\n", width-1, text)
	if _, err := lock.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	return lock.Truncate(width) // of what an older version has written
}
