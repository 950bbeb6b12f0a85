package wire

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// An empty element takes two bytes on the wire and hundreds in memory, so a message within its limit could still fill
// the host's memory. The host's codec counts the elements first.
const (
	maxListed  = 1 << 14  // tools, or notices, of a plugin
	fewEnough  = maxParts // bytes of a message that cannot have too many elements
	fieldTools = 4        // of DescribeResponse; as in plugin.proto, like the others
	fieldNotes = 7
	fieldKinds = 13
	fieldParts = 1
	fieldEnd   = 7 // the Result in a CallEvent

	fieldEvents = 2 // of SessionEvent

	tooMany = "elements in one message; the limit is"
)

// hostCodec is gRPC's codec with a limit on the elements of decoded messages.
var hostCodec encoding.CodecV2 = codec{encoding.GetCodecV2(proto.Name)}

type codec struct{ encoding.CodecV2 }

// Unmarshal fails for too many elements with a text that TooManyElements recognizes.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if data.Len() <= fewEnough {
		return c.CodecV2.Unmarshal(data, v)
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	if n, most := elements(whole.ReadOnlyData(), v); n > most {
		return tooManyElements(n, most)
	}
	return c.CodecV2.Unmarshal(mem.BufferSlice{whole}, v)
}

func tooManyElements(n, most int) error { return fmt.Errorf("%d %s %d", n, tooMany, most) }

// TooManyElements recognizes the error of a message that the codec has refused by its text: gRPC keeps nothing else
// of it.
func TooManyElements(err error) bool { return strings.Contains(err.Error(), tooMany) }

// elements counts the elements of the list that can make a message of v's kind large, and returns their limit.
func elements(data []byte, v any) (n, most int) {
	switch v.(type) {
	case *pluginv1.CallEvent:
		return count(data, fieldEnd, fieldParts), maxParts
	case *pluginv1.SessionEvent:
		return max(count(data, fieldEvents), count(data, fieldEvents, fieldEnd, fieldParts)), maxParts
	case *pluginv1.PreviewResponse:
		return count(data, fieldParts), maxParts
	case *pluginv1.DescribeResponse:
		return max(count(data, fieldTools), count(data, fieldNotes), count(data, fieldKinds)), maxListed
	}
	return 0, 0
}

// count counts the fields with a number, or those at the end of the path. It stops where the message is malformed;
// the decoder reports that.
func count(data []byte, field protowire.Number, path ...protowire.Number) (n int) {
	for len(data) > 0 {
		number, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			return n
		}
		value := data[size:]
		if size = protowire.ConsumeFieldValue(number, kind, value); size < 0 {
			return n
		}
		data = value[size:]
		switch {
		case number != field || kind != protowire.BytesType:
		case len(path) == 0:
			n++
		default:
			inside, _ := protowire.ConsumeBytes(value)
			n += count(inside, path[0], path[1:]...)
		}
	}
	return n
}
