package local

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Process names a process by its number and when it began, since numbers are used again, and finds its parent.
func Process(pid int) (name string, parent int, err error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0, err
	}
	const state, ppid, start = 3, 4, 22 // as proc(5) numbers them
	_, rest, _ := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(") "))
	fields := bytes.Fields(rest)
	if len(fields) <= start-state {
		return "", 0, fmt.Errorf("/proc/%d/stat has another form", pid)
	}
	parent, err = strconv.Atoi(string(fields[ppid-state]))
	return fmt.Sprintf("%d/%s", pid, fields[start-state]), parent, err
}
