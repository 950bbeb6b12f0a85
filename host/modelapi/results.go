package modelapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/sdk"
)

// RenderResults returns what answers the model's calls, in the order of the results: for FormatOpenAI and
// FormatCohere an array of tool messages, for FormatOpenAIResponses an array of input items, for FormatAnthropic and
// FormatBedrock a user message, for the Gemini formats a content, for FormatMCP the result, or an array unless there
// is exactly one, and for FormatText a JSON string. Results have the ids of their calls, except for Gemini if it gave
// none, MCP, whose ids are in the JSON-RPC envelope, and text.
//
// A failed call is the text of Result.Text, marked as an error where the format can, and so is one whose questions
// were not answered: see host.Call.ReturnInput. Images and PDF files are included where the vendor accepts them in a
// tool's result; of Gemini's models that is Gemini 3 and later, use FormatGeminiOpenAPI for older ones, and of
// Bedrock's Amazon Nova and Claude. Any other content is described in a line of text.
func RenderResults(f Format, results []*host.Result) (json.RawMessage, error) {
	v, err := f.vendor()
	if err != nil {
		return nil, err
	}
	results = slices.Clone(results)
	for i, r := range results {
		if r == nil {
			return nil, fmt.Errorf("result %d is nil", i)
		}
		if r.Status == host.StatusInputRequired { // an empty result would read as a success
			r = new(*r)
			r.Error = &sdk.Error{Code: sdk.CodeTool, Name: "InputRequired",
				Message: "the tool has questions that were not answered; the call is not complete"}
			results[i] = r
		}
	}
	out, err := v.results(results)
	if err != nil {
		return nil, err
	}
	return rawjson.Encode(out, "")
}

// requireIDs is for vendors that know results by their call's id only.
func requireIDs(results []*host.Result) error {
	for _, r := range results {
		if r.CallID == "" {
			return fmt.Errorf("the result of %s has no call id; set Call.ID from the message, as ParseCalls does", r.Tool)
		}
	}
	return nil
}

// members returns an object of names and values in turn. A value that is nil is left out.
func members(pairs ...any) json.RawMessage { return rawjson.ObjectWith(pairs...).JSON() }

// when returns a value for members, or nil.
func when(holds bool, value any) any {
	if holds {
		return value
	}
	return nil
}

func visibleContent(r *host.Result) []sdk.Content {
	if r.Error != nil {
		return []sdk.Content{sdk.TextContent(r.Text())}
	}
	return r.Readable()
}

func resultText(r *host.Result) string { return textOf(visibleContent(r)) }

// Media types that vendors accept in results.
const pdf = "application/pdf"

// renderContent converts content: parts with data of an accepted media type one by one with media, all others between
// them to one text. Blank texts are dropped, since vendors refuse them.
func renderContent(parts []sdk.Content, accepted []string, text func(string) any, media func(sdk.Content) any) []any {
	out := []any{}
	var others []sdk.Content
	flush := func() {
		if t := textOf(others); strings.TrimSpace(t) != "" {
			out = append(out, text(t))
		}
		others = nil
	}
	for _, p := range parts {
		if len(p.Data) == 0 || !slices.Contains(accepted, p.MIMEType) {
			others = append(others, p)
			continue
		}
		flush()
		out = append(out, media(p))
	}
	flush()
	return out
}

// textOf returns one text for all parts, as Result.Text does.
func textOf(parts []sdk.Content) string { return (&host.Result{Content: parts}).Text() }
