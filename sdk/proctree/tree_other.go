//go:build !unix

package proctree

import (
	"errors"
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

// terminate does nothing: there is no gentle way that every program knows.
func (t *tree) terminate() {}

func (t *tree) kill() { _ = t.proc.Kill() }
