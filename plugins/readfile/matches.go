package main

import (
	"bytes"
	"unicode/utf8"

	"github.com/toolhost/toolhost/plugins/readfile/internal/scan"
)

const maxLineShown = 500 // bytes of a line

// fileMatches are the lines of a file that match, with those around them.
type fileMatches struct {
	atMost
	path    string
	lines   []shownLine
	matches int  // how many lines match, as far as they were looked for
	more    bool // a limit ended the search, and there are more
	size    int  // of the lines, in bytes

	data   []byte // the piece that is searched
	at     int    // a place in it
	number int    // the number of the line that the place is in
	shown  int    // where in it the first line begins that could be shown yet
	left   int    // how many lines behind the last match are still to be shown
}

// A shownLine is a line as it is shown.
type shownLine struct {
	number int
	match  bool // else it is near one
	cut    bool
	text   string
}

// add takes the next line that matches. False says that no more are needed.
func (m *fileMatches) add(line scan.Line) bool {
	if !m.text {
		m.matches++
		return m.atMost.lines < 0 || m.matches < m.atMost.lines
	}
	if m.matches == m.atMost.lines || m.size > maxShown {
		m.more = true
		m.showUntil(line.Start)
		return false
	}
	m.showUntil(line.Start)
	for from := max(m.linesBefore(line.Start, m.before), m.shown); from < line.Start; {
		from = m.show(from)
	}
	m.matches++
	m.put(line.Start, line.End, line.MatchEnd, true)
	m.shown, m.left = line.Next, m.after
	return true
}

// finish shows what is left of the lines behind a match.
func (m *fileMatches) finish() { m.showUntil(len(m.data)) }

func (m *fileMatches) showUntil(end int) {
	for m.left > 0 && m.shown < end {
		m.left--
		m.shown = m.show(m.shown)
	}
}

// show puts a line that does not match, and gives where the next one begins.
func (m *fileMatches) show(from int) (next int) {
	end := len(m.data)
	next = end
	if i := bytes.IndexByte(m.data[from:], '\n'); i >= 0 {
		end, next = from+i, from+i+1
	}
	if end > from && m.data[end-1] == '\r' {
		end--
	}
	m.put(from, end, from, false)
	return next
}

func (m *fileMatches) put(from, end, around int, match bool) {
	m.advance(from)
	text, cut := cutLine(m.data[from:end], around-from)
	m.lines = append(m.lines, shownLine{number: m.number, match: match, cut: cut, text: text})
	m.size += len(text)
}

// advance counts lines up to a place.
func (m *fileMatches) advance(to int) {
	if to > m.at {
		m.number += bytes.Count(m.data[m.at:to], []byte("\n"))
		m.at = to
	}
}

// linesBefore is where the n lines before the one that begins at to begin.
func (m *fileMatches) linesBefore(to, n int) int {
	for ; n > 0 && to > 0; n-- {
		to = bytes.LastIndexByte(m.data[:to-1], '\n') + 1
	}
	return to
}

// leave drops what is before keep.
func (m *fileMatches) leave(keep int) {
	m.advance(keep)
	m.at, m.shown = m.at-keep, max(m.shown, keep)-keep
}

// cutLine makes a line valid UTF-8, and cuts a long one so that what is before around stays.
func cutLine(line []byte, around int) (text string, cut bool) {
	from, to := 0, len(line)
	if to > maxLineShown {
		from = min(max(around-maxLineShown/2, 0), to-maxLineShown)
		to = from + maxLineShown
		for from > 0 && from < to && !utf8.RuneStart(line[from]) {
			from++
		}
		for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
			to--
		}
	}
	text = string(bytes.ToValidUTF8(line[from:to], []byte("\uFFFD")))
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text, to-from < len(line)
}
