package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"golang.org/x/term"

	"github.com/toolhost/toolhost/host/supervise"
)

// A terminal is where a command reads and writes: results go to out, everything else to err.
type terminal struct {
	in      io.Reader
	out     *stdoutWriter
	err     io.Writer
	noColor bool
	late    *error           // of a help text, for which cobra has no errors
	began   bool             // the command line is right, and the command runs
	hidden  supervise.Hiding // the values by reference of the loaded configurations
}

func newTerminal(in io.Reader, out, err io.Writer) *terminal {
	s := newScreen(err)
	return &terminal{in: in, out: &stdoutWriter{w: out, screen: s}, err: s, late: new(error)}
}

// hide returns a text without the values by reference.
func (t *terminal) hide(text string) string { return t.hidden.Hide(text) }

type color string

const (
	bold  color = "\x1b[1m"
	dim   color = "\x1b[2m"
	red   color = "\x1b[31m"
	green color = "\x1b[32m"
	cyan  color = "\x1b[36m"
)

// paint colours text for standard error, if that is a terminal and NO_COLOR is not set.
func (t *terminal) paint(c color, text string) string {
	if t.noColor || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !isTerminal(t.err) {
		return text
	}
	return string(c) + text + "\x1b[0m"
}

func isTerminal(stream any) bool {
	f := fileOf(stream)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// fileOf is the file behind a stream, or nil.
func fileOf(stream any) *os.File {
	switch s := stream.(type) {
	case *os.File:
		return s
	case *screen:
		return fileOf(s.w)
	case *stdoutWriter:
		return fileOf(s.w)
	}
	return nil
}

// terminalSize is that of w; zeros if it is none, or does not know.
func terminalSize(w io.Writer) (columns, rows int) {
	f := fileOf(w)
	if f == nil {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// width is the number of columns of w, or a default if it is no terminal.
func width(w io.Writer) int {
	if columns, _ := terminalSize(w); columns > 40 {
		return columns
	}
	return 120
}

// A stdoutWriter is standard output. Writing to it never fails, so that every command ends in order; failed returns the
// first failed write at the end. A terminal gets no characters that could move its cursor.
type stdoutWriter struct {
	w      io.Writer
	screen *screen // may be nil

	mu  sync.Mutex
	err error
}

func (a *stdoutWriter) Write(p []byte) (int, error) {
	if a.screen == nil {
		return a.write(p)
	}
	a.screen.output(a, p)
	return len(p), nil
}

func (a *stdoutWriter) write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return len(p), nil
	}
	text := p
	if isTerminal(a.w) {
		text = []byte(replaceForTerminal(string(p)))
	}
	_, a.err = a.w.Write(text)
	return len(p), nil
}

// failed says why the output did not arrive. A reader that has read enough, such as head, is no reason.
func (a *stdoutWriter) failed() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil || errors.Is(a.err, syscall.EPIPE) {
		return nil
	}
	err := a.err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // without the name of standard output
	}
	return &exitError{exitLost, fmt.Sprintf("the answer could not be written: %v", err)}
}

// programErr is what a program that is run gets as its standard error: the file itself, if it is one.
func (t *terminal) programErr() io.Writer {
	if f := fileOf(t.err); f != nil {
		return f
	}
	return t.err
}
