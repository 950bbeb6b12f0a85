package main

import (
	"fmt"

	"github.com/toolhost/toolhost/sdk"
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
	kept := sdk.WholeEnd(h.kept)
	return fmt.Sprintf("%s\n[... %d bytes left out ...]", kept, h.total-int64(len(kept)))
}
