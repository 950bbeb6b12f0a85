package modelapi

import "slices"

// A Partial is the beginning of a JSON object, closed so that it can be shown while the rest is still being written. It
// may say something else than the whole will: it is for people's eyes, and no call takes one.
type Partial struct {
	text []byte // whole up to where it may be cut
	tail string // what closes it
}

// String is a JSON object, or "" when none has begun.
func (p Partial) String() string { return string(p.text) + p.tail }

// IsZero is true when no object has begun.
func (p Partial) IsZero() bool { return len(p.text) == 0 }

// MarshalJSON writes the object.
func (p Partial) MarshalJSON() ([]byte, error) {
	if p.IsZero() {
		return []byte("null"), nil
	}
	return slices.Concat(p.text, []byte(p.tail)), nil
}

// partial closes the text at the last place where it is whole.
func (s *scanner) partial(text []byte) Partial {
	switch {
	case s.safe == 0:
		return Partial{}
	case s.within:
		return Partial{text: text[:s.safe:s.safe], tail: `"` + s.closes}
	}
	return Partial{text: text[:s.safe:s.safe], tail: s.closes}
}
