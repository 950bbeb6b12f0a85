package main

import (
	"bufio"
	"bytes"
	"slices"
)

// tailBytes is how much of the end of a text is looked at for its last lines, at least; twice as much is held.
const tailBytes = 4 << 20

// An ending is the last part of a text.
type ending struct {
	text   []byte
	before int  // lines that end before text; counted only when the text was read from its start
	midway bool // the first line in text may have begun before it
	late   bool // the text was not read from its start
}

// read goes to the end of a text and holds what is last.
func (d *ending) read(in *bufio.Reader) error {
	return eachBlock(in, func(block []byte) {
		d.text = append(d.text, block...)
		if drop := len(d.text) - tailBytes; drop > tailBytes {
			d.before += bytes.Count(d.text[:drop], []byte("\n"))
			d.midway = d.text[drop-1] != '\n'
			d.text = d.text[:copy(d.text, d.text[drop:])]
		}
	})
}

// excerpt takes the last lines that fit. Of a text that was not read from its start their numbers are not known: first
// and total are -1.
func (d *ending) excerpt(w window) *excerpt {
	e := &excerpt{window: w, total: d.lines()}
	w.numbers = w.numbers && !d.late
	lines := d.last(w, e.total)
	e.first = e.total - len(lines) + 1
	for _, p := range lines {
		e.take(p)
	}
	e.full = e.full || len(lines) < min(w.tail, e.total)
	if d.late {
		e.full = e.cut > 0 || len(lines) < w.tail
		e.far = e.full && !d.holdsMore(lines)
		e.first, e.total = -1, -1
	}
	return e
}

// holdsMore tells whether text has a whole line before these, which are its last.
func (d *ending) holdsMore(lines []piece) bool {
	rest := len(d.text)
	for _, p := range lines {
		rest -= p.size
	}
	return rest > 0 && bytes.IndexByte(d.text[:rest-1], '\n') >= 0
}

// lines is how many there are, up to the end.
func (d *ending) lines() int {
	n := d.before + bytes.Count(d.text, []byte("\n"))
	if len(d.text) > 0 && d.text[len(d.text)-1] != '\n' {
		n++
	}
	return n
}

// last gives the last lines that w has room for, and one at least. A line that is only there in part is none.
func (d *ending) last(w window, n int) (lines []piece) {
	size := 0
	for rest := d.text; len(rest) > 0 && len(lines) < w.tail; n-- {
		at := 1 + bytes.LastIndexByte(rest[:len(rest)-1], '\n')
		if at == 0 && d.midway {
			break
		}
		line := rest[at:]
		p := w.piece(n, line[:min(len(line), w.keep())], len(line))
		if size += len(p.text); len(lines) > 0 && (size > w.bytes || !p.whole) {
			break
		}
		lines, rest = append(lines, p), rest[:at]
	}
	slices.Reverse(lines)
	return lines
}
