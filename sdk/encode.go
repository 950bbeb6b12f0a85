package sdk

import (
	"bytes"
	"encoding/json"
)

// Encode gives the JSON of v, for Result.Structured and the like, with <, > and & as they are: models read it, and escaped
// each of these would be six bytes. It is nil when v has no JSON form, such as a channel.
func Encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
