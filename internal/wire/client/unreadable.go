package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"github.com/toolhost/toolhost/sdk"
)

// This file tells a result that is broken from one that is empty: content that cannot be read must not look like none.

// CheckResult says what of a result cannot be read, all of it, or returns nil: JSON that is not valid or is over the
// limits, parts without what their type requires. A plugin of another kit may send such results.
func CheckResult(r *sdk.Result) error {
	var faults []string
	for i, c := range r.Content {
		faults = addPartFault(faults, i, c, c.Raw)
	}
	if fault := jsonFault(r.Structured); fault != "" {
		faults = append(faults, "the structured JSON "+fault)
	}
	if len(r.Extra) > 0 && validObject(r.Extra) == nil {
		faults = append(faults, "the JSON of its extra members "+cmp.Or(jsonFault(r.Extra), "is not an object"))
	}
	faults = addInputFaults(faults, r)
	if len(faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(faults, "; "))
}

// addInputFaults adds what is wrong with the questions of a result.
func addInputFaults(faults []string, r *sdk.Result) []string {
	if r.InputRequired == nil {
		return faults
	}
	if len(r.Content) > 0 || r.Structured != nil {
		faults = append(faults, "it has questions and content at once")
	}
	for key, request := range r.InputRequired.Requests {
		if validObject(request) == nil {
			faults = append(faults, fmt.Sprintf("question %.40q %s", key, cmp.Or(jsonFault(request), "is no JSON object")))
		}
	}
	return faults
}

func addPartFault(faults []string, i int, c sdk.Content, raw []byte) []string {
	if fault := partFault(c, raw); fault != "" {
		return append(faults, fmt.Sprintf("part %d (%s) %s", i+1, oneLine(c.Type, maxKind), fault))
	}
	return faults
}

// partFault says why a part cannot be read, or returns "". Raw is its JSON as it was sent.
func partFault(c sdk.Content, raw []byte) string {
	switch {
	case jsonFault(raw) != "":
		return "has JSON that " + jsonFault(raw)
	case len(raw) > 0 && validObject(raw) == nil:
		return "has JSON that is not an object"
	case len(c.Extra) > 0 && (jsonFault(c.Extra) != "" || validObject(c.Extra) == nil):
		return "has extra members that cannot be read"
	case len(raw) > 0:
		return ""
	case c.Type == "":
		return "has no type"
	case c.Type == "text" && len(c.Data) > 0:
		return "has bytes beside its text"
	case c.Type == "image" || c.Type == "audio":
		switch {
		case len(c.Data) == 0:
			return "has no data"
		case c.Text != "":
			return "has a text beside its data"
		}
	case c.Type == "resource" || c.Type == "resource_link":
		if c.URI == "" {
			return "has no URI"
		}
	case c.Type != "text":
		return "is of a kind that is not known, and has no JSON of its own"
	}
	return ""
}

// jsonFault says why JSON cannot be read, or returns "". Absent JSON can.
func jsonFault(raw []byte) string {
	if excess := wire.JSONExcess(raw); excess != "" {
		return "is over a limit: " + excess
	}
	if len(raw) > 0 && !json.Valid(raw) {
		return "is not valid"
	}
	return ""
}

// readable converts the parts that can be read, and says what is wrong with the others.
func readable(parts []*pluginv1.Content) (out []sdk.Content, faults []string) {
	for i, p := range parts {
		c := contentFromWire(p)
		before := len(faults)
		if faults = addPartFault(faults, i, c, p.GetRaw()); len(faults) == before {
			out = append(out, c)
		}
	}
	return out, faults
}

// WithFaults is the error of a result with faults; what the tool itself says of a failure comes first.
func WithFaults(said *sdk.Error, faults []string) *sdk.Error {
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
		out.Message += "; in addition, " + what
		return &out
	}
	return &sdk.Error{Code: sdk.CodeProtocol, Name: "BrokenResult", Outcome: sdk.OutcomeFailed,
		Message:    what + "; the tool has run, and what can be read of its result is kept",
		Suggestion: "Check what the call has done before you repeat it."}
}

// unreadablePreview refuses a preview of which something cannot be read: no one can decide on a part of it.
func unreadablePreview(p *pluginv1.PreviewResponse) *sdk.Error {
	_, faults := readable(p.GetContent())
	if raw := p.GetStructured(); len(raw) > 0 && validObject(raw) == nil {
		faults = append(faults, "its structured part "+cmp.Or(jsonFault(raw), "is not an object"))
	}
	if len(faults) == 0 {
		return nil
	}
	return &sdk.Error{Code: sdk.CodeProtocol, Name: "BrokenPreview", Outcome: sdk.OutcomeNotSent,
		Message: "the plugin's preview of the call is broken: " + strings.Join(faults, "; ")}
}
