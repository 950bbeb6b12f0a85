package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"github.com/toolhost/toolhost/plugins/readfile/internal/scan"
	"github.com/toolhost/toolhost/sdk"
)

const (
	pieceSize = 4 << 20  // how much of a file is examined in one piece
	maxLine   = 64 << 20 // a longer line is not searched
	tailSize  = 2 << 20  // how much of one piece is kept to be shown before matches in the next
)

// longLine is held by the one search of all that may keep a line longer than two pieces in memory.
var longLine = make(chan struct{}, 1)

var (
	errBinary  = errors.New("it is not text")
	errTooLong = &sdk.Error{Name: "LineTooLong", Message: "a line of more than 64 MiB cannot be searched",
		Suggestion: "Use a program that knows this format, through a shell tool."}
)

// A searcher searches one file after another. One goroutine at a time may use it.
type searcher struct {
	ctx  context.Context
	scan *scan.Scanner
	most fileLimits

	buf   []byte // the piece of the file
	shown int    // what is before this in buf was searched before; it is there to be shown
	err   error  // of reading, io.EOF at the end
	long  bool   // it holds longLine
}

func newSearcher(ctx context.Context, pattern *scan.Pattern, most fileLimits) *searcher {
	return &searcher{ctx: ctx, scan: pattern.Scanner(ctx), most: most}
}

// search returns the lines of a file that match. The size is what the system says, 0 for files that it makes up; what
// is written after it meanwhile is not searched, or that might never end.
func (s *searcher) search(file io.Reader, size int64) (*fileMatches, error) {
	defer s.shrink()
	if size > 0 {
		file = io.LimitReader(file, size)
	}
	s.shown, s.err = 0, nil
	s.make(int(min(size+1, pieceSize)))
	s.fill(file, size)
	in, err := s.text(file)
	if err != nil {
		return nil, err
	}
	m := &fileMatches{fileLimits: s.most, number: 1, shown: s.shown}
	for {
		whole, err := s.lines(in)
		if err != nil {
			return nil, err
		}
		on, err := s.piece(m, s.buf[:whole])
		if err != nil || !on || s.err != nil {
			return m, err
		}
		s.turn(m, whole)
	}
}

// make empties the buffer, and gives it room.
func (s *searcher) make(room int) {
	if cap(s.buf) < room || cap(s.buf) > 2*pieceSize {
		s.buf = make([]byte, 0, max(room, 64<<10))
	}
	s.buf = s.buf[:0]
}

// fill reads until the buffer is full, or the file at its end, which is believed to be where its size says.
func (s *searcher) fill(in io.Reader, size int64) {
	for s.err == nil && len(s.buf) < cap(s.buf) {
		n, err := in.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if s.err = err; err == nil && int64(len(s.buf)) == size {
			s.err = io.EOF
		}
	}
}

// text looks at the start of the file, drops a byte order mark, and gives where the rest comes from: UTF-16 with a mark
// is decoded, and a legacy encoding where the pattern needs that.
func (s *searcher) text(file io.Reader) (io.Reader, error) {
	head := s.buf[:min(len(s.buf), sniffed)]
	switch {
	case bytes.HasPrefix(head, []byte("\xFF\xFE")), bytes.HasPrefix(head, []byte("\xFE\xFF")):
		if ignoreEOF(s.err) == nil {
			file = s.decode(file, unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM))
			head = s.buf[:min(len(s.buf), sniffed)]
		}
	case bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")):
		s.shown = 3
	case s.most.legacy && !utf8.Valid(s.buf) && ignoreEOF(s.err) == nil:
		d := decoded{head: head}
		if d.recognize(s.buf[:min(len(s.buf), looked)]); !d.binary && d.legacy() {
			file = s.decode(file, d.enc)
		}
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return nil, errBinary
	}
	return file, ignoreEOF(s.err)
}

// decode continues with the text of the file, of which the buffer has the start.
func (s *searcher) decode(file io.Reader, from encoding.Encoding) io.Reader {
	in := from.NewDecoder().Reader(io.MultiReader(bytes.NewReader(slices.Clone(s.buf)), file))
	s.err, s.buf = nil, s.buf[:0]
	s.fill(in, -1)
	return in
}

// lines reads until the buffer holds whole lines, and returns how far these go.
func (s *searcher) lines(in io.Reader) (int, error) {
	for s.err == nil {
		if i := bytes.LastIndexByte(s.buf[s.shown:], '\n'); i >= 0 {
			return s.shown + i + 1, nil
		}
		if err := s.ctx.Err(); err != nil {
			return 0, err
		}
		if len(s.buf) >= maxLine {
			return 0, errTooLong
		}
		if err := s.mayBeLong(); err != nil {
			return 0, err
		}
		s.buf = slices.Grow(s.buf, max(len(s.buf), 64<<10))
		s.fill(in, -1)
	}
	return len(s.buf), ignoreEOF(s.err)
}

// mayBeLong waits for its turn before the buffer grows beyond what each search may have.
func (s *searcher) mayBeLong() error {
	if s.long || len(s.buf) < 2*pieceSize {
		return nil
	}
	select {
	case longLine <- struct{}{}:
		s.long = true
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// shrink ends the turn of a long line.
func (s *searcher) shrink() {
	if s.long {
		s.buf, s.long = nil, false
		s.scan.Reset(nil)
		<-longLine
	}
}

// piece searches whole lines. False says that the file need not be searched further.
func (s *searcher) piece(m *fileMatches, data []byte) (on bool, err error) {
	m.data = data
	s.scan.Reset(data)
	for from := s.shown; ; {
		line, ok := s.scan.Next(from)
		if !ok {
			m.showUntil(len(m.data)) // the lines behind the last match
			return true, s.ctx.Err()
		}
		if !m.add(line) {
			return false, nil
		}
		from = line.Next
	}
}

// turn makes room for the next piece. What may be shown before its first match stays.
func (s *searcher) turn(m *fileMatches, whole int) {
	keep := whole
	if m.text {
		keep = m.linesBefore(whole, m.before)
		if most := whole - tailSize; keep < most {
			keep = most + bytes.IndexByte(m.data[most:], '\n') + 1
		}
		m.leave(keep)
	}
	s.buf = append(s.buf[:0], s.buf[keep:]...)
	s.shown = whole - keep
}
