//go:build !proctree_group

package proctree

import (
	"fmt"
	"syscall"

	"github.com/toolhost/toolhost/sdk/proctree/internal/launcher"
)

// ended reports whether no process of the tree is left.
func (t *tree) ended() bool {
	return within(t.done, 0) && t.report.Left == 0 && (t.report.Ended || t.report.Failed != "" || t.endedByKernel())
}

// endedByKernel reports whether the launcher was the first process of a namespace and has ended: the kernel lets it do so
// only after all others.
func (t *tree) endedByKernel() bool { return t.program.namespace && t.state != nil }

// result says how it went. It also lets go of the launcher.
func (t *tree) result() (Exit, error) {
	_ = t.control.Close()
	if !within(t.done, 0) {
		return Exit{Code: -1}, fmt.Errorf("the watcher of the command does not end; %w, and %w", ErrLost, ErrLoose)
	}
	r := t.report
	exit := Exit{Code: -1}
	if r.Ended {
		exit = exitOf(r.Status, r.Took)
		exit.Killed = r.Killed
	}
	switch {
	case r.Failed != "":
		return Exit{}, t.startError()
	case r.Left > 0:
		return exit, fmt.Errorf("%q: %w: %d after %v (pid %s)", t.name, ErrLeft, r.Left, launcher.SweepLimit, t.leftPIDs())
	case !r.Ended:
		return exit, t.lost()
	}
	return exit, nil
}

// lost is for a launcher that ended without a word. The kernel has killed the program,
// and the whole of a namespace. Otherwise the process group of the program is known to
// us, and what left that has the mark.
func (t *tree) lost() error {
	if t.endedByKernel() {
		return fmt.Errorf("the watcher of the command %s; %w, and the kernel has ended all processes it started", t.fate(), ErrLost)
	}
	if !t.program.namespace {
		if t.pid > 1 {
			_ = syscall.Kill(-t.pid, syscall.SIGKILL)
		}
		endMarked(t.mark)
	}
	return fmt.Errorf("the watcher of the command %s; %w, and %w", t.fate(), ErrLost, ErrLoose)
}

// fate says how the launcher ended.
func (t *tree) fate() string {
	if t.state == nil {
		return "cannot be waited for"
	}
	if e := exitOf(t.state.Sys().(syscall.WaitStatus), 0); e.Signal != 0 {
		return "was killed (" + e.SignalName() + ")"
	}
	return "ended too early (" + t.state.String() + ")"
}

func (t *tree) startError() error {
	switch t.report.Failed {
	case "exec":
		return execError(t.program, t.report.Errno)
	case "fix":
		return t.unfixed()
	case "restrict":
		return t.program.unrestricted(t.report.Call, t.report.Errno)
	case "chdir":
		return &StartError{t.name, fmt.Sprintf("chdir %s: %v", t.program.dir, t.report.Errno), t.report.Errno}
	case "mount":
		return t.refused("a /proc, /dev/shm or /dev/mqueue of its own cannot be mounted: "+t.report.Errno.Error(), t.report.Errno)
	case "capset":
		return t.refused("capset: "+t.report.Errno.Error(), t.report.Errno)
	case "proc":
		return &StartError{t.name, "the launcher cannot read /proc: " + t.report.Errno.Error(), t.report.Errno}
	}
	return &StartError{t.name, t.report.Failed + ": " + t.report.Errno.Error(), t.report.Errno}
}
