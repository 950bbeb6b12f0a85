package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host/internal/arguments"
	"github.com/toolhost/toolhost/internal/textutil"
)

// This file keeps words that people cannot see, and models read, out of definitions. Results stay as they are: they are
// marked as data, and a file must be read as it is to be edited.

// withoutUnseen takes them out, and counts them.
func withoutUnseen(text string) (string, int) { return textutil.Visible(text, -1) }

// withoutUnseenIn does it for the titles and descriptions in a JSON Schema. Elsewhere in it, such as in the name of a
// property, the characters mean something to the plugin, so they are an error.
func withoutUnseenIn(schema json.RawMessage) (json.RawMessage, int, error) {
	if !mayHide(schema) {
		return schema, 0, nil
	}
	w := unseenWalk{in: jsontext.NewDecoder(bytes.NewReader(schema)), out: &bytes.Buffer{}}
	w.to = jsontext.NewEncoder(w.out)
	for kind := w.in.PeekKind(); kind != 0; kind = w.in.PeekKind() {
		if err := w.step(); err != nil {
			return nil, 0, err
		}
	}
	if w.n == 0 {
		return schema, 0, nil
	}
	return bytes.TrimSpace(w.out.Bytes()), w.n, nil
}

// mayHide is false for what is plain ASCII in the raw and in its escapes, as most schemas are.
func mayHide(schema []byte) bool {
	return bytes.ContainsFunc(schema, func(r rune) bool { return r > unicode.MaxASCII }) || bytes.Contains(schema, []byte(`\u`))
}

// An unseenWalk copies a schema token by token.
type unseenWalk struct {
	in  *jsontext.Decoder
	to  *jsontext.Encoder
	out *bytes.Buffer
	n   int
	key string // whose value comes next; "" in an array
}

func (w *unseenWalk) step() error {
	if w.in.PeekKind() != '"' {
		v, err := w.in.ReadToken()
		if err != nil {
			return err
		}
		w.key = ""
		return w.to.WriteToken(v)
	}
	in, length := w.in.StackIndex(w.in.StackDepth())
	raw, err := w.in.ReadValue()
	if err != nil {
		return err
	}
	text := arguments.Unquote(raw)
	switch shown, n := withoutUnseen(text); {
	case n == 0:
	case in == '{' && length%2 == 0:
		return fmt.Errorf("the name %+.60q in it has characters that cannot be seen", text)
	case w.key == "description" || w.key == "title" || w.key == "$comment":
		raw, w.n = quotedJSON(shown), w.n+n
	}
	w.key = ""
	if in == '{' && length%2 == 0 {
		w.key = text
	}
	return w.to.WriteValue(raw)
}

func quotedJSON(text string) jsontext.Value {
	out, _ := jsontext.AppendQuote(nil, text) // fails for invalid UTF-8 only
	return out
}
