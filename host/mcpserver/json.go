package mcpserver

import (
	"bytes"
	"encoding/json"
)

// text returns the string in a value, "" for another value.
func text(value json.RawMessage) (s string) {
	_ = json.Unmarshal(value, &s) // of other JSON nothing is needed
	return s
}

// isObject reports whether a value is a JSON object, by its first character.
func isObject(value json.RawMessage) bool {
	value = bytes.TrimLeft(value, " \t\r\n")
	return len(value) > 0 && value[0] == '{'
}
