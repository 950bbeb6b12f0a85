package main

import (
	"bytes"
	"fmt"
	"strings"
)

// limits bound a diff: its lines, its bytes, and the bytes of one line.
type limits struct{ lines, bytes, lineBytes int }

// A page takes the lines of a diff up to its limits, and says what it leaves out.
type page struct {
	most    limits
	more    string // where the rest is
	text    strings.Builder
	count   int
	dropped int
}

// lines writes each line of b behind a mark, and says when the last has no newline.
func (p *page) lines(mark string, b []byte) {
	for len(b) > 0 {
		end := lineEnd(b, 0)
		p.line(mark, string(bytes.TrimSuffix(b[:end], lf)))
		if b[end-1] != '\n' {
			p.line("", `\ No newline at end of file`)
		}
		b = b[end:]
	}
}

func (p *page) line(mark, line string) {
	if len(line) > p.most.lineBytes {
		line = fmt.Sprintf("%s... (%d bytes)", line[:p.most.lineBytes], len(line))
	}
	if p.count == p.most.lines || p.text.Len()+len(line) > p.most.bytes {
		p.dropped, p.most.bytes = p.dropped+1, 0 // and all that follows
		return
	}
	p.count++
	p.text.WriteString(mark + strings.ToValidUTF8(line, "\uFFFD") + "\n")
}

// String gives the page, with a last line on what is missing.
func (p *page) String() string {
	if p.dropped > 0 {
		return fmt.Sprintf("%s... (%d more lines of this diff are left out; %s)", p.text.String(), p.dropped, p.more)
	}
	return strings.TrimSuffix(p.text.String(), "\n")
}
