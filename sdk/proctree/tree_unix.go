//go:build unix && (!linux || proctree_group)

package proctree

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const containment = inGroup

// tree is the program and its process group.
type tree struct {
	name    string
	proc    *os.Process
	started time.Time
	done    chan struct{} // closed when the program has been reaped
	exit    Exit          // and err: to be read after done
	err     error
}

func start(p program, files [3]*os.File) (*tree, error) {
	proc, err := os.StartProcess(p.path, p.argv, &os.ProcAttr{
		Dir:   p.dir,
		Env:   p.env,
		Files: files[:],
		Sys:   &syscall.SysProcAttr{Setpgid: !p.terminal, Setsid: p.terminal, Setctty: p.terminal},
	})
	if err != nil {
		return nil, startError(p, err)
	}
	p.runs(proc.Pid)
	t := &tree{name: p.name, proc: proc, started: time.Now(), done: make(chan struct{})}
	go t.watch()
	return t, nil
}

// startError tells a bad directory from a bad program.
func startError(p program, err error) error {
	if p.dir != "" {
		d, dirErr := os.Open(p.dir + "/.")
		if dirErr != nil {
			return &StartError{p.name, "chdir " + p.dir + ": " + errors.Unwrap(dirErr).Error(), dirErr}
		}
		_ = d.Close()
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return execError(p, errno)
	}
	return &StartError{p.name, err.Error(), err}
}

// watch reaps the program and kills what it left in its group.
func (t *tree) watch() {
	defer close(t.done)
	state, err := t.proc.Wait()
	took := time.Since(t.started)
	t.kill()
	if err != nil {
		t.exit, t.err = Exit{Code: -1}, fmt.Errorf("%q cannot be waited for (%w); %w, and %w", t.name, err, ErrLost, ErrLoose)
		return
	}
	t.exit = exitOf(state.Sys().(syscall.WaitStatus), took)
}

func (t *tree) terminate() {
	t.signal(syscall.SIGTERM)
	t.signal(syscall.SIGCONT)
}

func (t *tree) kill() { t.signal(syscall.SIGKILL) }

func (t *tree) signal(s syscall.Signal) { _ = syscall.Kill(-t.proc.Pid, s) }

// answers has nobody to ask.
func (t *tree) answers(time.Duration) bool { return true }

// abandon has no more than kill to offer.
func (t *tree) abandon() {}

// ended is never sure: a process that left the group may hold the output open.
func (t *tree) ended() bool { return false }

func (t *tree) result() (Exit, error) {
	if !within(t.done, 0) {
		return Exit{Code: -1}, fmt.Errorf("%q: %w: pid %d", t.name, ErrLeft, t.proc.Pid)
	}
	return t.exit, t.err
}
