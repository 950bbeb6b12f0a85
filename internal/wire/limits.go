package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// Limits that both ends enforce. Sizes are in bytes. Those of events are in meter.go, those of what a host shows of a
// plugin in package client, those of definitions in package sdk.
const (
	MaxArguments  = 1 << 20 // the arguments of a call, a JSON object
	MaxResult     = 4 << 20 // all parts of a result and its structured JSON, together
	MaxLarge      = 1 << 30 // of large parts together, which go to files; hosts allow less
	MaxPaths      = 10_000  // paths to leave out, or roots, of a request
	maxPathsBytes = 1 << 20 // of both together
	maxID         = 256     // of the ids of a call and a session, and of a tool's name
	maxWorkdir    = 4096    // PATH_MAX of Linux

	maxEnvelope  = 256 << 10               // of a result besides its bytes: types, names, its error
	maxMessage   = MaxResult + maxEnvelope // the largest message
	maxParts     = 4000                    // parts of a result, or of a preview
	maxPiece     = 256 << 10               // a part larger than this travels in pieces
	sessionPiece = 60 << 10                // the same in a session: with its head it fits the buffer that Frames keep
	maxPieces    = 1 << 16                 // pieces that follow the first of their parts
	leastPiece   = 16 << 10                // bytes of a large part for which there may be one more

	maxType = 64 // of one part
	maxMIME = 255
	maxURI  = 8 << 10
	maxName = 1 << 10

	maxDetails = 32 << 10 // of an error; a host leaves out larger ones

	maxJSONDepth = 64      // objects and arrays in each other
	maxJSONNodes = 100_000 // values
)

// Codes of errors of the protocol itself; package sdk lists all.
const (
	codeInvalidArgs = "E_TOOL_INVALID_ARGS"
	codeTooLarge    = "E_RESULT_TOO_LARGE"
)

// A Bounded is a text and its limit in bytes.
type Bounded struct {
	What, Text string
	Most       int
}

// TooLong names the first text over its limit, or returns "".
func TooLong(texts ...Bounded) string {
	for _, b := range texts {
		if len(b.Text) > b.Most {
			return fmt.Sprintf("%s has %d bytes; the limit is %d", b.What, len(b.Text), b.Most)
		}
	}
	return ""
}

// CheckRequest returns an error that names the limit that a request exceeds, or nil. Both ends call it.
func CheckRequest(r *pluginv1.CallRequest) *pluginv1.Error {
	refused := func(name, suggestion, format string, a ...any) *pluginv1.Error {
		return &pluginv1.Error{Code: codeInvalidArgs, Name: name, Message: fmt.Sprintf(format, a...), Suggestion: suggestion}
	}
	paths := 0
	for _, list := range [][][]byte{r.GetLeaveOut(), r.GetRoots()} {
		for _, p := range list {
			paths += len(p)
		}
	}
	input := len(r.GetRequestState()) + len(r.GetCapabilities()) + len(r.GetMeta())
	for key, answer := range r.GetInputResponses() {
		input += len(key) + len(answer)
	}
	switch {
	case input > MaxArguments:
		return refused("InputTooLarge", "Answer with less.",
			"the answers, their state and the caller's metadata have %d bytes; the limit is %d (1 MiB)", input, MaxArguments)
	case len(r.GetArguments()) > MaxArguments:
		return refused("ArgumentsTooLarge", "Pass less at once, or the path of a file.",
			"the arguments have %d bytes; the limit is %d (1 MiB)", len(r.GetArguments()), MaxArguments)
	case len(r.GetLeaveOut()) > MaxPaths || len(r.GetRoots()) > MaxPaths || paths > maxPathsBytes:
		return refused("TooManyPaths", "Name a smaller folder.",
			"the call has %d paths to leave out and %d roots; the limits are %d of each, and 1 MiB for all",
			len(r.GetLeaveOut()), len(r.GetRoots()), MaxPaths)
	case !utf8.ValidString(r.GetWorkdir()):
		return refused("BadWorkdir", "", "the work folder %q is not UTF-8; rename it, or use another one", r.GetWorkdir())
	}
	if excess := TooLong(Bounded{"call id", r.GetCallId(), maxID}, Bounded{"session id", r.GetSessionId(), maxID},
		Bounded{"tool's name", r.GetTool(), maxID}, Bounded{"work folder", r.GetWorkdir(), maxWorkdir}); excess != "" {
		return refused("NameTooLong", "", "the %s", excess)
	}
	return nil
}

// TooLarge is the error of a result, or a preview, over a limit. Its details have the limit that its text names, in the
// same unit; 0 is for a text that names none.
func TooLarge(limit int, format string, a ...any) *pluginv1.Error {
	e := &pluginv1.Error{Code: codeTooLarge, Name: "ResultTooLarge", Message: fmt.Sprintf(format, a...),
		Suggestion: "Ask for less, such as a range, a filter, or a file to write the result to."}
	if limit > 0 {
		e.Details = details(map[string]int{"limit": limit})
	}
	return e
}

// payloadTooLarge is the error of a result of more than MaxResult bytes.
func payloadTooLarge(what string, size int) *pluginv1.Error {
	return TooLarge(MaxResult, "the %s has %d bytes; the limit is %d (4 MiB)", what, size, MaxResult)
}

// ResultTooLarge is payloadTooLarge of a result that may have so many bytes more in large parts.
func ResultTooLarge(size int, large int64) *pluginv1.Error {
	if large <= 0 {
		return payloadTooLarge("result", size)
	}
	most := MaxResult + int(large)
	return TooLarge(most, "the result has %d bytes; the limit is %d (%d MiB), of which 4 MiB may be in parts of up to "+
		"1 MiB", size, most, most>>20)
}

