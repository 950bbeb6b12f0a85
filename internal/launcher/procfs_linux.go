package launcher

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/toolhost/toolhost/internal/procstat"
)

// lister returns the children of a process as far as they can be seen. A list may miss a process that starts
// meanwhile, so killing must continue until wait reports that there are no children.
type lister func(pid int) []int

// Children lists the children of a process as far as they can be seen.
func Children(pid int) []int {
	look, err := chooseLister()
	if err != nil {
		return nil
	}
	return look()(pid)
}

// chooseLister returns a function that lists the current children, by the faster of two ways. It opens what they
// open: a sandbox may forbid that later.
func chooseLister() (func() lister, error) {
	self := os.Getpid()
	// Its number is another process's in the /proc of another process namespace.
	if own, err := os.Readlink("/proc/self"); err != nil {
		return nil, err
	} else if own != strconv.Itoa(self) {
		return nil, syscall.ENOENT
	}
	if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", self, self)); err == nil {
		return func() lister { return childrenByTask }, nil
	}
	if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", self)); err != nil {
		return nil, err
	}
	_, err := os.ReadDir("/proc")
	return childrenByParent, err
}

// childrenByTask asks the kernel, which keeps a list for each thread.
func childrenByTask(pid int) []int { return procstat.Children(pid, -1) }

// childrenByParent asks every process of the system for its parent, for kernels
// built without the lists.
func childrenByParent() lister {
	children := make(map[int][]int)
	for _, pid := range procstat.NumbersIn("/proc", -1) {
		if parent := procstat.ParentOf(pid); parent > 0 {
			children[parent] = append(children[parent], pid)
		}
	}
	return func(pid int) []int { return children[pid] }
}
