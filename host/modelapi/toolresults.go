package modelapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// RenderResults gives what goes back to the model for its calls, in the order of the results: for FormatOpenAI an array of
// tool messages, for FormatOpenAIResponses an array of input items, for FormatAnthropic one user message, for the Gemini
// formats one content, for FormatMCP the result, or an array when there are several or none, and for FormatText a JSON
// string with the text of all. The ids are those of the calls, except that Gemini gets none where it gave none, MCP has
// them in the envelope around, and a text has none.
//
// A failed call is the text of Result.Text, marked as an error where the vendor has a mark. Images, and PDF files, go as
// themselves where the vendor takes them in a tool's result, which of Gemini are the models from 3 on; FormatGeminiOpenAPI
// renders for those before. Of other parts a line of text says what they are.
func RenderResults(f Format, results []*host.Result) (json.RawMessage, error) {
	d, err := f.dialect()
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		if r == nil {
			return nil, fmt.Errorf("result %d is nil", i)
		}
	}
	value, err := d.results(results)
	if err != nil {
		return nil, err
	}
	return encode(value)
}

// needID says that a result cannot be sent: the vendor tells results apart by their ids.
func needID(r *host.Result) error {
	if r.CallID == "" {
		return fmt.Errorf("the result of %s has no call id; set Call.ID from the message, as ParseCalls does", r.Tool)
	}
	return nil
}

// shown are the parts that a model should see.
func shown(r *host.Result) []sdk.Content {
	if r.Error != nil {
		return []sdk.Content{sdk.TextContent(r.Text())}
	}
	return r.Readable()
}

// natives are the types of bytes that a vendor takes in a tool's result.
type natives []string

// render gives what native makes of the parts with bytes of these types, and one text of each row of others.
func (n natives) render(parts []sdk.Content, text func(string) any, native func(sdk.Content) any) []any {
	out := []any{}
	var row []sdk.Content
	flush := func() {
		if words := inWords(row); strings.TrimSpace(words) != "" { // vendors refuse an empty text, and one of white space
			out = append(out, text(words))
		}
		row = nil
	}
	for _, p := range parts {
		if len(p.Data) == 0 || !slices.Contains(n, p.MIMEType) {
			row = append(row, p)
			continue
		}
		flush()
		out = append(out, native(p))
	}
	flush()
	return out
}

// inWords is one text of all parts. Texts follow each other as they are; other parts have lines of their own.
func inWords(parts []sdk.Content) string {
	var b strings.Builder
	wasText := true
	for _, p := range parts {
		words, isText := p.Text, p.Type == "text"
		if !isText {
			words = describe(p)
		}
		if b.Len() > 0 && (!isText || !wasText) && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(words)
		wasText = isText
	}
	return b.String()
}

// describe tells in words what a part is that is not text; a file of text is told whole.
func describe(p sdk.Content) string {
	switch {
	case p.Raw != nil:
		return string(p.Raw)
	case p.Type == "resource" && p.Data == nil:
		return fmt.Sprintf("[%s]\n%s", named("file", p), p.Text)
	case p.Type == "resource":
		return fmt.Sprintf("[%s, %d bytes, which cannot be shown here]", named("file", p), len(p.Data))
	case p.Type == "resource_link":
		return fmt.Sprintf("[%s]", named("link", p))
	}
	return fmt.Sprintf("[%s, %d bytes, which cannot be shown here]", named(p.Type, p), len(p.Data))
}

func named(kind string, p sdk.Content) string {
	words := []string{kind}
	for _, w := range []string{p.Name, p.URI, p.MIMEType} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// mcpResult is a tool's result in MCP. https://modelcontextprotocol.io/specification/2025-11-25/server/tools
type mcpResult struct {
	Content    []sdk.Content   `json:"content"`
	Structured json.RawMessage `json:"structuredContent,omitempty"`
	IsError    bool            `json:"isError"`
}

func mcpResults(results []*host.Result) (any, error) {
	out := make([]mcpResult, len(results))
	for i, r := range results {
		var err error
		if out[i], err = newMCPResult(r); err != nil {
			return nil, err
		}
	}
	if len(out) == 1 {
		return out[0], nil
	}
	return out, nil
}

// newMCPResult keeps structured data that is an object; clients before 2026 know no other, and have its text.
func newMCPResult(r *host.Result) (mcpResult, error) {
	out := mcpResult{Content: append([]sdk.Content{}, r.Content...), IsError: r.Error != nil}
	if len(r.Structured) > 0 && !json.Valid(r.Structured) {
		return out, errors.New("the structured result of " + r.Tool + " is not valid JSON")
	}
	if strings.HasPrefix(strings.TrimSpace(string(r.Structured)), "{") {
		out.Structured = r.Structured
	}
	switch {
	case r.Error != nil:
		failed := host.Result{Error: r.Error}
		out.Content = append(out.Content, sdk.TextContent(failed.Text()))
	case len(out.Content) == 0:
		out.Content = append(out.Content, shown(r)...)
	}
	return out, nil
}
