package modelapi

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/arguments"
)

// Limits of a message with calls.
const (
	maxMessage      = 8 << 20                 // bytes
	maxMessageDepth = arguments.MaxDepth + 16 // objects and arrays, those of the arguments included
	maxCallDepth    = 10                      // objects and arrays around a call; each is decoded once more
)

// madeID begins the ids of calls that the vendor gave none. RenderResults leaves them out where the vendor expects
// none.
const madeID = "toolhost-"

func newID() string { return madeID + rand.Text() }

// ParseCalls reads the tool calls of a model's message of at most 8 MiB, in order. The message may be a vendor's whole
// response, its message or content, or only the calls, one or an array of them; anything else in it, such as text, is
// skipped. FormatMCP reads the params of tools/call or the whole request, FormatText plain text.
//
// A call without an id gets one; two calls with the same id are an error. Arguments are not checked, which is left to
// Host.Call, and keep their bytes, so that numbers stay exact; those written as a JSON string are its text. Invalid
// Unicode, such as half a surrogate pair, is refused in arguments only, by Host.Call. A call in which the message ends
// has host.Call.StopReason set. An error says where the message differs from the format, or what the vendor reports in
// place of a message.
func ParseCalls(f Format, message []byte) ([]host.Call, error) {
	v, err := f.vendor()
	if err != nil {
		return nil, err
	}
	if err := checkMessage(f, message); err != nil {
		return nil, fmt.Errorf("the %s message %w", f, err)
	}
	calls, err := v.calls(value{raw: message})
	if e, reported := errors.AsType[*vendorError](err); reported {
		return nil, fmt.Errorf("the %s message has no calls: %w", f, e)
	}
	if err != nil {
		return nil, fmt.Errorf("the %s message cannot be read: %w", f, err)
	}
	seen := map[string]bool{}
	for i := range calls {
		c := &calls[i]
		if c.ID == "" {
			c.ID = newID()
		}
		if seen[c.ID] {
			return nil, fmt.Errorf("the %s message cannot be read: two of its calls have the id %.100q, so their results "+
				"could not be distinguished", f, c.ID)
		}
		seen[c.ID] = true
	}
	return calls, nil
}

// checkMessage makes sure that a message is JSON that every reader understands the same way, or valid text.
func checkMessage(f Format, message []byte) error {
	switch {
	case len(message) > maxMessage:
		return fmt.Errorf("has %d bytes, at most %d are allowed", len(message), maxMessage)
	case f == FormatText && !utf8.Valid(message):
		return errors.New("is not valid UTF-8")
	case f == FormatText:
		return nil
	case arguments.IsBlank(message):
		return errors.New("is empty")
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(message), jsontext.AllowInvalidUTF8(true)) // refuses duplicate keys
	for {
		_, err := d.ReadToken()
		switch {
		case err != nil:
			return fmt.Errorf("is not valid JSON, at byte %d: %w", d.InputOffset(), err)
		case d.StackDepth() > maxMessageDepth:
			return fmt.Errorf("is nested more than %d deep, at byte %d", maxMessageDepth, d.InputOffset())
		case d.StackDepth() == 0 && !arguments.IsBlank(message[d.InputOffset():]):
			return fmt.Errorf("has more text after its end, at byte %d", d.InputOffset())
		case d.StackDepth() == 0:
			return nil
		}
	}
}

// A value is a JSON value of a message, with its path, such as choices[0].message, for errors.
type value struct {
	raw   json.RawMessage
	path  string // "" is the message itself
	depth int
}

func (v value) place() string { return cmp.Or(v.path, "the top") }

func (v value) wrongType(want string) error {
	return fmt.Errorf("%s must be %s, not %.60q", v.place(), want, string(v.raw))
}

// isMissing reports whether the value is absent or null.
func (v value) isMissing() bool { return len(v.raw) == 0 || string(v.raw) == "null" }

func (v value) isArray() bool {
	return bytes.HasPrefix(bytes.TrimLeft(v.raw[:min(len(v.raw), 64)], arguments.Whitespace), []byte("["))
}

func (v value) object() (object, error) {
	var members map[string]json.RawMessage
	if v.depth > maxCallDepth {
		return object{}, fmt.Errorf("%s is nested more than %d levels deep, so it holds no call", v.place(), maxCallDepth)
	}
	if err := json.Unmarshal(v.raw, &members); err != nil || members == nil {
		return object{}, v.wrongType("an object")
	}
	return object{v, members}, nil
}

