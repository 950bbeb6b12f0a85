package match

import (
	"bytes"
	"strings"
)

// A reading is one way to take what the model sent.
type reading struct {
	name     string // "" for the text as it is
	old      *source
	new      string
	lastPass int
	// spaceBefore and spaceAfter say that old_string starts or ends with white space.
	spaceBefore, spaceAfter bool

	numbers *numbered // what old_string had before its lines, if anything; such a text is of whole lines
	notes   []string  // what a model should know of how it was read
	bareNew bool      // new_string had no numbers then

	foreign *bool  // old_string has a word that the file has not
	index   *index // made for pass 8
	windows []*window
}

func newReading(name, old, fresh string, lastPass int, s *syntax) *reading {
	r := &reading{name: name, old: newSource([]byte(old), s), new: fresh, lastPass: lastPass}
	r.spaceBefore = old != strings.TrimLeft(old, " \t\r\n")
	r.spaceAfter = old != strings.TrimRight(old, " \t\r\n")
	return r
}

// readings gives the ways to read a change, the likeliest first.
func (t *Text) readings(c Change) []*reading {
	if c.Strictness == Exact {
		return []*reading{newReading("", c.Old, c.New, 9, t.syntax)}
	}
	if d, ok := asDiff(c); ok { // the marks would be written into the file
		if plusLine.Match(t.data) { // which may be meant
			return []*reading{newReading("", c.Old, c.New, 3, t.syntax)}
		}
		return []*reading{newReading("diff", d.Old, d.New, 9, t.syntax)}
	}
	old, fresh := t.withoutLastReturn(c)
	out := []*reading{newReading("", old, fresh, 9, t.syntax)}
	out = append(out, t.withoutNumbers(c)...)
	out = append(out, t.unescaped(c)...)
	return append(out, t.unwrapped(c)...)
}

// withoutLastReturn drops a carriage return at the very end, the half of a line ending that was cut, if the file has none.
func (t *Text) withoutLastReturn(c Change) (old, fresh string) {
	old, cut := strings.CutSuffix(c.Old, "\r")
	if !cut || bytes.IndexByte(t.data, '\r') >= 0 {
		return c.Old, c.New
	}
	return old, strings.TrimSuffix(c.New, "\r")
}

// codeLines counts the lines that are neither blank nor comments.
func (r *reading) codeLines() int {
	n := 0
	for i := range r.old.lines {
		if !r.old.weightless(i) {
			n++
		}
	}
	return n
}
