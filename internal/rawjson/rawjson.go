// Package rawjson takes JSON apart without decoding it: what is passed on keeps its bytes, such as the order of
// members, the digits of numbers and the escapes of strings. Names of members are compared exactly, and each of two
// members of one name is seen. Encode writes JSON for readers of text; Object puts members together.
package rawjson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Encode returns the JSON of v without the escapes of <, > and & that only HTML needs. It is on one line if indent is
// empty.
func Encode(v any, indent string) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// maxDepth is how deep a text may be nested where nothing else is said.
const maxDepth = 1000

// Members walks over the members of a JSON object, and checks the syntax of all of it. A text that is another JSON
// value has no members.
//
//	m := rawjson.MembersOf(text)
//	for m.Next() { … m.Name, m.Value … }
//	if m.Err != nil { … }
type Members struct {
	text        []byte
	at          int
	begun, over bool
	most        int // how deep it may be nested

	Name, Value []byte // of the current member: its name without escapes, its value's exact bytes
	Start, End  int    // where the member is in the text, from its name's quote to the end of its value
	Err         error
}

// MembersOf begins before the first member of a text.
func MembersOf(text []byte) Members { return Members{text: text, most: maxDepth} }

// DeepMembersOf is MembersOf without the limit of nesting.
func DeepMembersOf(text []byte) Members { return Members{text: text, most: math.MaxInt} }

// Next moves to the next member. It returns false after the last one, or at the first error.
func (m *Members) Next() bool {
	if m.over {
		return false
	}
	var more bool
	more, m.Err = m.advance()
	m.over = !more || m.Err != nil
	return !m.over
}

func (m *Members) advance() (more bool, err error) {
	m.at = skipSpace(m.text, m.at)
	switch {
	case !m.begun && m.peek() != '{':
		return false, m.finish(skipValue(m.text, m.at, m.most))
	case !m.begun:
		m.begun = true
		if m.at = skipSpace(m.text, m.at+1); m.peek() == '}' {
			return false, m.finish(m.at+1, nil)
		}
	case m.peek() == '}':
		return false, m.finish(m.at+1, nil)
	case m.peek() == ',':
		m.at = skipSpace(m.text, m.at+1)
	default:
		return false, wrong(m.text, m.at)
	}
	if m.peek() != '"' {
		return false, wrong(m.text, m.at)
	}
	m.Start = m.at
	if m.at, err = skipString(m.text, m.at+1); err != nil {
		return false, err
	}
	m.Name = unquote(m.text[m.Start:m.at])
	if m.at = skipSpace(m.text, m.at); m.peek() != ':' {
		return false, wrong(m.text, m.at)
	}
	from := skipSpace(m.text, m.at+1)
	if m.at, err = skipValue(m.text, from, m.most-1); err != nil {
		return false, err
	}
	m.End, m.Value = m.at, m.text[from:m.at]
	return true, nil
}

// finish checks that nothing but white space follows.
func (m *Members) finish(at int, err error) error {
	if err != nil {
		return err
	}
	if at = skipSpace(m.text, at); at < len(m.text) {
		return wrong(m.text, at)
	}
	return nil
}

func (m *Members) peek() byte {
	if m.at < len(m.text) {
		return m.text[m.at]
	}
	return 0
}

// unquote returns what a JSON string means. Most strings have no escapes.
func unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var s string
	_ = json.Unmarshal(quoted, &s)
	return []byte(s)
}

// Text returns what a JSON string means; ok is false for other JSON. The text has passed Members, Elements or Check.
func Text(raw []byte) (text string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return string(unquote(raw)), true
}

// ASCII returns the content of a JSON string that has only ASCII characters and no escapes, so that its bytes are its
// text; ok is false for any other text, also one that is not JSON. It copies nothing.
func ASCII(raw []byte) (content []byte, ok bool) {
	n := len(raw)
	if n < 2 || raw[0] != '"' || raw[n-1] != '"' {
		return nil, false
	}
	content = raw[1 : n-1 : n-1]
	for _, c := range content {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			return nil, false
		}
	}
	return content, true
}

