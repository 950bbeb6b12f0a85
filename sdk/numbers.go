package sdk

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// maxRewritten bounds what is decoded again because of numbers that are written with a fraction or an exponent, in
// bytes.
const maxRewritten = 16 << 20

// maxDigits is how many digits an integer has at most.
const maxDigits = 20

// decodeRewritten decodes again what failed with err because a whole number has a form that Go does not read as one:
// 1.0 and 1e2 are integers of JSON Schema. Only these numbers are rewritten, and only where the Go type is an integer.
func decodeRewritten(raw []byte, out any, err error) error {
	for budget := maxRewritten; err != nil && budget > 0; budget -= len(raw) {
		wrong, ok := err.(*json.UnmarshalTypeError) //nolint:errorlint // a wrapped one has an offset in another text
		if !ok {
			break
		}
		number, isNumber := strings.CutPrefix(wrong.Value, "number ")
		end := int(wrong.Offset)
		digits, whole := wholeNumber(number)
		if !isNumber || !whole || digits == number || !isInteger(wrong.Type) || end > len(raw) ||
			!bytes.HasSuffix(raw[:end], []byte(number)) {
			break
		}
		raw = bytes.Join([][]byte{raw[:end-len(number)], raw[end:]}, []byte(digits))
		reflect.ValueOf(out).Elem().SetZero()
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		err = d.Decode(out)
	}
	return explained(raw, err)
}

// wholeNumber writes a number without fraction and exponent. It is not ok when the number is not whole, or has more
// digits than any integer type holds.
func wholeNumber(number string) (digits string, ok bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	by, err := strconv.Atoi(cmp.Or(exponent, "0"))
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	head, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(head+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0", true
	}
	by += len(digits) - len(short) - len(fraction)
	if err != nil || by < 0 || by > maxDigits || len(short)+by > maxDigits {
		return "", false
	}
	return sign + short + strings.Repeat("0", by), true
}

func isInteger(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr }

// A misfit is a value that does not fit the Go type, in words that say where, and what to give instead.
type misfit struct {
	cause            error
	where, must, got string
	give             string
}

func (m *misfit) Error() string {
	text := "must be " + m.must + ", got " + m.got
	if m.where != "" {
		text = m.where + ": " + text
	}
	return text
}

func (m *misfit) Unwrap() error { return m.cause }

func (m *misfit) suggestion() string {
	return "Give " + cmp.Or(m.where, "the value") + " " + m.give + "."
}

// explained is the error of decoding a text, in plain words if it is about a value of the wrong type.
func explained(raw []byte, err error) error {
	wrong, ok := err.(*json.UnmarshalTypeError) //nolint:errorlint // as above
	if !ok {
		return err
	}
	m := &misfit{cause: err, where: pathAt(raw, wrong.Offset), got: wrong.Value}
	number, isNumber := strings.CutPrefix(wrong.Value, "number ")
	if isNumber {
		m.got = number
	} else if word := map[string]string{"bool": "true or false", "array": "an array", "object": "an object",
		"string": "a string", "number": "a number"}[wrong.Value]; word != "" {
		m.got = word
	}
	m.must = typeWord(wrong.Type)
	m.give = m.must
	if !isInteger(wrong.Type) {
		return m
	}
	low, high := integerRange(wrong.Type)
	m.give = "a whole number from " + low + " to " + high
	value, _ := strconv.ParseFloat(number, 64) // of one that is too large it is infinite
	switch {
	case !isNumber:
	case value != math.Trunc(value):
	case value < 0:
		m.must = "at least " + low
	default:
		m.must = "at most " + high
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
	case isInteger(t):
		return "a whole number"
	case k == reflect.Float32, k == reflect.Float64:
		return fmt.Sprintf("a number of at most %d bits", t.Bits())
	case k == reflect.String:
		return "a string"
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.Slice, k == reflect.Array:
		return "an array"
	case k == reflect.Map, k == reflect.Struct:
		return "an object"
	}
	return "another value"
}

// pathAt is the path, such as edits[0].near_line, of the value that ends at an offset of a JSON text or is an array or
// object that starts there.
func pathAt(raw []byte, offset int64) string {
	type level struct {
		object, value bool // in an object, and behind a name
		name          string
		n             int
	}
	var in []level
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		top := len(in) - 1
		if text, isText := token.(string); top >= 0 && in[top].object && !in[top].value && isText {
			in[top].name, in[top].value = text, true
			continue
		}
		if mark, ok := token.(json.Delim); ok && (mark == '}' || mark == ']') {
			in = in[:top]
			top--
		} else if d.InputOffset() >= offset {
			break
		} else if ok {
			in = append(in, level{object: mark == '{'})
			continue
		}
		if top >= 0 { // a value has ended
			in[top].n++
			in[top].value = false
		}
	}
	var path strings.Builder
	for _, l := range in {
		switch {
		case !l.object:
			fmt.Fprintf(&path, "[%d]", l.n)
		case path.Len() > 0:
			path.WriteString("." + l.name)
		default:
			path.WriteString(l.name)
		}
	}
	return path.String()
}
