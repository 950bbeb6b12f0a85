package modelapi

import (
	"bytes"
	"encoding/json"

	"github.com/toolhost/toolhost/host/internal/arguments"
)

// A place is where in JSON text a scanner stands.
type place byte

const (
	beforeObject place = iota
	beforeName         // behind { or a comma in an object
	inMemberName
	behindName  // where the colon comes
	beforeValue // behind a colon, or a comma in an array, or [
	inString
	inScalar // a number, true, false or null
	behindValue
	behindObject // the outermost is closed
	noJSON       // this is no JSON
)

// A scanner follows the text of a JSON object byte by byte and remembers up to where it is whole: half a name, number,
// literal or escape is left out, half a string is not. It reads each byte once, however the text arrives, as long as it
// arrives in whole characters.
type scanner struct {
	at     place
	read   int    // bytes, so far
	safe   int    // the text up to here is whole
	within bool   // a string value, at safe
	opened []byte // the brackets that are open
	closes string // those of them that are open at safe, closed
	fresh  bool   // nothing stands behind the last bracket yet
	begun  int    // where the scalar began
	escape int    // how many bytes of an escape are still to come; -1 for its letter
	unit   rune   // of the \u escape so far
	high   bool   // half a surrogate pair was read, and the other half must follow
}

// isClosed is true when the object has ended and only blanks came behind it.
func (s *scanner) isClosed() bool { return s.at == behindObject }

// scan reads the bytes of text that it has not read yet.
func (s *scanner) scan(text []byte) {
	for ; s.read < len(text) && s.at != noJSON; s.read++ {
		s.step(text, text[s.read])
	}
}

// mark says that the text is whole behind the byte that is read.
func (s *scanner) mark(within bool) { s.safe, s.within = s.read+1, within }

func (s *scanner) step(text []byte, b byte) {
	switch s.at {
	case inMemberName, inString:
		s.inText(b)
		return
	case inScalar:
		if !endsScalar(b) {
			return
		}
		s.scalar(text)
	}
	if b == ' ' || b == '\t' || b == '\n' || b == '\r' {
		return
	}
	s.between(b)
}

// between reads what stands between names and values.
func (s *scanner) between(b byte) {
	switch {
	case s.at == beforeObject && b == '{':
		s.open(b)
	case s.at == beforeName && b == '"':
		s.at = inMemberName
	case s.at == behindName && b == ':':
		s.at = beforeValue
	case s.at == beforeName && b == '}' && s.fresh, s.at == beforeValue && b == ']' && s.fresh && s.innermost() == '[':
		s.close()
	case s.at == beforeValue:
		s.value(b)
	case s.at == behindValue && b == ',':
		s.comma()
	case s.at == behindValue && b == s.innermost()+2: // { and }, [ and ] are two apart
		s.close()
	default:
		s.at = noJSON
	}
}

func (s *scanner) value(b byte) {
	s.fresh = false
	switch b {
	case '{', '[':
		s.open(b)
	case '"':
		s.at = inString
		s.mark(true)
	default:
		s.at, s.begun = inScalar, s.read
		if !bytes.ContainsRune([]byte("-0123456789tfn"), rune(b)) {
			s.at = noJSON
		}
	}
}

func (s *scanner) innermost() byte { return s.opened[len(s.opened)-1] }

func (s *scanner) open(b byte) {
	if len(s.opened) == arguments.MaxDepth {
		s.at = noJSON
		return
	}
	s.opened, s.fresh = append(s.opened, b), true
	s.closes = string(b+2) + s.closes
	s.at = beforeName
	if b == '[' {
		s.at = beforeValue
	}
	s.mark(false)
}

func (s *scanner) close() {
	s.opened, s.fresh = s.opened[:len(s.opened)-1], false
	s.closes = s.closes[1:]
	s.whole()
	s.mark(false)
}

func (s *scanner) comma() {
	s.at, s.fresh = beforeName, false
	if s.innermost() == '[' {
		s.at = beforeValue
	}
}

// whole is where a value has ended.
func (s *scanner) whole() {
	s.at = behindValue
	if len(s.opened) == 0 {
		s.at = behindObject
	}
}

func endsScalar(b byte) bool {
	switch b {
	case ' ', '\t', '\n', '\r', ',', ']', '}':
		return true
	}
	return false
}

// scalar is at the byte behind a number or literal.
func (s *scanner) scalar(text []byte) {
	if !json.Valid(text[s.begun:s.read]) {
		s.at = noJSON
		return
	}
	s.safe, s.within = s.read, false
	s.whole()
}
