package modelapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/sdk"
)

// Limits of a stream, besides sdk.MaxArguments for each call.
const (
	maxChunk       = 8 << 20 // bytes
	maxStreamCalls = 128
)

// A CallState is a snapshot of a call that is being streamed.
type CallState struct {
	// Index is the position of the call in the stream, from 0. It never changes.
	Index int
	// ID is the vendor's id of the call, "" if there is none yet.
	ID string
	// Tool is the full name of the tool as far as it is known.
	Tool string
	// Status is host.Generating, host.Generated or host.Errored.
	Status host.CallStatus
	// Arguments is the text so far, as the model wrote it. It may be incomplete or invalid JSON.
	Arguments json.RawMessage
	// Partial shows the arguments while they are incomplete.
	Partial PartialJSON
	// Err is written for the model. It is nil unless Status is host.Errored.
	Err *sdk.Error
}

// MarshalJSON writes the arguments as a string, since they may be invalid JSON.
func (s CallState) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Index     int             `json:"index"`
		ID        string          `json:"id"`
		Tool      string          `json:"tool"`
		Status    host.CallStatus `json:"status"`
		Arguments string          `json:"arguments"`
		Partial   PartialJSON     `json:"partial,omitzero"`
		Err       *sdk.Error      `json:"error,omitempty"`
	}{s.Index, s.ID, s.Tool, s.Status, string(s.Arguments), s.Partial, s.Err})
}

// An Assembler assembles the tool calls of one streamed message. It accepts streams as servers really send them: ids
// that come late, twice or never, names and arguments in pieces or repeated, interleaved calls. It never guesses at
// arguments: a call is complete if the vendor says so or its JSON object is closed, and its text is what the model
// wrote.
//
// Vendors require an answer to every call: Refused has those to the calls that failed. A failed call whose Err is named
// MalformedArguments can be given to Host.Call instead, whose answer also has the tool's schema.
//
// An Assembler is for one goroutine at a time.
type Assembler struct {
	vendor    vendor
	tools     map[string]bool // that the model was offered
	calls     []*partialCall
	text      *textReader // of FormatText
	ended     bool
	ambiguous bool // a part could belong to several calls, so later ones could, too
}

// NewAssembler returns an Assembler for one message. FormatMCP has no streams of calls. The names of the tools that the
// model was offered decide how to read a name that comes in pieces or repeated; a call of another tool is not refused
// here.
func NewAssembler(f Format, tools ...string) (*Assembler, error) {
	v := vendors[f]
	if v.stream == nil {
		return nil, fmt.Errorf("there are no streams of calls in the format %.100q; use openai, openai-responses, "+
			"anthropic, bedrock, cohere, gemini or text", string(f))
	}
	a := &Assembler{vendor: v, tools: map[string]bool{}}
	for _, t := range tools {
		a.tools[t] = true
	}
	if f == FormatText {
		a.text = new(textReader)
	}
	return a, nil
}

// Add reads one chunk of the stream, of at most 8 MiB: the data of one server-sent event, or in FormatBedrock an
// event under its name, such as {"contentBlockDelta":{…}}, as AWS's SDKs for Python and JavaScript give it. Blank
// chunks and [DONE] are ignored. In FormatText a chunk is the next piece of the model's text, cut anywhere. Add
// returns the calls that the chunk changed. If the chunk cannot be read, what it held is lost: Add fails, and so do
// the open calls, which it returns with the error. The stream may continue. So it is with an error that the vendor
// reports, of which Add returns the message.
func (a *Assembler) Add(chunk []byte) ([]CallState, error) {
	var err error
	switch {
	case a.ended:
		return nil, errors.New("the stream has ended: make an Assembler for the next one")
	case a.text != nil:
		err = a.vendor.stream(a, chunk)
	case len(chunk) > maxChunk:
		err = fmt.Errorf("a chunk of the stream has %d bytes, at most %d are read", len(chunk), maxChunk)
	case !arguments.IsBlank(chunk) && string(bytes.Trim(chunk, arguments.Whitespace)) != "[DONE]":
		err = a.vendor.stream(a, chunk)
	}
	if err != nil {
		a.failOpen("StreamBroken", "may lack a part: %s", err)
	}
	return a.changes(), err
}

// End ends the stream. An open call is complete if its object is closed and not empty, since {} may stand for
// arguments that did not arrive; it fails otherwise, and so does a text block that is not closed. Calls without an id
// get one. End returns the calls that it changed.
func (a *Assembler) End() []CallState {
	if a.ended {
		return nil
	}
	a.ended = true
	if a.text != nil {
		a.endText()
	}
	a.truncateOpen("the stream ended")
	taken := map[string]bool{"": true}
	for _, c := range a.calls {
		if taken[c.id] {
			c.id, c.changed = newID(), true
		}
		taken[c.id] = true
	}
	return a.changes()
}

// Calls returns the complete calls, in the order in which they began. Their arguments are JSON objects. Ids are final
// after End.
func (a *Assembler) Calls() []host.Call {
	var calls []host.Call
	for _, c := range a.calls {
		if c.status == host.Generated {
			calls = append(calls, host.Call{ID: c.id, Tool: c.tool(), Arguments: c.object, TextArguments: c.textArguments})
		}
	}
	return calls
}

