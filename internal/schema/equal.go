package schema

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

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
		return append(append(b, '#'), canonicalNumber(v)...)
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

func canonicalNumber(n json.Number) string {
	if s := n.String(); !strings.ContainsAny(s, ".eE") && s != "-0" {
		return s
	}
	return rational(n).RatString()
}
