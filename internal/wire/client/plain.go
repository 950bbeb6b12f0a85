package client

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/sdk"
)

// Fields of plugin.proto, for decodePlain and decodePiece.
const (
	fieldID      protowire.Number = 1 // of SessionEvent
	fieldEvents  protowire.Number = 2
	fieldStarted protowire.Number = 1 // of CallEvent
	fieldMore    protowire.Number = 6
	fieldResult  protowire.Number = 7
	fieldData    protowire.Number = 1 // of More
	fieldContent protowire.Number = 1 // of Result
	fieldType    protowire.Number = 1 // of Content
	fieldText    protowire.Number = 2

	textType = "text"

	maxPlain      = 64 << 10 // bytes of a message that decodePlain takes; what is larger gains nothing by it
	maxPlainParts = 16
)

// A plainAnswer is the answer of most calls, in one message: started, perhaps, and a result of texts alone.
type plainAnswer struct {
	id      uint64
	started bool
	result  *sdk.Result
}

// decodePlain decodes such a message into the types of package sdk, and reports false for any other, which the decoder
// of messages takes. It makes three objects, where that makes sixteen.
func decodePlain(frame []byte) (out plainAnswer, ok bool) {
	if len(frame) > maxPlain {
		return out, false
	}
	ok = wire.EachField(frame, func(number protowire.Number, kind protowire.Type, value []byte) bool {
		switch {
		case number == fieldID && kind == protowire.VarintType:
			out.id, _ = protowire.ConsumeVarint(value)
			return true
		case number == fieldEvents && kind == protowire.BytesType:
			return out.decodeEvent(value)
		}
		return false
	})
	return out, ok && out.result != nil
}

// decodeEvent takes a started or a result; nothing follows the latter.
func (a *plainAnswer) decodeEvent(event []byte) bool {
	if a.result != nil {
		return false
	}
	fields := 0
	whole := wire.EachField(event, func(number protowire.Number, kind protowire.Type, value []byte) bool {
		fields++
		switch {
		case kind != protowire.BytesType || fields > 1:
			return false
		case number == fieldStarted && len(value) == 0 && !a.started:
			a.started = true
			return true
		case number == fieldResult:
			a.result = &sdk.Result{}
			return wire.EachField(value, a.decodePart)
		}
		return false
	})
	return whole && fields == 1
}

// decodePart takes a part that is a text.
func (a *plainAnswer) decodePart(number protowire.Number, kind protowire.Type, value []byte) bool {
	if number != fieldContent || kind != protowire.BytesType || len(a.result.Content) == maxPlainParts {
		return false
	}
	part := sdk.Content{}
	whole := wire.EachField(value, func(number protowire.Number, kind protowire.Type, value []byte) bool {
		switch {
		case kind != protowire.BytesType:
			return false
		case number == fieldType && string(value) == textType:
			part.Type = textType
			return true
		case number == fieldText:
			part.Text = textutil.Clean(string(value))
			return true
		}
		return false
	})
	a.result.Content = append(a.result.Content, part)
	return whole && part.Type == textType
}

// decodePiece returns the data of a message that is a piece of a result and nothing else. It is part of the frame.
func decodePiece(frame []byte) (id uint64, data []byte, ok bool) {
	pieces := 0
	ok = wire.EachField(frame, func(number protowire.Number, kind protowire.Type, value []byte) bool {
		switch {
		case number == fieldID && kind == protowire.VarintType:
			id, _ = protowire.ConsumeVarint(value)
			return true
		case number == fieldEvents && kind == protowire.BytesType:
			pieces++
			return wire.EachField(value, func(number protowire.Number, kind protowire.Type, value []byte) bool {
				return number == fieldMore && kind == protowire.BytesType &&
					wire.EachField(value, func(number protowire.Number, kind protowire.Type, value []byte) bool {
						data = value
						return number == fieldData && kind == protowire.BytesType
					})
			})
		}
		return false
	})
	return id, data, ok && pieces == 1 && data != nil
}
