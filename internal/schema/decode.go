package schema

import (
	"encoding/json"
	"fmt"
)

// limits bound one decoding.
type limits struct {
	depth  int // nested objects and arrays
	values int // of any kind, all together
}

// object is a JSON object that remembers the order of its names, which is the order its author wants read.
type object struct {
	names   []string
	members map[string]any
}

// decoder turns JSON into map[string]any (or *object), []any, string, json.Number, bool and nil. It is stricter than
// encoding/json: no doubled names, no invalid UTF-8, no half surrogates, no absurd numbers, no more than its limits.
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
	steps  []place
}

func (e *decodeError) Error() string { return e.reason }

func (e *decodeError) inside(name string, index int) *decodeError {
	if !e.whole {
		e.steps = append(e.steps, place{name: name, index: index})
	}
	return e
}

// place is where the fault lies.
func (e *decodeError) place() *place {
	var at *place
	for i := len(e.steps) - 1; i >= 0; i-- {
		at = &place{up: at, name: e.steps[i].name, index: e.steps[i].index}
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
	if n.absurd() {
		return nil, &decodeError{reason: fmt.Sprintf("number %s has too many digits or too large an exponent (limit %d)", shorten(literal, 24), maxNumber)}
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
		if err != nil {
			return nil, err
		}
		if !more {
			return d.finish(o), nil
		}
		if err := d.member(o); err != nil {
			return nil, err
		}
	}
}

func (d *decoder) finish(o *object) any {
	if d.ordered {
		return o
	}
	return o.members
}

func (d *decoder) member(o *object) *decodeError {
	if d.peek() != '"' {
		return d.malformed("a property name must be a string")
	}
	name, err := d.text()
	if err != nil {
		return err
	}
	if _, twice := o.members[name]; twice {
		return &decodeError{reason: fmt.Sprintf("property %s is given twice", quote(name))}
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
	if d.ordered {
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
