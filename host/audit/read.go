package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
)

// A snapshot is a log as it was at one moment: its head and its size belong together. What is written later is not part
// of it.
type snapshot struct {
	file    *os.File
	size    int64
	head    Head
	headErr error // nil if there is a head
}

// look takes a snapshot of the log at path. The caller closes its file.
func look(path string) (*snapshot, error) {
	f, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return nil, lost(path, err)
	}
	s := &snapshot{file: f}
	if err := s.take(headPath(path)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// A lostError says that a log is gone whose head is still there.
type lostError struct {
	path string
	head Head
}

func (e *lostError) Error() string {
	return fmt.Sprintf("%s is gone, and its head knows %s: it was removed, or moved without its head; put it back, or move the head away as well",
		e.path, e.head.records())
}

// lost tells a log that was removed from one that never was: its head is there, and knows records.
func lost(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, headErr := openFile(headPath(path), os.O_RDONLY)
	if headErr != nil {
		return err
	}
	defer f.Close()
	if head, headErr := readHead(f); headErr == nil && head.Seq > 0 {
		return &lostError{path: path, head: head}
	}
	return err
}

func (s *snapshot) take(headPath string) error {
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

// Read gives the records of the log at path, oldest first, as it is when the reading begins. Lines that are no records
// are left out; Verify names them. An error ends the reading.
func Read(path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s, err := look(path)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer s.file.Close()
		for l, err := range lines(io.NewSectionReader(s.file, 0, s.size)) {
			r, ok := decode(l.text)
			if (ok || err != nil) && !yield(r, err) {
				return
			}
		}
	}
}

// A line is one line of a file.
type line struct {
	number int
	text   []byte // without the line's end, nil if it is too long; good until the next line is read
	ended  bool   // by a line feed
}

// lines reads line by line and needs room for one.
func lines(r io.Reader) iter.Seq2[line, error] {
	in := bufio.NewReaderSize(r, maxLine)
	return func(yield func(line, error) bool) {
		for n := 1; ; n++ {
			l, err := nextLine(in)
			l.number = n
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

// nextLine gives io.EOF only when there is no line any more.
func nextLine(in *bufio.Reader) (line, error) {
	text, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		text = nil
	} else if len(text) == 0 {
		return line{}, err
	}
	l := line{text: bytes.TrimSuffix(text, []byte("\n")), ended: err == nil}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return l, err
}
