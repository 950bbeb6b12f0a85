package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

const (
	maxListed = 20   // places that an error names
	maxShown  = 1000 // places that a diff can show
)

// A match is the search for old in text, and what is put there.
type match struct {
	path            string
	text, old, with []byte

	at    []int // offsets in text, the first maxShown
	count int
}

var lf, crlf = []byte("\n"), []byte("\r\n")

// fitEndings gives old and with the line endings of text, when all of those are CRLF. In a text with LF, or with both,
// only the exact bytes match.
func (m *match) fitEndings() {
	if n := bytes.Count(m.text, crlf); n > 0 && n == bytes.Count(m.text, lf) {
		m.old, m.with = toCRLF(m.old), toCRLF(m.with)
	}
}

func toLF(b []byte) []byte   { return bytes.ReplaceAll(b, crlf, lf) }
func toCRLF(b []byte) []byte { return bytes.ReplaceAll(toLF(b), lf, crlf) }

// find looks for the one place of old, or with all for every place.
func (m *match) find(all bool) error {
	if bytes.Equal(m.old, m.with) {
		return noChange()
	}
	step, limit := 1, maxListed+1 // places that overlap are not unique either
	if all {
		step, limit = len(m.old), maxShown
	}
	m.at = places(m.text, m.old, step, limit)
	m.count = len(m.at)
	switch {
	case m.count == 0:
		return m.notFound()
	case m.count > 1 && !all:
		return m.ambiguous()
	case all:
		m.count = bytes.Count(m.text, m.old)
	}
	if size := len(m.text) + m.count*(len(m.with)-len(m.old)); size > maxFile {
		return tooLarge(m.path, fmt.Sprintf("would grow to %d bytes", size))
	}
	return nil
}

// places gives the first offsets of old in text. The search goes on step bytes after each.
func places(text, old []byte, step, limit int) (at []int) {
	for from := 0; len(at) < limit && from <= len(text); {
		i := bytes.Index(text[from:], old)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + step
	}
	return at
}

// apply gives the new text.
func (m *match) apply() []byte { return bytes.Replace(m.text, m.old, m.with, m.count) }

func (m *match) ambiguous() error {
	var lines []string
	for _, at := range m.at[:min(len(m.at), maxListed)] {
		lines = append(lines, strconv.Itoa(lineOf(m.text, at)))
	}
	n := strconv.Itoa(m.count)
	if m.count > maxListed {
		n, lines = fmt.Sprintf("more than %d", maxListed), append(lines, "...")
	}
	return &sdk.Error{Name: "AmbiguousMatch",
		Message:    fmt.Sprintf("old_string fits %s places in %q, at lines %s; nothing was changed", n, m.path, strings.Join(lines, ", ")),
		Suggestion: "Add lines before or after to old_string so that it fits one place only, or set replace_all=true for all of them."}
}

// lineOf is the number of the line that holds the byte at an offset.
func lineOf(text []byte, at int) int { return bytes.Count(text[:at], lf) + 1 }
