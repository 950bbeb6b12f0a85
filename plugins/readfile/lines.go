package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/textutil"
)

// A window is the part of a file to read, and how much of it.
type window struct {
	first, last int  // lines, from 1
	tail        int  // instead: how many of the last lines
	byDefault   bool // last is a limit of ours, not asked for
	bytes       int  // at most, all together
	chars       int  // at most, of a line
	numbers     bool // put each line's number before it
}

// An excerpt is the part of a text that a window shows, and what is known of the rest.
type excerpt struct {
	window
	countRest bool // continue to the end after the window, to know how many lines there are

	text     []byte
	shown    int   // how many lines
	long     []int // lines cut short at window.chars
	longSize int   // of the first of them, in bytes
	invalid  []int // lines with bytes that are not UTF-8
	replaced []int // lines with U+FFFD
	full     bool  // a line did not fit into window.bytes
	cut      int   // size in bytes of that line when it is the first, and shown in part
	cutAt    int   // how many bytes of it are shown
	far      bool  // lines that were asked for begin before what was examined
	more     bool  // there are lines after those shown
	total    int   // lines of the text, -1 when not counted
}

// read takes the lines of the window, one at a time and no more of each than is shown.
func (e *excerpt) read(in *bufio.Reader) error {
	for n := 1; ; n++ {
		if n > e.last && !e.countRest {
			return e.continues(in, n-1)
		}
		keep := 0
		if n >= e.first && n <= e.last && !e.full {
			keep = e.keep()
		}
		line, size, err := nextLine(in, keep)
		switch {
		case errors.Is(err, io.EOF):
			e.total = n - 1
			return nil
		case err != nil:
			return err
		case keep > 0:
			e.take(e.piece(n, line, size))
		}
		if e.more = n > e.lastShown(); e.more {
			return e.count(in, n)
		}
	}
}

// continues finds out whether there is a line after n of them, without reading it: it may have any length.
func (e *excerpt) continues(in *bufio.Reader, n int) error {
	_, err := in.Peek(1)
	e.more, e.total = err == nil, -1
	if errors.Is(err, io.EOF) {
		e.total = n
	}
	return ignoreEOF(err)
}

// count finds out how many lines there are when n of them have been read, if that is wanted.
func (e *excerpt) count(in *bufio.Reader, n int) error {
	if !e.countRest {
		e.total = -1
		return nil
	}
	open := 0 // lines without their end
	err := eachBlock(in, func(block []byte) {
		n += bytes.Count(block, []byte("\n"))
		open = 0
		if block[len(block)-1] != '\n' {
			open = 1
		}
	})
	e.total = n + open
	return err
}

// eachBlock returns all that is left of in, in pieces that are good until do returns.
func eachBlock(in *bufio.Reader, do func(block []byte)) error {
	for {
		if _, err := in.Peek(1); err != nil {
			return ignoreEOF(err)
		}
		block, _ := in.Peek(in.Buffered())
		do(block)
		_, _ = in.Discard(len(block))
	}
}

// nextLine returns the first keep bytes of the next line, without its newline, and the size of the whole with it. It
// gives io.EOF only when there is no line.
func nextLine(in *bufio.Reader, keep int) (line []byte, size int, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		size += len(piece)
		line = append(line, piece[:min(len(piece), keep-len(line))]...)
		switch {
		case err == nil:
			return line, size, nil
		case errors.Is(err, io.EOF) && size > 0:
			return line, size, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, 0, err
		}
	}
}

// A piece is a line as it is shown, if it fits.
type piece struct {
	n       int
	text    []byte // valid UTF-8, with the line's number if it is wanted
	number  int    // how many bytes of text are the number
	size    int    // of the whole line in the file
	whole   bool   // text is all of the line that window.chars lets through
	long    bool   // cut at window.chars
	invalid bool
}

// keep is how many bytes of a line are needed to show it; the one more shows that it does not fit.
func (w *window) keep() int { return min(utf8.UTFMax*w.chars, w.bytes) + 1 }

// piece makes line n, or the first of its bytes, into what is shown. Size is that of the whole line.
func (w *window) piece(n int, line []byte, size int) piece {
	p := piece{n: n, size: size, whole: len(line) == size}
	if short := clip(line, w.chars); len(short) < len(line) {
		line, p.whole, p.long = slices.Concat(short, []byte("\n")), true, true
	}
	if !p.whole {
		line = textutil.TrimPartialEnd(line)
	}
	p.invalid = !utf8.Valid(line)
	if w.numbers {
		p.text = fmt.Appendf(nil, "%6d\t", n)
		p.number = len(p.text)
	}
	p.text = append(p.text, bytes.ToValidUTF8(line, []byte("\uFFFD"))...)
	return p
}

