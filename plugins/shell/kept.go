package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// kept holds the start and the end of a stream, up to half bytes each, however long the stream is.
type kept struct {
	half   int
	head   []byte
	tail   []byte // a ring once it is full
	oldest int    // where the ring begins
	total  int64
}

func (k *kept) add(p []byte) {
	k.total += int64(len(p))
	n := min(k.half-len(k.head), len(p))
	k.head, p = append(k.head, p[:n]...), p[n:]
	if len(p) >= k.half {
		k.tail, k.oldest = append(k.tail[:0], p[len(p)-k.half:]...), 0
		return
	}
	n = min(k.half-len(k.tail), len(p))
	k.tail, p = append(k.tail, p[:n]...), p[n:]
	for len(p) > 0 {
		n := copy(k.tail[k.oldest:], p)
		k.oldest, p = (k.oldest+n)%k.half, p[n:]
	}
}

// full reports whether n more bytes would be too many to keep all.
func (k *kept) full(n int) bool { return k.total+int64(n) > 2*int64(k.half) }

// A snapshot is what is kept of a stream at one moment: the bytes before head and those from tail on. Where they do not
// meet, neither ends in the middle of a character.
type snapshot struct {
	head, tail []byte
	from       int64 // where the tail begins
	total      int64
}

func (k *kept) snapshot() snapshot {
	tail := slices.Concat(k.tail[k.oldest:], k.tail[:k.oldest])
	s := snapshot{head: k.head, tail: tail, from: k.total - int64(len(tail)), total: k.total}
	if s.from > int64(len(s.head)) {
		s.head, s.tail = sdk.WholeEnd(s.head), sdk.WholeStart(tail)
		s.from += int64(len(tail) - len(s.tail))
	}
	return s
}

// cut gives what is kept of the bytes from a to b, and how many between the two parts are not.
func (s *snapshot) cut(a, b int64) (start []byte, missing int64, end []byte) {
	head := int64(len(s.head))
	if a < head {
		start = s.head[a:min(b, head)]
	}
	missing = max(0, min(b, s.from)-max(a, head))
	if b > s.from {
		end = s.tail[max(a, s.from)-s.from : b-s.from]
	}
	return start, missing, end
}

// text is what a result shows of a stream: valid UTF-8, and how many bytes are left out of it.
func (s *snapshot) text(from int64) (shown string, leftOut int64) {
	start, missing, end := s.cut(from, s.total)
	if missing == 0 {
		return valid(slices.Concat(start, end)), 0
	}
	return endLine(valid(start)) + leftOutMark(missing) + valid(end), missing
}

func leftOutMark(n int64) string { return fmt.Sprintf("[... %d bytes left out ...]\n", n) }

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// endLine gives s with a line break at its end, unless it is empty.
func endLine(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
