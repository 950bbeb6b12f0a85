package modelapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/sdk"
)

// maxLabel is how many bytes an id or a name in a stream may have.
const maxLabel = 1 << 10

// A partialCall is a call that is being streamed.
type partialCall struct {
	index int
	id    string
	slot  *int64 // the vendor's index, nil if there is none
	item  string // the id of the output item, in OpenAI's responses
	name  partialName
	text  argumentBuffer

	status     host.CallStatus
	err        *sdk.Error
	changed    bool // since the assembler returned it last
	namedAgain bool // without arguments: as the next call is, if those follow
	// mayRepeat is set if the call may be a repetition of the one before, under whose index it came: it needs arguments.
	mayRepeat bool

	object        json.RawMessage // the arguments, once complete
	textArguments bool            // as in host.Call
}

func (c *partialCall) isOpen() bool { return c.status == host.Generating }

// isClosed reports whether the arguments cannot continue.
func (c *partialCall) isClosed() bool { return c.text.best(true).isClosed() }

func (c *partialCall) hasSlot(index *int64) bool { return c.slot != nil && *c.slot == *index }

func (c *partialCall) tool() string { return c.name.best() }

// add adds what a chunk brings; each part may be empty.
func (c *partialCall) add(id, name, text string) {
	if !c.isOpen() {
		return
	}
	c.changed = true
	c.id = cmp.Or(c.id, id)
	c.name.add(name)
	c.text.add(text)
	c.checkSize()
}

// addRaw is add with arguments that are not decoded yet.
func (c *partialCall) addRaw(id, name string, raw jsontext.Value) {
	text, err := argumentText(raw)
	c.add(id, name, text)
	if err != nil {
		c.failUnreadable(err)
	}
}

// replace replaces the arguments by their whole text. Some servers write {} for "see what came before".
func (c *partialCall) replace(text string) {
	if c.isOpen() && text != "" && (!isEmptyObject([]byte(text)) || mayLackArguments(c.text.best(false).text)) {
		c.text = argumentBuffer{}
		c.add("", "", text)
	}
}

func (c *partialCall) checkSize() {
	switch {
	case len(c.id) > maxLabel || len(c.name.joined) > maxLabel:
		c.id, c.name = "", partialName{known: c.name.known}
		c.fail("LabelTooLong", "has an id or a name of more than %d bytes", maxLabel)
	case c.text.best(false).tooLong:
		c.failTooLarge()
	}
}

func (c *partialCall) failTooLarge() {
	c.text = argumentBuffer{}
	c.fail("ArgumentsTooLarge", "has more than %d bytes of arguments", sdk.MaxArguments)
}

func (c *partialCall) failUnreadable(err error) {
	c.fail("UnreadableArguments", "has arguments that cannot be read: %s", err)
}

// fail ends the call with an error; the format continues after "the call".
func (c *partialCall) fail(name, format string, a ...any) {
	c.end(&sdk.Error{Code: sdk.CodeInvalidArgs, Name: name,
		Message:    "the call " + fmt.Sprintf(format, a...) + "; nothing was run",
		Suggestion: "Make the call again, in smaller parts if it was long."})
}

func (c *partialCall) end(e *sdk.Error) {
	if c.isOpen() {
		c.status, c.err, c.changed = host.Errored, e, true
	}
}

// finish ends a call that is complete by the vendor's word.
func (c *partialCall) finish() {
	text := c.text.best(false).text
	switch {
	case !c.isOpen():
	case c.tool() == "":
		c.fail("NameMissing", "has no tool's name")
	case c.mayRepeat && arguments.IsBlank(text):
		c.fail("ArgumentsMissing", "came under the number of another one, without arguments")
	default:
		object, e := arguments.Read(text, nil)
		if e != nil {
			c.end(e)
			return
		}
		c.object, c.status, c.changed = object, host.Generated, true
	}
}

// truncate ends a call in which the message ended: it is complete if its object is closed and has arguments.
func (c *partialCall) truncate(why string) {
	text := c.text.best(true).text
	switch {
	case !c.isOpen():
	case c.isClosed() && !mayLackArguments(text):
		c.finish()
	case c.tool() == "":
		c.fail("TruncatedCall", "has no tool's name: %s", why)
	default:
		c.fail("TruncatedCall", "of %.100q is not complete, its arguments end after %d bytes: %s", c.tool(), len(text), why)
	}
}

