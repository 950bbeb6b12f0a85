package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/plugins/edit/internal/match"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// A buffer is the text of a file in memory, while edits are made to it.
type buffer struct {
	place    *workspace.Place
	before   *snapshot // nil when the file is new
	form     form
	text     []byte
	lines    *match.Text   // the text as the matcher has it; made when needed
	inserted []match.Range // the parts of text that edits have put there
}

// buffer reads an existing file, which must have the etag ifMatch unless that is empty.
func (s *toolCall) buffer(path, ifMatch string) (*buffer, error) {
	p, err := s.find(path)
	if err != nil {
		return nil, err
	}
	before, err := s.load(p)
	if err != nil {
		return nil, err
	}
	if err := before.matches(p.Path, ifMatch); err != nil {
		return nil, err
	}
	b := &buffer{place: p, before: before, form: formOf(before.data, s.settings.legacy)}
	b.text, err = b.form.decode(p.Path, before.data)
	return b, err
}

// apply makes a change to the text.
func (b *buffer) apply(c match.Change) (*match.Plan, error) {
	if err := checkStrings(c); err != nil {
		return nil, err
	}
	if err := b.form.fits(b.place.Path, c.New); err != nil {
		return nil, err
	}
	if oldMac(b.text) && !strings.Contains(strings.ReplaceAll(c.Old, "\r\n", ""), "\r") {
		c.Old, c.New = withCR(c.Old), withCR(c.New)
	}
	c.Inserted = b.inserted
	if b.lines == nil {
		b.lines = match.NewText(b.place.Path, b.text)
	}
	plan, err := b.lines.Plan(c)
	if err != nil {
		if e := b.form.finds(b.place.Path, c.Old); e != nil {
			return nil, e
		}
		return nil, refused(b.place.Path, err)
	}
	if size := len(b.text) + plan.Growth(); size > maxFile {
		return nil, tooLarge(b.place.Path, fmt.Sprintf("would grow to %d bytes", size))
	}
	b.text = plan.Apply(b.text)
	b.lines = b.lines.After(plan, b.text)
	b.inserted = insertedAfter(b.inserted, plan.Edits)
	return plan, nil
}

// oldMac reports a text whose lines end with CR alone. Tools that read show that as LF.
func oldMac(text []byte) bool { return bytes.Contains(text, cr) && !bytes.Contains(text, lf) }

// withCR makes every line ending CR.
func withCR(text string) string { return strings.NewReplacer("\r\n", "\r", "\n", "\r").Replace(text) }

func checkStrings(c match.Change) error {
	switch {
	case c.Old == "":
		return &sdk.Error{Name: "EmptyOldString", Message: "old_string is empty, which fits everywhere; nothing was changed",
			Suggestion: "To insert text, give a line as old_string, and the line with the text as new_string. To write a " +
				"whole file use write."}
	case strings.ContainsRune(c.New, 0):
		return &sdk.Error{Name: "BinaryFile",
			Message:    "new_string has a NUL character, which no text file holds; nothing was changed",
			Suggestion: "Leave it out, or write it as an escape of the language that the file is in."}
	}
	return nil
}

// change is the change to the file that the edits so far make.
func (b *buffer) change() (*change, error) {
	after, err := b.form.encode(b.place.Path, b.text)
	if err != nil {
		return nil, err
	}
	if len(after) > maxFile {
		return nil, tooLarge(b.place.Path, fmt.Sprintf("would grow to %d bytes", len(after)))
	}
	return &change{place: b.place, before: b.before, after: after, form: b.form}, nil
}