// take puts a line into the excerpt, or finds that it does not fit. A first line that does not is cut.
func (e *excerpt) take(p piece) {
	fits := p.whole && len(e.text)+len(p.text) <= e.bytes
	if e.full = !fits; e.full && e.shown > 0 {
		return
	}
	if !fits {
		p.text = textutil.TrimPartialEnd(p.text[:min(len(p.text), e.bytes)])
		e.cut, e.cutAt = p.size, max(len(p.text)-p.number, 0)
	}
	if p.long {
		e.longSize = cmp.Or(e.longSize, p.size)
		e.long = append(e.long, p.n)
	}
	if p.invalid {
		e.invalid = append(e.invalid, p.n)
	} else if bytes.ContainsRune(p.text, utf8.RuneError) {
		e.replaced = append(e.replaced, p.n)
	}
	e.text = append(e.text, p.text...)
	e.shown++
}

// lastShown is the number of the last line in the excerpt, first-1 when it has none.
func (e *excerpt) lastShown() int { return e.first + e.shown - 1 }

// truncated reports whether a limit kept back something that was asked for.
func (e *excerpt) truncated() bool {
	return e.full || len(e.long) > 0 || e.byDefault && e.more
}

// tailBytes is how much of the end of a text is examined for its last lines, at least; twice as much is held.
const tailBytes = 4 << 20

// A tailReader is the last part of a text.
type tailReader struct {
	text   []byte
	before int  // lines that end before text; counted only when the text was read from its start
	midway bool // the first line in text may have begun before it
	late   bool // the text was not read from its start
}

// read goes to the end of a text and holds what is last.
func (d *tailReader) read(in *bufio.Reader) error {
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
func (d *tailReader) excerpt(w window) *excerpt {
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
		e.far = e.full && !d.hasMore(lines)
		e.first, e.total = -1, -1
	}
	return e
}

// hasMore reports whether text has a whole line before these, which are its last.
func (d *tailReader) hasMore(lines []piece) bool {
	rest := len(d.text)
	for _, p := range lines {
		rest -= p.size
	}
	return rest > 0 && bytes.IndexByte(d.text[:rest-1], '\n') >= 0
}

// lines is how many there are, up to the end.
func (d *tailReader) lines() int {
	n := d.before + bytes.Count(d.text, []byte("\n"))
	if len(d.text) > 0 && d.text[len(d.text)-1] != '\n' {
		n++
	}
	return n
}

