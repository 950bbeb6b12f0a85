package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"unicode"

	"golang.org/x/term"
	textwidth "golang.org/x/text/width"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/internal/textutil"
)

// A terminal is where a command reads and writes: results go to out, everything else to err.
type terminal struct {
	in      io.Reader
	out     *stdoutWriter
	err     io.Writer
	noColor bool
	late    *error           // of a help text, for which cobra has no errors
	began   bool             // the command line is right, and the command runs
	hidden  supervise.Hiding // the values by reference of the loaded configurations
}

func newTerminal(in io.Reader, out, err io.Writer) *terminal {
	s := newScreen(err)
	return &terminal{in: in, out: &stdoutWriter{w: out, screen: s}, err: s, late: new(error)}
}

// hide returns a text without the values by reference.
func (t *terminal) hide(text string) string { return t.hidden.Hide(text) }

type color string

const (
	bold  color = "\x1b[1m"
	dim   color = "\x1b[2m"
	red   color = "\x1b[31m"
	green color = "\x1b[32m"
	cyan  color = "\x1b[36m"
)

// paint colours text for standard error, if that is a terminal and NO_COLOR is not set.
func (t *terminal) paint(c color, text string) string {
	if t.noColor || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !isTerminal(t.err) {
		return text
	}
	return string(c) + text + "\x1b[0m"
}

func isTerminal(stream any) bool {
	f := fileOf(stream)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// fileOf is the file behind a stream, or nil.
func fileOf(stream any) *os.File {
	switch s := stream.(type) {
	case *os.File:
		return s
	case *screen:
		return fileOf(s.w)
	case *stdoutWriter:
		return fileOf(s.w)
	}
	return nil
}

// terminalSize is that of w; zeros if it is none, or does not know.
func terminalSize(w io.Writer) (columns, rows int) {
	f := fileOf(w)
	if f == nil {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// width is the number of columns of w, or a default if it is no terminal.
func width(w io.Writer) int {
	if columns, _ := terminalSize(w); columns > 40 {
		return columns
	}
	return 120
}

// A stdoutWriter is standard output. Writing to it never fails, so that every command ends in order; failed returns the
// first failed write at the end. A terminal gets no characters that could move its cursor.
type stdoutWriter struct {
	w      io.Writer
	screen *screen // may be nil

	mu  sync.Mutex
	err error
}

func (a *stdoutWriter) Write(p []byte) (int, error) {
	if a.screen == nil {
		return a.write(p)
	}
	a.screen.output(a, p)
	return len(p), nil
}

func (a *stdoutWriter) write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return len(p), nil
	}
	text := p
	if isTerminal(a.w) {
		text = []byte(clean(string(p)))
	}
	_, a.err = a.w.Write(text)
	return len(p), nil
}

// failed says why the output did not arrive. A reader that has read enough, such as head, is no reason.
func (a *stdoutWriter) failed() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil || errors.Is(a.err, syscall.EPIPE) {
		return nil
	}
	err := a.err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // without the name of standard output
	}
	return &exitError{exitLost, fmt.Sprintf("the answer could not be written: %v", err)}
}

// programErr is what a program that is run gets as its standard error: the file itself, if it is one.
func (t *terminal) programErr() io.Writer {
	if f := fileOf(t.err); f != nil {
		return f
	}
	return t.err
}

// clean makes text safe for a terminal: lines and tabs stay; characters that could move the cursor, change colours,
// change the direction of text, or be invisible are replaced.
func clean(text string) string {
	text, _ = textutil.Visible(text, unicode.ReplacementChar)
	return text
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

// cleanLine is clean text on one line.
func cleanLine(text string) string { return blanks.Replace(clean(text)) }

// A cleaner writes clean text. Each write must consist of whole characters.
type cleaner struct{ w io.Writer }

func (c cleaner) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.w, clean(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// fit makes text one line of at most n columns that cannot move the cursor.
func fit(text string, n int) string {
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

var blanks = strings.NewReplacer("\n", " ", "\t", " ")

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
		out.WriteString(fit(strings.TrimRight(line.String(), " "), room) + "\n")
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