// First returns the first byte of a JSON value, which tells its kind, such as { of an object; 0 if there is none.
func First(raw []byte) byte {
	if at := skipSpace(raw, 0); at < len(raw) {
		return raw[at]
	}
	return 0
}

// Kind says what a JSON value is, such as "an object"; "missing" is no value.
func Kind(raw json.RawMessage) string {
	switch First(raw) {
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

// Elements returns the exact bytes of the elements of a JSON array, at most limit of them, and whether there are more.
// They may be nested to any depth.
func Elements(array []byte, limit int) (list []json.RawMessage, more bool, err error) {
	at := skipSpace(array, 0)
	if at == len(array) || array[at] != '[' {
		return nil, false, errors.New("it is not an array")
	}
	if at = skipSpace(array, at+1); at < len(array) && array[at] == ']' {
		return nil, false, nil
	}
	for {
		from := skipSpace(array, at)
		if at, err = skipValue(array, from, math.MaxInt); err != nil {
			return nil, false, err
		}
		if len(list) == limit {
			return list, true, nil
		}
		list = append(list, array[from:at:at])
		at = skipSpace(array, at)
		switch {
		case at < len(array) && array[at] == ',':
			at++
		case at < len(array) && array[at] == ']':
			return list, false, nil
		default:
			return nil, false, wrong(array, at)
		}
	}
}

// Array puts elements together.
func Array(elements []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']')
}

// Check reports what is wrong with a JSON text, which may be nested to any depth.
func Check(text []byte) error {
	m := Members{text: text}
	return m.finish(skipValue(text, skipSpace(text, 0), math.MaxInt))
}

// ErrDeep is the error of a text that is nested deeper than MaxDepth.
var ErrDeep = fmt.Errorf("it is nested more than %d deep", maxDepth)

// skipScalar returns the offset after the string, number or word that begins at an offset.
func skipScalar(b []byte, at int) (int, error) {
	if at >= len(b) {
		return at, wrong(b, at)
	}
	switch c := b[at]; {
	case c == '"':
		return skipString(b, at+1)
	case c == '-' || c >= '0' && c <= '9':
		return skipNumber(b, at)
	case c == 't':
		return skipWord(b, at, "true")
	case c == 'f':
		return skipWord(b, at, "false")
	case c == 'n':
		return skipWord(b, at, "null")
	}
	return at, wrong(b, at)
}

// skipName returns the offset of the value after the name of a member.
func skipName(b []byte, at int) (_ int, err error) {
	if at >= len(b) || b[at] != '"' {
		return at, wrong(b, at)
	}
	if at, err = skipString(b, at+1); err != nil {
		return at, err
	}
	if at = skipSpace(b, at); at >= len(b) || b[at] != ':' {
		return at, wrong(b, at)
	}
	return skipSpace(b, at+1), nil
}

// skipValue returns the offset after the value that begins at an offset and has at most so many containers in each
// other. It takes a byte of memory for each level, and no recursion.
func skipValue(b []byte, at, most int) (_ int, err error) {
	closings := make([]byte, 0, 64) // of the containers around; on the stack while there are few
	for {
		if at < len(b) && (b[at] == '{' || b[at] == '[') {
			if len(closings) >= most {
				return at, ErrDeep
			}
			closing := b[at] + 2
			closings = append(closings, closing)
			if at = skipSpace(b, at+1); at >= len(b) || b[at] != closing {
				if closing == '}' {
					at, err = skipName(b, at)
				}
				if err != nil {
					return at, err
				}
				continue
			}
		} else if at, err = skipScalar(b, at); err != nil || len(closings) == 0 {
			return at, err
		}
		if at, closings, err = skipEnds(b, at, closings); err != nil || len(closings) == 0 {
			return at, err
		}
	}
}

// skipEnds skips what follows a value in containers: the ends of some, then a comma and the name of the next member.
func skipEnds(b []byte, at int, closings []byte) (int, []byte, error) {
	for len(closings) > 0 {
		last := closings[len(closings)-1]
		at = skipSpace(b, at)
		switch {
		case at < len(b) && b[at] == last:
			at, closings = at+1, closings[:len(closings)-1]
			continue
		case at >= len(b) || b[at] != ',':
			return at, closings, wrong(b, at)
		}
		var err error
		if at = skipSpace(b, at+1); last == '}' {
			at, err = skipName(b, at)
		}
		return at, closings, err
	}
	return at, closings, nil
}

// skipString returns the offset after the closing quote of a string whose content begins at an offset. It looks at
// eight bytes at a time for a quote, a backslash or a control character.
func skipString(b []byte, at int) (int, error) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for {
		for ; at+8 <= len(b); at += 8 {
			w := binary.LittleEndian.Uint64(b[at:])
			quote, backslash := w^(ones*'"'), w^(ones*'\\')
			found := ((w-ones*' ')&^w | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
			if found != 0 {
				at += bits.TrailingZeros64(found) / 8
				break
			}
		}
		if at >= len(b) {
			return at, wrong(b, at)
		}
		switch c := b[at]; {
		case c == '"':
			return at + 1, nil
		case c == '\\':
			n := escapeLength(b[at+1:])
			if n == 0 {
				return at, wrong(b, at)
			}
			at += 1 + n
		case c < ' ':
			return at, wrong(b, at)
		default:
			at++
		}
	}
}

// escapeLength is the number of bytes of an escape after its backslash; 0 if it is none.
func escapeLength(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) < 5 {
			return 0
		}
		for _, c := range b[1:5] {
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return 0
			}
		}
		return 5
	}
	return 0
}

