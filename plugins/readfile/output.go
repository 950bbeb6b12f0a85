package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// An output is what a cell of code has printed or shown once, or how it failed.
type output struct {
	Type      string `json:"output_type"`
	Name      string `json:"name"` // of a stream
	Text      lines  `json:"text"`
	Data      bundle `json:"data"`
	Error     string `json:"ename"`
	Message   string `json:"evalue"`
	Traceback trace  `json:"traceback"`
}

// output writes the text of an output, and says what else there is.
func (n *notebook) output(o *output) {
	switch {
	case o.Type == "error":
		text := string(o.Traceback)
		if text == "" {
			text = o.Error + ": " + o.Message
		}
		n.printed("error", text)
	case o.Type == "stream":
		n.printed(o.Name, string(o.Text))
	case o.Data.hasText:
		n.printed("output", string(o.Data.text))
	}
	for _, other := range o.Data.others {
		fmt.Fprintf(&n.out, "--- output of cell %d: %s, not shown ---\n\n", n.cells, other)
	}
}

func (n *notebook) printed(what, text string) {
	text = colours.ReplaceAllString(text, "")
	fmt.Fprintf(&n.out, "--- %s of cell %d ---\n", printable(what), n.cells)
	if len(text) > maxOutput {
		short := sdk.WholeEnd([]byte(text[:maxOutput]))
		text = fmt.Sprintf("%s\n--- %d more bytes of it are not shown; raw=true reads all ---\n", short, len(text)-len(short))
	}
	n.put(text)
}

// colours are the escape sequences by which tracebacks are coloured.
var colours = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// lines are a text that a notebook may have in one string or in several.
type lines string

// UnmarshalJSON takes a string, a list of strings, or null.
func (l *lines) UnmarshalJSON(data []byte) error {
	text, err := joined(data, "")
	*l = lines(text)
	return err
}

// A trace is a list of texts without line ends.
type trace string

// UnmarshalJSON takes what lines take.
func (t *trace) UnmarshalJSON(data []byte) error {
	text, err := joined(data, "\n")
	*t = trace(text)
	return err
}

func joined(data []byte, between string) (string, error) {
	if data[0] != '[' {
		var text string
		err := json.Unmarshal(data, &text)
		return text, err
	}
	var out strings.Builder
	dec := json.NewDecoder(bytes.NewReader(data))
	err := eachElement(dec, nil, func() error {
		var text string
		err := dec.Decode(&text)
		if out.Len() > 0 {
			out.WriteString(between)
		}
		out.WriteString(text)
		return err
	})
	return out.String(), err
}

// A bundle is one thing in several forms, by MIME type. Only plain text is taken; of the others it is known that they exist.
type bundle struct {
	text    lines
	hasText bool
	others  []string
}

// UnmarshalJSON takes an object of lines or JSON values, or null.
func (b *bundle) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return json.Unmarshal(data, &struct{}{})
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	return eachMember(dec, func(mimeType string) error {
		if mimeType == "text/plain" {
			b.hasText = true
			return dec.Decode(&b.text)
		}
		var form json.RawMessage
		if err := dec.Decode(&form); err != nil || len(b.others) == maxOutputs {
			return err
		}
		b.others = append(b.others, fmt.Sprintf("%.100s of %d bytes", printable(mimeType), sizeOf(mimeType, form)))
		return nil
	})
}

// sizeOf is the size of a form, that of an image about what it has when it is decoded.
func sizeOf(mimeType string, form json.RawMessage) int {
	size := max(len(form)-len(`""`), 0)
	if strings.HasPrefix(mimeType, "image/") && mimeType != "image/svg+xml" {
		size = size * 3 / 4
	}
	return size
}
