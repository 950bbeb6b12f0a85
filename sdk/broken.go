package sdk

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// This file tells a result that is broken from one that is empty: what cannot be read must not look like nothing.

// Check says what of the result cannot be read, all of it, or nil: JSON that is not valid or is over the limits, parts
// without what their type is about. Both ends ask; a plugin of another kind may not have.
func (r *Result) Check() error {
	_, faults := readable(r.Content, func(i int) []byte { return r.Content[i].Raw })
	if fault := jsonFault(r.Structured); fault != "" {
		faults = append(faults, "the structured JSON "+fault)
	}
	if len(faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(faults, "; "))
}

// readable gives the parts that can be read, and says what is wrong with the others. Raw gives a part's JSON as it came.
func readable(parts []Content, raw func(i int) []byte) (out []Content, faults []string) {
	for i, c := range parts {
		fault := c.fault(raw(i))
		if fault == "" {
			out = append(out, c)
			continue
		}
		faults = append(faults, fmt.Sprintf("part %d (%s) %s", i+1, shown(c.Type, maxType), fault))
	}
	return out, faults
}

// fault says why the part cannot be read, or gives "".
func (c *Content) fault(raw []byte) string {
	switch fault := jsonFault(raw); {
	case fault != "":
		return "has JSON that " + fault
	case len(raw) > 0 && validObject(raw) == nil:
		return "has JSON that is no object"
	case len(raw) > 0:
		return ""
	}
	switch c.Type {
	case "":
		return "has no type"
	case "text":
		return when(len(c.Data) > 0, "has bytes beside its text")
	case "image", "audio":
		return when(len(c.Data) == 0, "has no data") + when(len(c.Data) > 0 && c.Text != "", "has a text beside its data")
	case "resource", "resource_link":
		return when(c.URI == "", "has no URI")
	}
	return "is of a kind that is not known, and has no JSON of its own"
}

func when(is bool, words string) string {
	if is {
		return words
	}
	return ""
}

// jsonFault says why JSON cannot be read, or gives "". Absent JSON can.
func jsonFault(raw []byte) string {
	if excess := jsonExcess(raw); excess != "" {
		return excess
	}
	return when(len(raw) > 0 && !json.Valid(raw), "is not valid")
}

// mended leaves out what of a result cannot be read, and says so: the call has run, and part of its answer is missing.
func mended(r *Result, parts []Content, raw func(i int) []byte, w *pluginv1.Result) *Result {
	kept, faults := readable(parts, raw)
	if len(w.GetStructured()) > 0 && r.Structured == nil {
		faults = append(faults, "the structured JSON "+jsonFault(w.GetStructured()))
	}
	r.Content = kept
	r.Error = brokenResult(r.Error, faults)
	return r
}

// brokenResult is the error of a result with faults; what the tool itself says of a failure comes first.
func brokenResult(said *Error, faults []string) *Error {
	if len(faults) == 0 {
		return said
	}
	const most = 5
	if n := len(faults); n > most {
		faults = append(faults[:most:most], fmt.Sprintf("and %d more", n-most))
	}
	what := "the result is broken: " + strings.Join(faults, "; ")
	if said != nil {
		out := *said
		out.Message += "; besides, " + what
		return &out
	}
	return &Error{Code: CodeProtocol, Name: "BrokenResult", Outcome: OutcomeFailed,
		Message:    what + "; the tool has run, and what can be read of its result is kept",
		Suggestion: "Find out what the call has done before you make it again."}
}

// brokenPreview refuses a preview of which something cannot be read: nobody is to decide on a part of it.
func brokenPreview(p *pluginv1.PreviewResponse) *Error {
	_, faults := readable(contentsFromWire(p.GetContent()), func(i int) []byte { return p.GetContent()[i].GetRaw() })
	if raw := p.GetStructured(); len(raw) > 0 && validObject(raw) == nil {
		faults = append(faults, "its structured part "+cmp.Or(jsonFault(raw), "is no object"))
	}
	if len(faults) == 0 {
		return nil
	}
	return &Error{Code: CodeProtocol, Name: "BrokenPreview", Outcome: OutcomeNotSent,
		Message: "the plugin does not tell what the call would do: its preview is broken: " + strings.Join(faults, "; ")}
}
