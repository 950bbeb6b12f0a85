package modelapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxHead is how far into a block its name and the beginning of its arguments are looked for while it is being written.
const maxHead = 4 << 10 // bytes

// A textBlock is a fenced block with a call.
type textBlock struct {
	body   []byte
	start  int  // of the last line in the body
	over   bool // the body was too long, and is dropped
	closed bool
	draft  *draft

	name string
	at   int // as in envelope

	listed    bool            // of the word tool
	arguments json.RawMessage // of a listed one, without the last brace
	key       string          // of the argument whose value is being written
	value     []byte          // nil when none is
}

func (b *textBlock) form() string {
	if b.listed {
		return "a line TOOL_NAME: with it"
	}
	return `one JSON object with "name" and "arguments"`
}

// call gives what the body says.
func (b *textBlock) call() (name string, arguments json.RawMessage) {
	if b.listed {
		return b.name, append(b.arguments[:len(b.arguments):len(b.arguments)], '}')
	}
	e := readEnvelope(b.body)
	return e.name, e.arguments
}

// soFar gives as much of the call as can be told.
func (b *textBlock) soFar() (name string, arguments []byte) {
	if b.listed {
		return b.name, b.arguments
	}
	if b.at == 0 {
		e := readEnvelope(b.body[:min(len(b.body), maxHead)])
		b.name, b.at = e.name, e.at
	}
	if b.at == 0 {
		return b.name, nil
	}
	return b.name, b.body[b.at:]
}

// add takes a piece of a line.
func (b *textBlock) add(piece []byte) {
	if room := maxMessage - len(b.body); len(piece) > room {
		b.over, piece = true, piece[:room]
	}
	b.body = append(b.body, piece...)
}

// endLine is told at the end of each line that does not close the block.
func (b *textBlock) endLine() {
	line := b.body[b.start:]
	if b.listed {
		b.readLine(line)
	}
	if b.over {
		b.body, b.arguments, b.value = b.body[:0], nil, b.value[:0] // an open value stays open
	}
	b.start = len(b.body)
}

// readLine reads a line of a listed block. What belongs to no argument spoils the arguments, so that it is told.
func (b *textBlock) readLine(line []byte) {
	text := strings.TrimSpace(string(line))
	word, rest, _ := strings.Cut(text, ":")
	rest = strings.TrimSpace(rest)
	switch {
	case b.value != nil && text == "END_ARG":
		b.endValue()
	case b.value != nil:
		b.value = append(b.value, line...)
	case word == "BEGIN_ARG" && rest != "":
		b.key, b.value = rest, []byte{}
	case word == "TOOL_NAME" && b.name == "":
		b.name = rest
	case text != "":
		b.arguments = append(b.arguments, " not between BEGIN_ARG and END_ARG: "+text...)
	}
}

// endValue adds an argument. Its last line break is that before END_ARG.
func (b *textBlock) endValue() {
	value := bytes.TrimSuffix(bytes.TrimSuffix(b.value, []byte("\n")), []byte("\r"))
	if len(b.arguments) > 1 {
		b.arguments = append(b.arguments, ',')
	}
	b.arguments = appendText(b.arguments, []byte(b.key))
	b.arguments = append(b.arguments, ':')
	b.arguments = appendText(b.arguments, value)
	b.value = nil
}

// appendText writes a JSON string. A text that is not valid UTF-8 stays as it is, and the arguments are refused for it.
func appendText(out, text []byte) []byte {
	if !utf8.Valid(text) {
		return append(out, text...)
	}
	out, _ = jsontext.AppendQuote(out, text)
	return out
}
