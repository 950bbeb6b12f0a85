package mcpserver

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"math"
	"strconv"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// The SDK reads an id that is a number as a float64, and so would answer 9007199254740993 as 9007199254740992, which
// may be another request of the client. Such an id is handed to it as a string, and is a number again in all that is
// sent.

// idMark begins the strings. No client can know it.
var idMark = rand.Text()

// cancelled is the notification that names a request.
const cancelled = "notifications/cancelled"

const lossyID = "the id must be a string or an integer of 64 bits"

func isNumber(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '-' || id[0] >= '0' && id[0] <= '9')
}

// isLossy reports an id that is refused: a number that is not an integer of 64 bits.
func isLossy(id json.RawMessage) bool {
	if !isNumber(id) {
		return false
	}
	if _, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		return false
	}
	f, err := strconv.ParseFloat(string(id), 64)
	return err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53
}

// isLarge reports an integer that a float64 may not hold.
func isLarge(id json.RawMessage) bool {
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && (n > 1<<53 || n < -1<<53)
}

// hideID is a number as a string for the SDK.
func hideID(id json.RawMessage) json.RawMessage {
	return json.RawMessage(`"` + idMark + string(id) + `"`)
}

// withHiddenID returns a request whose id the SDK can hold.
func withHiddenID(message, id json.RawMessage) json.RawMessage {
	if !isLarge(id) {
		return message
	}
	return withValue(message, "id", hideID(id))
}

// withHiddenRequest is withHiddenID for the params of a notification that names a request. One that can be no request's
// becomes null: the SDK would take 1.5 for 1.
func withHiddenRequest(params json.RawMessage) json.RawMessage {
	const name = "requestId"
	switch id := rawjson.ObjectOf(params).Get(name); {
	case isLossy(id):
		return withValue(params, name, json.RawMessage("null"))
	case isLarge(id):
		return withValue(params, name, hideID(id))
	}
	return params
}

// withValue returns an object with another value of a member. All else keeps its bytes, also what is no JSON.
func withValue(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	var out json.RawMessage
	at := 0
	for m := rawjson.MembersOf(object); m.Next(); {
		if string(m.Name) == name {
			out = append(append(out, object[at:m.End-len(m.Value)]...), value...)
			at = m.End
		}
	}
	return append(out, object[at:]...)
}

// withNumberIDs returns what is sent with the numbers that were hidden. In a text, such as that of an error of the SDK,
// the mark alone is left out.
func withNumberIDs(message []byte) []byte {
	mark := []byte(idMark)
	if !bytes.Contains(message, mark) {
		return message
	}
	out := make([]byte, 0, len(message))
	for {
		before, after, found := bytes.Cut(message, mark)
		if !found {
			return append(out, message...)
		}
		number := len(after) - len(bytes.TrimLeft(after, "+-.0123456789Ee"))
		if text, begins := bytes.CutSuffix(before, []byte(`"`)); begins && !bytes.HasSuffix(text, []byte(`\`)) &&
			number > 0 && number < len(after) && after[number] == '"' {
			out = append(append(out, text...), after[:number]...)
			message = after[number+1:]
			continue
		}
		out = append(out, before...)
		message = after
	}
}
