package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/host/supervise"
)

// maxShown is how many mistakes the text of an Error describes; a broken file can have thousands.
const maxShown = 50

// An Error is everything that is wrong with a config file.
type Error struct {
	Path     string    // the file, as people know it
	Mistakes []Mistake // at least one, by position
}

// A Mistake is one thing that is wrong.
type Mistake struct {
	Line, Column int    // from 1; 0 when the mistake is about the file as a whole
	Message      string // what is wrong, in one line
	Hint         string // what to do about it; may be empty

	path    string
	at      hcl.Range
	excerpt string
}

// Error gives the report: plain text of several lines, without colour or control characters. It describes the first 50
// mistakes, and ends with their number when there is more than one.
func (e *Error) Error() string {
	var blocks []string
	for _, m := range e.Mistakes[:min(len(e.Mistakes), maxShown)] {
		blocks = append(blocks, m.String())
	}
	switch n := len(e.Mistakes); {
	case n > maxShown:
		blocks = append(blocks, fmt.Sprintf("%d mistakes, the first %d are shown", n, maxShown))
	case n > 1:
		blocks = append(blocks, fmt.Sprintf("%d mistakes", n))
	}
	return strings.Join(blocks, "\n\n")
}

// String gives the mistake as Error shows it: its place, the message, the source line and the hint, on several lines.
func (m Mistake) String() string {
	var b strings.Builder
	b.WriteString(m.path)
	if m.Line > 0 {
		fmt.Fprintf(&b, ":%d,%d", m.Line, m.Column)
	}
	b.WriteString(": " + m.Message)
	if m.excerpt != "" {
		b.WriteString("\n" + m.excerpt)
	}
	if m.Hint != "" {
		b.WriteString("\n  hint: " + m.Hint)
	}
	return b.String()
}

func (m *Mistake) hint(format string, args ...any) {
	m.Hint = fmt.Sprintf(format, args...)
}

// A report collects what is wrong with the file.
type report struct {
	path     string // as people know it
	src      []byte
	mistakes []*Mistake
	warnings []*Mistake
	hidden   supervise.References // its Texts: the values by reference, which no mistake tells
}

// add reports a mistake. The zero range stands for the whole file.
func (r *report) add(at hcl.Range, format string, args ...any) *Mistake {
	m := &Mistake{Line: at.Start.Line, Column: at.Start.Column, Message: fmt.Sprintf(format, args...), at: at}
	r.mistakes = append(r.mistakes, m)
	return m
}

// place names a line of the file, such as "config.hcl:12".
func (r *report) place(at hcl.Range) string {
	return fmt.Sprintf("%s:%d", r.path, at.Start.Line)
}

// finish gives the *Error, or nil when nothing was wrong.
func (r *report) finish() error {
	if len(r.mistakes) == 0 {
		return nil
	}
	return &Error{Path: r.path, Mistakes: r.sorted(r.mistakes)}
}

// sorted gives mistakes by position, and adds the source lines of those that are shown.
func (r *report) sorted(mistakes []*Mistake) []Mistake {
	var out []Mistake
	hide := r.hidden.Hider()
	for _, m := range mistakes {
		shown := *m
		shown.Message, shown.Hint = hide(m.Message), hide(m.Hint)
		out = append(out, shown)
	}
	slices.SortStableFunc(out, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
	out = slices.CompactFunc(out, func(a, b Mistake) bool {
		return a.Line == b.Line && a.Column == b.Column && a.Message == b.Message
	})
	for i := range out {
		out[i].path = r.path
		if i < maxShown {
			out[i].excerpt = excerpt(r.src, out[i].at)
		}
	}
	return out
}
