package host

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// This file keeps results that are too large for memory: their large parts are written to files as they come, and the
// model gets the beginning and the end.

// noteRoom is more than the note between the two ends takes.
const noteRoom = 4400

// largeParts is the Call whose parts they are.
type largeParts Call

// OpenLarge implements sdk.LargeParts.
func (l *largeParts) OpenLarge(part sdk.Content, size int64) sdk.LargePart {
	c := (*Call)(l)
	c.wasLarge = true
	out := &largePart{cutter: c.snapshot.newCutter(c), part: part, size: size}
	suffix := ".bin"
	if out.isText() {
		// Leave room for the note and the other parts, so that the whole rarely exceeds the limit again.
		room := max(out.limit-noteRoom, out.limit/2)
		out.head, out.tail = make([]byte, 0, room-room/4), make([]byte, 0, room/4)
		suffix = ".txt"
	}
	out.file, out.err = out.store.create(safeName(out.id) + "-*" + suffix)
	return out
}

// A largePart is written to a file.
type largePart struct {
	cutter
	part       sdk.Content
	size       int64
	written    int64
	head, tail []byte // of a text, as far as they fit
	file       *os.File
	err        error // of the file
}

func (p *largePart) isText() bool {
	return p.part.Type == "text" || strings.HasPrefix(p.part.MIMEType, "text/")
}

// Write implements sdk.LargePart.
func (p *largePart) Write(b []byte) {
	if p.err == nil {
		_, p.err = p.file.Write(b)
	}
	p.head = append(p.head, b[:min(len(b), cap(p.head)-len(p.head))]...)
	at := p.written
	p.written += int64(len(b))
	if begin := p.size - int64(cap(p.tail)); p.written > begin {
		p.tail = append(p.tail, b[max(begin-at, 0):]...)
	}
}

// Done implements sdk.LargePart.
func (p *largePart) Done() sdk.Content {
	note := "the whole could not be kept"
	if p.err == nil {
		p.err = p.file.Close()
	}
	if p.err == nil {
		*p.kept = append(*p.kept, p.file.Name())
		note = "the whole is in " + p.file.Name()
	} else {
		note += ": " + p.err.Error()
		p.remove()
	}
	if p.isText() {
		return sdk.TextContent(textutil.Clean(joinEnds(string(p.head), string(p.tail), p.size, note)))
	}
	return sdk.TextContent(fmt.Sprintf("[A part of type %s has %d bytes and is left out; %s]",
		cmp.Or(p.part.MIMEType, p.part.Type), p.size, note))
}

// Discard implements sdk.LargePart.
func (p *largePart) Discard() { p.remove() }

func (p *largePart) remove() {
	if p.file != nil {
		_ = errors.Join(p.file.Close(), os.Remove(p.file.Name())) // it is removed some days later then
	}
}
