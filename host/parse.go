package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/sdk"
)

// Limits of an arguments object, besides sdk.MaxArguments.
const (
	maxDepth = 64
	maxNodes = 100_000 // names and values, together
)

// parse makes sure that the arguments are one JSON object that everybody further on reads the same way. The bytes stay
// as they are; only blank ones become {}.
func (h *Host) parse(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if isBlank(c.Arguments) {
			c.Arguments = json.RawMessage("{}")
		}
		if e := checkJSON(c.Arguments); e != nil {
			return nil, e
		}
		return next(ctx, c)
	}
}

// isBlank knows only what is white space in JSON.
func isBlank(text []byte) bool { return len(bytes.Trim(text, " \t\r\n")) == 0 }

// decoders spare each call a dozen allocations.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

func checkJSON(arguments json.RawMessage) *sdk.Error {
	if len(arguments) > sdk.MaxArguments {
		return tooLarge(len(arguments))
	}
	d := decoders.Get().(*jsontext.Decoder) // refuses doubled names, invalid UTF-8 and half surrogate pairs
	d.Reset(bytes.NewBuffer(arguments))
	defer decoders.Put(d)
	if kind := d.PeekKind(); kind != '{' && kind != 0 {
		return badArguments("must be a JSON object, not %s", kindName(kind))
	}
	for nodes := 0; ; {
		token, err := d.ReadToken()
		if err != nil {
			return malformed(err, arguments)
		}
		if kind := token.Kind(); kind != '}' && kind != ']' {
			nodes++
		}
		switch {
		case d.StackDepth() > maxDepth:
			return badAt(d.InputOffset(), arguments, "are nested more than %d deep", maxDepth)
		case nodes > maxNodes:
			return badAt(d.InputOffset(), arguments, "have more than %d names and values", maxNodes)
		case d.StackDepth() == 0:
			return trailing(d.InputOffset(), arguments)
		}
	}
}

// trailing refuses anything but blanks behind the object.
func trailing(offset int64, arguments json.RawMessage) *sdk.Error {
	if isBlank(arguments[offset:]) {
		return nil
	}
	return badAt(offset, arguments, "go on after the object has ended")
}

func malformed(err error, arguments json.RawMessage) *sdk.Error {
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !ok || errors.Is(err, io.ErrUnexpectedEOF):
		return badAt(int64(len(arguments)), arguments, "end too early: the object is not closed")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return badAt(e.ByteOffset, arguments, "have two properties named %q in one object", e.JSONPointer.LastToken())
	}
	return badAt(e.ByteOffset, arguments, "are not valid JSON: %s", e.Err)
}

func tooLarge(size int) *sdk.Error {
	e := badArguments("have %d bytes, at most %d are allowed", size, sdk.MaxArguments)
	e.Suggestion = "Pass less at once, or the path of a file."
	return e
}

// badAt says what is wrong with the text of the arguments, at which byte, and what stands before it.
func badAt(offset int64, arguments json.RawMessage, format string, a ...any) *sdk.Error {
	format, a = format+" (at byte %d", append(a, offset)
	if before := strings.ToValidUTF8(string(arguments[max(0, offset-20):offset]), ""); before != "" {
		format, a = format+", after %#q", append(a, before)
	}
	e := badArguments(format+")", a...)
	e.Details = sdk.Details(map[string]int64{"offset": offset})
	return e
}

func badArguments(format string, a ...any) *sdk.Error {
	e := fail(sdk.CodeInvalidArgs, "MalformedArguments", "the arguments "+format+"; nothing was run", a...)
	e.Suggestion = `Send one JSON object. Inside strings write a quote as \", a backslash as \\ and a line break as \n.`
	return e
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "a boolean"
}
