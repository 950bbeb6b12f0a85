// Package procstat reads /proc/PID/stat, by which Linux describes a process. Other systems have no such file: every
// field is empty there. The launcher imports it, so it has few imports.
package procstat

import (
	"bytes"
	"os"
	"strconv"
)

// The numbers of fields, as in proc(5).
const (
	Name     = 2
	State    = 3
	Parent   = 4
	Start    = 22 // in clock ticks since the system started
	Memory   = 23 // address space, in bytes
	Resident = 24 // in pages
	Code     = 26 // the address of the program, 1 where others may not know it
	EnvStart = 50 // the address of the environment, 0 where others may not know it
	EnvEnd   = 51
)

// Times are the fields with the processor time, in clock ticks: of the process and of its children that ended, each
// in the program and in the kernel.
var Times = []int{14, 15, 16, 17}

// Fields are the fields of a process from its name on.
type Fields [][]byte

// Read returns the fields of a process, none if there is no such process.
func Read(pid int) Fields {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	end := bytes.LastIndexByte(text, ')') // the name may have spaces and parentheses
	if end < 0 {
		return nil
	}
	_, name, _ := bytes.Cut(text[:end], []byte("("))
	return append(Fields{name}, bytes.Fields(text[end+1:])...)
}

// Text is a field, "" if the process does not have it.
func (f Fields) Text(field int) string {
	if i := field - Name; i < len(f) {
		return string(f[i])
	}
	return ""
}

// Int is a field that is a number, 0 if the process does not have it.
func (f Fields) Int(field int) int64 {
	n, _ := strconv.ParseInt(f.Text(field), 10, 64)
	return n
}

// IsStopped reports whether a process is stopped by a signal, not by a debugger.
func IsStopped(pid int) bool { return Read(pid).Text(State) == "T" }

// ParentOf returns the parent of a process, 0 if it has none or there is no such process.
func ParentOf(pid int) int { return int(Read(pid).Int(Parent)) }
