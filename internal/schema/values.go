package schema

import (
	"encoding/json"
	"maps"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// kind is a JSON type, or a set of them as bits. An integer is a number with nothing after the point.
type kind uint8

const (
	kindNull kind = 1 << iota
	kindBoolean
	kindObject
	kindArray
	kindNumber
	kindString
	kindInteger
)

var kindNames = map[string]kind{
	"null": kindNull, "boolean": kindBoolean, "object": kindObject, "array": kindArray,
	"number": kindNumber, "string": kindString, "integer": kindInteger,
}

var kindWords = [...]string{"null", "boolean", "object", "array", "number", "string", "integer"}

// String names the first kind of the set.
func (k kind) String() string { return kindWords[bits.TrailingZeros8(uint8(k))] }

// kindOf is the JSON type of a decoded value; integers are numbers here.
func kindOf(v any) kind {
	switch v.(type) {
	case nil:
		return kindNull
	case bool:
		return kindBoolean
	case string:
		return kindString
	case json.Number:
		return kindNumber
	case []any:
		return kindArray
	}
	return kindObject
}

// holds reports whether a value of that JSON type fits the set; the empty set means any.
func (k kind) holds(v any) bool {
	if k == 0 || k&kindOf(v) != 0 {
		return true
	}
	n, ok := v.(json.Number)
	return ok && k&kindInteger != 0 && isInteger(n)
}

func isInteger(n json.Number) bool {
	return !strings.ContainsAny(n.String(), ".eE") || rational(n).IsInt()
}

// rational is the exact value of a number that decode let pass, so it is cheap.
func rational(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return new(big.Rat)
	}
	return r
}

// canonical is a text that two JSON values share exactly when they are equal: 1 and 1.0 are, true and 1 are not.
func canonical(v any) string { return string(appendCanonical(nil, v)) }

func appendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case bool:
		return strconv.AppendBool(b, v)
	case json.Number:
		text := v.String()
		if strings.ContainsAny(text, ".eE") || text == "-0" {
			text = rational(v).RatString()
		}
		return append(append(b, '#'), text...)
	case string:
		return appendFramed(b, v)
	case []any:
		b = append(b, '[')
		for _, item := range v {
			b = append(appendCanonical(b, item), ',')
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b = append(appendCanonical(appendFramed(b, name), v[name]), ',')
		}
		return append(b, '}')
	}
	return b
}

// appendFramed writes the length first, so that no text can imitate structure.
func appendFramed(b []byte, s string) []byte {
	b = strconv.AppendInt(append(b, '"'), int64(len(s)), 10)
	return append(append(b, ':'), s...)
}
