package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	textwidth "golang.org/x/text/width"

	"github.com/toolhost/toolhost/internal/textutil"
)

// A text that is not toolhost's own could move the cursor, change colours or the direction of text, or be invisible. It
// passes one of these functions before it reaches a terminal:
//
//   - escapeForTerminal where a person decides by the text: questions, and names of files and programs. Each special
//     character is shown as its number, so that nothing is lost. escapeLine is for a single line.
//   - replaceForTerminal everywhere else: messages, logs, results. Special characters become U+FFFD, but for those that
//     scripts and emoji need. replaceLine is for a single line; stdoutWriter and replacingWriter do it for streams.
//   - fitLine in tables and other lines of limited width. Special characters become blanks.
//   - escapeJSON in JSON, whose meaning stays the same.

// escapeForTerminal replaces every character that is not clearly visible, except line breaks and tabs, by its number.
func escapeForTerminal(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case r == '\n' || r == '\t' || strconv.IsPrint(r) && !textutil.Invisible(r):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, `\u{%x}`, r)
		}
		text = text[size:]
	}
	return out.String()
}

// escapeLine also shows line breaks and tabs, as \n and \t.
func escapeLine(text string) string { return lineEscapes.Replace(escapeForTerminal(text)) }

var lineEscapes = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// escapeJSON makes JSON safe for a terminal without changing its meaning.
func escapeJSON(text string) string {
	if strings.IndexFunc(text, unsafeInJSON) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if unsafeInJSON(r) {
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&out, `\u%04x`, unit)
			}
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func unsafeInJSON(r rune) bool { return r == '\t' || textutil.Invisible(r) }

// replaceForTerminal replaces special characters. Line breaks and tabs stay.
func replaceForTerminal(text string) string {
	text, _ = textutil.Visible(text, unicode.ReplacementChar)
	return text
}

// replaceLine also replaces line breaks and tabs, by blanks.
func replaceLine(text string) string { return blanks.Replace(replaceForTerminal(text)) }

var blanks = strings.NewReplacer("\n", " ", "\t", " ")

// A replacingWriter replaces special characters. Each write must consist of whole characters.
type replacingWriter struct{ w io.Writer }

func (r replacingWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(r.w, replaceForTerminal(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// indentRest has the lines of text after the first begin with a blank: those of a plugin's text then never read as
// toolhost's own.
func indentRest(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if i > 0 && line != "" && line[0] != ' ' && line[0] != '\t' {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// fitLine makes text one line of at most n columns.
func fitLine(text string, n int) string {
	text, _ = textutil.Visible(text, ' ')
	text = blanks.Replace(text)
	used, end := 0, 0 // end is where the text is cut, so that the mark for it still fits
	for i, r := range text {
		if used+columns(r) > n {
			return text[:end] + "…"[:min(max(n, 0), 1)*len("…")]
		}
		used += columns(r)
		if used < n {
			end = i + len(string(r))
		}
	}
	return text
}

// columns is the width of a character.
func columns(r rune) int {
	switch kind := textwidth.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case kind == textwidth.EastAsianWide, kind == textwidth.EastAsianFullwidth:
		return 2
	}
	return 1
}

func textColumns(text string) (n int) {
	for _, r := range text {
		n += columns(r)
	}
	return n
}

// writeTable writes rows of cells in columns. The last column is cut, so that no line is longer than room.
func writeTable(w io.Writer, rows [][]string, room int) {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			widths[i] = max(widths[i], textColumns(cell)+2)
		}
	}
	var out strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", max(0, widths[i]-textColumns(cell))))
		}
		out.WriteString(fitLine(strings.TrimRight(line.String(), " "), room) + "\n")
	}
	_, _ = io.WriteString(w, out.String()) // an answer remembers write errors
}

// A rowWriter breaks long lines itself. Where the terminal breaks one, what follows begins at the margin, and reads as
// a line of toolhost's own. Each write begins a line.
type rowWriter struct {
	w    io.Writer
	rows int // that were written
}

func (r *rowWriter) Write(p []byte) (int, error) {
	text := inRows(string(p), room(r.w))
	r.rows += strings.Count(text, "\n")
	_, err := io.WriteString(r.w, text)
	return len(p), err
}

// scrolled reports whether the first row may have left the terminal when one more is written.
func (r *rowWriter) scrolled() bool {
	_, rows := terminalSize(r.w)
	if rows <= 0 {
		rows = 24
	}
	return r.rows+1 >= rows
}

// room is how many columns of a terminal are written, 0 for all. The last column stays free: some terminals go on to
// the next row when it is written.
func room(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	columns, _ := terminalSize(w)
	if columns <= 0 {
		columns = 80
	}
	return columns - 1
}

const (
	goesOn  = "  … " // begins the rest of a line: no text of a plugin stands that far left
	minRoom = 2 * len(goesOn)
	// firstUnsure is the first of the symbols that some terminals show in two columns.
	firstUnsure = 0x1100
)

// inRows breaks the lines of a text after a blank or, in a long word, anywhere. Text that is escaped may have
// colours.
func inRows(text string, room int) string {
	if room <= 0 {
		return text
	}
	room = max(room, minRoom)
	var out []byte
	column, blank, atBlank, colour := 0, 0, 0, false // atBlank is the column after the last blank of the row
	for _, r := range text {
		width := 1
		switch {
		case r >= firstUnsure:
			width = 2
		case r == '\x1b' || colour:
			colour, width = r != 'm', 0
		case r == '\n':
			out, column, blank = append(out, '\n'), 0, 0
			continue
		case r == '\t':
			width = 8 - column%8
		}
		if column+width > room {
			if blank == 0 { // a word as long as the row
				blank, atBlank = len(out), column
			}
			out = append(out[:blank], "\n"+goesOn+string(out[blank:])...)
			column, blank = 4+column-atBlank, 0
			if r == '\t' {
				width = 8 - column%8
			}
		}
		out = append(out, string(r)...)
		if column += width; (r == ' ' || r == '\t') && column > room/2 {
			blank, atBlank = len(out), column
		}
	}
	return string(out)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