func skipNumber(b []byte, at int) (int, error) {
	if b[at] == '-' {
		at++
	}
	if at < len(b) && b[at] == '0' {
		at++
	} else if at = skipDigits(b, at); at < 0 {
		return len(b), errNumber
	}
	if at < len(b) && b[at] == '.' {
		if at = skipDigits(b, at+1); at < 0 {
			return len(b), errNumber
		}
	}
	if at < len(b) && (b[at] == 'e' || b[at] == 'E') {
		if at++; at < len(b) && (b[at] == '+' || b[at] == '-') {
			at++
		}
		if at = skipDigits(b, at); at < 0 {
			return len(b), errNumber
		}
	}
	return at, nil
}

var errNumber = errors.New("it has a number without digits")

// skipDigits returns the offset after one digit or more, or -1.
func skipDigits(b []byte, at int) int {
	from := at
	for at < len(b) && b[at] >= '0' && b[at] <= '9' {
		at++
	}
	if at == from {
		return -1
	}
	return at
}

func skipWord(b []byte, at int, word string) (int, error) {
	if len(b)-at < len(word) || string(b[at:at+len(word)]) != word {
		return at, wrong(b, at)
	}
	return at + len(word), nil
}

func skipSpace(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\t' || b[at] == '\n' || b[at] == '\r') {
		at++
	}
	return at
}

// wrong says where a text is not JSON.
func wrong(b []byte, at int) error {
	if at >= len(b) {
		return fmt.Errorf("it ends too early, after %d bytes", len(b))
	}
	return fmt.Errorf("it has a wrong byte (%q) at offset %d", b[at], at)
}

// WellFormed puts U+FFFD in place of bytes of a JSON text that are not UTF-8, and of halves of surrogate pairs, which
// programs leave that cut texts in characters: many readers of JSON refuse either. The text need not be valid.
func WellFormed(text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	own := false // text is a copy
	for at := 0; at < len(text); at += len(`\n`) {
		next := bytes.IndexByte(text[at:], '\\')
		if next < 0 {
			break
		}
		at += next
		switch r := escaped(text[at:]); {
		case !utf16.IsSurrogate(r):
		case utf16.DecodeRune(r, escaped(text[at+len(`\uFFFD`):])) == unicode.ReplacementChar:
			if !own {
				text, own = bytes.Clone(text), true // the caller's may be shared
			}
			copy(text[at:], `\uFFFD`)
		default:
			at += len(`\uFFFD`)
		}
	}
	return text
}

// escaped is the character of an escape with its number at the start of a text, 0 without one.
func escaped(text []byte) rune {
	if len(text) < len(`\uFFFD`) || text[1] != 'u' || text[0] != '\\' {
		return 0
	}
	r, _ := strconv.ParseUint(string(text[2:6]), 16, 32)
	return rune(r)
}
