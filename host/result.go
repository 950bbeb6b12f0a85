package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// The values of Result.Status.
const (
	StatusOK    = "ok"
	StatusError = "error"
	// StatusInputRequired is for calls with ReturnInput alone: the tool has questions.
	StatusInputRequired = "input_required"
)

// A Result is the outcome of a call, for models and programs.
type Result struct {
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`   // the name that the caller used
	Plugin string `json:"plugin"` // "" when the tool was not found
	Status string `json:"status"` // StatusOK, StatusError or StatusInputRequired

	// Content is for the model; a failed call can have content too.
	Content    []sdk.Content   `json:"content"`
	Structured json.RawMessage `json:"structured,omitempty"`
	// Error is set when Status is StatusError.
	Error *sdk.Error `json:"error,omitempty"`
	// InputRequired is set when Status is StatusInputRequired: the questions that the tool asks before it continues.
	InputRequired *sdk.InputRequired `json:"input_required,omitempty"`
	// Extra is a JSON object of those members of the source's result that no other field has, such as _meta of an MCP
	// server; nil when there are none. See sdk.Result.
	Extra json.RawMessage `json:"extra,omitempty"`
	// Truncated says that Content or Structured was cut, and KeptFiles are the paths of files with the full text of
	// what the host cut.
	Truncated bool     `json:"truncated"`
	KeptFiles []string `json:"kept_files,omitempty"`

	Duration time.Duration `json:"-"` // duration_ms
	// Attempts is how often the plugin was called, Generation the last generation that was called; both are zero when
	// the call did not reach the plugin.
	Attempts   int `json:"attempts"`
	Generation int `json:"generation"`
}

// MarshalJSON writes the result in the form that `toolhost call --format json` prints.
func (r Result) MarshalJSON() ([]byte, error) {
	if r.Content == nil {
		r.Content = []sdk.Content{}
	}
	type plain Result
	return json.Marshal(struct {
		plain
		DurationMS float64 `json:"duration_ms"`
		Attempts   int     `json:"attempts"` // behind it
		Generation int     `json:"generation"`
	}{plain(r), float64(r.Duration.Microseconds()) / 1000, r.Attempts, r.Generation})
}

// Readable is the content or, for a successful call without text, the structured result as one text.
func (r *Result) Readable() []sdk.Content {
	hasContent := slices.ContainsFunc(r.Content, func(c sdk.Content) bool { return c.Type != "text" || c.Text != "" })
	if r.Error == nil && len(r.Structured) > 0 && !hasContent {
		return []sdk.Content{sdk.TextContent(string(r.Structured))}
	}
	return r.Content
}

// Text is the text for a model: the readable content and, for a failed call, the error's message and suggestion. The
// text of a resource and the JSON of an unknown kind are included, a link is named, and data, such as an image, is
// described.
func (r *Result) Text() string {
	lines := []string{textOf(r.Readable())}
	if r.Error != nil {
		lines = append(lines, r.Error.Message, r.Error.Suggestion)
	}
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n")
}

// textOf returns one text for all parts: text parts follow each other unchanged, others have lines of their own. It
// copies nothing when there is one text.
func textOf(parts []sdk.Content) string {
	if len(parts) == 1 && parts[0].Type == "text" {
		return parts[0].Text
	}
	var b strings.Builder
	afterText := true
	for _, p := range parts {
		text, isText := p.Text, p.Type == "text"
		if !isText {
			text = describe(p)
		}
		if b.Len() > 0 && (!isText || !afterText) && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(text)
		afterText = isText
	}
	return b.String()
}

// describe describes a part that is not text; a text file is included whole.
func describe(p sdk.Content) string {
	kind := p.Type
	switch p.Type {
	case "resource":
		kind = "file"
	case "resource_link":
		kind = "link"
	}
	words := slices.DeleteFunc([]string{kind, p.Name, p.URI, p.MIMEType}, func(s string) bool { return s == "" })
	label := strings.Join(words, " ")
	switch {
	case p.Raw != nil:
		return string(p.Raw)
	case p.Type == "resource" && p.Data == nil:
		return fmt.Sprintf("[%s]\n%s", label, p.Text)
	case p.Type == "resource_link":
		return fmt.Sprintf("[%s]", label)
	}
	return fmt.Sprintf("[%s, %s, which cannot be shown here]", label, textutil.Count(len(p.Data), "byte"))
}

// joinTexts copies nothing when there is one text.
func joinTexts(parts []sdk.Content) string {
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "")
}
