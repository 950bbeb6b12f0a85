package modelapi

import "slices"

// inText reads a byte of a name or a string.
func (s *scanner) inText(b byte) {
	switch {
	case b < ' ' || s.high && s.escape == 0 && b != '\\':
		s.at = noJSON
	case s.escape != 0:
		s.inEscape(b)
	case b == '\\':
		s.escape = -1
	case b == '"':
		s.endText()
	case s.at == inString:
		s.mark(true)
	}
}

func (s *scanner) endText() {
	if s.at == inMemberName {
		s.at = behindName
		return
	}
	s.whole()
	s.mark(false)
}

// inEscape reads the letter of an escape, or a digit of a \u.
func (s *scanner) inEscape(b byte) {
	digit, isDigit := hexDigit(b)
	switch {
	case s.escape == -1 && b == 'u':
		s.escape, s.unit = 4, 0
	case s.escape == -1 && !s.high && slices.Contains([]byte(`"\/bfnrt`), b):
		s.endEscape()
	case s.escape > 0 && isDigit:
		s.unit = s.unit<<4 | digit
		if s.escape--; s.escape == 0 {
			s.endUnit()
		}
	default:
		s.at = noJSON
	}
}

// endUnit is behind four digits. Both halves of a surrogate pair count as one character.
func (s *scanner) endUnit() {
	isHigh, isLow := s.unit>>10 == 0xd800>>10, s.unit>>10 == 0xdc00>>10
	switch {
	case isLow != s.high:
		s.at = noJSON
	case isHigh:
		s.high = true
	default:
		s.high = false
		s.endEscape()
	}
}

func (s *scanner) endEscape() {
	s.escape = 0
	if s.at == inString {
		s.mark(true)
	}
}

func hexDigit(b byte) (rune, bool) {
	switch {
	case '0' <= b && b <= '9':
		return rune(b - '0'), true
	case 'a' <= b && b <= 'f':
		return rune(b-'a') + 10, true
	case 'A' <= b && b <= 'F':
		return rune(b-'A') + 10, true
	}
	return 0, false
}
