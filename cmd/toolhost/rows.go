package main

import (
	"io"
	"strings"
)

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

// inRows breaks the lines of a text after a blank or, in a long word, anywhere. Text that was made visible may have
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
