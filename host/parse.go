package host

import (
	"bytes"
	"cmp"
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
// as they are, but for what unwrap takes off.
func (h *Host) parse(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		if c.cut != "" {
			return nil, truncated(c)
		}
		arguments, e := readArguments(c.Arguments, c.Definition.schema())
		if e != nil {
			e.Suggestion = strings.TrimSpace(e.Suggestion + " " + usage(c.Definition))
			return nil, h.refuse(c, e)
		}
		c.Arguments = arguments
		if c.texts {
			c.Arguments = c.Definition.typed(arguments)
			c.texts = false // they have been read
		}
		return next(ctx, c)
	}
}

// truncated is for a call that may look whole and is not: vendors send what they have, even {} in the place of it.
func truncated(c *Call) *sdk.Error {
	e := fail(sdk.CodeInvalidArgs, "TruncatedCall", "the call of %.100q is not complete: the answer was cut off (%.50s); nothing was run", c.Tool, c.cut)
	e.Suggestion = "Make the call again, in smaller parts if it was long."
	return e
}

// readArguments gives the bytes of the one JSON object that the text holds, {} for blanks. Without a schema, names that
// differ only by case are not looked at: whether they may stand side by side is the tool's to say.
func readArguments(text json.RawMessage, of *argumentSchema) (json.RawMessage, *sdk.Error) {
	if len(text) > sdk.MaxArguments {
		return nil, tooLarge()
	}
	object, around, e := unwrap(text)
	if e == nil {
		e = checkJSON(object, of)
	}
	if e != nil {
		return nil, inside(around, e)
	}
	return object, nil
}

// isBlank knows only what is white space in JSON.
func isBlank(text []byte) bool { return len(bytes.Trim(text, blanks)) == 0 }

const blanks = " \t\r\n"

// decoders spare each call a dozen allocations.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// checkJSON wants exactly one object, within the limits, in which no two names could be taken for one.
func checkJSON(arguments json.RawMessage, of *argumentSchema) *sdk.Error {
	d := decoders.Get().(*jsontext.Decoder) // refuses doubled names, invalid UTF-8 and half surrogate pairs
	d.Reset(bytes.NewBuffer(arguments))
	defer decoders.Put(d)
	if kind := d.PeekKind(); kind != '{' && kind != 0 {
		if _, err := d.ReadToken(); err != nil { // "name=x" is no null, though it begins like one
			return malformed(err, arguments)
		}
		return badArguments("must be a JSON object, not %s", kindName(kind))
	}
	for nodes, odd := 0, false; ; {
		kind, name, err := readToken(d)
		if err != nil {
			return malformed(err, arguments)
		}
		odd = odd || isOdd(name)
		if kind != '}' && kind != ']' {
			nodes++
		}
		switch {
		case d.StackDepth() > maxDepth:
			return tooMuch(badAt(d.InputOffset(), arguments, "are nested more than %d deep", maxDepth))
		case nodes > maxNodes:
			return tooMuch(badAt(d.InputOffset(), arguments, "have more than %d names and values", maxNodes))
		case d.StackDepth() == 0:
			return cmp.Or(trailing(d.InputOffset(), arguments), twins(arguments, odd, of))
		}
	}
}

// readToken reads one token. It gives the bytes of a member's name, and nil for everything else.
func readToken(d *jsontext.Decoder) (kind jsontext.Kind, name jsontext.Value, err error) {
	if in, n := d.StackIndex(d.StackDepth()); in == '{' && n%2 == 0 && d.PeekKind() == '"' {
		name, err = d.ReadValue()
		return '"', name, err
	}
	token, err := d.ReadToken()
	return token.Kind(), nil, err
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
	if words := slip(arguments[e.ByteOffset:]); words != "" {
		return badAt(e.ByteOffset, arguments, "%s", words)
	}
	return badAt(e.ByteOffset, arguments, "are not valid JSON: %s", e.Err)
}

// slip names what other languages have and JSON has not, if that is what the text begins with.
func slip(text []byte) string {
	comma, behind := bytes.CutPrefix(text, []byte(","))
	behind = behind && len(bytes.TrimLeft(comma, blanks)) > 0 && bytes.ContainsAny(bytes.TrimLeft(comma, blanks)[:1], "}]")
	switch {
	case behind:
		return "have a comma with nothing behind it"
	case bytes.HasPrefix(text, []byte("//")), bytes.HasPrefix(text, []byte("/*")), bytes.HasPrefix(text, []byte("#")):
		return "have a comment, which JSON does not know"
	case bytes.HasPrefix(text, []byte("'")):
		return "have a single quote where JSON needs a double one"
	}
	return ""
}

// tooLarge names no size: who reads arguments from a stream need not read on to know it.
func tooLarge() *sdk.Error {
	return tooMuch(badArguments("have more than the %d bytes that are allowed", sdk.MaxArguments))
}

// tooMuch is for arguments that are well formed.
func tooMuch(e *sdk.Error) *sdk.Error {
	e.Suggestion = "Pass less at once, or the path of a file."
	return e
}

// badAt says what is wrong with the text of the arguments, at which byte, and what stands around it.
func badAt(offset int64, arguments json.RawMessage, format string, a ...any) *sdk.Error {
	format, a = format+" (at byte %d", append(a, offset)
	if before := piece(arguments[max(0, offset-20):offset]); before != "" {
		format, a = format+", after %#q", append(a, before)
	}
	if behind := piece(arguments[offset:min(int64(len(arguments)), offset+20)]); behind != "" {
		format, a = format+", before %#q", append(a, behind)
	}
	e := badArguments(format+")", a...)
	e.Details = sdk.Details(map[string]int64{"offset": offset})
	return e
}

func piece(text []byte) string { return strings.ToValidUTF8(string(text), "") }

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
