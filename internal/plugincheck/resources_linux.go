package plugincheck

import (
	"fmt"
	"os"
	"strings"
)

// A holding is what a process holds.
type holding struct{ files, threads, children int }

// resources reads it from /proc; ok is false where it cannot be read.
func resources(pid int) (h holding, ok bool) {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return h, false
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return h, false
	}
	h = holding{files: len(files), threads: len(threads)}
	for _, t := range threads {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		if err == nil {
			h.children += len(strings.Fields(string(children)))
		}
	}
	return h, true
}
