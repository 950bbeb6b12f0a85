package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	firstLook = 8 << 10  // how much of a file's end is read at first
	maxTail   = 64 << 20 // and at most
)

// lastLines gives the last n lines that have an end, and what follows them. It reads no more than limit bytes.
func lastLines(f io.ReaderAt, size int64, n int, limit int64) ([]byte, error) {
	for room := int64(firstLook); ; room *= 2 {
		room = min(room, size, limit)
		text := make([]byte, room)
		if got, err := f.ReadAt(text, size-room); got < len(text) {
			return nil, fmt.Errorf("it cannot be read: %w", err)
		}
		if from, ok := beginning(text, n); ok {
			return text[from:], nil
		}
		switch room {
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

// Tail gives the last n records of the log at path, oldest first. Lines that are no records are left out, so there may
// be fewer: Verify names those. It fails if n lines take more than 64 MiB.
func Tail(path string, n int) ([]Record, error) {
	if n < 1 {
		return nil, errors.New("the number of records must be above zero")
	}
	s, err := look(path)
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
		if r, ok := decode(bytes.TrimSuffix(line, []byte("\n"))); ok {
			out = append(out, r)
		}
	}
	return out[max(0, len(out)-n):], nil
}

// decode reads a line that is a record, whether or not its hash is right.
func decode(line []byte) (r Record, ok bool) {
	if _, err := unseal(line); err != nil {
		return Record{}, false
	}
	return r, json.Unmarshal(line, &r) == nil
}
