package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"unicode/utf8"
)

// A window is the part of a file to read, and how much of it.
type window struct {
	first, last int  // lines, from 1
	byDefault   bool // last is a limit of ours, not asked for
	bytes       int  // at most, all together
	chars       int  // at most, of a line
}

// An excerpt is what a window shows of a text, and what is known of the rest.
type excerpt struct {
	window
	countRest bool // go on to the end after the window, to know how many lines there are

	text     []byte
	shown    int   // how many lines
	long     []int // lines cut short at window.chars
	longSize int   // of the first of them, in bytes
	invalid  []int // lines with bytes that are not UTF-8
	full     bool  // a line did not fit into window.bytes
	cut      int   // size in bytes of that line when it is the first, and shown in part
	more     bool  // there are lines after those shown
	total    int   // lines of the text, -1 when not counted
}

// read takes the lines of the window, one at a time and no more of each than is shown.
func (e *excerpt) read(in *bufio.Reader) error {
	for n := 1; ; n++ {
		keep := 0
		if n >= e.first && n <= e.last && !e.full {
			keep = min(utf8.UTFMax*e.chars, e.bytes) + 1 // the one more shows that it does not fit
		}
		line, size, err := nextLine(in, keep)
		switch {
		case errors.Is(err, io.EOF):
			e.total = n - 1
			return nil
		case err != nil:
			return err
		case keep > 0:
			e.take(n, line, size)
		}
		e.more = n > e.lastShown()
		if e.more && !e.countRest {
			e.total = -1
			return nil
		}
	}
}

// nextLine gives the first keep bytes of the next line, without its newline, and the size of the whole with it. It gives
// io.EOF only when there is no line.
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

// take puts a line into the excerpt, or finds that it does not fit. A first line that does not is cut.
func (e *excerpt) take(n int, line []byte, size int) {
	whole := len(line) == size
	if short := clip(line, e.chars); len(short) < len(line) {
		e.cutLong(n, size)
		line, whole = slices.Concat(short, []byte("\n")), true
	}
	if !whole {
		line = wholeRunes(line)
	}
	valid := bytes.ToValidUTF8(line, []byte("\uFFFD"))
	fits := whole && len(e.text)+len(valid) <= e.bytes
	e.full = !fits
	if !fits && e.shown > 0 {
		return
	} else if !fits {
		e.cut, valid = size, wholeRunes(valid[:min(len(valid), e.bytes)])
	}
	if !utf8.Valid(line) {
		e.invalid = append(e.invalid, n)
	}
	e.text = append(e.text, valid...)
	e.shown++
}

func (e *excerpt) cutLong(n, size int) {
	if len(e.long) == 0 {
		e.longSize = size
	}
	e.long = append(e.long, n)
}

// clip gives the first limit characters of line, its newline not counted.
func clip(line []byte, limit int) []byte {
	body := bytes.TrimSuffix(line, []byte("\n"))
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

// wholeRunes drops a last character that is not there in full.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if tail := b[len(b)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// lastShown is the number of the last line in the excerpt, first-1 when it has none.
func (e *excerpt) lastShown() int { return e.first + e.shown - 1 }

// truncated says whether a limit kept back something that was asked for.
func (e *excerpt) truncated() bool {
	return e.full || len(e.long) > 0 || e.byDefault && e.more
}
