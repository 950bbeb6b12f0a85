//go:build !unix

package proctree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

const containment = inProcess

func startProcess(p program, files [3]*os.File) (*os.Process, error) {
	path, err := executable(p)
	if err != nil {
		return nil, err
	}
	proc, err := os.StartProcess(path, p.argv, &os.ProcAttr{Dir: p.dir, Env: p.env, Files: files[:]})
	if err != nil {
		return nil, startError(p, err)
	}
	return proc, nil
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

// terminate does nothing: no gentle way works for every program.
func (t *tree) terminate() {}

func (t *tree) kill() { _ = t.proc.Kill() }

// A lane is one of two pipes.
type lane struct {
	name string
	pipe *os.File
	to   io.Writer
}

// inOrder returns two copies to run at the same time. Their order is that in which the system wakes them.
func inOrder(stdout, stderr *lane) ([]func() error, error) {
	return []func() error{
		func() error { return copied(stdout.name, stdout.pipe, stdout.to, stdout.pipe) },
		func() error { return copied(stderr.name, stderr.pipe, stderr.to, stderr.pipe) },
	}, nil
}

// SignalName is for systems with signals.
func (e Exit) SignalName() string { return "" }
