package modelapi

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/sdk"
)

// maxLabel is how many bytes an id or a name in a stream may have.
const maxLabel = 1 << 10

// A draft is a call that a model is writing.
type draft struct {
	index   int
	id      string
	slot    *int64 // the vendor's number for it, if there is one
	item    string // the vendor's other name for it
	name    toolName
	pieces  pieces
	status  host.CallStatus
	err     *sdk.Error
	doubted bool // it may be a repetition of the call before: it needs arguments of its own

	arguments json.RawMessage // once generated
	texts     bool            // see Call
	changed   bool
}

func (d *draft) isOpen() bool { return d.status == host.Generating }

// isClosed is true when the arguments cannot go on.
func (d *draft) isClosed() bool { return d.pieces.best(true).isClosed() }

// add takes what a delta brings; each part may be empty.
func (d *draft) add(id, name, piece string) {
	if !d.isOpen() {
		return
	}
	d.changed = true
	if d.id == "" {
		d.id = id
	}
	d.name.add(name)
	d.pieces.add(piece)
	d.bound()
}

// bound fails a draft that has become too large.
func (d *draft) bound() {
	switch {
	case len(d.id) > maxLabel || len(d.name.sum) > maxLabel:
		d.id, d.name = "", toolName{}
		d.fail("LabelTooLong", "has an id or a name of more than %d bytes", maxLabel)
	case d.pieces.best(false).over:
		d.tooLarge()
	}
}

func (d *draft) tooLarge() {
	d.pieces = pieces{}
	d.fail("ArgumentsTooLarge", "has more than %d bytes of arguments", sdk.MaxArguments)
}

// replace takes the whole text of the arguments for all that came before.
func (d *draft) replace(text string) {
	if d.isOpen() && text != "" {
		d.pieces = pieces{}
		d.add("", "", text)
	}
}

// fail ends the draft with words that follow "the call".
func (d *draft) fail(name, format string, a ...any) {
	e := &sdk.Error{Code: sdk.CodeInvalidArgs, Name: name, Message: "the call " + fmt.Sprintf(format, a...) + "; nothing was run"}
	e.Suggestion = "Make the call again, in smaller parts if it was long."
	d.end(e)
}

func (d *draft) unreadable(err error) {
	d.fail("UnreadableArguments", "has arguments that cannot be read: %s", err)
}

func (d *draft) end(e *sdk.Error) {
	if d.isOpen() {
		d.status, d.err, d.changed = host.Errored, e, true
	}
}

// finish is for a draft that the vendor says is complete.
func (d *draft) finish(known map[string]bool) {
	text := d.pieces.best(false).text
	switch {
	case !d.isOpen():
	case d.name.in(known) == "":
		d.fail("NameMissing", "has no tool's name")
	case d.doubted && arguments.IsBlank(text):
		d.fail("ArgumentsMissing", "came under the number of another one, without arguments")
	default:
		arguments, e := arguments.Read(text, nil)
		if e != nil {
			d.end(e)
			return
		}
		d.arguments, d.status, d.changed = arguments, host.Generated, true
	}
}

// cut is for a draft that nobody says is complete: only a closed object counts, and an empty one may hold the place of
// what did not come.
func (d *draft) cut(known map[string]bool, why string) {
	switch {
	case !d.isOpen():
	case d.isClosed() && !isEmptyObject(d.pieces.best(true).text):
		d.finish(known)
	case d.name.in(known) == "":
		d.fail("TruncatedCall", "has no tool's name: %s", why)
	default:
		d.fail("TruncatedCall", "of %.100q is not complete, its arguments end after %d bytes: %s", d.name.in(known), len(d.pieces.best(true).text), why)
	}
}

// state is what is known; it shares the bytes of the text, which never change.
func (d *draft) state(known map[string]bool) CallState {
	r := d.pieces.best(false)
	return CallState{Index: d.index, ID: d.id, Tool: d.name.in(known), Status: d.status,
		Arguments: json.RawMessage(r.text[:len(r.text):len(r.text)]), Partial: r.partial(r.text), Err: d.err}
}

// notSent is the error as the result of a call has it.
func notSent(e *sdk.Error) *sdk.Error {
	e = new(*e)
	e.Outcome = cmp.Or(e.Outcome, sdk.OutcomeNotSent)
	return e
}
