package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"syscall"
)

// An answer is standard output. Writing to it never fails, so that every command ends in order; the first write that
// could not be done is told at the end, by lost. A terminal gets no characters that could move its cursor.
type answer struct {
	w io.Writer

	mu  sync.Mutex
	err error
}

func (a *answer) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return len(p), nil
	}
	text := p
	if isTerminal(a.w) {
		text = []byte(clean(string(p)))
	}
	_, a.err = a.w.Write(text)
	return len(p), nil
}

// lost says why the answer did not arrive. A reader that has read enough, such as head, is no reason.
func (a *answer) lost() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil || errors.Is(a.err, syscall.EPIPE) {
		return nil
	}
	err := a.err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // the name of standard output tells nobody anything
	}
	return &exitError{exitLost, fmt.Sprintf("the answer could not be written: %v", err)}
}
