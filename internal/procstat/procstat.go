// Package procstat reads what Linux says of processes in /proc. Other systems have no such files: every field and every
// list is empty there. The launcher imports it, so it has few imports.
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

// Children are the children of a process, zombies too, by the lists that the kernel keeps for each thread: for so many
// threads, for all if that is -1. Kernels can be built without the lists.
func Children(pid, threads int) (children []int) {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	for _, thread := range NumbersIn(tasks, threads) {
		list, _ := os.ReadFile(tasks + "/" + strconv.Itoa(thread) + "/children")
		for field := range bytes.FieldsSeq(list) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// NumbersIn are the names in a directory that are numbers, such as processes, threads or open files: those among its
// first so many entries, all if that is -1.
func NumbersIn(path string, most int) (numbers []int) {
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(most)
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
