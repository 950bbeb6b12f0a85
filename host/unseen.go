package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// This file keeps words that people cannot see, and models read, out of definitions. Results stay as they are: they are
// marked as data, and a file must be read as it is to be edited.

// isUnseen tells characters that show nothing, or turn what is around them.
func isUnseen(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r >= ' ' && r < 0x7f:
		return false
	case r == '\u2800': // the braille blank
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// joins tells the unseen characters that scripts and emoji need: one, behind a character that can be seen.
func joins(r, before rune) bool {
	switch r {
	case '\ufe0e', '\ufe0f': // how an emoji, or a digit on a key, is drawn
		return before > ' ' && !isUnseen(before)
	case '\u200c', '\u200d': // between letters of Persian or Hindi, or the parts of an emoji
		return before > unicode.MaxASCII && (!isUnseen(before) || before == '\ufe0f')
	}
	return false
}

// withoutUnseen takes them out, and counts them. Most texts have none and stay as they are.
func withoutUnseen(text string) (string, int) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.IndexFunc(text, isUnseen) < 0 {
		return text, 0
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var before rune
	n := 0
	return strings.Map(func(r rune) rune {
		if isUnseen(r) && !joins(r, before) {
			n++
			return -1
		}
		before = r
		return r
	}, text), n
}

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
	text := unquoted(raw)
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