// Refused returns the answers to the failed calls, in the order in which they began. Send them beside the results of
// Calls, and with their calls, of the arguments {}, in the model's message before: vendors refuse a result without its
// call. Ids are final after End.
func (a *Assembler) Refused() []*host.Result {
	var results []*host.Result
	for _, c := range a.calls {
		if c.status == host.Errored {
			e := new(*c.err)
			e.Outcome = cmp.Or(e.Outcome, sdk.OutcomeNotSent)
			results = append(results, &host.Result{CallID: c.id, Tool: c.tool(), Status: host.StatusError, Error: e})
		}
	}
	return results
}

// changes returns the calls that changed since the last time.
func (a *Assembler) changes() (states []CallState) {
	for _, c := range a.calls {
		if c.changed {
			states = append(states, c.state())
			c.changed = false
		}
	}
	return states
}

// begin adds a call. All calls above the limit share one, which has failed.
func (a *Assembler) begin() *partialCall {
	if len(a.calls) > maxStreamCalls {
		return a.calls[maxStreamCalls]
	}
	c := &partialCall{index: len(a.calls), status: host.Generating, name: partialName{known: a.tools}, changed: true}
	a.calls = append(a.calls, c)
	if c.index == maxStreamCalls {
		c.fail("TooManyCalls", "is one of more than %d in one answer", maxStreamCalls)
	}
	return c
}

// last returns the latest call that matches, or nil.
func (a *Assembler) last(match func(*partialCall) bool) *partialCall {
	for i := len(a.calls) - 1; i >= 0; i-- {
		if match(a.calls[i]) {
			return a.calls[i]
		}
	}
	return nil
}

// at returns the latest call with the vendor's index, or nil.
func (a *Assembler) at(index *int64) *partialCall {
	return a.last(func(c *partialCall) bool { return index != nil && c.hasSlot(index) })
}

// only returns the call that matches, nil if none or several do.
func (a *Assembler) only(match func(*partialCall) bool) (found *partialCall) {
	for _, c := range a.calls {
		if !match(c) {
			continue
		}
		if found != nil {
			return nil
		}
		found = c
	}
	return found
}

func (a *Assembler) finishOpen() {
	for _, c := range a.calls {
		c.finish()
	}
}

func (a *Assembler) truncateOpen(why string) {
	for _, c := range a.calls {
		c.truncate(why)
	}
}

func (a *Assembler) failOpen(name, format string, v ...any) {
	for _, c := range a.calls {
		if c.isOpen() {
			c.fail(name, format, v...)
		}
	}
}

// failAmbiguous fails the open calls because of a piece that could belong to several: without it, the text of a call
// could still be valid JSON.
func (a *Assembler) failAmbiguous() {
	a.ambiguous = true
	a.failOpen("StreamAmbiguous", "may lack a part: the stream does not say which call a part belongs to")
}

// A vendorError is an error that a vendor reports in a stream, or in place of a message.
type vendorError struct{ Message string }

// newVendorError reads an error: a text, or an object with a message.
func newVendorError(reported value) *vendorError {
	e := &vendorError{string(reported.raw)}
	if text, err := reported.text(); err == nil {
		e.Message = text
	} else if inner, err := reported.object(); err == nil && inner.has("message") {
		e.Message, _ = inner.member("message").text()
	}
	return e
}

// UnmarshalJSON never fails.
func (e *vendorError) UnmarshalJSON(text []byte) error {
	*e = *newVendorError(value{raw: text})
	return nil
}

func (e *vendorError) Error() string {
	return fmt.Sprintf("the model's vendor reports an error: %.200q", e.Message)
}

// failVendor fails the open calls for an error of the vendor, and returns it; nil is none.
func (a *Assembler) failVendor(e *vendorError) error {
	if e == nil {
		return nil
	}
	a.failOpen("StreamFailed", "was not completed, %s", e)
	return e
}

// decode reads a chunk. Strings with invalid Unicode are an error in arguments only: see argumentText.
func decode(chunk []byte, into any) error {
	err := jsonv2.Unmarshal(chunk, into, jsontext.AllowInvalidUTF8(true))
	if e, ok := errors.AsType[*jsonv2.SemanticError](err); ok { // its own text names types of this package
		err = fmt.Errorf("unexpected JSON %s at %q", e.JSONKind, e.JSONPointer)
	}
	if err != nil {
		return fmt.Errorf("a chunk of the stream is not what was expected: %w", err)
	}
	return nil
}

// argumentText returns the text of arguments: vendors write them as a string, some servers as the object itself.
// Invalid Unicode in it, such as half a surrogate pair, is an error: what was meant is not known.
func argumentText(v jsontext.Value) (string, error) {
	switch v.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return "", err
		}
		return string(text), nil
	case '{':
		return string(v), nil
	case 'n', 0:
		return "", nil
	}
	return "", errors.New("neither a string nor an object")
}
