//go:build !proctree_group

package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// outlet is a pipe for the output of a tree of processes. Each of them holds its
// far end open, so its end is proof that none is left: no list of processes is
// as exact, since some fork faster than one can read it.
type outlet struct {
	r, w *os.File
	mark string // in the environment of the tree, to name survivors
	seen string
}

func newOutlet(t *testing.T) *outlet {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := &outlet{r: r, w: w, mark: fmt.Sprintf("PROCTREE_MARK=%d.%d", os.Getpid(), time.Now().UnixNano())}
	t.Cleanup(func() {
		r.Close()
		w.Close()
		for _, pid := range o.survivors() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return o
}

// attach gives the outlet to a Cmd.
func (o *outlet) attach(c *Cmd) {
	c.Stdout, c.Stderr = o.w, o.w
	c.Env = append(os.Environ(), o.mark)
}

// await waits until the text appears in the output.
func (o *outlet) await(t *testing.T, limit time.Duration, text string) {
	t.Helper()
	o.read(t, limit, text, func() bool { return strings.Contains(o.seen, text) })
}

// awaitLines waits for that many lines.
func (o *outlet) awaitLines(t *testing.T, limit time.Duration, lines int) {
	t.Helper()
	o.read(t, limit, "enough lines", func() bool { return strings.Count(o.seen, "\n") >= lines })
}

// awaitEnd waits until no process holds the pipe.
func (o *outlet) awaitEnd(t *testing.T, limit time.Duration) {
	t.Helper()
	o.read(t, limit, "end", func() bool { return false })
}

// read reads until it has seen enough, or the pipe ends.
func (o *outlet) read(t *testing.T, limit time.Duration, what string, enough func() bool) {
	t.Helper()
	_ = o.r.SetReadDeadline(time.Now().Add(limit))
	buf := make([]byte, 4096)
	for !enough() {
		n, err := o.r.Read(buf)
		o.seen += string(buf[:n])
		if errors.Is(err, io.EOF) && what == "end" {
			return
		}
		if err != nil {
			t.Fatalf("no %q in %v (%v); output %q, alive: %s", what, limit, err, o.seen, o.describe())
		}
	}
}

// mustBeOver fails the test unless, at this very moment, nobody holds the pipe.
func (o *outlet) mustBeOver(t *testing.T) {
	t.Helper()
	o.w.Close()
	raw, err := o.r.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	buf, n := make([]byte, 4096), 0
	err = raw.Read(func(fd uintptr) bool {
		for {
			if n, err = syscall.Read(int(fd), buf); n <= 0 {
				return true
			}
			o.seen += string(buf[:n])
		}
	})
	if n != 0 || err != nil {
		t.Errorf("processes are left: %s", o.describe())
	}
}

// survivors lists the processes with the mark.
func (o *outlet) survivors() (pids []int) {
	for _, pid := range numbersIn("/proc") {
		env, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if bytes.Contains(env, []byte(o.mark)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (o *outlet) describe() string {
	var all []string
	for _, pid := range o.survivors() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		all = append(all, fmt.Sprintf("%d %q", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return strings.Join(all, ", ")
}

// alive reports whether the process exists and is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}

// number returns the number that follows the word in a text.
func number(t *testing.T, text, word string) int {
	t.Helper()
	_, rest, _ := strings.Cut(text, word+" ")
	digits, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("no %q with a number in %q", word, text)
	}
	return n
}

// numbersIn returns the entries of a directory that are numbers.
func numbersIn(path string) (numbers []int) {
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// childrenOf returns the children of a process, zombies too.
func childrenOf(pid int) (children []string) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		children = append(children, strings.Fields(string(text))...)
	}
	return children
}
