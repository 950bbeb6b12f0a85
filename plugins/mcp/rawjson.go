package main

import (
	"bytes"
	"encoding/json"

	"github.com/toolhost/toolhost/sdk"
)

// This file takes JSON apart without decoding it: what is passed on keeps its bytes, such as the order of keys and the
// digits of numbers. Names of members are compared exactly, not without regard to case as encoding/json does.

// A member is one of a JSON object. Its value shares the object's bytes.
type member struct {
	name  string
	value json.RawMessage
}

// members returns those of a JSON object in their order; none for other JSON, and for text that is no JSON.
func members(object json.RawMessage) (out []member) {
	s := scanner{text: object}
	if !s.take('{') {
		return nil
	}
	for !s.take('}') {
		if len(out) > 0 && !s.take(',') {
			return nil
		}
		var name string
		key := s.value()
		if json.Unmarshal(key, &name) != nil || !s.take(':') {
			return nil
		}
		value := s.value()
		if value == nil {
			return nil
		}
		out = append(out, member{name, value})
	}
	return out
}

// items returns those of a JSON array; ok is false for other JSON.
func items(array json.RawMessage) (out []json.RawMessage, ok bool) {
	s := scanner{text: array}
	if !s.take('[') {
		return nil, false
	}
	for !s.take(']') {
		if len(out) > 0 && !s.take(',') {
			return nil, false
		}
		item := s.value()
		if item == nil {
			return nil, false
		}
		out = append(out, item)
	}
	return out, true
}

// A scanner finds the ends of JSON values. It trusts that the text is valid, and returns nothing where it finds that it
// is not.
type scanner struct {
	text []byte
	at   int
}

// take skips blanks, and c if it comes next.
func (s *scanner) take(c byte) bool {
	s.blanks()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) blanks() {
	for s.at < len(s.text) && isBlank(s.text[s.at]) {
		s.at++
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// value returns the next value, nil if there is none.
func (s *scanner) value() json.RawMessage {
	s.blanks()
	start, depth := s.at, 0
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case '"':
			if !s.text1() {
				return nil
			}
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			if depth--; depth < 0 {
				return nil
			}
			s.at++
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return nil
			}
			s.at++
			continue
		default:
			s.word()
		}
		if depth == 0 {
			return s.text[start:s.at:s.at]
		}
	}
	return nil
}

// text1 skips one string.
func (s *scanner) text1() bool {
	for s.at++; s.at < len(s.text); s.at++ {
		end := bytes.IndexAny(s.text[s.at:], `"\`)
		if end < 0 {
			return false
		}
		s.at += end
		if s.text[s.at] == '"' {
			s.at++
			return true
		}
		s.at++ // the character behind a backslash is part of the text
	}
	return false
}

// word skips a number, true, false or null.
func (s *scanner) word() {
	for s.at < len(s.text) && !isBlank(s.text[s.at]) && bytes.IndexByte([]byte(`{}[]",:`), s.text[s.at]) < 0 {
		s.at++
	}
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

// first returns the first byte of a JSON value, which tells its kind; 0 if there is none.
func first(raw json.RawMessage) byte {
	for _, c := range raw {
		if !isBlank(c) {
			return c
		}
	}
	return 0
}

// text returns a JSON string's text; ok is false for other JSON.
func text(raw json.RawMessage) (out string, ok bool) {
	return out, first(raw) == '"' && json.Unmarshal(raw, &out) == nil
}

// kind is the kind of a JSON value in words.
func kind(raw json.RawMessage) string {
	switch first(raw) {
	case 0:
		return "missing"
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

// object puts members together, nil if there are none.
func object(members ...member) json.RawMessage {
	if len(members) == 0 {
		return nil
	}
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, sdk.Encode(m.name)...), ':'), m.value...)
	}
	return append(out, '}')
}
