package main

import (
	"bytes"
	"encoding/json"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// items returns those of a JSON array; ok is false for other JSON.
func items(array json.RawMessage) (out []json.RawMessage, ok bool) {
	out, _, err := rawjson.Elements(array, len(array))
	return out, err == nil
}

// maxNesting is how many objects and arrays a part of a definition may have in each other. Hosts check schemas of 32.
const maxNesting = 60

// deep reports JSON that is nested deeper than maxNesting.
func deep(raw json.RawMessage) bool {
	open, inText := 0, false
	for i := 0; i < len(raw) && open <= maxNesting; i++ {
		switch c := raw[i]; {
		case c == '"':
			inText = !inText
		case c == '\\':
			i++ // the character behind it is part of a text
		case inText:
		case c == '{' || c == '[':
			open++
		case c == '}' || c == ']':
			open--
		}
	}
	return open > maxNesting
}

// first returns the first byte of a JSON value, which identifies its kind; 0 if there is none.
func first(raw json.RawMessage) byte {
	if raw = bytes.TrimLeft(raw, " \t\r\n"); len(raw) > 0 {
		return raw[0]
	}
	return 0
}

// text returns a JSON string's text; ok is false for other JSON.
func text(raw json.RawMessage) (out string, ok bool) {
	if rawjson.Check(raw) != nil {
		return "", false
	}
	return rawjson.Text(bytes.TrimSpace(raw))
}
