package modelapi

import (
	"bytes"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/sdk"
)

// A reading is one way to put the pieces of the arguments together.
type reading struct {
	text []byte // only ever appended to: what was handed out stays
	over bool   // it was too long, and is dropped
	scanner
}

// add appends a piece.
func (r *reading) add(piece string) {
	if r.over || len(r.text)+len(piece) > sdk.MaxArguments {
		*r = reading{over: true, scanner: scanner{at: noJSON}}
		return
	}
	r.text = append(r.text, piece...)
	r.scan(r.text)
}

func (r *reading) clone() reading {
	out := *r
	out.text, out.opened = slices.Clone(r.text), slices.Clone(r.opened)
	return out
}

// pieces are the arguments of a call as they come. Vendors send what is new; some servers send all there is so far, again
// and again. Both readings are kept for as long as both are possible.
type pieces struct {
	sum   reading // the pieces one behind the other
	whole reading // the last piece, once there are two and each began with the one before
	count int
	mixed bool // a piece did not begin with the one before
}

func (p *pieces) add(piece string) {
	now := p.best(true)
	switch {
	case piece == "":
		return
	case now.isClosed() && strings.Trim(piece, arguments.Whitespace) == string(bytes.Trim(now.text, arguments.Whitespace)):
		return // said twice
	case now.isClosed() && beginsObject(piece) && isEmptyObject(now.text):
		*p = pieces{} // it held the place
	}
	p.readWhole(piece)
	p.sum.add(piece)
	p.count++
}

// readWhole follows the reading in which every piece is all there is so far.
func (p *pieces) readWhole(piece string) {
	before := &p.whole
	if p.count == 1 {
		before = &p.sum
	}
	switch {
	case p.count == 0 || p.mixed:
		return
	case before.over || !beginsObject(piece) || !strings.HasPrefix(piece, string(before.text)):
		p.mixed, p.whole = true, reading{}
		return
	case p.count == 1:
		p.whole = p.sum.clone()
	}
	p.whole.add(piece[len(p.whole.text):])
}

// best is the reading to believe. When the call was cut off, or may still go on, a reading is only complete if the other
// one has become impossible or is complete too.
func (p *pieces) best(cut bool) *reading {
	switch {
	case p.count < 2 || p.mixed || p.sum.isClosed():
		return &p.sum
	case p.whole.isClosed() && cut && p.sum.at != noJSON:
		return &p.sum
	case p.whole.at == noJSON && p.sum.at != noJSON:
		return &p.sum
	}
	return &p.whole
}

func beginsObject(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, arguments.Whitespace), "{")
}

func isEmptyObject(text []byte) bool {
	inside, ok := bytes.CutPrefix(bytes.Trim(text, arguments.Whitespace), []byte("{"))
	return ok && arguments.IsBlank(bytes.TrimSuffix(inside, []byte("}")))
}
