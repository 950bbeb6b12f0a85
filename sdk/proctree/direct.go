//go:build !linux || proctree_group

package proctree

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// tree is a program that no launcher watches.
type tree struct {
	name    string
	proc    *os.Process
	started time.Time
	exited  func(Exit)
	done    chan struct{} // closed when the program has been reaped
	exit    Exit          // and err: to be read after done
	err     error
}

func start(p program, files [3]*os.File) (*tree, error) {
	proc, err := startProcess(p, files)
	if err != nil {
		return nil, err
	}
	if p.started != nil {
		p.started(proc.Pid)
	}
	t := &tree{name: p.name, proc: proc, started: time.Now(), exited: p.exited, done: make(chan struct{})}
	go t.watch()
	return t, nil
}

// spawnAhead starts nothing: there is no launcher.
func spawnAhead([3]*os.File, bool) *tree { return nil }

func (t *tree) discard() {}

// watch reaps the program and kills what it left, as far as that is reachable.
func (t *tree) watch() {
	defer close(t.done)
	state, err := t.proc.Wait()
	took := time.Since(t.started)
	if err == nil && t.exited != nil {
		t.exited(exitOf(state.Sys().(syscall.WaitStatus), took))
	}
	t.kill()
	if err != nil {
		t.exit, t.err = Exit{Code: -1}, fmt.Errorf("%q cannot be waited for (%w); %w, and %w", t.name, err, ErrLost, ErrLoose)
		return
	}
	t.exit = exitOf(state.Sys().(syscall.WaitStatus), took)
}

// answers is true: there is no launcher that could hang.
func (t *tree) answers(time.Duration) bool { return true }

// abandon can only kill.
func (t *tree) abandon() {}

// ended is never sure: a process that the program started may be unreachable, and hold the output open.
func (t *tree) ended() bool { return false }

func (t *tree) result() (Exit, error) {
	if !within(t.done, 0) {
		return Exit{Code: -1}, fmt.Errorf("%q: %w: pid %d", t.name, ErrLeft, t.proc.Pid)
	}
	return t.exit, t.err
}

// Namespaces is nil if the system allows a process namespace to this process, otherwise the reason, as an
// [ErrNamespace].
func Namespaces() error { return errNoNamespaces }

// NamespacesRefused is the result of Namespaces as far as it is known.
func NamespacesRefused() error { return errNoNamespaces }

var errNoNamespaces = fmt.Errorf("%w: only Linux has them", ErrNamespace)

func kernelCapabilities() Capabilities { return Capabilities{} }
