package sdk

import (
	"bytes"
	"cmp"
	"encoding/json"
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
	return explained(raw, out, err)
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
