package sdk

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/textutil"
)

// maxShown is how much of a value that does not fit is in an error, in bytes.
const maxShown = 100

// A decodeError is about a value that does not fit the Go type, in words that say where, and what to give instead.
type decodeError struct {
	cause     error
	where     string // a path such as edits[0].near_line, "" for the whole
	must, got string // must is "" when the cause says everything
	why       string // the cause, where the type has rules of its own
	give      string // "" when only the cause says what to give
}

func (m *decodeError) Error() string {
	text := m.why
	if m.must != "" {
		text = "must be " + m.must + ", got " + m.got
		if m.why != "" {
			text += ": " + m.why
		}
	}
	if m.where != "" {
		text = m.where + ": " + text
	}
	return text
}

func (m *decodeError) Unwrap() error { return m.cause }

func (m *decodeError) suggestion() string {
	if m.give == "" {
		return ""
	}
	return "Give " + cmp.Or(m.where, "the value") + " " + m.give + "."
}

// explained is the error of decoding a text into what out points to: in plain words, and with the place, if a value
// does not fit its Go type. Errors of types that decode themselves name no place, and an offset may be of another text:
// the value is found by decoding again, part by part.
func explained(raw []byte, out any, err error) error {
	var whole json.RawMessage
	if err == nil || json.NewDecoder(bytes.NewReader(raw)).Decode(&whole) != nil { // it is no JSON
		return err
	}
	f := decodeErrorFinder{in: json.NewDecoder(bytes.NewReader(whole)), fields: map[reflect.Type][]field{}}
	if m := f.value(reflect.TypeOf(out).Elem()); m != nil {
		m.where = strings.TrimPrefix(strings.Join(f.path, ""), ".")
		if inner, ok := errors.AsType[*decodeError](m.cause); ok { // in a OneOf
			nested := *inner
			nested.where = m.where + strings.TrimSuffix("."+inner.where, ".")
			return &nested
		}
		return m
	}
	return err
}

// A decodeErrorFinder reads a JSON text beside the Go type that it is decoded into.
type decodeErrorFinder struct {
	in     *json.Decoder
	path   []string // of the value that is read
	fields map[reflect.Type][]field
}

// value reads a value, and says why it does not fit; nil when it does. The path then leads to it. No type is as good as
// one that takes everything.
func (f *decodeErrorFinder) value(t reflect.Type) *decodeError {
	if t == nil || (&inferrer{}).known(pointed(t)) != nil || pointed(t).Implements(choosesType) {
		return f.single(t)
	}
	t = pointed(t)
	token, _ := f.in.Token()
	if token == nil { // null is an empty value of these types
		return nil
	}
	list := t.Kind() == reflect.Slice || t.Kind() == reflect.Array
	switch token {
	case json.Delim('{'):
		if list {
			return mistyped(nil, t, "an object")
		}
		return f.members(t)
	case json.Delim('['):
		if !list {
			return mistyped(nil, t, "an array")
		}
		return f.elements(t)
	}
	return mistyped(nil, t, map[reflect.Kind]string{reflect.Bool: "true or false", reflect.Float64: "a number",
		reflect.String: "a string"}[reflect.TypeOf(token).Kind()])
}

// single reads a value whose type contains no others, or decodes itself.
func (f *decodeErrorFinder) single(t reflect.Type) *decodeError {
	var raw json.RawMessage
	if _ = f.in.Decode(&raw); raw == nil || t == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(reflect.New(t).Interface()); err != nil {
		return decodeErrorOf(err, pointed(t), raw)
	}
	return nil
}

func (f *decodeErrorFinder) elements(t reflect.Type) *decodeError {
	for n := 0; f.in.More(); n++ {
		f.path = append(f.path, "["+strconv.Itoa(n)+"]")
		if m := f.value(t.Elem()); m != nil {
			return m
		}
		f.path = f.path[:len(f.path)-1]
	}
	_, _ = f.in.Token()
	return nil
}

func (f *decodeErrorFinder) members(t reflect.Type) *decodeError {
	if f.fields[t] == nil && t.Kind() == reflect.Struct {
		var i inferrer
		f.fields[t] = i.visible(i.fields(nil, t, field{}, nil))
	}
	for f.in.More() {
		token, _ := f.in.Token()
		name, isName := token.(string)
		if !isName {
			return nil
		}
		f.path = append(f.path, "."+name)
		if t.Kind() == reflect.Map {
			if m := misnamed(t.Key(), name); m != nil {
				return m
			}
		}
		if m := f.value(memberType(t, f.fields[t], name)); m != nil {
			return m
		}
		f.path = f.path[:len(f.path)-1]
	}
	_, _ = f.in.Token()
	return nil
}

