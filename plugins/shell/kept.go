package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
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

// text is what a result shows of a stream.
type text struct {
	shown   string // valid UTF-8
	total   int64  // bytes that were printed
	leftOut int64  // of them not shown
}

func (k *kept) text() text {
	tail := slices.Concat(k.tail[k.oldest:], k.tail[:k.oldest])
	left := k.total - int64(len(k.head)+len(tail))
	if left == 0 {
		return text{shown: valid(slices.Concat(k.head, tail)), total: k.total}
	}
	head := k.head[:whole(k.head)]
	tail = tail[broken(tail):]
	left = k.total - int64(len(head)+len(tail))
	return text{
		shown:   fmt.Sprintf("%s[... %d bytes left out ...]\n%s", endLine(valid(head)), left, valid(tail)),
		total:   k.total,
		leftOut: left,
	}
}

// broken is the length of the end of a UTF-8 sequence at the start of b.
func broken(b []byte) int {
	for i := range min(len(b), utf8.UTFMax) {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return 0
}

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// endLine gives s with a line break at its end, unless it is empty.
func endLine(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
