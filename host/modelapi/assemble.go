package modelapi

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/sdk"
)

// Limits of a stream, besides sdk.MaxArguments for each call.
const (
	maxChunk  = 8 << 20 // bytes
	maxStream = 128     // calls
)

// An Assembler makes calls of the stream in which a model writes them. It takes streams as servers really send them: ids
// that come late, twice or never, names and arguments in pieces or again and again, calls interleaved. It never guesses
// at arguments: a call is complete when the vendor says so or its object is closed, and its text is what the model wrote.
//
// Vendors want an answer to every call: those that are errored have theirs in Refused. One whose Err is named
// MalformedArguments can as well go to Host.Call, which refuses it with the tool's schema and counts how often that happened.
//
// It is for one stream, and for one goroutine at a time.
type Assembler struct {
	read   func(a *Assembler, chunk []byte) error
	text   *textReader // of FormatText
	known  map[string]bool
	drafts []*draft
	ended  bool
}

var streams = map[Format]func(*Assembler, []byte) error{
	FormatOpenAI:          (*Assembler).readOpenAI,
	FormatOpenAIResponses: (*Assembler).readResponses,
	FormatAnthropic:       (*Assembler).readAnthropic,
	FormatGemini:          (*Assembler).readGemini,
	FormatText:            (*Assembler).readText,
}

// NewAssembler makes an Assembler for one stream of a model vendor. MCP has no such stream.
func NewAssembler(f Format) (*Assembler, error) {
	read := streams[f]
	if read == nil {
		return nil, fmt.Errorf("there are no streams of calls in the format %.100q; use openai, openai-responses, anthropic, gemini or text", string(f))
	}
	a := &Assembler{read: read}
	if f == FormatText {
		a.text = new(textReader)
	}
	return a, nil
}

// Known names the tools that the model was offered. Where a stream repeats a name or sends it in pieces, they decide what
// was meant; a name that is not among them is kept, and no call is refused for it.
func (a *Assembler) Known(tools ...string) {
	if a.known == nil {
		a.known = map[string]bool{}
	}
	for _, t := range tools {
		a.known[t] = true
	}
}

// Add reads one chunk of the stream: the JSON of one server-sent event, 8 MiB at most. Blanks and [DONE] are nothing. It
// gives the calls that it changed. In FormatText a chunk is a piece of the text itself, of any length, cut anywhere: a delta's
// content, which is never an error and never nothing.
//
// An error says that the chunk could not be read. What it held is lost, so the calls that were open then are errored, as
// the states that are given beside the error show; the stream may go on. Errors that the vendor reports in the stream only
// end the open calls.
func (a *Assembler) Add(chunk []byte) ([]CallState, error) {
	var err error
	switch {
	case a.ended:
		return nil, errors.New("the stream has ended: make an Assembler for the next one")
	case a.text != nil:
		err = a.read(a, chunk)
	case len(chunk) > maxChunk:
		err = fmt.Errorf("a chunk of the stream has %d bytes, at most %d are read", len(chunk), maxChunk)
	case !arguments.IsBlank(chunk) && string(chunk) != "[DONE]":
		err = a.read(a, chunk)
	}
	if err != nil {
		a.failOpen("StreamBroken", "may lack a part: %s", err)
	}
	return a.changes(), err
}

// End says that nothing more will come. Calls that are open are generated if their object is closed and not empty, since {}
// may hold the place of what did not come, and else errored, as is in FormatText a call whose block is open; calls without an id of their own get one. It gives the calls that this changed.
func (a *Assembler) End() []CallState {
	if a.ended {
		return nil
	}
	a.ended = true
	if a.text != nil {
		a.endText()
	}
	a.cutOpen("the stream ended")
	a.giveIDs()
	return a.changes()
}