// state returns a snapshot. It shares the bytes of the text, which are never changed.
func (c *partialCall) state() CallState {
	r := c.text.best(false)
	return CallState{Index: c.index, ID: c.id, Tool: c.tool(), Status: c.status,
		Arguments: json.RawMessage(r.text[:len(r.text):len(r.text)]), Partial: r.partial(r.text), Err: c.err}
}

// A partialName is the name of a tool as it is streamed: in pieces ("read", "file"), or as all of it so far, again and
// again ("re", "read", "readfile"). Pieces that each begin with the one before are read the second way: repeated names
// are more common than names that repeat themselves. Known names take precedence.
type partialName struct {
	joined, last string
	inPieces     bool // a piece did not begin with the one before
	known        map[string]bool
}

func (n *partialName) add(piece string) {
	if piece == "" {
		return
	}
	n.inPieces = n.inPieces || !strings.HasPrefix(piece, n.last)
	n.joined, n.last = n.joined+piece, piece
}

func (n *partialName) best() string {
	first, second := n.last, n.joined
	if n.inPieces {
		first, second = second, first
	}
	if n.known[second] && !n.known[first] {
		return second
	}
	return first
}

// An argumentBuffer collects the arguments of a call. Vendors send what is new; some servers send all there is so far,
// again and again. Both readings are kept while both are possible.
type argumentBuffer struct {
	joined     reading // the pieces joined
	cumulative reading // the last piece, if there are several and each began with the one before
	pieces     int
	inPieces   bool // a piece did not begin with the one before
}

func (b *argumentBuffer) add(piece string) {
	now, trimmed := b.best(true), strings.Trim(piece, arguments.Whitespace)
	switch {
	case piece == "":
		return
	case trimmed != "" && now.isClosed() && trimmed == string(bytes.Trim(now.text, arguments.Whitespace)):
		return // a repetition
	case now.isClosed() && beginsObject(piece) && isEmptyObject(now.text):
		*b = argumentBuffer{} // {} was a placeholder
	}
	b.addCumulative(piece)
	b.joined.add(piece)
	b.pieces++
}

func (b *argumentBuffer) addCumulative(piece string) {
	before := &b.cumulative
	if b.pieces == 1 {
		before = &b.joined
	}
	switch {
	case b.pieces == 0 || b.inPieces:
		return
	case before.tooLong || !beginsObject(piece) || !strings.HasPrefix(piece, string(before.text)):
		b.inPieces, b.cumulative = true, reading{}
		return
	case b.pieces == 1:
		b.cumulative = b.joined
		b.cumulative.text, b.cumulative.opened = slices.Clone(b.joined.text), slices.Clone(b.joined.opened)
	}
	b.cumulative.add(piece[len(b.cumulative.text):])
}

// best returns the more likely reading. If the call may still continue, or has been cut off, a reading is only
// complete if the other one is impossible or complete too.
func (b *argumentBuffer) best(mayGoOn bool) *reading {
	switch {
	case b.pieces < 2 || b.inPieces || b.joined.isClosed():
		return &b.joined
	case b.cumulative.isClosed() && mayGoOn && b.joined.state != invalid:
		return &b.joined
	case b.cumulative.state == invalid && b.joined.state != invalid:
		return &b.joined
	}
	return &b.cumulative
}

// A reading is one way to join the pieces of the arguments.
type reading struct {
	text    []byte // only appended to, so that snapshots can share it
	tooLong bool   // and dropped
	scanner
}

func (r *reading) add(piece string) {
	if r.tooLong || len(r.text)+len(piece) > sdk.MaxArguments {
		*r = reading{tooLong: true, scanner: scanner{state: invalid}}
		return
	}
	r.text = append(r.text, piece...)
	r.scan(r.text)
}

func beginsObject(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, arguments.Whitespace), "{")
}

func isEmptyObject(text []byte) bool {
	inside, ok := bytes.CutPrefix(bytes.Trim(text, arguments.Whitespace), []byte("{"))
	return ok && arguments.IsBlank(bytes.TrimSuffix(inside, []byte("}")))
}
