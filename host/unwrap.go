package host

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/sdk"
)

// maxWrapped is how many strings are taken off around the arguments, one inside the other.
const maxWrapped = 3

// unwrap takes off what models put around their arguments and what leaves no doubt about them: JSON strings that hold
// the JSON, and one Markdown code fence. Blanks are {}. What was taken off is told in words, the outermost last.
func unwrap(text json.RawMessage) (object json.RawMessage, around []string, e *sdk.Error) {
	for strung, fenced := 0, false; ; {
		begins := bytes.TrimLeft(text, blanks)
		switch {
		case len(begins) == 0 && !fenced:
			return json.RawMessage("{}"), around, nil
		case bytes.HasPrefix(begins, []byte("```")) && !fenced:
			fenced, around = true, append(around, "inside the code fence")
			text, e = unfence(text)
		case bytes.HasPrefix(begins, []byte(`"`)) && strung < maxWrapped:
			strung, around = strung+1, append(around, "inside the string")
			text, e = unstring(text)
		default:
			return text, around, nil
		}
		if e != nil {
			return nil, around[:len(around)-1], e
		}
	}
}

// unstring decodes a JSON string.
func unstring(text json.RawMessage) (json.RawMessage, *sdk.Error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	value, err := d.ReadValue()
	if err != nil {
		return nil, malformed(err, text)
	}
	if e := trailing(d.InputOffset(), text); e != nil {
		return nil, e
	}
	decoded, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return nil, badArguments("are not valid JSON: %s", err)
	}
	return decoded, nil
}

// unfence gives what stands between ```json and ```; the word may be missing.
func unfence(text json.RawMessage) (json.RawMessage, *sdk.Error) {
	body := bytes.Trim(text, blanks)[3:]
	body, closed := bytes.CutSuffix(body, []byte("```"))
	if !closed {
		return nil, badAt(int64(len(text)), text, "begin with a code fence that is not closed, as if they were cut off")
	}
	if word := []byte("json"); len(body) >= len(word) && bytes.EqualFold(body[:len(word)], word) {
		body = body[len(word):]
	}
	return body, nil
}

// inside says in which wrapping the error is: its offset counts from there.
func inside(around []string, e *sdk.Error) *sdk.Error {
	const subject = "the arguments "
	for _, where := range around {
		e.Message = subject + where + " " + strings.TrimPrefix(e.Message, subject)
	}
	return e
}
