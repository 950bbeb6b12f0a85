package modelapi

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/toolhost/toolhost/host/internal/arguments"
)

// PartialJSON is the beginning of a JSON object, closed so that it can be displayed while the rest is being streamed.
// It may differ in meaning from the whole object: use it for display only.
type PartialJSON struct {
	text []byte // up to where it is well formed
	tail string // what closes it
}

// String returns a JSON object, or "" if none has begun.
func (p PartialJSON) String() string { return string(p.text) + p.tail }

// IsZero reports whether no object has begun.
func (p PartialJSON) IsZero() bool { return len(p.text) == 0 }

// MarshalJSON writes the object, or null.
func (p PartialJSON) MarshalJSON() ([]byte, error) {
	if p.IsZero() {
		return []byte("null"), nil
	}
	return slices.Concat(p.text, []byte(p.tail)), nil
}

// A scanState is the next element that a scanner expects.
type scanState byte

const (
	beforeObject scanState = iota
	beforeName             // after { or a comma in an object
	inName
	afterName   // before the colon
	beforeValue // after a colon, or a comma in an array, or [
	inString
	inScalar // a number, true, false or null
	afterValue
	afterObject // the outermost object is closed
	invalid     // the text is not JSON
)

// A scanner follows the text of a JSON object byte by byte and records up to where it can be cut and closed: an
// incomplete name, number, literal or escape is left out, an incomplete string is not. Each byte is read once, however
// the text arrives; pieces must not split UTF-8 sequences.
type scanner struct {
	state    scanState
	read     int    // bytes so far
	cut      int    // where the text can be cut
	inside   bool   // a string value is open at cut
	opened   []byte // the brackets that are open
	closing  string // what closes those that are open at cut
	empty    bool   // nothing follows the last bracket yet
	scalarAt int    // where the scalar began
	escape   int    // how many digits of an escape are missing; -1: its letter
	unit     rune   // of the \u escape so far
	high     bool   // the second half of a surrogate pair must follow
}

// isClosed reports whether the object has ended, with only white space after it.
func (s *scanner) isClosed() bool { return s.state == afterObject }

// partial closes the text where it can be cut.
func (s *scanner) partial(text []byte) PartialJSON {
	switch {
	case s.cut == 0:
		return PartialJSON{}
	case s.inside:
		return PartialJSON{text: text[:s.cut:s.cut], tail: `"` + s.closing}
	}
	return PartialJSON{text: text[:s.cut:s.cut], tail: s.closing}
}

func (s *scanner) scan(text []byte) {
	for ; s.read < len(text) && s.state != invalid; s.read++ {
		b := text[s.read]
		blank := b == ' ' || b == '\t' || b == '\n' || b == '\r'
		switch s.state {
		case inName, inString:
			s.inText(b)
			continue
		case inScalar:
			if !blank && b != ',' && b != ']' && b != '}' {
				continue
			}
			if !json.Valid(text[s.scalarAt:s.read]) {
				s.state = invalid
				return
			}
			s.cut, s.inside = s.read, false
			s.endValue()
		}
		if !blank {
			s.structure(b)
		}
	}
}

// mark records that the text can be cut after this byte.
func (s *scanner) mark(inside bool) { s.cut, s.inside = s.read+1, inside }

// structure reads a byte between names and values, or the first byte of one.
func (s *scanner) structure(b byte) {
	switch {
	case s.state == beforeObject && b == '{':
		s.open(b)
	case s.state == beforeName && b == '"':
		s.state = inName
	case s.state == afterName && b == ':':
		s.state = beforeValue
	case s.state == beforeName && b == '}' && s.empty,
		s.state == beforeValue && b == ']' && s.empty && s.innermost() == '[':
		s.close()
	case s.state == beforeValue:
		s.empty = false
		switch {
		case b == '{' || b == '[':
			s.open(b)
		case b == '"':
			s.state = inString
			s.mark(true)
		case bytes.IndexByte([]byte("-0123456789tfn"), b) >= 0:
			s.state, s.scalarAt = inScalar, s.read
		default:
			s.state = invalid
		}
	case s.state == afterValue && b == ',':
		s.state, s.empty = beforeName, false
		if s.innermost() == '[' {
			s.state = beforeValue
		}
	case s.state == afterValue && b == s.innermost()+2: // { and } are two apart, [ and ] too
		s.close()
	default:
		s.state = invalid
	}
}

func (s *scanner) innermost() byte { return s.opened[len(s.opened)-1] }

func (s *scanner) open(b byte) {
	if len(s.opened) == arguments.MaxDepth {
		s.state = invalid
		return
	}
	s.opened, s.empty = append(s.opened, b), true
	s.closing = string(b+2) + s.closing
	s.state = beforeName
	if b == '[' {
		s.state = beforeValue
	}
	s.mark(false)
}

func (s *scanner) close() {
	s.opened, s.empty = s.opened[:len(s.opened)-1], false
	s.closing = s.closing[1:]
	s.endValue()
	s.mark(false)
}

func (s *scanner) endValue() {
	s.state = afterValue
	if len(s.opened) == 0 {
		s.state = afterObject
	}
}

// inText reads a byte of a name or a string.
func (s *scanner) inText(b byte) {
	switch {
	case b < ' ' || s.high && s.escape == 0 && b != '\\':
		s.state = invalid
	case s.escape != 0:
		s.inEscape(b)
	case b == '\\':
		s.escape = -1
	case b == '"' && s.state == inName:
		s.state = afterName
	case b == '"':
		s.endValue()
		s.mark(false)
	case s.state == inString:
		s.mark(true)
	}
}

// inEscape reads the letter of an escape, or a digit of a \u. Both halves of a surrogate pair are one character.
func (s *scanner) inEscape(b byte) {
	digit := bytes.IndexByte([]byte("0123456789abcdef"), b|0x20)
	switch {
	case s.escape == -1 && b == 'u':
		s.escape, s.unit = 4, 0
		return
	case s.escape == -1 && !s.high && bytes.IndexByte([]byte(`"\/bfnrt`), b) >= 0:
		s.escape = 0
	case s.escape > 0 && digit >= 0 && b >= '0':
		s.unit = s.unit<<4 | rune(digit)
		if s.escape--; s.escape > 0 {
			return
		}
		isHigh, isLow := s.unit>>10 == 0xd800>>10, s.unit>>10 == 0xdc00>>10
		if isLow != s.high {
			s.state = invalid
			return
		}
		if s.high = isHigh; isHigh {
			return
		}
	default:
		s.state = invalid
		return
	}
	if s.state == inString {
		s.mark(true)
	}
}
