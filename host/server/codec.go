package server

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
)

// maxElements is how many elements of lists and maps a request has. One of a few bytes takes hundreds once it is
// decoded; the largest request that is served has maxBatch calls.
const maxElements = 10_000

var errElements = misread(fmt.Sprintf("the request has more than %d elements in its lists and maps", maxElements),
	"Send several requests.")

// elements counts those of a request.
type elements int

// add is the error errElements when there are too many.
func (e *elements) add(n int) error {
	if *e += elements(n); *e > maxElements {
		return errElements
	}
	return nil
}

// inMessage counts the elements of an encoded message. One that cannot be read has those before its mistake, which is
// where decoding it ends, too.
func (e *elements) inMessage(of protoreflect.MessageDescriptor, b []byte) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil
		}
		size := protowire.ConsumeFieldValue(number, kind, b[n:])
		if size < 0 {
			return nil
		}
		value := b[n : n+size]
		b = b[n+size:]
		field := of.Fields().ByNumber(number)
		if field == nil {
			continue
		}
		if field.Cardinality() == protoreflect.Repeated {
			elements := 1
			if kind == protowire.BytesType && field.IsPacked() {
				elements = len(value)
			}
			if err := e.add(elements); err != nil {
				return err
			}
		}
		if kind == protowire.BytesType && field.Kind() == protoreflect.MessageKind && !field.IsMap() {
			inner, _ := protowire.ConsumeBytes(value)
			if err := e.inMessage(field.Message(), inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// A codec reads and writes messages in one of the encodings that connect has, too, but for the limit of elements.
type codec struct {
	name  string
	write func(to []byte, m proto.Message) ([]byte, error) // behind other bytes
	read  func(b []byte, m proto.Message) error
}

// The codecs, with the names under which clients ask for them. As JSON, fields that hold JSON as a text may also be
// written as an object; a field that the message does not have is refused, since it would be ignored.
var (
	protoCodec = codec{"proto", proto.MarshalOptions{}.MarshalAppend, readProto}
	jsonCodec  = codec{"json", protojson.MarshalOptions{}.MarshalAppend, readJSON}
	codecs     = []codec{protoCodec, jsonCodec, {"json; charset=utf-8", jsonCodec.write, jsonCodec.read}}
)

// Name is that of the encoding.
func (c codec) Name() string { return c.name }

// Marshal writes a message.
func (c codec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend writes a message behind other bytes.
func (c codec) MarshalAppend(to []byte, message any) ([]byte, error) {
	m, is := message.(proto.Message)
	if !is {
		return nil, fmt.Errorf("a %T is not a message", message)
	}
	return c.write(to, m)
}

// Unmarshal reads a message. The error is for people; what to do is on its second line.
func (c codec) Unmarshal(b []byte, message any) error {
	m, is := message.(proto.Message)
	if !is {
		return fmt.Errorf("a %T is not a message", message)
	}
	return c.read(b, m)
}

func readProto(b []byte, m proto.Message) error {
	if err := new(elements).inMessage(m.ProtoReflect().Descriptor(), b); err != nil {
		return err
	}
	return proto.Unmarshal(b, m)
}

func readJSON(text []byte, m proto.Message) error {
	of := m.ProtoReflect().Descriptor()
	if text = bytes.Trim(text, " \t\r\n"); len(text) == 0 {
		return misread("the body is empty", fmt.Sprintf("Send a %s as a JSON object; {} has no fields.", of.Name()))
	}
	r := jsonReader{}
	quoted, _, err := r.quoteObjects(of, text)
	switch {
	case errors.Is(err, errElements):
		return err
	case err != nil:
		return misread("the body is not valid JSON: "+err.Error(), fmt.Sprintf("Send a %s as a JSON object.", of.Name()))
	case text[0] != '{':
		return misread("the body is JSON, but not an object", fmt.Sprintf("Send a %s as a JSON object.", of.Name()))
	}
	if err := protojson.Unmarshal(quoted, m); err != nil {
		return errors.New(unreadable(of, err))
	}
	return nil
}

// misread is the error of a body that cannot be read; errorWriter finds the hint on its second line.
func misread(what, hint string) error { return errors.New(what + "\n" + hint) }

// jsonFields are the names of fields that hold a JSON object as a text.
var jsonFields = map[protoreflect.Name]bool{"arguments": true, "meta": true, "capabilities": true}

// A jsonReader looks at a message before it is decoded. It keeps nothing of it: a tree of a text takes many times as
// much memory as the text.
type jsonReader struct{ elements elements }

// quoteObjects writes the objects of jsonFields as texts with the same bytes, also in messages within a message. The
// error says what is not JSON, or is errElements.
func (r *jsonReader) quoteObjects(of protoreflect.MessageDescriptor, text []byte) (out []byte, changed bool, err error) {
	done := 0 // bytes of text that are in out
	members := rawjson.DeepMembersOf(text)
	for members.Next() {
		name, raw := protoreflect.Name(members.Name), members.Value
		field := of.Fields().ByJSONName(string(name))
		if field == nil {
			field = of.Fields().ByTextName(string(name))
		}
		value := raw
		switch {
		case field == nil:
		case field.IsMap():
			err = r.countMembers(raw)
		case field.IsList():
			value, err = r.quoteInList(field, raw)
		case field.Kind() == protoreflect.StringKind && jsonFields[field.Name()] && raw[0] == '{':
			value = asString(raw)
		case field.Kind() == protoreflect.MessageKind && raw[0] == '{':
			value, _, err = r.quoteObjects(field.Message(), raw)
		}
		if err != nil {
			return nil, false, err
		}
		if len(value) != len(raw) { // what is quoted is longer
			out = append(append(out, text[done:members.End-len(raw)]...), value...)
			done, changed = members.End, true
		}
	}
	if members.Err != nil {
		return nil, false, members.Err
	}
	if !changed {
		return text, false, nil
	}
	return append(out, text[done:]...), true, nil
}

func (r *jsonReader) countMembers(text []byte) error {
	members := rawjson.DeepMembersOf(text)
	for members.Next() {
		if err := r.elements.add(1); err != nil {
			return err
		}
	}
	return members.Err
}

// quoteInList is quoteObjects for each message of a list.
func (r *jsonReader) quoteInList(field protoreflect.FieldDescriptor, text []byte) ([]byte, error) {
	if text[0] != '[' {
		return text, nil // protojson says what is wrong
	}
	all, more, err := rawjson.Elements(text, maxElements)
	if err == nil {
		err = r.elements.add(len(all))
	}
	switch {
	case err != nil:
		return nil, err
	case more:
		return nil, errElements
	case field.Kind() != protoreflect.MessageKind:
		return text, nil
	}
	quotes := false
	for i, one := range all {
		if one[0] != '{' {
			continue
		}
		quoted, changed, err := r.quoteObjects(field.Message(), one)
		if err != nil {
			return nil, err
		}
		all[i], quotes = quoted, quotes || changed
	}
	if !quotes {
		return text, nil
	}
	return rawjson.Array(all), nil
}

// asString writes a JSON text as a JSON string. Control characters are in such a text as white space alone.
func asString(raw []byte) []byte {
	out := append(make([]byte, 0, len(raw)+len(raw)/8+2), '"')
	for _, c := range raw {
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, `\n`...)
		case '\r':
			out = append(out, `\r`...)
		case '\t':
			out = append(out, `\t`...)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

var (
	protoPrefix  = regexp.MustCompile(`^proto:[\s\x{a0}]*`)
	unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)
	wrongValue   = regexp.MustCompile(`invalid value for \S+ field (\S+):`)
)

// maxReason is how many bytes of what protojson says are passed on: it says the value that is wrong, whatever its size.
const maxReason = 500

// unreadable says why a JSON object is not a message, and on a second line what to do.
func unreadable(of protoreflect.MessageDescriptor, err error) string {
	plain := err.Error()
	if len(plain) > maxReason {
		plain = strings.ToValidUTF8(textutil.Cut(plain, maxReason), "") + "\u2026"
	}
	plain = protoPrefix.ReplaceAllString(plain, "")
	if m := unknownField.FindStringSubmatch(plain); m != nil {
		return fmt.Sprintf("%s: there is no such field%s\nThe fields of %s: %s.", plain,
			textutil.DidYouMean(m[1], fieldNames(of)), of.Name(), cmp.Or(strings.Join(fieldNames(of), ", "), "none"))
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
