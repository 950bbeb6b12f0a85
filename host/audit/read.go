package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
)

// A view is a log at one moment: its head and its size belong together. Later records are not part of it.
type view struct {
	file    *os.File
	size    int64
	head    Head
	headErr error // nil if there is a head
}

// openView takes a view of the log at path. The caller closes its file.
func openView(path string) (*view, error) {
	f, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return nil, missingLogError(path, err)
	}
	s := &view{file: f}
	if err := s.take(headPath(path)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// A removedLogError is the error of a log that is missing while its head is there.
type removedLogError struct {
	path string
	head Head
}

func (e *removedLogError) Error() string {
	return fmt.Sprintf("%s is gone, and its head knows %s: it was removed, or moved without its head; put it back, "+
		"or move the head away as well", e.path, e.head.records())
}

// Exists returns nil if there is a log at path. The error is fs.ErrNotExist where there never was one, and says so
// where one was removed.
func Exists(path string) error {
	_, err := os.Stat(path)
	return missingLogError(path, err)
}

// missingLogError distinguishes a log that was removed from one that never was: the head of the first knows records.
func missingLogError(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, headErr := openFile(headPath(path), os.O_RDONLY)
	if headErr != nil {
		return err
	}
	defer f.Close()
	if head, headErr := readHead(f); headErr == nil && head.Seq > 0 {
		return &removedLogError{path: path, head: head}
	}
	return err
}

func (s *view) take(headPath string) error {
	if err := lockForReading(s.file); err != nil {
		return err
	}
	defer unlock(s.file)
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	s.size = info.Size()
	f, err := openFile(headPath, os.O_RDONLY)
	if err != nil {
		s.headErr = err
		return nil
	}
	defer f.Close()
	s.head, s.headErr = readHead(f)
	return nil
}

// Read returns the records of the log at path, oldest first, as of its start. Lines that are no records are left out;
// Verify reports them. An error ends the iteration.
func Read(path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s, err := openView(path)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer s.file.Close()
		for l, err := range Lines(io.NewSectionReader(s.file, 0, s.size)) {
			r, ok := Parse(l.Text)
			if (ok || err != nil) && !yield(r, err) {
				return
			}
		}
	}
}

// A Line is one line of a log, whether or not it is a record.
type Line struct {
	// Number counts from 1. Offset is where the line begins, in bytes, and Size its length with its end.
	Number       int
	Offset, Size int64
	// Text is the line without its end, nil if it is longer than a record can be. It is good until the next line is read.
	Text []byte
	// Ended is false for a last line that has no line feed: a crash left it, or it is being written.
	Ended bool
}

// Lines reads a log line by line, with one line in memory. Numbers and offsets count from where in begins. An error
// ends the iteration. Parse says which lines are records.
func Lines(in io.Reader) iter.Seq2[Line, error] {
	buffer := bufio.NewReaderSize(in, maxLine)
	return func(yield func(Line, error) bool) {
		offset := int64(0)
		for n := 1; ; n++ {
			l, err := nextLine(buffer)
			if errors.Is(err, io.EOF) {
				return
			}
			l.Number, l.Offset = n, offset
			offset += l.Size
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

// nextLine returns io.EOF only when there is no further line.
func nextLine(in *bufio.Reader) (Line, error) {
	text, err := in.ReadSlice('\n')
	size := int64(len(text))
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) {
			text, err = in.ReadSlice('\n')
			size += int64(len(text))
		}
		text = nil
	} else if len(text) == 0 {
		return Line{}, err
	}
	l := Line{Size: size, Text: bytes.TrimSuffix(text, []byte("\n")), Ended: err == nil}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return l, err
}

const (
	firstRead = 8 << 10  // how much of a file's end is read at first
	maxTail   = 64 << 20 // and at most
)

// lastLines returns the last n lines that have an end, and the text after them. It reads at most limit bytes.
func lastLines(f io.ReaderAt, size int64, n int, limit int64) ([]byte, error) {
	for length := int64(firstRead); ; length *= 2 {
		length = min(length, size, limit)
		text := make([]byte, length)
		if got, err := f.ReadAt(text, size-length); got < len(text) {
			return nil, fmt.Errorf("it cannot be read: %w", err)
		}
		if from, ok := beginning(text, n); ok {
			return text[from:], nil
		}
		switch length {
		case size:
			return text, nil
		case limit:
			return nil, fmt.Errorf("its last %d lines are longer than %d bytes", n, limit)
		}
	}
}

// beginning is where the last n lines begin that have an end: after the line end before them.
func beginning(text []byte, n int) (from int, ok bool) {
	at := len(text)
	for range n + 1 {
		if at = bytes.LastIndexByte(text[:at], '\n'); at < 0 {
			return 0, false
		}
	}
	return at + 1, true
}

// Tail returns the last n records of the log at path, oldest first. Lines that are no records are left out, so there
// may be fewer: Verify reports those. It fails if n lines take more than 64 MiB.
func Tail(path string, n int) ([]Record, error) {
	if n < 1 {
		return nil, errors.New("the number of records must be above zero")
	}
	s, err := openView(path)
	if err != nil {
		return nil, err
	}
	defer s.file.Close()
	text, err := lastLines(s.file, s.size, n, maxTail)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []Record
	for line := range bytes.Lines(text) {
		if r, ok := Parse(bytes.TrimSuffix(line, []byte("\n"))); ok {
			out = append(out, r)
		}
	}
	return out[max(0, len(out)-n):], nil
}

// Parse reads a line of a log, without its end. It reports whether the line is a record; its hash may be wrong, which
// Verify reports.
func Parse(line []byte) (r Record, ok bool) {
	ok = hasSeal(line) && json.Unmarshal(line, &r) == nil
	return r, ok
}