// last returns the last lines that w has room for, and one at least. A line that is only there in part is none.
func (d *tailReader) last(w window, n int) (lines []piece) {
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

// endings returns the text to show and notes about its line endings. CRLF becomes LF when every line has it, and CR in
// a text that has no LF: models copy what they read, and LF is what they write. Mixed endings stay, or what is shown
// could not be distinguished.
func (e *excerpt) endings() (text []byte, notes []string) {
	crlf := bytes.Count(e.text, []byte("\r\n"))
	lf := bytes.Count(e.text, []byte("\n")) - len(e.long) // whose newlines are ours
	alone := bytes.Count(e.text, []byte("\r")) - crlf
	if e.cut > 0 && bytes.HasSuffix(e.text, []byte("\r")) { // the LF may be what was cut off
		alone--
	}
	if alone > 0 && lf == 0 && e.total == 1 {
		return bytes.ReplaceAll(e.text, []byte("\r"), []byte("\n")),
			[]string{"line endings are CR alone, shown as LF; by number all of them are one line"}
	}
	text = e.text
	switch {
	case crlf == 0:
	case crlf >= lf:
		text = bytes.ReplaceAll(e.text, []byte("\r\n"), []byte("\n"))
		notes = append(notes, "line endings are CRLF, shown as LF")
	default:
		notes = append(notes, fmt.Sprintf("mixed line endings, shown as they are: %d of these %s with CRLF", crlf,
			textutil.Count(lf, "line")+" end"))
	}
	if alone > 0 {
		notes = append(notes, textutil.Count(alone, "CR character")+" without LF, no line ending, shown unchanged")
	}
	return text, notes
}

// notes are for the model: what the text is not, and how to get the rest.
func (e *excerpt) notes(d *decoded) []string {
	all := []string{e.rangeNote(), d.note}
	if len(e.long) > 0 {
		all = append(all, e.longNote())
	}
	if len(e.invalid) > 0 {
		all = append(all, "not UTF-8, invalid bytes shown as U+FFFD: "+numbered(e.invalid))
	}
	if len(e.replaced) > 0 && d.legacy() {
		all = append(all, "bytes that are not "+d.name+" are shown as U+FFFD: "+numbered(e.replaced))
	}
	if e.numbers && e.first < 0 {
		all = append(all, "line numbers are not known in a file this large, so none are shown")
	}
	return all
}

// bracketed writes notes one a line, those that are empty left out.
func bracketed(notes ...string) string {
	var out strings.Builder
	for _, note := range notes {
		if note != "" {
			fmt.Fprintf(&out, "[%s]\n", note)
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func (e *excerpt) longNote() string {
	note := fmt.Sprintf("cut at %d characters: %s (%d bytes)", e.chars, numbered(e.long), e.longSize)
	if e.first < 0 {
		return strings.Replace(note, numbered(e.long), textutil.Count(len(e.long), "line"), 1)
	}
	whole, enough := "the whole of it", ""
	if e.longSize > maxBytes {
		whole = fmt.Sprintf("its first %d bytes", maxBytes)
	}
	if e.longSize > defaultBytes {
		enough = fmt.Sprintf(", max_bytes=%d", maxBytes)
	}
	return note + fmt.Sprintf("; for %s read it alone: start_line=%d, end_line=%d%s", whole, e.long[0], e.long[0], enough)
}

// rangeNote says which lines are shown, unless it is all of them in full.
func (e *excerpt) rangeNote() string {
	note := fmt.Sprintf("lines %d-%d of %s", e.first, e.lastShown(), e.ofTotal())
	switch {
	case e.total == 0:
		return "the file is empty"
	case e.tail > 0:
		return e.tailNote()
	case e.cut > 0:
		note = fmt.Sprintf("line %d of %s has %d bytes, the first %d are shown; %s", e.first, e.ofTotal(), e.cut, e.cutAt,
			e.suggestNarrower())
	case e.full:
		note += fmt.Sprintf(", cut at %d bytes", e.bytes)
	case e.first == 1 && !e.more:
		return ""
	}
	if e.more {
		note += fmt.Sprintf("; continue with start_line=%d", e.lastShown()+1)
	}
	return note
}

// tailNote is rangeNote for the last lines.
func (e *excerpt) tailNote() string {
	note := fmt.Sprintf("lines %d-%d of %s", e.first, e.lastShown(), e.ofTotal())
	switch {
	case e.shown == 0:
		return fmt.Sprintf("the last line is longer than %d bytes; no part of it is shown", tailBytes)
	case e.first == 1 && !e.full:
		return ""
	case e.cut > 0:
		return fmt.Sprintf("the last line has %d bytes, the first %d are shown; %s", e.cut, e.cutAt, e.suggestNarrower())
	case e.first < 0:
		note = fmt.Sprintf("the last %s of %s", textutil.Count(e.shown, "line"), e.ofTotal())
	}
	switch {
	case e.far:
		note += fmt.Sprintf("; %d were asked for, and only the last %d MiB are looked at", e.tail, tailBytes>>20)
	case e.full:
		note += fmt.Sprintf(", cut at %d bytes; %d lines were asked for", e.bytes, e.tail)
	}
	if e.first > 1 {
		note += fmt.Sprintf("; for those before use start_line and end_line=%d", e.first-1)
	}
	return note
}

func (e *excerpt) ofTotal() string {
	if e.total < 0 {
		return "a file too large to count"
	}
	return strconv.Itoa(e.total)
}

// suggestNarrower says how to see more of a line that is longer than max_bytes.
func (e *excerpt) suggestNarrower() string {
	if e.bytes < maxBytes {
		return fmt.Sprintf("raise max_bytes (up to %d)", maxBytes)
	}
	return "the rest cannot be read with this tool"
}

// numbered names some lines, and says how many more there are.
func numbered(lines []int) string {
	const most = 5
	var out []string
	for _, n := range lines[:min(len(lines), most)] {
		out = append(out, strconv.Itoa(n))
	}
	text := "line " + strings.Join(out, ", ")
	if len(lines) > 1 {
		text = "lines " + strings.Join(out, ", ")
	}
	if len(lines) > most {
		text += fmt.Sprintf(" and %d more", len(lines)-most)
	}
	return text
}

// clip returns the first limit characters of line, its line ending not counted.
func clip(line []byte, limit int) []byte {
	body, crlf := bytes.CutSuffix(line, []byte("\r\n"))
	if !crlf {
		body = bytes.TrimSuffix(line, []byte("\n"))
	}
	if len(body) <= limit {
		return line
	}
	at := 0
	for range limit {
		_, size := utf8.DecodeRune(body[at:])
		if at += size; at >= len(body) {
			return line
		}
	}
	return line[:at:at]
}
