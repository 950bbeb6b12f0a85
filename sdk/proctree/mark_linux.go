//go:build !proctree_group

package proctree

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"time"
)

// markName is the variable by which the processes of one run are found if their
// launcher was killed. Children inherit it, unless they are given another environment.
const markName = "PROCTREE_ID="

const (
	// markLimit is how long the search may take.
	markLimit = 2 * time.Second
	// markLooks is how often nothing is found before the search ends: the environment of a process cannot be read while it
	// starts another program in its place.
	markLooks = 3
)

func newMark() string { return markName + rand.Text() }

// endMarked kills the processes that have the mark until none is found several times, but does
// not take longer than the limit: reading another's environment may hang.
func endMarked(mark string) {
	done, deadline := make(chan struct{}), time.Now().Add(markLimit)
	go func() {
		defer close(done)
		for none := 0; none < markLooks && time.Now().Before(deadline); none++ {
			if killMarked(mark) {
				none = -1
			}
			within(nil, time.Millisecond) // the killed take a moment to end
		}
	}()
	within(done, markLimit)
}

// killMarked kills those that it finds, and reports whether there were any. Each is
// looked at again once there is a handle of it, since a pid may change hands.
func killMarked(mark string) (found bool) {
	for _, pid := range processes() {
		if !isMarked(pid, mark) {
			continue
		}
		found = true
		p, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if isMarked(pid, mark) {
			_ = p.Kill()
		}
		_ = p.Release()
	}
	return found
}

func isMarked(pid int, mark string) bool {
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return bytes.Contains(environ, []byte(mark))
}

func processes() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
