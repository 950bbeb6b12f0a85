package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/plugins/readfile/internal/scan"
	"github.com/toolhost/toolhost/plugins/readfile/internal/walk"
	"github.com/toolhost/toolhost/sdk"
)

// A report has the matches of a grep, in the order of paths.
type report struct {
	files    []*fileMatches
	matches  int // lines that match: those shown, or with mode count all
	with     int // files with a match, with mode count all
	size     int // of what is shown, in bytes
	searched int
	skipped  skipped
	left     walk.LeftOut
	full     string // which limit ended the search
	perFile  int    // files with more matches than per_file
}

// A grepOutput is the structured result.
type grepOutput struct {
	Matches   []matchOutput `json:"matches,omitzero"` // with mode content
	Files     []countOutput `json:"files,omitzero"`   // with the other modes
	Total     int           `json:"total"`            // of lines that match: those given, or with mode count all
	Searched  int           `json:"searched_files"`
	Skipped   skipped       `json:"skipped_files"`
	Hidden    int           `json:"hidden_entries"`  // left out, whether they match or not
	Ignored   int           `json:"ignored_entries"` // likewise
	Truncated bool          `json:"truncated"`
}

// A matchOutput is a line that matches.
type matchOutput struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// A countOutput is a file with lines that match.
type countOutput struct {
	Path    string `json:"path"`
	Matches int    `json:"matches,omitzero"` // with mode count
}

// add takes what came of some files. False ends the search.
func (g *grepCall) add(b batchReport) bool {
	g.searched += b.searched
	g.skipped.add(b.skipped)
	for _, f := range b.found {
		if f.matches > 0 && !g.addFile(f) {
			return false
		}
	}
	return true
}

func (g *grepCall) addFile(f *fileMatches) bool {
	switch g.in.Mode {
	case "count":
		g.with++
		g.matches += f.matches
		if g.size += len(f.path); len(g.files) < g.in.Limit && g.size <= maxPathBytes {
			g.files = append(g.files, f)
		}
		return true
	case "files":
		if g.size += len(f.path); len(g.files) == g.in.Limit || g.size > maxPathBytes {
			g.full = textutil.Count(len(g.files), "file")
			return false
		}
	default:
		if !g.fits(f) {
			return false
		}
	}
	g.files = append(g.files, f)
	g.matches += f.matches
	return g.full == ""
}

// fits cuts the lines of a file to what the limits leave for it. False says that nothing is left.
func (g *grepCall) fits(f *fileMatches) bool {
	keep, matches, last := 0, 0, -maxContext
	for _, line := range f.lines {
		g.size += len(line.text) + len(f.path) + 8
		if g.size > maxShown {
			g.full = "64 KiB of lines"
		} else if line.match && matches == g.in.Limit-g.matches {
			g.full = countOf(g.in.Limit, "match", "matches")
		}
		if g.full != "" {
			break
		}
		if keep++; line.match {
			matches, last = matches+1, line.number
		}
	}
	switch { // of a file that has more matches than were searched for
	case !f.more || g.full != "":
	case matches == g.in.PerFile:
		g.perFile++
	default:
		g.full = countOf(g.in.Limit, "match", "matches")
	}
	for keep > 0 && !f.lines[keep-1].match && f.lines[keep-1].number > last+f.after {
		keep-- // it was to come before a match that did not fit
	}
	f.lines, f.matches = f.lines[:keep], matches
	return keep > 0
}

func (g *grepCall) result() *sdk.Result {
	var text strings.Builder
	for i, f := range g.files {
		switch g.in.Mode {
		case "count":
			fmt.Fprintf(&text, "%s:%d\n", printable(f.path), f.matches)
		case "files":
			text.WriteString(printable(f.path) + "\n")
		default:
			g.writeLines(&text, f, i > 0)
		}
	}
	text.WriteString(bracketed(slices.Concat(g.notes(), leftNotes(g.left))...))
	result := sdk.Text(strings.TrimSuffix(text.String(), "\n"))
	result.Truncated = g.truncated()
	result.Structured = encode(g.output())
	return result
}

// writeLines shows the lines of a file. Where lines around matches were asked for, -- is between those that do not
// follow one another.
func (g *grepCall) writeLines(text *strings.Builder, f *fileMatches, apart bool) {
	name, next := printable(f.path), 0
	for _, line := range f.lines {
		if f.before+f.after > 0 && (apart || next > 0) && line.number != next {
			text.WriteString("--\n")
		}
		sep := "-"
		if line.match {
			sep = ":"
		}
		text.WriteString(name + sep + strconv.Itoa(line.number) + sep + line.text + "\n")
		next = line.number + 1
	}
}

func (g *grepCall) truncated() bool {
	return g.full != "" || g.perFile > 0 || g.with > len(g.files) || g.left.Crowded > 0 || g.cutLines() > 0
}

func (g *grepCall) cutLines() (n int) {
	for _, f := range g.files {
		for _, line := range f.lines {
			if line.cut {
				n++
			}
		}
	}
	return n
}

func (g *grepCall) output() grepOutput {
	out := grepOutput{Total: g.matches, Searched: g.searched, Skipped: g.skipped, Hidden: g.left.Hidden,
		Ignored: g.left.Ignored, Truncated: g.truncated()}
	if g.in.Mode == "content" {
		out.Matches = []matchOutput{}
	} else {
		out.Files = []countOutput{}
	}
	for _, f := range g.files {
		switch g.in.Mode {
		case "files":
			out.Files = append(out.Files, countOutput{Path: f.path})
			continue
		case "count":
			out.Files = append(out.Files, countOutput{Path: f.path, Matches: f.matches})
			continue
		}
		for _, line := range f.lines {
			if line.match {
				out.Matches = append(out.Matches, matchOutput{Path: f.path, Line: line.number, Text: line.text})
			}
		}
	}
	return out
}

const maxLineShown = 500 // bytes of a line

// fileMatches are the lines of a file that match, with those around them.
type fileMatches struct {
	fileLimits
	path    string
	lines   []shownLine
	matches int  // how many lines match, as far as they were searched for
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
		return m.fileLimits.lines < 0 || m.matches < m.fileLimits.lines
	}
	if m.matches == m.fileLimits.lines || m.size > maxShown {
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