func (v value) items() ([]value, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(v.raw, &list); err != nil {
		return nil, v.wrongType("an array")
	}
	out := make([]value, len(list))
	for i, raw := range list {
		out[i] = value{raw, fmt.Sprintf("%s[%d]", v.path, i), v.depth + 1}
	}
	return out, nil
}

func (v value) text() (string, error) {
	var text string
	if err := json.Unmarshal(v.raw, &text); err != nil {
		return "", v.wrongType("a string")
	}
	return text, nil
}

func (v value) each(read func(value) ([]host.Call, error)) (calls []host.Call, err error) {
	items, err := v.items()
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		if item.isArray() {
			return nil, item.wrongType("an object")
		}
		more, err := read(item)
		if err != nil {
			return nil, err
		}
		calls = append(calls, more...)
	}
	return calls, nil
}

// first reads the calls of the first of several alternatives; an empty array has none.
func (v value) first(read func(value) ([]host.Call, error)) ([]host.Call, error) {
	items, err := v.items()
	if err != nil || len(items) == 0 {
		return nil, err
	}
	return read(items[0])
}

// An object is a JSON object of a message.
type object struct {
	value
	members map[string]json.RawMessage
}

// member returns the first of several spellings of a member that is present; raw is nil if none is.
func (o object) member(names ...string) value {
	var out value
	for _, name := range names {
		out = value{o.members[name], strings.TrimPrefix(o.path+"."+name, "."), o.depth + 1}
		if out.raw != nil {
			return out
		}
	}
	return out
}

func (o object) has(name string) bool { return !o.member(name).isMissing() }

func (o object) is(name, want string) bool {
	got, err := o.member(name).text()
	return err == nil && got == want
}

// truncation returns the reason for which a message ended, "" if the member is missing or one of those of a complete
// message.
func (o object) truncation(name string, complete []string) string {
	reason, err := o.member(name).text()
	if err != nil || slices.Contains(complete, strings.ToLower(reason)) {
		return ""
	}
	return reason
}

// vendorError is the error that a vendor sends in place of a message, in the member error.
func (o object) vendorError() error { return newVendorError(o.member("error")) }

// requireKind fails if an object has neither a type nor the member by which its kind is known without one.
func (o object) requireKind(member string) error {
	if o.has("type") || o.has(member) {
		return nil
	}
	return fmt.Errorf("%s has neither \"type\" nor %q, so it is neither a call nor a message", o.place(), member)
}

func newCall(id, name, args value) ([]host.Call, error) {
	var c host.Call
	var err error
	if !id.isMissing() {
		if c.ID, err = id.text(); err != nil {
			return nil, err
		}
	}
	if c.Tool, err = name.text(); err != nil {
		return nil, err
	}
	if c.Tool == "" {
		return nil, fmt.Errorf("%s is empty: a call must name its tool", name.place())
	}
	if !args.isMissing() {
		c.Arguments = args.raw
	}
	if text, err := jsontext.AppendUnquote(nil, args.raw); err == nil { // else no string, or one that Host.Call refuses
		c.Arguments = text
	}
	return []host.Call{c}, nil
}

// truncateLast marks the last call of a message that was cut off if its arguments may not have come. If the message
// ended later, their text shows it.
func truncateLast(calls []host.Call, reason string) []host.Call {
	if n := len(calls); n > 0 && mayLackArguments(calls[n-1].Arguments) {
		calls[n-1].StopReason = reason
	}
	return calls
}

// truncateEnd sets the reason for which a message ended in the last call if the last block of the content is a call:
// its input is what had arrived of it, or {}.
func truncateEnd(calls []host.Call, content value, isCall func(object) bool, reason string) []host.Call {
	if blocks, _ := content.items(); reason != "" && len(calls) > 0 && len(blocks) > 0 {
		if last, err := blocks[len(blocks)-1].object(); err == nil && isCall(last) {
			calls[len(calls)-1].StopReason = reason
		}
	}
	return calls
}

// mayLackArguments reports whether the arguments of a call in which a message ended may not have come: they are blank,
// or {}, which may stand for them.
func mayLackArguments(text []byte) bool { return arguments.IsBlank(text) || isEmptyObject(text) }
