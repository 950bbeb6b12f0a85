package plugincheck

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/toolhost/toolhost/internal/procstat"
)

// leftBehind are the processes of a plugin, and those that it has started, also those that left its process group: they
// are known by its socket folder in their environment.
func leftBehind(dir string) (out []*os.Process) {
	mark := []byte("\x00" + socketDir(dir) + "\x00")
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		p, err := os.FindProcess(pid) // before the look at it, so that the id cannot come to mean another
		if err != nil {
			continue
		}
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // others' cannot be read
		if bytes.Contains(append([]byte{0}, environ...), mark) {
			out = append(out, p)
		} else {
			_ = p.Release()
		}
	}
	return out
}

// stopped reports whether the plugin, or the program that a wrapper runs, is stopped by a signal, not by a debugger.
func (p *process) stopped() bool {
	return slices.ContainsFunc(leftBehind(p.dir), func(one *os.Process) bool {
		defer func() { _ = one.Release() }()
		return procstat.IsStopped(one.Pid)
	})
}

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
	return resourceCount{len(files), len(threads), len(procstat.Children(pid, -1))}, true
}
