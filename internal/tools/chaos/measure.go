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
)

// A measure is what this process holds on to.
type measured struct{ files, goroutines int }

func measure() measured { return measured{openFiles(), runtime.NumGoroutine()} }

// settleTime is how long what has ended may still show.
const settleTime = 20 * time.Second

// compare checks that after a world all is as it was before it.
func (m measured) compare(name string, w *world, r *report) {
	if left := await(func() []string { return alive(w.mark) }); len(left) > 0 {
		r.mu.Lock()
		r.orphans += len(left)
		r.mu.Unlock()
		r.breach("%s: %d processes are left: %s", name, len(left), strings.Join(left, "; "))
	}
	m.leaks(name, r)
	for _, dir := range []string{w.run(), w.temp()} {
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			r.breach("%s: files are left: %v", name, left)
		}
	}
}

func (m measured) leaks(name string, r *report) {
	over := await(func() []string {
		var out []string
		if now := measure(); now.files > m.files {
			out = append(out, fmt.Sprintf("%d files more than before", now.files-m.files))
		} else if now.goroutines > m.goroutines {
			out = append(out, fmt.Sprintf("%d goroutines more than before", now.goroutines-m.goroutines))
		}
		return out
	})
	for _, text := range over {
		r.breach("%s: %s", name, text)
	}
}

// await looks again and again until nothing is found, or the time is over, and gives what was found last.
func await(look func() []string) []string {
	limit := time.Now().Add(settleTime)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		late := time.Now().After(limit) // asked first: we may stand still ourselves
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

// alive lists the living processes that carry the mark, with their names.
func alive(mark string) (out []string) {
	entries, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range entries {
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && carries(pid, mark) {
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			out = append(out, fmt.Sprintf("%d %s", pid, bytes.TrimSpace(name)))
		}
	}
	return out
}

// carries says whether the process was started with the mark. One that has ended has no environment any more.
func carries(pid int, mark string) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+envMark+"="+mark+"\x00"))
}

// owns says whether the process is a plugin of this world, or the launcher above one.
func (w *world) owns(pid int) bool {
	if carries(pid, w.mark) {
		return true
	}
	for _, p := range w.supervisor.Processes() {
		if plugin := p.Status().PID; plugin != 0 && parentOf(plugin) == pid {
			return true
		}
	}
	return false
}

func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
