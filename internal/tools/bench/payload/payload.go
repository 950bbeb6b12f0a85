// Package payload is what the arms of the benchmark send and return: all take a size and 100 bytes, and return so many
// bytes.
package payload

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// The filler of large results is made at its first use: starts are measured too, and it takes a millisecond.
var (
	digits = []byte("0123456789")
	small  = bytes.Repeat(digits, 100)
	large  = sync.OnceValue(func() []byte { return bytes.Repeat(digits, 1<<20/10+1) })
)

// Text is so many bytes.
func Text(size int) []byte {
	if size <= len(small) {
		return small[:size]
	}
	if size <= len(large()) {
		return large()[:size]
	}
	huge.Lock()
	defer huge.Unlock()
	if size > len(huge.text) {
		huge.text = bytes.Repeat(digits, size/10+1)
	}
	return huge.text[:size]
}

// The filler of results over a megabyte.
var huge struct {
	sync.Mutex
	text []byte
}

// RequestSize is that of a request without JSON.
const RequestSize = 108

// Request is what arms without JSON send.
func Request(size int) []byte {
	out := append([]byte(nil), Text(RequestSize)...)
	binary.LittleEndian.PutUint64(out, uint64(size))
	return out
}

// Answer is what a request asks for.
func Answer(request []byte) []byte { return Text(int(binary.LittleEndian.Uint64(request))) }

// Args are the arguments of tools.
type Args struct {
	Size int    `json:"size"`
	Text string `json:"text"`
}

// Arguments are their JSON.
func Arguments(size int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"size":%d,"text":%q}`, size, Text(100)))
}

const fields = 40

// WideSchema has as many fields, of all usual kinds, and WideArguments fits it.
func WideSchema() json.RawMessage {
	var properties []string
	for i := range fields {
		property := []string{`{"type":"string","minLength":1,"maxLength":80}`, `{"type":"integer","minimum":0,"maximum":1000000}`,
			`{"enum":["red","green","blue"]}`, `{"type":"array","items":{"type":"string"},"maxItems":10}`}[i%4]
		properties = append(properties, fmt.Sprintf(`"field%d":%s`, i, property))
	}
	return json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` + strings.Join(properties, ",") + `}}`)
}

// WideArguments fit WideSchema.
func WideArguments() json.RawMessage {
	var members []string
	for i := range fields {
		value := []string{`"a text of some words"`, `12345`, `"green"`, `["a","b","c"]`}[i%4]
		members = append(members, fmt.Sprintf(`"field%d":%s`, i, value))
	}
	return json.RawMessage(`{` + strings.Join(members, ",") + `}`)
}
