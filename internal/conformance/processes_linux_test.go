package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans has what the tests' programs leave behind become children of the tests, where checkNoneLeft sees it.
func adoptOrphans() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
}

// checkNoneLeft fails the test when processes that it started run on, and ends them.
func checkNoneLeft(t testing.TB) {
	t.Helper()
	var left map[int]string
	for range 200 {
		if left = descendants(os.Getpid()); len(left) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond) // nothing reports the end of a process that is not a child
	}
	for pid, command := range left {
		t.Errorf("process %d is left: %s", pid, command)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// descendants are the processes below one, with their command lines. Orphans that have ended are collected.
func descendants(of int) map[int]string {
	parents, commands := map[int]int{}, map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, err := os.ReadFile(file)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		_, rest, found := bytes.Cut(text[max(0, bytes.LastIndexByte(text, ')')):], []byte(") "))
		fields := strings.Fields(string(rest))
		if err != nil || !found || len(fields) < 2 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		if fields[0] == "Z" {
			if parent == of {
				_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			}
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		parents[pid], commands[pid] = parent, string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
	}
	below := map[int]string{}
	for pid := range parents {
		var seen []int
		for at := pid; at > 1 && at != of && !slices.Contains(seen, at); at = parents[at] {
			if seen = append(seen, at); parents[at] == of {
				below[pid] = commands[pid]
			}
		}
	}
	return below
}

// peakMemory is the most that a process below the tests has used so far, in bytes.
func peakMemory(t testing.TB) (most int) {
	t.Helper()
	for pid := range descendants(os.Getpid()) {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		for line := range strings.Lines(string(status)) {
			if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
				kilobytes, _ := strconv.Atoi(fields[1])
				most = max(most, kilobytes<<10)
			}
		}
	}
	if most == 0 {
		t.Error("no process is below the tests")
	}
	return most
}

// checkEnvironments fails the test when the canary is in the environment of a process below a toolhost.
func checkEnvironments(t testing.TB, toolhost int) {
	t.Helper()
	below := descendants(toolhost)
	for pid, command := range below {
		if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); bytes.Contains(text, []byte(canary)) {
			t.Errorf("a secret is in the environment of %s", command)
		}
	}
	if len(below) == 0 {
		t.Error("no process is below toolhost")
	}
}

// checkCommandLines fails the test when a secret is in what every user of the machine sees of processes.
func checkCommandLines(t testing.TB, secrets []string) {
	t.Helper()
	for _, command := range descendants(os.Getpid()) {
		for _, secret := range append(secrets, canary) {
			if strings.Contains(command, secret) {
				t.Errorf("%s is in the command line %s", secret, command)
			}
		}
	}
}
