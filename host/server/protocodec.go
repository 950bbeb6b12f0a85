package server

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
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

// A protoCodec reads and writes messages in their binary encoding, as that of connect does, but for the limit of
// elements.
type protoCodec struct{}

// asMessage returns what connect hands to a codec.
func asMessage(v any) (proto.Message, error) {
	m, is := v.(proto.Message)
	if !is {
		return nil, fmt.Errorf("a %T is no message", v)
	}
	return m, nil
}

// Name is that of the encoding.
func (protoCodec) Name() string { return "proto" }

// IsBinary reports that it is no text.
func (protoCodec) IsBinary() bool { return true }

// Marshal writes a message.
func (c protoCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend writes a message behind other bytes.
func (protoCodec) MarshalAppend(to []byte, message any) ([]byte, error) {
	m, err := asMessage(message)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{}.MarshalAppend(to, m)
}

// MarshalStable writes the same bytes for the same message.
func (protoCodec) MarshalStable(message any) ([]byte, error) {
	m, err := asMessage(message)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// Unmarshal reads a message.
func (protoCodec) Unmarshal(b []byte, message any) error {
	m, err := asMessage(message)
	if err != nil {
		return err
	}
	if err := new(elements).inMessage(m.ProtoReflect().Descriptor(), b); err != nil {
		return err
	}
	return proto.Unmarshal(b, m)
}