func details[V any](facts map[string]V) []byte {
	out, _ := json.Marshal(facts) // maps of strings and numbers always have a JSON form
	return out
}

// LimitDetails replaces an error's details over the limit of 32 KiB by an object that says so.
func LimitDetails(e *pluginv1.Error) {
	if n := len(e.GetDetails()); n > maxDetails {
		e.Details = details(map[string]string{"left_out": fmt.Sprintf("details of %d bytes; the limit is %d", n, maxDetails)})
	}
}

// A weight sums up what counts against the limits of a result.
type weight struct {
	payload, envelope, parts int
	excess                   string // the error of the first part, or JSON, over its own limit
}

func (w *weight) add(parts ...*pluginv1.Content) {
	const head = 64 // more than the wire needs for an empty part
	for _, c := range parts {
		w.payload += len(c.GetText()) + len(c.GetData()) + len(c.GetRaw()) + len(c.GetExtra()) + len(c.GetSource())
		w.envelope += head + len(c.GetType()) + len(c.GetMimeType()) + len(c.GetUri()) + len(c.GetName())
		w.parts++
		if w.excess != "" {
			continue
		}
		excess := TooLong(Bounded{"type", c.GetType(), maxType}, Bounded{"MIME type", c.GetMimeType(), maxMIME},
			Bounded{"URI", c.GetUri(), maxURI}, Bounded{"name", c.GetName(), maxName})
		if excess != "" {
			w.excess = "part " + strconv.Itoa(w.parts) + ": " + excess
		}
		for _, raw := range [][]byte{c.GetRaw(), c.GetExtra(), c.GetSource()} {
			if len(raw) > 0 {
				w.addJSON("part "+strconv.Itoa(w.parts), raw)
			}
		}
	}
}

// addJSON ignores invalid JSON: readers handle it.
func (w *weight) addJSON(what string, raw []byte) {
	if w.excess != "" {
		return
	}
	if excess := JSONExcess(raw); excess != "" && json.Valid(raw) {
		w.excess = what + ": " + excess
	}
}

func (w *weight) addError(e *pluginv1.Error) {
	w.addJSON("the details of its error", e.GetDetails())
	w.envelope += len(e.GetCode()) + len(e.GetName()) + len(e.GetMessage()) + len(e.GetSuggestion()) +
		len(e.GetHelpUrl()) + len(e.GetDetails())
}

// addRest adds everything of a result besides its parts.
func (w *weight) addRest(r *pluginv1.Result) {
	w.payload += len(r.GetStructured())
	w.addJSON("its structured JSON", r.GetStructured())
	w.payload += len(r.GetExtra()) + len(r.GetInputRequired().GetState())
	w.addJSON("its extra members", r.GetExtra())
	for key, request := range r.GetInputRequired().GetRequests() {
		w.payload += len(request)
		w.envelope += len(key)
		w.parts++
		w.addJSON("its question", request)
	}
	w.addError(r.GetError())
}

// check returns the error of a result, or a preview, that is too large to send, or nil.
func (w *weight) check(what string) *pluginv1.Error {
	switch {
	case w.payload > MaxResult:
		return payloadTooLarge(what, w.payload)
	case w.envelope > maxEnvelope:
		return TooLarge(maxEnvelope, "the %s has %d bytes of types, names and errors; the limit is %d (256 KiB)", what,
			w.envelope, maxEnvelope)
	case w.parts > maxParts:
		return TooLarge(maxParts, "the %s has %d parts; the limit is %d", what, w.parts, maxParts)
	case w.excess != "":
		return TooLarge(0, "the %s is over a limit: %s", what, w.excess)
	}
	return nil
}

// CheckPreview returns an error that names the limit that a received preview exceeds, or nil.
func CheckPreview(p *pluginv1.PreviewResponse) *pluginv1.Error {
	LimitDetails(p.GetError())
	var w weight
	w.add(p.GetContent()...)
	w.payload += len(p.GetStructured())
	w.addJSON("its structured JSON", p.GetStructured())
	w.addError(p.GetError())
	w.envelope += len(p.GetEffect()) + len(p.GetReason())
	return w.check("preview")
}

// CheckReply returns an error that names the limit that the result of a Reply exceeds, or nil.
func CheckReply(r *pluginv1.Result) *pluginv1.Error {
	LimitDetails(r.GetError())
	var w weight
	w.add(r.GetContent()...)
	w.addRest(r)
	return w.check("result")
}

// JSONExcess says that JSON is too deeply nested or has too many values to be decoded, or returns "".
func JSONExcess(raw []byte) string {
	if len(raw) <= maxJSONDepth {
		return ""
	}
	switch depth, nodes := jsonWeight(raw); {
	case depth > maxJSONDepth:
		return fmt.Sprintf("the JSON is nested %d deep; the limit is %d", depth, maxJSONDepth)
	case nodes > maxJSONNodes:
		return fmt.Sprintf("the JSON has %d values; the limit is %d", nodes, maxJSONNodes)
	}
	return ""
}

// jsonWeight counts the cost of decoding. Empty objects and arrays count twice.
func jsonWeight(raw []byte) (depth, nodes int) {
	nodes = 1
	for i, open := 0, 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i+1)
		case '{', '[':
			open++
			nodes++
			depth = max(depth, open)
		case '}', ']':
			open--
		case ',':
			nodes++
		}
	}
	return depth, nodes
}

// stringEnd returns the position of the quote that ends the string whose text begins at i.
func stringEnd(raw []byte, i int) int {
	for i < len(raw) {
		n := bytes.IndexAny(raw[i:], `"\`)
		switch {
		case n < 0:
			return len(raw)
		case raw[i+n] == '"':
			return i + n
		}
		i += n + 2
	}
	return i
}
