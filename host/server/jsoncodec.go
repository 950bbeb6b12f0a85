package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/toolhost/toolhost/internal/textutil"
)

// A jsonCodec reads and writes messages as JSON. Fields that hold JSON as a text may also be written as an object; a
// field that the message does not have is refused, since it would be ignored.
type jsonCodec struct{ name string }

// jsonCodecs are the names under which clients ask for it.
var jsonCodecs = []jsonCodec{{"json"}, {"json; charset=utf-8"}}

// Name is that of the encoding.
func (c jsonCodec) Name() string { return c.name }

// IsBinary reports that it is a text.
func (jsonCodec) IsBinary() bool { return false }

// Marshal writes a message.
func (c jsonCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend writes a message behind other bytes.
func (jsonCodec) MarshalAppend(to []byte, message any) ([]byte, error) {
	m, is := message.(proto.Message)
	if !is {
		return nil, fmt.Errorf("a %T is no message", message)
	}
	return protojson.MarshalOptions{}.MarshalAppend(to, m)
}

// MarshalStable writes the same bytes for the same message.
func (c jsonCodec) MarshalStable(message any) ([]byte, error) {
	text, err := c.Marshal(message)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Compact(&out, text)
	return out.Bytes(), err
}

// Unmarshal reads a message. The error is for people; what to do is on its second line.
func (jsonCodec) Unmarshal(text []byte, message any) error {
	m, is := message.(proto.Message)
	if !is {
		return fmt.Errorf("a %T is no message", message)
	}
	err := protojson.Unmarshal(text, m)
	if err == nil {
		return nil
	}
	if quoted, changed := quoteObjects(m.ProtoReflect().Descriptor(), text); changed {
		proto.Reset(m)
		if err = protojson.Unmarshal(quoted, m); err == nil {
			return nil
		}
	}
	return errors.New(unreadable(m.ProtoReflect().Descriptor(), text, err))
}

// jsonFields are the names of fields that hold a JSON object as a text.
var jsonFields = map[protoreflect.Name]bool{"arguments": true, "meta": true, "capabilities": true}

// quoteObjects writes the objects of jsonFields as texts with the same bytes, also in messages within a message.
func quoteObjects(of protoreflect.MessageDescriptor, text []byte) (out []byte, changed bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return text, false
	}
	done := 0 // bytes of text that are in out
	for d.More() {
		key, err := d.Token()
		name, is := key.(string)
		if err != nil || !is {
			return text, false
		}
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return text, false
		}
		value := raw
		field := of.Fields().ByJSONName(name)
		if field == nil {
			field = of.Fields().ByTextName(name)
		}
		switch {
		case field == nil || field.IsMap():
		case field.Kind() == protoreflect.StringKind && jsonFields[field.Name()] && raw[0] == '{':
			value, _ = json.Marshal(string(raw)) // a text can be written
		case field.Kind() == protoreflect.MessageKind && field.IsList():
			value = quoteInList(field.Message(), raw)
		case field.Kind() == protoreflect.MessageKind:
			value, _ = quoteObjects(field.Message(), raw)
		}
		if !bytes.Equal(value, raw) {
			end := int(d.InputOffset())
			out = append(append(out, text[done:end-len(raw)]...), value...)
			done, changed = end, true
		}
	}
	return append(out, text[done:]...), changed
}

// quoteInList is quoteObjects for each message of a list.
func quoteInList(of protoreflect.MessageDescriptor, text json.RawMessage) json.RawMessage {
	var all []json.RawMessage
	if json.Unmarshal(text, &all) != nil || all == nil {
		return text
	}
	quotes := false
	for i, one := range all {
		quoted, changed := quoteObjects(of, one)
		all[i], quotes = quoted, quotes || changed
	}
	if !quotes {
		return text
	}
	return listOf(all)
}

func listOf(all []json.RawMessage) json.RawMessage {
	out := json.RawMessage{'['}
	for i, one := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, one...)
	}
	return append(out, ']')
}

var (
	protoPrefix  = regexp.MustCompile(`^proto:[\s\x{a0}]*`)
	unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)
	wrongValue   = regexp.MustCompile(`invalid value for \S+ field (\S+):`)
)

// unreadable says why a text is not a message, and on a second line what to do.
func unreadable(of protoreflect.MessageDescriptor, text []byte, err error) string {
	text = bytes.TrimSpace(text)
	var value any
	syntax := json.Unmarshal(text, &value)
	switch {
	case len(text) == 0:
		return fmt.Sprintf("the body is empty\nSend a %s as a JSON object; {} has no fields.", of.Name())
	case syntax != nil:
		return fmt.Sprintf("the body is not valid JSON: %s\nSend a %s as a JSON object.", syntax, of.Name())
	case text[0] != '{':
		return fmt.Sprintf("the body is JSON, but not an object\nSend a %s as a JSON object.", of.Name())
	}
	plain := protoPrefix.ReplaceAllString(err.Error(), "")
	if m := unknownField.FindStringSubmatch(plain); m != nil {
		return fmt.Sprintf("%s: there is no such field%s\nThe fields of %s: %s.", plain,
			textutil.DidYouMean(m[1], fieldNames(of)), of.Name(), strings.Join(fieldNames(of), ", "))
	}
	if m := wrongValue.FindStringSubmatch(plain); m != nil {
		if jsonFields[protoreflect.Name(m[1])] {
			return fmt.Sprintf("%s\n%s is a JSON object, or a text that holds one.", plain, m[1])
		}
		if f := of.Fields().ByJSONName(m[1]); f != nil && !f.IsList() {
			return fmt.Sprintf("%s\n%s is a %s.", plain, m[1], f.Kind())
		}
	}
	return fmt.Sprintf("%s\nThe fields of %s: %s. Durations are texts such as \"30s\", times such as "+
		"\"2026-01-31T12:00:00Z\".", plain, of.Name(), strings.Join(fieldNames(of), ", "))
}

func fieldNames(of protoreflect.MessageDescriptor) (names []string) {
	for i := range of.Fields().Len() {
		names = append(names, of.Fields().Get(i).JSONName())
	}
	return names
}