// Calls gives the generated calls, in the order in which they began. Their arguments are JSON objects. Ids are complete
// after End.
func (a *Assembler) Calls() []host.Call {
	var calls []host.Call
	for _, d := range a.drafts {
		if d.status == host.Generated {
			calls = append(calls, host.Call{ID: d.id, Tool: d.name.in(a.known), Arguments: d.arguments, TextArguments: d.texts})
		}
	}
	return calls
}

// Refused gives the answers to the errored calls, in the order in which they began: they go to the model beside the results
// of Calls. Ids are complete after End.
func (a *Assembler) Refused() []*host.Result {
	var results []*host.Result
	for _, d := range a.drafts {
		if d.status == host.Errored {
			results = append(results, &host.Result{CallID: d.id, Tool: d.name.in(a.known), Status: host.StatusError, Error: notSent(d.err)})
		}
	}
	return results
}

// giveIDs makes the ids that are missing or were given twice.
func (a *Assembler) giveIDs() {
	taken := map[string]bool{"": true}
	for _, d := range a.drafts {
		if taken[d.id] {
			d.id, d.changed = madeID+rand.Text(), true
		}
		taken[d.id] = true
	}
}

// changes gives each call that has changed since it was asked last.
func (a *Assembler) changes() (states []CallState) {
	for _, d := range a.drafts {
		if d.changed {
			states = append(states, d.state(a.known))
			d.changed = false
		}
	}
	return states
}

// begin makes a draft. All those above the limit are one, which is errored.
func (a *Assembler) begin() *draft {
	if len(a.drafts) > maxStream {
		return a.drafts[maxStream]
	}
	d := &draft{index: len(a.drafts), status: host.Generating, changed: true}
	a.drafts = append(a.drafts, d)
	if d.index == maxStream {
		d.fail("TooManyCalls", "is one of more than %d in one answer", maxStream)
	}
	return d
}

// last is the latest draft of which is holds, or nil.
func (a *Assembler) last(is func(*draft) bool) *draft {
	for i := len(a.drafts) - 1; i >= 0; i-- {
		if is(a.drafts[i]) {
			return a.drafts[i]
		}
	}
	return nil
}

// only is the one draft of which is holds; nil when there is none or there are several.
func (a *Assembler) only(is func(*draft) bool) (found *draft) {
	for _, d := range a.drafts {
		if is(d) && found != nil {
			return nil
		} else if is(d) {
			found = d
		}
	}
	return found
}

func (a *Assembler) finishOpen() {
	for _, d := range a.drafts {
		d.finish(a.known)
	}
}

func (a *Assembler) cutOpen(why string) {
	for _, d := range a.drafts {
		d.cut(a.known, why)
	}
}

func (a *Assembler) failOpen(name, format string, v ...any) {
	for _, d := range a.drafts {
		if d.isOpen() {
			d.fail(name, format, v...)
		}
	}
}

// A CallState is what is known of a call that a model is writing. It stays as it is when the call goes on.
type CallState struct {
	// Index is the call's place among those of the stream, from 0. It never changes.
	Index int
	// ID is the vendor's name for the call; "" while there is none.
	ID string
	// Tool is the full name, as far as it is known.
	Tool   string
	Status host.CallStatus
	// Arguments is the text so far, as the model wrote it: it may be no JSON yet, or never.
	Arguments json.RawMessage
	// Partial is for display while the text is not complete.
	Partial Partial
	// Err is nil unless Status is Errored. It is written for the model.
	Err *sdk.Error
}

// MarshalJSON writes the arguments as a string, since they need not be JSON.
func (s CallState) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Index     int             `json:"index"`
		ID        string          `json:"id"`
		Tool      string          `json:"tool"`
		Status    host.CallStatus `json:"status"`
		Arguments string          `json:"arguments"`
		Partial   Partial         `json:"partial,omitzero"`
		Err       *sdk.Error      `json:"error,omitempty"`
	}{s.Index, s.ID, s.Tool, s.Status, string(s.Arguments), s.Partial, s.Err})
}
