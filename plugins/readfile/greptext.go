package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/plugins/readfile/internal/walk"
	"github.com/toolhost/toolhost/sdk"
)

// A report is what a grep found, in the order of paths.
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
func (g *grepping) add(b batchReport) bool {
	g.searched += b.searched
	g.skipped.add(b.skipped)
	for _, f := range b.found {
		if f.matches > 0 && !g.addFile(f) {
			return false
		}
	}
	return true
}

func (g *grepping) addFile(f *fileMatches) bool {
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
			g.full = count(len(g.files), "file")
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
func (g *grepping) fits(f *fileMatches) bool {
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
	if f.more && g.full == "" {
		g.fullFile(matches)
	}
	for keep > 0 && !f.lines[keep-1].match && f.lines[keep-1].number > last+f.after {
		keep-- // it was to come before a match that did not fit
	}
	f.lines, f.matches = f.lines[:keep], matches
	return keep > 0
}

// fullFile notes that a file has more matches than were looked for.
func (g *grepping) fullFile(matches int) {
	if matches == g.in.PerFile {
		g.perFile++
	} else {
		g.full = countOf(g.in.Limit, "match", "matches")
	}
}

func (g *grepping) result() *sdk.Result {
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

// writeLines shows the lines of a file. Where lines around matches were asked for, -- stands between those that do not
// follow one another.
func (g *grepping) writeLines(text *strings.Builder, f *fileMatches, apart bool) {
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

func (g *grepping) truncated() bool {
	return g.full != "" || g.perFile > 0 || g.with > len(g.files) || g.left.Crowded > 0 || g.cutLines() > 0
}

func (g *grepping) cutLines() (n int) {
	for _, f := range g.files {
		for _, line := range f.lines {
			if line.cut {
				n++
			}
		}
	}
	return n
}

func (g *grepping) output() grepOutput {
	out := grepOutput{Total: g.matches, Searched: g.searched, Skipped: g.skipped, Hidden: g.left.Hidden, Ignored: g.left.Ignored, Truncated: g.truncated()}
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
