package modelapi

import (
	"bytes"
	"strings"

	"github.com/toolhost/toolhost/host/internal/arguments"
)

// maxFenceLine is how much of a line is looked at outside of a call.
const maxFenceLine = 1 << 10 // bytes

// A fence is a line that begins or ends a fenced block; size is 0 for any other line.
type fence struct {
	mark byte // ` or ~
	size int
	info string
}

func fenceOf(line []byte) fence {
	text := strings.TrimRight(string(line), arguments.Whitespace)
	marks := strings.TrimLeft(text, " ")
	if marks == "" || len(text)-len(marks) > 3 {
		return fence{}
	}
	info := strings.TrimLeft(marks, marks[:1])
	f := fence{marks[0], len(marks) - len(info), strings.Trim(info, arguments.Whitespace)}
	if f.size < 3 || f.mark != '`' && f.mark != '~' || f.mark == '`' && strings.Contains(info, "`") {
		return fence{}
	}
	return f
}

func (f fence) closes(open fence) bool {
	return f.mark == open.mark && f.size >= open.size && f.info == ""
}

// A textReader finds the blocks with calls in a text that comes in pieces. It reads line by line, so how the text is cut
// makes no difference.
type textReader struct {
	line  []byte // so far, outside of a block
	open  fence  // the block that the text is in, of whatever kind
	block *textBlock
}

// add gives the blocks that the piece closes; block is the one that is open then.
func (r *textReader) add(text []byte) (closed []*textBlock) {
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\n') + 1
		ends := n > 0
		if !ends {
			n = len(text)
		}
		r.take(text[:n])
		if ends {
			closed = append(closed, r.endLine()...)
		}
		text = text[n:]
	}
	return closed
}

// end says that nothing more comes. A last line that is no fence may be half a line, and is not read.
func (r *textReader) end() []*textBlock {
	if r.block != nil && !r.atClose() {
		return nil
	}
	return r.endLine()
}

func (r *textReader) take(piece []byte) {
	if r.block != nil {
		r.block.add(piece)
		return
	}
	r.line = append(r.line, piece[:min(len(piece), maxFenceLine-len(r.line))]...)
}

// endLine gives the block that the line closes, if it does.
func (r *textReader) endLine() []*textBlock {
	if r.block != nil {
		return r.endBlockLine()
	}
	f := fenceOf(r.line)
	r.line = r.line[:0]
	switch {
	case r.open.size > 0 && f.closes(r.open):
		r.open = fence{}
	case r.open.size == 0 && f.size > 0:
		r.open = f
		if f.mark == '`' && (f.info == "tool_call" || f.info == "tool") {
			r.block = &textBlock{listed: f.info == "tool", arguments: []byte("{")}
		}
	}
	return nil
}

func (r *textReader) endBlockLine() []*textBlock {
	b := r.block
	if !r.atClose() {
		b.endLine()
		return nil
	}
	b.body, b.closed = b.body[:b.start], true
	r.open, r.block = fence{}, nil
	return []*textBlock{b}
}

// atClose is true at the end of a line that closes the block. In the value of an argument no line does.
func (r *textReader) atClose() bool {
	b := r.block
	return b.value == nil && fenceOf(b.body[b.start:]).closes(r.open)
}
