package schema

import (
	"encoding/json"
	"math/bits"
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
	if !strings.ContainsAny(n.String(), ".eE") {
		return true
	}
	return rational(n).IsInt()
}
