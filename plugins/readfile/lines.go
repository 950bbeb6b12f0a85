package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/toolhost/toolhost/sdk"
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

// An excerpt is what a window shows of a text, and what is known of the rest.
type excerpt struct {
	window
	countRest bool // go on to the end after the window, to know how many lines there are

	text     []byte
	shown    int   // how many lines
	long     []int // lines cut short at window.chars
	longSize int   // of the first of them, in bytes
	invalid  []int // lines with bytes that are not UTF-8
	replaced []int // lines with U+FFFD
	full     bool  // a line did not fit into window.bytes
	cut      int   // size in bytes of that line when it is the first, and shown in part
	cutAt    int   // how many bytes of it are shown
	far      bool  // lines that were asked for begin before what was looked at
	more     bool  // there are lines after those shown
	total    int   // lines of the text, -1 when not counted
}

// read takes the lines of the window, one at a time and no more of each than is shown.
func (e *excerpt) read(in *bufio.Reader) error {
	for n := 1; ; n++ {
		if n > e.last && !e.countRest {
			return e.goesOn(in, n-1)
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

// goesOn finds out whether there is a line after n of them, without reading it: it may have any length.
func (e *excerpt) goesOn(in *bufio.Reader, n int) error {
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

// eachBlock gives all that is left of in, in pieces that are good until do returns.
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
		line = sdk.WholeEnd(line)
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
		p.text = sdk.WholeEnd(p.text[:min(len(p.text), e.bytes)])
		e.cut, e.cutAt = p.size, max(len(p.text)-p.number, 0)
	}
	if p.long {
		e.cutLong(p.n, p.size)
	}
	if p.invalid {
		e.invalid = append(e.invalid, p.n)
	} else if bytes.ContainsRune(p.text, utf8.RuneError) {
		e.replaced = append(e.replaced, p.n)
	}
	e.text = append(e.text, p.text...)
	e.shown++
}

func (e *excerpt) cutLong(n, size int) {
	if len(e.long) == 0 {
		e.longSize = size
	}
	e.long = append(e.long, n)
}

// lastShown is the number of the last line in the excerpt, first-1 when it has none.
func (e *excerpt) lastShown() int { return e.first + e.shown - 1 }

// truncated says whether a limit kept back something that was asked for.
func (e *excerpt) truncated() bool {
	return e.full || len(e.long) > 0 || e.byDefault && e.more
}
