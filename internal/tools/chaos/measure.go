//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/procstat"
)

// resources are those that this process has open.
type resources struct{ files, goroutines int }

func countResources() resources { return resources{openFiles(), runtime.NumGoroutine()} }

// cleanupTime is how long resources may stay after their end.
const cleanupTime = 20 * time.Second

// compare checks that a testbed has left nothing behind.
func (m resources) compare(name string, w *testbed, r *report) {
	if left := waitUntilNone(func() []string { return alive(w.mark) }); len(left) > 0 {
		r.mu.Lock()
		r.orphans += len(left)
		r.mu.Unlock()
		r.violation("%s: %d processes are left: %s", name, len(left), strings.Join(left, "; "))
	}
	m.checkLeaks(name, r)
	for _, dir := range []string{w.run(), w.temp()} {
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			r.violation("%s: files are left: %v", name, left)
		}
	}
}

func (m resources) checkLeaks(name string, r *report) {
	over := waitUntilNone(func() []string {
		var out []string
		if now := countResources(); now.files > m.files {
			out = append(out, fmt.Sprintf("%d files more than before", now.files-m.files))
		} else if now.goroutines > m.goroutines {
			out = append(out, fmt.Sprintf("%d goroutines more than before", now.goroutines-m.goroutines))
		}
		return out
	})
	for _, text := range over {
		r.violation("%s: %s", name, text)
	}
}

// waitUntilNone calls look until it finds nothing, or the time is over, and returns what it found last.
func waitUntilNone(look func() []string) []string {
	limit := time.Now().Add(cleanupTime)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		late := time.Now().After(limit) // asked first: this process may have been stopped
		if found := look(); len(found) == 0 || late {
			return found
		}
		time.Sleep(wait)
	}
}

func openFiles() int {
	names, _ := os.ReadDir("/proc/self/fd")
	return len(names)
}

// alive lists the processes with the mark, with their names.
func alive(mark string) (out []string) {
	entries, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range entries {
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && hasMark(pid, mark) {
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			out = append(out, fmt.Sprintf("%d %s", pid, bytes.TrimSpace(name)))
		}
	}
	return out
}

// hasMark reports whether the process was started with the mark. A zombie has no environment.
func hasMark(pid int, mark string) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+envMark+"="+mark+"\x00"))
}

// includes reports whether the process is a plugin of this testbed, or its launcher.
func (w *testbed) includes(pid int) bool {
	if hasMark(pid, w.mark) {
		return true
	}
	for _, p := range w.supervisor.Processes() {
		if plugin := p.Status().PID; plugin != 0 && procstat.ParentOf(plugin) == pid {
			return true
		}
	}
	return false
}
