package telemetry

import (
	"os"
	"time"

	"github.com/toolhost/toolhost/internal/procstat"
)

// maxDepth is how many processes are between this one and a plugin, or a plugin and what it has started, at most.
const maxDepth = 16

// rootOf returns the child of this process that has started another one: the launcher of a plugin. It is the process
// itself if that is not below this one, such as a plugin that was started by hand; 0 if there is none.
func rootOf(pid int) int {
	root := pid
	for range maxDepth {
		s, ok := readStat(root)
		switch {
		case !ok:
			return 0
		case s.parent == os.Getpid():
			return root
		case s.parent <= 1:
			return pid
		}
		root = s.parent
	}
	return pid
}

// readTree reads a process and those below it, of which *left may still be read.
func readTree(root int, left *int) (t processTree) {
	level := []int{root}
	for range maxDepth {
		var next []int
		for _, pid := range level {
			if *left <= 0 {
				return t
			}
			*left--
			s, ok := readStat(pid)
			if !ok {
				continue
			}
			t.processes++
			t.memory += s.memory
			t.time += s.time
			children := procstat.Children(pid, maxThreads)
			next = append(next, children[:min(len(children), *left)]...)
		}
		if level = next; len(level) == 0 {
			break
		}
	}
	return t
}

// A processStat is the part of /proc/PID/stat that matters here.
type processStat struct {
	parent int
	memory int64
	time   time.Duration
}

// clockTick is the unit of times in /proc, the same on all systems.
const clockTick = 10 * time.Millisecond

// readStat reads a process; ok is false when there is none.
func readStat(pid int) (s processStat, ok bool) {
	f := procstat.Read(pid)
	for _, field := range procstat.Times {
		s.time += time.Duration(f.Int(field)) * clockTick
	}
	s.parent = int(f.Int(procstat.Parent))
	s.memory = f.Int(procstat.Resident) * int64(os.Getpagesize())
	return s, len(f) > 0
}

// maxThreads is of how many threads of a process the children are read. Those that start processes are among the first.
const maxThreads = 64
