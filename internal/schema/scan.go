package schema

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// A cursor reads JSON text strictly, without building anything: RFC 8259, valid UTF-8, no unpaired surrogates.
type cursor struct {
	data  []byte
	pos   int
	fault string // why the last scan failed
}

// text is a JSON string in place: data[start:end] is what stands between the quotes.
type text struct {
	start, end int
	runes      int  // length in code points
	escaped    bool // has a backslash, so the bytes are not the value
}

// numeral is a JSON number in place.
type numeral struct {
	start, end int
	digits     int // before the exponent
	fraction   int // of them after the point
	exponent   int // absolute value, saturating
	whole      bool
	scientific bool // has an exponent
}

func (c *cursor) fail(why string) bool {
	c.fault = why
	return false
}

// peek skips white space and returns the next byte, or 0 at the end. A NUL byte is no JSON either.
func (c *cursor) peek() byte {
	for ; c.pos < len(c.data); c.pos++ {
		switch b := c.data[c.pos]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b
		}
	}
	return 0
}

func (c *cursor) literal(word string) bool {
	end := c.pos + len(word)
	if end > len(c.data) || string(c.data[c.pos:end]) != word {
		return c.fail("an unknown word")
	}
	c.pos = end
	return true
}

// text scans the string whose opening quote is at the cursor.
func (c *cursor) text() (text, bool) {
	c.pos++
	t := text{start: c.pos}
	for {
		t.runes += c.plain()
		if c.pos >= len(c.data) {
			return t, c.fail("a string without an end")
		}
		switch b := c.data[c.pos]; {
		case b == '"':
			t.end = c.pos
			c.pos++
			return t, true
		case b == '\\':
			t.escaped = true
			if !c.escape() {
				return t, false
			}
		case b < 0x20:
			return t, c.fail("a raw control character in a string")
		case b < utf8.RuneSelf:
			c.pos++
		default:
			if !c.rune() {
				return t, false
			}
		}
		t.runes++
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain skips printable ASCII other than quote and backslash, eight bytes at a time, and returns how many bytes.
// It may stop early; the caller handles single bytes.
func (c *cursor) plain() int {
	rest, n := c.data[c.pos:], 0
	for len(rest)-n >= 8 {
		w := binary.LittleEndian.Uint64(rest[n:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// Each term has the high bit of a byte set where that byte is special; borrows only disturb bytes after the first.
		special := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w | w) & highs
		if special != 0 {
			n += bits.TrailingZeros64(special) / 8
			break
		}
		n += 8
	}
	c.pos += n
	return n
}

func (c *cursor) rune() bool {
	r, size := utf8.DecodeRune(c.data[c.pos:])
	if r == utf8.RuneError && size == 1 {
		return c.fail("invalid UTF-8 in a string")
	}
	c.pos += size
	return true
}

// escape scans one escaped code point: \n, \u0041, or a surrogate pair.
func (c *cursor) escape() bool {
	if c.pos+1 >= len(c.data) {
		return c.fail("a string without an end")
	}
	switch c.data[c.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.pos += 2
		return true
	case 'u':
		return c.unicodeEscape()
	}
	return c.fail("an unknown escape in a string")
}

func (c *cursor) unicodeEscape() bool {
	r, ok := c.hex4()
	switch {
	case !ok:
		return c.fail("a broken \\u escape in a string")
	case r < 0xD800 || r > 0xDFFF:
		return true
	case r <= 0xDBFF && c.pos+1 < len(c.data) && c.data[c.pos] == '\\' && c.data[c.pos+1] == 'u':
		if low, ok := c.hex4(); ok && low >= 0xDC00 && low <= 0xDFFF {
			return true
		}
	}
	return c.fail("half a surrogate pair in a string")
}

// hex4 reads \uXXXX at the cursor.
func (c *cursor) hex4() (rune, bool) {
	if c.pos+6 > len(c.data) {
		return 0, false
	}
	var r rune
	for _, b := range c.data[c.pos+2 : c.pos+6] {
		switch {
		case b >= '0' && b <= '9':
			r = r<<4 | rune(b-'0')
		case b|0x20 >= 'a' && b|0x20 <= 'f':
			r = r<<4 | rune(b|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	c.pos += 6
	return r, true
}

// number scans the number at the cursor.
func (c *cursor) number() (numeral, bool) {
	n := numeral{start: c.pos, whole: true}
	if c.at('-') {
		c.pos++
	}
	first := c.pos
	n.digits = c.digits()
	if n.digits == 0 || n.digits > 1 && c.data[first] == '0' {
		return n, c.fail("something that is no JSON value")
	}
	if c.at('.') {
		c.pos++
		n.whole = false
		n.fraction = c.digits()
		n.digits += n.fraction
		if n.fraction == 0 {
			return n, c.fail("a number without digits after the point")
		}
	}
	if c.at('e') || c.at('E') {
		n.whole, n.scientific = false, true
		if !c.exponent(&n) {
			return n, c.fail("a number without digits in its exponent")
		}
	}
	n.end = c.pos
	return n, true
}

func (c *cursor) at(b byte) bool { return c.pos < len(c.data) && c.data[c.pos] == b }

func (c *cursor) digits() int {
	start := c.pos
	for c.pos < len(c.data) && c.data[c.pos]-'0' <= 9 {
		c.pos++
	}
	return c.pos - start
}

func (c *cursor) exponent(n *numeral) bool {
	c.pos++
	if c.at('+') || c.at('-') {
		c.pos++
	}
	start := c.pos
	if c.digits() == 0 {
		return false
	}
	for _, b := range c.data[start:c.pos] {
		n.exponent = min(n.exponent*10+int(b-'0'), 1<<20)
	}
	return true
}

// absurd reports a number whose exact value would be costly: more than maxNumber characters, or that many zeros.
func (n numeral) absurd() bool { return n.end-n.start > maxNumber || n.exponent > maxNumber }
