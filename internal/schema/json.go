package schema

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/textutil"
)

// A cursor reads JSON text strictly, without building anything: RFC 8259, valid UTF-8, no unpaired surrogates.
type cursor struct {
	data  []byte
	pos   int
	fault string // why the last scan failed
}

// text is a JSON string in place: data[start:end] is between the quotes.
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

// tooLong reports a number whose exact value would be costly: more than maxNumber characters, or that many zeros.
func (n numeral) tooLong() bool { return n.end-n.start > maxNumber || n.exponent > maxNumber }

// limits bound one decoding.
type limits struct {
	depth    int  // nested objects and arrays
	values   int  // of any kind, all together
	lastWins bool // of members with one name, as JSON.parse has it; otherwise they are an error
}

// object is a JSON object that remembers the order of its names, which is the order its author wants read.
type object struct {
	names   []string
	members map[string]any
}

// decoder turns JSON into map[string]any (or *object), []any, string, json.Number, bool and nil. It is stricter than
// encoding/json: no doubled names, no invalid UTF-8, no half surrogates, no numbers over the limit, no more than its
// limits.
type decoder struct {
	cursor
	limits  limits
	ordered bool // objects become *object
	depth   int
	values  int
}

// decodeError says what is wrong with a JSON text and where, innermost step first.
type decodeError struct {
	reason string
	whole  bool // about the text as a whole: a place in it means little
	twice  bool // a name is given twice
	steps  []location
}

func (e *decodeError) inside(name string, index int) *decodeError {
	if !e.whole {
		e.steps = append(e.steps, location{name: name, index: index})
	}
	return e
}

func (e *decodeError) place() *location {
	var at *location
	for i := len(e.steps) - 1; i >= 0; i-- {
		at = &location{up: at, name: e.steps[i].name, index: e.steps[i].index}
	}
	return at
}

func decode(data []byte, l limits, ordered bool) (any, *decodeError) {
	d := decoder{cursor: cursor{data: data}, limits: l, ordered: ordered}
	v, err := d.value()
	if err != nil {
		return nil, err
	}
	if d.peek(); d.pos < len(data) {
		return nil, d.malformed("more text after the JSON value")
	}
	return v, nil
}

func (d *decoder) malformed(why string) *decodeError {
	return &decodeError{whole: true, reason: fmt.Sprintf("not valid JSON: %s, at byte %d", why, d.pos)}
}

func (d *decoder) value() (any, *decodeError) {
	if d.values++; d.values > d.limits.values {
		return nil, &decodeError{whole: true, reason: fmt.Sprintf("more than %d JSON values", d.limits.values)}
	}
	switch b := d.peek(); b {
	case '{':
		return d.nested((*decoder).object)
	case '[':
		return d.nested((*decoder).array)
	case '"':
		return d.text()
	case 't':
		return true, d.word("true")
	case 'f':
		return false, d.word("false")
	case 'n':
		return nil, d.word("null")
	case 0:
		return nil, d.malformed("the text ends too early")
	default:
		return d.number()
	}
}

func (d *decoder) nested(read func(*decoder) (any, *decodeError)) (any, *decodeError) {
	if d.depth++; d.depth > d.limits.depth {
		return nil, &decodeError{whole: true, reason: fmt.Sprintf("nested more than %d levels deep", d.limits.depth)}
	}
	d.pos++
	v, err := read(d)
	d.depth--
	return v, err
}

func (d *decoder) word(w string) *decodeError {
	if !d.literal(w) {
		return d.malformed(d.fault)
	}
	return nil
}

func (d *decoder) text() (string, *decodeError) {
	t, ok := d.cursor.text()
	if !ok {
		return "", d.malformed(d.fault)
	}
	if !t.escaped {
		return string(d.data[t.start:t.end]), nil
	}
	var s string
	if err := json.Unmarshal(d.data[t.start-1:t.end+1], &s); err != nil {
		return "", d.malformed(err.Error())
	}
	return s, nil
}

func (d *decoder) number() (any, *decodeError) {
	n, ok := d.cursor.number()
	if !ok {
		return nil, d.malformed(d.fault)
	}
	literal := string(d.data[n.start:n.end])
	if n.tooLong() {
		return nil, &decodeError{reason: fmt.Sprintf("number %s has too many digits or too large an exponent (limit %d)",
			textutil.CutRunes(literal, 24, "…"), maxNumber)}
	}
	return json.Number(literal), nil
}

func (d *decoder) array() (any, *decodeError) {
	list := []any{}
	for first := true; ; first = false {
		more, err := d.next(']', first)
		if !more || err != nil {
			return list, err
		}
		v, err := d.value()
		if err != nil {
			return nil, err.inside("", len(list))
		}
		list = append(list, v)
	}
}

func (d *decoder) object() (any, *decodeError) {
	o := &object{members: map[string]any{}}
	for first := true; ; first = false {
		more, err := d.next('}', first)
		switch {
		case err != nil:
			return nil, err
		case !more && d.ordered:
			return o, nil
		case !more:
			return o.members, nil
		}
		if err := d.member(o); err != nil {
			return nil, err
		}
	}
}

func (d *decoder) member(o *object) *decodeError {
	if d.peek() != '"' {
		return d.malformed("a property name must be a string")
	}
	name, err := d.text()
	if err != nil {
		return err
	}
	_, twice := o.members[name]
	if twice && !d.limits.lastWins {
		return &decodeError{twice: true, reason: fmt.Sprintf("property %s is given twice", quote(name))}
	}
	if d.peek() != ':' {
		return d.malformed("a colon is missing")
	}
	d.pos++
	v, err := d.value()
	if err != nil {
		return err.inside(name, -1)
	}
	o.members[name] = v
	if d.ordered && !twice {
		o.names = append(o.names, name)
	}
	return nil
}

// next moves to the next element of an array or object, or past its end.
func (d *decoder) next(end byte, first bool) (more bool, err *decodeError) {
	switch b := d.peek(); {
	case b == end:
		d.pos++
		return false, nil
	case first:
		return true, nil
	case b == ',':
		d.pos++
		if d.peek() == end {
			return false, d.malformed("a comma before the end")
		}
		return true, nil
	}
	return false, d.malformed("a comma is missing, or the end of an object or array")
}
