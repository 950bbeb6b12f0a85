package main

import (
	"io"
	"maps"
	"os"
	"sync/atomic"

	"golang.org/x/term"

	"github.com/toolhost/toolhost/host/supervise"
)

// A terminal is where a command reads and writes: the answer goes to out, everything else to err.
type terminal struct {
	in      io.Reader
	out     *answer
	err     io.Writer
	noColor bool
	late    *error                     // see globals
	hidden  *atomic.Pointer[concealed] // the values by reference of what was loaded; shared by all copies
}

func newTerminal(in io.Reader, out, err io.Writer) *terminal {
	return &terminal{in: in, out: &answer{w: out}, err: err, hidden: &atomic.Pointer[concealed]{}, late: new(error)}
}

// concealed are values by reference, and what takes them out of a text.
type concealed struct {
	texts map[string]string
	hide  func(text string) string
}

// conceal has the values of a configuration hidden from here on, beside those of an earlier one.
func (t *terminal) conceal(r supervise.References) {
	if t.hidden == nil {
		return
	}
	all := map[string]string{}
	if old := t.hidden.Load(); old != nil {
		maps.Copy(all, old.texts)
	}
	maps.Copy(all, r.Texts)
	t.hidden.Store(&concealed{all, supervise.References{Texts: all}.Hider()})
}

// hide gives a text without the values that the configuration takes from elsewhere.
func (t *terminal) hide(text string) string {
	if t.hidden == nil || t.hidden.Load() == nil {
		return text
	}
	return t.hidden.Load().hide(text)
}

type color string

const (
	bold  color = "\x1b[1m"
	dim   color = "\x1b[2m"
	red   color = "\x1b[31m"
	green color = "\x1b[32m"
	cyan  color = "\x1b[36m"
)

// paint colours text for standard error, if that is a terminal and nobody objects (no-color.org).
func (t *terminal) paint(c color, text string) string {
	if t.noColor || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !isTerminal(t.err) {
		return text
	}
	return string(c) + text + "\x1b[0m"
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is the number of columns of w, or a default where nobody looks.
func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 40 {
			return columns
		}
	}
	return 120
}
