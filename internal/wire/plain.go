package wire

import (
	"bytes"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// This file writes and reads the messages of most calls by hand, which takes a quarter of the time that the library for
// messages takes: a request without lists, and an answer of texts. Fields are those of plugin.proto. A new field of a
// request is added to requestTexts or requestNumbers, or to hasLists, which leaves requests that have it to the
// library; one of a Result or a Content to isPlain. TestEachFieldCrosses says which is missing.

// An Appender is a message that appends its bytes.
type Appender interface {
	AppendTo(out []byte) ([]byte, error)
}

// Proto is any message.
type Proto struct{ proto.Message }

// AppendTo appends the message.
func (m Proto) AppendTo(out []byte) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(out, m.Message)
}

// A SessionCall is a SessionRequest that begins a call.
type SessionCall struct {
	ID      uint64
	Call    *pluginv1.CallRequest
	Timeout time.Duration // to a microsecond; 0 is without a limit
}

// Size returns how many bytes the request of the call takes.
func (m *SessionCall) Size() int {
	if hasLists(m.Call) {
		return proto.Size(m.Call)
	}
	return requestSize(m.Call)
}

// AppendTo appends the message. Its texts are valid UTF-8.
func (m *SessionCall) AppendTo(out []byte) ([]byte, error) {
	us := m.Timeout.Microseconds()
	if hasLists(m.Call) {
		return proto.MarshalOptions{}.MarshalAppend(out, &pluginv1.SessionRequest{Id: m.ID, TimeoutUs: us,
			Request: &pluginv1.SessionRequest_Call{Call: m.Call}})
	}
	out = appendNumber(out, 1, m.ID)
	out = appendHead(out, 2, requestSize(m.Call))
	texts, numbers := requestFields(m.Call)
	for i, text := range texts {
		out = appendText(out, requestTexts[i], text)
	}
	for i, n := range numbers {
		out = appendNumber(out, requestNumbers[i], n)
	}
	return appendNumber(out, 4, uint64(us)), nil
}

func hasLists(r *pluginv1.CallRequest) bool {
	return len(r.GetLeaveOut())+len(r.GetRoots())+len(r.GetInputResponses()) > 0
}

// requestTexts are the fields of a CallRequest that are texts or bytes, requestNumbers those that are numbers.
var (
	requestTexts   = [...]protowire.Number{1, 2, 3, 4, 5, 7, 12, 13, 14, 16, 17}
	requestNumbers = [...]protowire.Number{6, 8, 15, 18}
)

func requestFields(r *pluginv1.CallRequest) (texts [len(requestTexts)][]byte, numbers [len(requestNumbers)]uint64) {
	bytes := textutil.ReadOnlyBytes
	texts = [...][]byte{bytes(r.GetCallId()), bytes(r.GetTool()), r.GetArguments(), bytes(r.GetWorkdir()),
		bytes(r.GetSessionId()), bytes(r.GetRunId()), r.GetRequestState(), r.GetCapabilities(), r.GetMeta(),
		bytes(r.GetTraceParent()), bytes(r.GetTraceState())}
	numbers = [...]uint64{uint64(int64(r.GetAttempt())), 0, uint64(r.GetMaxLargeBytes()), 0}
	if r.GetSingleCall() {
		numbers[1] = 1
	}
	if r.GetDuringQuestions() {
		numbers[3] = 1
	}
	return texts, numbers
}

func requestSize(r *pluginv1.CallRequest) (size int) {
	texts, numbers := requestFields(r)
	for i, text := range texts {
		size += sizeOf(requestTexts[i], len(text))
	}
	for i, n := range numbers {
		if n != 0 {
			size += protowire.SizeTag(requestNumbers[i]) + protowire.SizeVarint(n)
		}
	}
	return size
}

// sizeOf is what a field of so many bytes takes.
func sizeOf(field protowire.Number, n int) int {
	if n == 0 {
		return 0
	}
	return protowire.SizeTag(field) + protowire.SizeBytes(n)
}

func appendNumber(out []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return out
	}
	return protowire.AppendVarint(protowire.AppendTag(out, field, protowire.VarintType), n)
}

// appendHead appends what stands before the bytes of a field.
func appendHead(out []byte, field protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(out, field, protowire.BytesType), uint64(size))
}

// Repeated are texts of the last call of a session, which the next most likely has too.
type Repeated struct{ tool, workdir, session string }

// same returns text as a string that is kept.
func same(kept *string, text []byte) string {
	if string(text) != *kept {
		*kept = string(text)
	}
	return *kept
}

