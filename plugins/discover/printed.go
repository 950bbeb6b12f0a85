package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/toolhost/toolhost/sdk"
)

// This file reads what a discovery command printed as JSON. Keys are compared exactly, as the format does.

// array gives the JSON array that was printed.
func array(printed []byte) (json.RawMessage, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(printed), []byte("\uFEFF")))
	if len(text) == 0 {
		return nil, errors.New("it printed nothing; it must print a JSON array of tools")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		at := int64(bytes.Index(printed, text))
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			at += e.Offset
		}
		return nil, fmt.Errorf("it printed no valid JSON: %w at byte %d; it begins with %q", err, at, clip(string(text[:min(len(text), 64)]), 60))
	}
	if kind(whole) != "an array" {
		return nil, fmt.Errorf("it printed %s; it must print a JSON array of tools", kind(whole))
	}
	return whole, nil
}

// items gives the items of a valid JSON array, one at a time, with their places from 1.
func items(array json.RawMessage) iter.Seq2[int, json.RawMessage] {
	return func(yield func(int, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(array))
		_, err := d.Token()
		for i := 1; err == nil && d.More(); i++ {
			var item json.RawMessage
			if err = d.Decode(&item); err == nil && !yield(i, item) {
				return
			}
		}
	}
}

// object gives the fields of a JSON object, nil for anything else.
func object(raw json.RawMessage) (fields map[string]json.RawMessage) {
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

// kind says in words what a JSON value is.
func kind(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// clip is the start of text, at most n bytes, no half character.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return string(sdk.WholeEnd([]byte(text[:n])))
}
