package local

import (
	"fmt"
	"io"
	"os"
	"strconv"
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
	// calls: Earlier, 0 where the system does not tell.
	PID, Earlier int
	State        State
}

// Ending says of a process that takes no calls any more what goes on, and what to do.
func (h Holder) Ending() string {
	pid, text := h.PID, fmt.Sprintf("process %d is stopping: it ends its calls, and takes no others", h.PID)
	if h.PID == 0 {
		pid, text = h.Earlier, "the host has ended, and an earlier process, which had handed over to it, still ends its calls"
	}
	if pid == 0 {
		return text + "; wait for it"
	}
	return fmt.Sprintf("%s; wait for it, or end it: kill %d", text, pid)
}

// maxHeld is how many bytes of a lock file are read.
const maxHeld = 4 << 10

// Holder returns the process that has the place; nil when none has.
func (p Place) Holder() *Holder {
	if !fsutil.Locked(p.Lock()) {
		return nil
	}
	f, err := os.Open(p.Lock())
	if err != nil {
		return &Holder{}
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxHeld)) // without it the lock alone tells
	line, _, _ := strings.Cut(string(text), "\n")
	words := append(strings.Fields(line), "", "") // of an older version parts are missing
	pid, _ := strconv.Atoi(words[0])
	if pid != 0 && !gone(pid) && (words[2] == "" || words[2] == beginning(pid)) {
		return &Holder{PID: pid, State: State(words[1])}
	}
	h := &Holder{} // what was killed has not written that it has ended
	for _, name := range words[min(3, len(words)):] {
		number, began, _ := strings.Cut(name, "/")
		if pid, _ := strconv.Atoi(number); pid != 0 && !gone(pid) && began == beginning(pid) {
			h.Earlier = pid
		}
	}
	return h
}

// beginning tells a process from later ones with its number; "" where the system does not say it.
func beginning(pid int) string {
	name, _, _ := Process(pid) // empty with an error
	_, began, _ := strings.Cut(name, "/")
	return began
}

// Hold writes into the locked file of a place what this process does, and the names of those that have handed over to
// it and may still end their calls.
func Hold(lock *os.File, s State, predecessors ...string) error {
	return write(lock, fmt.Sprintf("%d %s %s", os.Getpid(), s, beginning(os.Getpid())), predecessors)
}

// Release writes into the locked file of a place that this process has ended.
func Release(lock *os.File, predecessors ...string) error { return write(lock, "0 - -", predecessors) }

// write replaces the text in one step, with blanks to one width: who reads meanwhile finds the old text or the new one,
// never an empty file, which says that the process has ended.
func write(lock *os.File, text string, predecessors []string) error {
	const width = 48
	text = fmt.Sprintf("%-*s\n", width-1, strings.Join(append([]string{text}, predecessors...), " "))
	if _, err := lock.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	return lock.Truncate(int64(len(text))) // of what was longer
}
