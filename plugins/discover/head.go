package main

import (
	"fmt"
	"unicode/utf8"
)

// head keeps the start of what a program prints. Its Write never fails: programs need not end because they print much.
type head struct {
	limit int
	over  func() // called once when there is more than the limit; may be nil
	kept  []byte
	total int64
}

func (h *head) Write(p []byte) (int, error) {
	fit := h.leftOut() == 0
	n := min(h.limit-len(h.kept), len(p))
	h.kept = append(h.kept, p[:n]...)
	h.total += int64(len(p))
	if fit && h.leftOut() > 0 && h.over != nil {
		h.over()
	}
	return len(p), nil
}

func (h *head) leftOut() int64 { return h.total - int64(len(h.kept)) }

// text is what was kept, and a line that says so if that is not all.
func (h *head) text() string {
	if h.leftOut() == 0 {
		return string(h.kept)
	}
	kept := h.kept[:whole(h.kept)]
	return fmt.Sprintf("%s\n[... %d bytes left out ...]", kept, h.total-int64(len(kept)))
}

// whole is the length of b without an unfinished UTF-8 sequence at its end.
func whole(b []byte) int {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(b[i]) {
			if utf8.FullRune(b[i:]) {
				return len(b)
			}
			return i
		}
	}
	return len(b)
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
