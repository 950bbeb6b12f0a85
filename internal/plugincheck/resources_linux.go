package plugincheck

import (
	"fmt"
	"os"
	"strings"
)

// A resourceCount has the numbers of what a process holds.
type resourceCount struct{ files, threads, children int }

// resources reads it from /proc; ok is false where it cannot be read.
func resources(pid int) (h resourceCount, ok bool) {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return h, false
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return h, false
	}
	h = resourceCount{files: len(files), threads: len(threads)}
	for _, t := range threads {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		if err == nil {
			h.children += len(strings.Fields(string(children)))
		}
	}
	return h, true
}
