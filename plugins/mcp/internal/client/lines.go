package client

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"slices"
)

const (
	readSize = 64 << 10
	keptEnds = 4 << 10 // bytes of the beginning and the end of a line over the limit that are kept
)

// A lineReader reads messages, one a line.
type lineReader struct {
	file    *os.File
	limit   int
	buffer  []byte // what is read from the file at once
	pending []byte // of buffer, not returned yet
}

func newLineReader(f *os.File, limit int) *lineReader {
	return &lineReader{file: f, limit: limit, buffer: make([]byte, readSize)}
}

func (l *lineReader) close() { _ = l.file.Close() }

// next returns the next line that is not empty. Of a line over the limit it returns why the request that it answers
// fails, if it can tell which that is, and otherwise what the line begins with, which is no message.
func (l *lineReader) next() (Received, error) {
	for {
		line, err := l.line()
		switch {
		case err != nil:
			return Received{}, err
		case line.size > int64(l.limit):
			return line.tooLong(l.limit), nil
		case len(bytes.TrimSpace(line.text)) > 0:
			return Received{JSON: line.text}, nil
		}
	}
}

// A line is one line without its end.
type line struct {
	size int64
	text []byte // all of it, or the beginning of a line over the limit
	end  []byte // the end of a line over the limit
}

// line reads a line. A text after the last line end is none.
func (l *lineReader) line() (out line, err error) {
	for {
		if len(l.pending) == 0 && len(out.text) >= readSize && out.end == nil {
			if done, err := l.extend(&out); done || err != nil {
				return out, err
			}
			continue
		}
		if len(l.pending) == 0 {
			if err := l.fill(); err != nil {
				return out, err
			}
		}
		at := bytes.IndexByte(l.pending, '\n')
		if at >= 0 {
			out.add(l.pending[:at], l.limit)
			l.pending = l.pending[at+1:]
			return out, nil
		}
		out.add(l.pending, l.limit)
		l.pending = nil
	}
}

// fill reads into the buffer.
func (l *lineReader) fill() error {
	n, err := l.file.Read(l.buffer)
	if n == 0 && err == nil {
		err = io.ErrNoProgress
	}
	l.pending = l.buffer[:n]
	if n > 0 {
		return nil
	}
	return err
}

// extend reads more of a long line to where it stays, and reports whether that was the end of it.
func (l *lineReader) extend(out *line) (done bool, err error) {
	have := len(out.text)
	if cap(out.text)-have < readSize {
		out.text = slices.Grow(out.text, have) // twice as much
	}
	n, err := l.file.Read(out.text[have : have+readSize])
	if n == 0 {
		return false, cmp.Or(err, io.ErrNoProgress)
	}
	piece := out.text[have : have+n]
	if at := bytes.IndexByte(piece, '\n'); at >= 0 {
		l.pending = l.buffer[:copy(l.buffer, piece[at+1:])]
		piece, done = piece[:at], true
	}
	out.add(piece, l.limit)
	return done, nil
}

// add appends a piece, and gives up a line that becomes too long but for its ends.
func (l *line) add(piece []byte, limit int) {
	l.size += int64(len(piece))
	if l.size <= int64(limit) {
		l.text = append(l.text, piece...)
		return
	}
	if l.end == nil {
		if len(l.text) < keptEnds {
			l.text = append(l.text, piece[:min(len(piece), keptEnds)]...)
		}
		l.end = append(make([]byte, 0, 2*keptEnds), lastBytes(l.text)...)
		l.text = append(make([]byte, 0, keptEnds), l.text[:min(len(l.text), keptEnds)]...)
	}
	l.end = append(l.end, lastBytes(piece)...)
	l.end = append(l.end[:0], lastBytes(l.end)...)
}

func lastBytes(b []byte) []byte { return b[max(0, len(b)-keptEnds):] }

// tooLong fails the request that a line answers.
func (l *line) tooLong(limit int) Received {
	var e envelope
	_ = e.open(l.text)
	id := e.id
	if id == nil {
		id = lastID(l.end)
	}
	if id == nil || e.method != nil {
		return Received{JSON: l.text}
	}
	return Received{For: string(bytes.Trim(id, `"`)), Err: &SizeError{Size: l.size, Limit: int64(limit)}}
}
