package modelapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/arguments"
)

// unclosed is why a call is not complete.
const unclosed = "its block is not closed"

func checkText(message []byte) error {
	if !utf8.Valid(message) {
		return errors.New("is not valid UTF-8")
	}
	return checkSize(message)
}

// textCalls reads a text. A block that is not closed is a call that was cut off, even if its object is complete: whether
// more was to come is not known.
func textCalls(p part) (calls []host.Call, err error) {
	var r textReader
	blocks := append(r.add(p.raw), r.end()...)
	if r.block != nil {
		blocks = append(blocks, r.block)
	}
	for i, b := range blocks {
		var c host.Call
		if c.Tool, c.Arguments = b.call(); c.Tool == "" {
			return nil, fmt.Errorf("block %d of its calls has no tool's name: it must hold %s", i+1, b.form())
		}
		c.TextArguments = b.listed
		if !b.closed {
			c.Truncated = unclosed
		}
		calls = append(calls, c)
	}
	return calls, nil
}

// An envelope is the object around the arguments of a call, as far as it can be read.
type envelope struct {
	name string
	at   int // where the arguments begin; 0 while they are not there
	// arguments are the value's bytes. When the envelope is not what it should be, they are the text from where they begin,
	// or what stands in their place: Host.Call says what is wrong with it.
	arguments json.RawMessage
}

func readEnvelope(text []byte) (e envelope) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text)) // refuses doubled names and invalid UTF-8
	stranger, err := e.readMembers(d, text)
	if err == nil && !arguments.IsBlank(text[d.InputOffset():]) {
		err = errors.New("it goes on behind its end")
	}
	switch {
	case err != nil && e.at > 0:
		e.arguments = bytes.TrimRight(text[e.at:], arguments.Whitespace)
	case err != nil:
		e.arguments = text
	case e.at == 0 && stranger > 0: // arguments under another name, which {} must not replace
		e.arguments = text[stranger:]
	}
	return e
}

// readMembers reads the object. It gives where the first member begins that is neither of the two.
func (e *envelope) readMembers(d *jsontext.Decoder, text []byte) (stranger int, err error) {
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return 0, errors.New("no object")
	}
	for d.PeekKind() == '"' {
		begins := behind(text, d.InputOffset(), arguments.Whitespace+",")
		key, _ := d.ReadToken() // an error comes again
		switch key.String() {
		case "name":
			err = e.readName(d)
		case "arguments":
			if at := behind(text, d.InputOffset(), arguments.Whitespace+":"); at < len(text) {
				e.at = at
			}
			e.arguments, err = readValue(d)
		default:
			stranger = cmp.Or(stranger, begins)
			err = d.SkipValue()
		}
		if err != nil {
			return stranger, err
		}
	}
	_, err = d.ReadToken()
	return stranger, err
}

func (e *envelope) readName(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err == nil && value.Kind() == '"' {
		name, _ := jsontext.AppendUnquote(nil, value) // it has been read
		e.name = string(name)
	}
	return err
}

// readValue gives the bytes of a value; null is none.
func readValue(d *jsontext.Decoder) (json.RawMessage, error) {
	value, err := d.ReadValue()
	if err != nil || value.Kind() == 'n' {
		return nil, err
	}
	return bytes.Clone(value), nil
}

// behind is the first place from offset on that has none of these bytes.
func behind(text []byte, offset int64, these string) int {
	return len(text) - len(bytes.TrimLeft(text[offset:], these))
}
