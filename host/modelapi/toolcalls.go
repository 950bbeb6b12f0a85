package modelapi

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/arguments"
)

// Limits of a message with calls.
const (
	maxMessage      = 8 << 20                 // bytes
	maxMessageDepth = arguments.MaxDepth + 16 // what stands around the arguments
	maxLevel        = 10                      // of objects and arrays around a call; each is decoded once more
)

// madeID begins the ids that ParseCalls makes. RenderResults leaves them out where the vendor never gave one.
const madeID = "toolhost-"

// ParseCalls reads the tool calls of a model's message, in order. The message may be a vendor's whole response, its message
// or content, or only the calls, one or an array of them; what is not a call, such as text, is passed over. FormatMCP
// reads the params of tools/call, or the whole request, and FormatText the text itself, which is no JSON.
//
// Ids are kept; a call without one gets one, and two calls with one id are an error. Arguments keep their bytes, so that
// numbers stay exact; those that come as a string are the string's text. They are not looked at: Host.Call says what is
// wrong with them. It also refuses a call in which the message says that it was cut off. An error says where the message, of at most 8 MiB, is not what the format says.
func ParseCalls(f Format, message []byte) ([]host.Call, error) {
	d, err := f.dialect()
	if err != nil {
		return nil, err
	}
	check := checkMessage
	if f == FormatText {
		check = checkText
	}
	if err := check(message); err != nil {
		return nil, fmt.Errorf("the %s message %w", f, err)
	}
	calls, err := d.calls(part{raw: message})
	if err == nil {
		err = identify(calls)
	}
	if err != nil {
		return nil, fmt.Errorf("the %s message cannot be read: %w", f, err)
	}
	return calls, nil
}

func identify(calls []host.Call) error {
	seen := map[string]bool{}
	for i := range calls {
		if calls[i].ID == "" {
			calls[i].ID = madeID + rand.Text()
		}
		if seen[calls[i].ID] {
			return fmt.Errorf("two of its calls have the id %.100q, so their results could not be told apart", calls[i].ID)
		}
		seen[calls[i].ID] = true
	}
	return nil
}

// checkMessage makes sure that the message is JSON that everybody reads the same way.
func checkMessage(message []byte) error {
	if err := checkSize(message); err != nil {
		return err
	}
	if arguments.IsBlank(message) {
		return errors.New("is empty")
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(message)) // refuses doubled names and invalid UTF-8
	for {
		_, err := d.ReadToken()
		switch {
		case err != nil:
			return fmt.Errorf("is not valid JSON, at byte %d: %w", d.InputOffset(), err)
		case d.StackDepth() > maxMessageDepth:
			return fmt.Errorf("is nested more than %d deep, at byte %d", maxMessageDepth, d.InputOffset())
		case d.StackDepth() == 0 && !arguments.IsBlank(message[d.InputOffset():]):
			return fmt.Errorf("goes on after its end, at byte %d", d.InputOffset())
		case d.StackDepth() == 0:
			return nil
		}
	}
}

func checkSize(message []byte) error {
	if len(message) > maxMessage {
		return fmt.Errorf("has %d bytes, at most %d are allowed", len(message), maxMessage)
	}
	return nil
}

// A part is a value of a message and where it stands, such as choices[0].message; "" is the message itself.
type part struct {
	raw   json.RawMessage
	at    string
	level int
}

func (p part) place() string {
	if p.at == "" {
		return "the top"
	}
	return p.at
}

func (p part) wrong(want string) error {
	return fmt.Errorf("%s must be %s, not %.60q", p.place(), want, string(p.raw))
}

// missing says that the part is absent or null.
func (p part) missing() bool { return len(p.raw) == 0 || string(p.raw) == "null" }

func (p part) isList() bool {
	return strings.HasPrefix(strings.TrimLeft(string(p.raw[:min(len(p.raw), 64)]), " \t\r\n"), "[")
}

// fields gives the members of an object, all of them with their places.
func (p part) fields() (fields, error) {
	var members map[string]json.RawMessage
	if p.level > maxLevel {
		return fields{}, fmt.Errorf("%s is deeper inside than any call is", p.place())
	}
	if err := json.Unmarshal(p.raw, &members); err != nil || members == nil {
		return fields{}, p.wrong("an object")
	}
	return fields{p, members}, nil
}

// items gives those of a list.
func (p part) items() ([]part, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(p.raw, &list); err != nil {
		return nil, p.wrong("an array")
	}
	out := make([]part, len(list))
	for i, raw := range list {
		out[i] = part{raw, fmt.Sprintf("%s[%d]", p.at, i), p.level + 1}
	}
	return out, nil
}

func (p part) text() (string, error) {
	var text string
	if err := json.Unmarshal(p.raw, &text); err != nil {
		return "", p.wrong("a string")
	}
	return text, nil
}

// fields are the members of an object of a message.
type fields struct {
	object  part
	members map[string]json.RawMessage
}

// member gives a member, or the first of several spellings that is there; without raw when none is.
func (f fields) member(names ...string) part {
	out := part{}
	for _, name := range names {
		out = part{f.members[name], strings.TrimPrefix(f.object.at+"."+name, "."), f.object.level + 1}
		if out.raw != nil {
			return out
		}
	}
	return out
}

func (f fields) has(name string) bool { return !f.member(name).missing() }

// is says that the member is this text.
func (f fields) is(name, value string) bool {
	text, err := f.member(name).text()
	return err == nil && text == value
}

// badEnd gives the reason for which a message ended, unless it is among the good ones or there is none.
func (f fields) badEnd(name string, good []string) string {
	reason, err := f.member(name).text()
	if err != nil || slices.Contains(good, reason) {
		return ""
	}
	return reason
}
