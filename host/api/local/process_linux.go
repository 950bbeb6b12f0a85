package local

import (
	"fmt"

	"github.com/toolhost/toolhost/internal/procstat"
)

// Process names a process by its number and when it began, since numbers are used again, and finds its parent.
func Process(pid int) (name string, parent int, err error) {
	f := procstat.Read(pid)
	start := f.Text(procstat.Start)
	if start == "" {
		return "", 0, fmt.Errorf("process %d: no such process in /proc", pid)
	}
	return fmt.Sprintf("%d/%s", pid, start), int(f.Int(procstat.Parent)), nil
}
