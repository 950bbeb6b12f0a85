//go:build !unix

package proctree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const containment = inProcess

// tree is the program alone.
type tree struct {
	name    string
	proc    *os.Process
	started time.Time
	done    chan struct{} // closed when the program has been reaped
	exit    Exit          // and err: to be read after done
	err     error
}

func start(p program, files [3]*os.File) (*tree, error) {
	path, err := executable(p)
	if err != nil {
		return nil, err
	}
	proc, err := os.StartProcess(path, p.argv, &os.ProcAttr{Dir: p.dir, Env: p.env, Files: files[:]})
	if err != nil {
		return nil, startError(p, err)
	}
	p.runs(proc.Pid)
	t := &tree{name: p.name, proc: proc, started: time.Now(), done: make(chan struct{})}
	go t.watch()
	return t, nil
}

// executable completes the path, with an extension where the system has those.
func executable(p program) (string, error) {
	path := p.path
	if p.dir != "" && !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	found, err := exec.LookPath(path)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", startError(p, err)
	}
	return filepath.Abs(found)
}

func startError(p program, err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return &StartError{p.name, err.Error(), err}
}

func (t *tree) watch() {
	defer close(t.done)
	state, err := t.proc.Wait()
	took := time.Since(t.started)
	if err != nil {
		t.exit, t.err = Exit{Code: -1}, fmt.Errorf("%q cannot be waited for (%w); %w, and %w", t.name, err, ErrLost, ErrLoose)
		return
	}
	t.exit = exitOf(state.Sys().(syscall.WaitStatus), took)
}

// terminate does nothing: there is no gentle way that every program knows.
func (t *tree) terminate() {}

func (t *tree) kill() { _ = t.proc.Kill() }

// answers has nobody to ask.
func (t *tree) answers(time.Duration) bool { return true }

// abandon has no more than kill to offer.
func (t *tree) abandon() {}

// ended is never sure: processes that it started may hold the output open.
func (t *tree) ended() bool { return false }

func (t *tree) result() (Exit, error) {
	if !within(t.done, 0) {
		return Exit{Code: -1}, fmt.Errorf("%q: %w: pid %d", t.name, ErrLeft, t.proc.Pid)
	}
	return t.exit, t.err
}