// memberType is the type of a member of an object, nil for one that is not known. As encoding/json does, it takes a
// field whose name differs by letter case, unless there is one with the very name.
func memberType(t reflect.Type, fields []field, name string) reflect.Type {
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	n := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if n < 0 {
		n = slices.IndexFunc(fields, func(f field) bool { return strings.EqualFold(f.name, name) })
	}
	if n < 0 {
		return nil
	}
	return fields[n].Type
}

// misnamed says why a name does not fit the key type of a map.
func misnamed(key reflect.Type, name string) *decodeError {
	object := reflect.New(reflect.MapOf(key, rawType))
	err := json.Unmarshal([]byte("{"+quote(name)+":0}"), object.Interface())
	if err == nil {
		return nil
	}
	m := decodeErrorOf(err, key, json.RawMessage(quote(name)))
	m.must, m.got, m.give = "a member whose name is "+m.must, quote(name), "a name that is "+m.give
	return m
}

// decodeErrorOf says what is wrong with a value of a type that contains no others, or decodes itself.
func decodeErrorOf(err error, t reflect.Type, raw json.RawMessage) *decodeError {
	wrong, ok := err.(*json.UnmarshalTypeError) //nolint:errorlint // a wrapped one is about another type
	if !ok || pointed(wrong.Type) != t {
		return ownDecodeError(err, t, raw)
	}
	number, isNumber := strings.CutPrefix(wrong.Value, "number ")
	got := number
	if word := map[string]string{"bool": "true or false", "array": "an array", "object": "an object",
		"string": "a string", "number": "a number"}[wrong.Value]; word != "" {
		got = word
	}
	m := mistyped(err, t, got)
	if !isInteger(t) {
		return m
	}
	low, high := integerRange(t)
	m.give = m.must + " from " + low + " to " + high
	value, err := strconv.ParseFloat(number, 64) // of one that is too large it is infinite
	switch {
	case !isNumber, errors.Is(err, strconv.ErrSyntax): // a name of a member may be any text
	case value != math.Trunc(value):
	case value < 0:
		m.must = "at least " + low
	default:
		m.must = "at most " + high
	}
	return m
}

func mistyped(err error, t reflect.Type, got string) *decodeError {
	return &decodeError{cause: err, must: typeWord(t), got: got, give: typeWord(t)}
}

// ownDecodeError is for a value that its type refuses, with the reason unless the name of the type says it all.
func ownDecodeError(err error, t reflect.Type, raw json.RawMessage) *decodeError {
	if t.Implements(choosesType) { // its errors are in plain words
		return &decodeError{cause: err, why: err.Error()}
	}
	m := mistyped(err, t, textutil.CutRunes(string(raw), maxShown, "..."))
	if t != timeType && t != durationTextType && (implements(t, readsJSON) || implements(t, readsText)) {
		m.why = textutil.CutRunes(err.Error(), 2*maxShown, "...")
	}
	return m
}

// integerRange are the smallest and the largest value of an integer type.
func integerRange(t reflect.Type) (low, high string) {
	bits := t.Bits()
	if t.Kind() >= reflect.Uint {
		return "0", strconv.FormatUint(math.MaxUint64>>(64-bits), 10)
	}
	return strconv.FormatInt(math.MinInt64>>(64-bits), 10), strconv.FormatInt(math.MaxInt64>>(64-bits), 10)
}

func typeWord(t reflect.Type) string {
	switch k := t.Kind(); {
	case k == reflect.Pointer:
		return typeWord(t.Elem())
	case t == timeType:
		return "a date and time such as 2006-01-02T15:04:05Z"
	case t == durationType:
		return "a whole number of nanoseconds"
	case t == durationTextType:
		return "a duration such as 1m30s"
	case t == numberType:
		return "a number"
	case implements(t, readsJSON):
		return "JSON that " + t.String() + " reads"
	case implements(t, readsText):
		return "text that " + t.String() + " reads"
	case isInteger(t):
		return "a whole number"
	case k == reflect.Float32, k == reflect.Float64:
		return fmt.Sprintf("a number of at most %d bits", t.Bits())
	case k == reflect.String:
		return "a string"
	case k == reflect.Bool:
		return "true or false"
	case isBytes(t): // as encoding/json writes them
		return "bytes as a string in base64"
	case k == reflect.Slice, k == reflect.Array:
		return "an array"
	case k == reflect.Map, k == reflect.Struct:
		return "an object"
	}
	return "another value"
}