// insertedAfter maps the inserted parts to their offsets after more edits, and adds what those insert.
func insertedAfter(inserted []match.Range, edits []match.Edit) []match.Range {
	m := offsetMap{edits: edits}
	var out []match.Range
	for _, r := range inserted {
		start := m.start(r.Start)
		if moved := (match.Range{Start: start, End: m.end(r.End)}); moved.Start < moved.End {
			out = append(out, moved)
		}
	}
	shift := 0
	for _, e := range edits {
		start := e.Start + shift
		if len(e.With) > 0 {
			out = append(out, match.Range{Start: start, End: start + len(e.With)})
		}
		shift += len(e.With) - (e.End - e.Start)
	}
	return merged(out)
}

// merged sorts ranges and joins those that touch.
func merged(ranges []match.Range) (out []match.Range) {
	slices.SortFunc(ranges, func(a, b match.Range) int { return a.Start - b.Start })
	for _, r := range ranges {
		if n := len(out); n > 0 && r.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, r.End)
			continue
		}
		out = append(out, r)
	}
	return out
}

// sideEffects are notes on what a change does besides, such as splitting off a hard link.
func (c *change) sideEffects() (notes []string) {
	if c.form.guessed {
		notes = append(notes, fmt.Sprintf("%s is not UTF-8: it was edited as %s, by a guess.", pathText(c.place.Path),
			c.form.name))
	}
	if n := c.place.Links(); n > 1 && c.before != nil && !bytes.Equal(c.before.data, c.after) {
		notes = append(notes, fmt.Sprintf("%s had %d names (hard links); this one is a file of its own now, the "+
			"others keep the old content.", pathText(c.place.Path), n))
	}
	return notes
}

const maxRanges = 100 // ranges in a result

// A lineRange is a run of lines, from 1, both ends included.
type lineRange struct {
	Start int `json:"start_line"`
	End   int `json:"end_line"`
}

// inWords describes ranges: "line 5", "lines 5-9", or where each of several starts.
func inWords(ranges []lineRange) string {
	if len(ranges) == 1 && ranges[0].Start == ranges[0].End {
		return fmt.Sprintf("line %d", ranges[0].Start)
	}
	if len(ranges) == 1 {
		return fmt.Sprintf("lines %d-%d", ranges[0].Start, ranges[0].End)
	}
	var starts []string
	for _, r := range ranges[:min(len(ranges), 10)] {
		starts = append(starts, strconv.Itoa(r.Start))
	}
	if len(ranges) > len(starts) {
		starts = append(starts, "...")
	}
	return "lines " + strings.Join(starts, ", ")
}

// rangesAfter returns the lines of a plan's places in the text after it. A place where everything was deleted is the
// line that is there now.
func rangesAfter(p *match.Plan, after []byte) (out []lineRange) {
	m := offsetMap{edits: p.Edits}
	lines := lineCounter{text: after}
	at := func(offset int) int { return lines.at(max(lines.done, min(offset, len(after)-1))) }
	for _, place := range p.Places[:min(len(p.Places), maxRanges)] {
		start := m.start(place.Start)
		first := at(start)
		out = append(out, lineRange{first, at(max(start, m.end(place.End)-1))})
	}
	return out
}

// An offsetMap maps offsets, in rising order, to those after some edits.
type offsetMap struct {
	edits []match.Edit
	shift int
}

// start maps the offset at which something starts; what edits insert there, or around it, belongs to it.
func (m *offsetMap) start(at int) int {
	m.pass(at, false)
	if len(m.edits) > 0 {
		at = min(at, m.edits[0].Start)
	}
	return at + m.shift
}

// end maps the offset at which something ends, likewise.
func (m *offsetMap) end(at int) int {
	m.pass(at, true)
	if len(m.edits) > 0 && m.edits[0].Start < at {
		at = m.edits[0].Start + len(m.edits[0].With)
	}
	return at + m.shift
}

func (m *offsetMap) pass(at int, inserts bool) {
	for len(m.edits) > 0 {
		e := m.edits[0]
		if e.End > at || e.End == at && !inserts && e.Start == at {
			return
		}
		m.shift += len(e.With) - (e.End - e.Start)
		m.edits = m.edits[1:]
	}
}