// DecodeSessionCall decodes a frame that is a SessionCall without lists, its request into call, and reports false for
// any other, also a malformed one, which the library decodes. The frame is not used afterwards.
func DecodeSessionCall(frame []byte, call *pluginv1.CallRequest, last *Repeated) (m SessionCall, ok bool) {
	var us uint64
	ok = EachField(frame, func(number protowire.Number, kind protowire.Type, value []byte) bool {
		switch {
		case number == 1 && kind == protowire.VarintType:
			m.ID, _ = protowire.ConsumeVarint(value)
		case number == 2 && kind == protowire.BytesType && m.Call == nil:
			m.Call = call
			return EachField(value, func(number protowire.Number, kind protowire.Type, value []byte) bool {
				return decodeField(call, number, kind, value, last)
			})
		case number == 4 && kind == protowire.VarintType:
			us, _ = protowire.ConsumeVarint(value)
		default:
			return false
		}
		return true
	})
	m.Timeout = time.Duration(us) * time.Microsecond
	return m, ok && m.Call != nil && us <= uint64(maxDuration/time.Microsecond)
}

const maxDuration = 1<<63 - 1

func decodeField(r *pluginv1.CallRequest, number protowire.Number, kind protowire.Type, value []byte,
	last *Repeated) bool {
	if kind == protowire.VarintType {
		n, _ := protowire.ConsumeVarint(value)
		switch number {
		case 6:
			r.Attempt = int32(n)
		case 8:
			r.SingleCall = n != 0
		case 15:
			r.MaxLargeBytes = int64(n)
		case 18:
			r.DuringQuestions = n != 0
		default:
			return false
		}
		return true
	}
	if kind != protowire.BytesType {
		return false
	}
	switch number {
	case 3:
		r.Arguments = bytes.Clone(value)
		return true
	case 12:
		r.RequestState = bytes.Clone(value)
		return true
	case 13:
		r.Capabilities = bytes.Clone(value)
		return true
	case 14:
		r.Meta = bytes.Clone(value)
		return true
	}
	if !utf8.Valid(value) {
		return false
	}
	switch number {
	case 1:
		r.CallId = string(value)
	case 2:
		r.Tool = same(&last.tool, value)
	case 4:
		r.Workdir = same(&last.workdir, value)
	case 5:
		r.SessionId = same(&last.session, value)
	case 7:
		r.RunId = string(value)
	case 16:
		r.TraceParent = string(value)
	case 17:
		r.TraceState = string(value)
	default:
		return false
	}
	return true
}

// AppendSessionEvent appends a SessionEvent of a call with one event, and before it that the call has started if it is
// to say so.
func AppendSessionEvent(out []byte, id uint64, started bool, e *pluginv1.CallEvent) ([]byte, error) {
	out = appendNumber(out, 1, id)
	if started {
		out = append(out, 2<<3|byte(protowire.BytesType), 2, 1<<3|byte(protowire.BytesType), 0)
	}
	result, ok := e.GetEvent().(*pluginv1.CallEvent_Result)
	if ok && isPlain(result.Result) {
		size := 0
		for _, c := range result.Result.GetContent() {
			size += 1 + protowire.SizeBytes(sizeOf(1, len(c.GetType()))+sizeOf(2, len(c.GetText())))
		}
		out = appendHead(out, 2, 1+protowire.SizeBytes(size))
		out = appendHead(out, 7, size)
		for _, c := range result.Result.GetContent() {
			out = appendHead(out, 1, sizeOf(1, len(c.GetType()))+sizeOf(2, len(c.GetText())))
			out = appendText(out, 1, c.GetType())
			out = appendText(out, 2, c.GetText())
		}
		return out, nil
	}
	out = appendHead(out, 2, proto.Size(e))
	return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(out, e)
}

func appendText[T string | []byte](out []byte, field protowire.Number, text T) []byte {
	if len(text) == 0 {
		return out
	}
	return append(appendHead(out, field, len(text)), text...)
}

// isPlain reports whether a result has texts alone. Their types are valid UTF-8.
func isPlain(r *pluginv1.Result) bool {
	if r == nil || r.GetError() != nil || r.GetInputRequired() != nil || r.GetTruncated() ||
		len(r.GetStructured())+len(r.GetExtra()) > 0 {
		return false
	}
	for _, c := range r.GetContent() {
		if len(c.GetData())+len(c.GetMimeType())+len(c.GetUri())+len(c.GetName())+len(c.GetRaw())+len(c.GetExtra())+
			len(c.GetSource()) > 0 || !utf8.ValidString(c.GetType()) {
			return false
		}
	}
	return true
}

// EachField calls take for each field of a message, with the bytes of one that has a length, and the rest of the
// message from the value on for others. It reports whether take took all, and the message is whole.
func EachField(message []byte, take func(protowire.Number, protowire.Type, []byte) bool) bool {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return false
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(number, kind, message)
		if size < 0 {
			return false
		}
		value := message[:size]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if !take(number, kind, value) {
			return false
		}
		message = message[size:]
	}
	return true
}
