package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"golang.org/x/text/unicode/norm"
)

// maxArgument bounds an argument that a rule looks at, in bytes of JSON.
const maxArgument = 1 << 20

// maxValues bounds the values in it, at any depth: each costs a condition some hundred bytes and a microsecond, before it
// is looked at.
const maxValues = 1 << 15

var errNotJSON = errors.New("it is not JSON")

var errComposition = errors.New("it holds letters that are written as a base letter and an accent, which a rule would see as one character and the tool as two")

// valueOf turns one argument into what expressions work with. It refuses what would not stay as it is: rules must see
// what the tool gets. No argument is null.
func valueOf(raw json.RawMessage) (cty.Value, error) {
	if len(raw) == 0 {
		return cty.NullVal(cty.DynamicPseudoType), nil
	}
	if len(raw) > maxArgument {
		return cty.NilVal, fmt.Errorf("it has %d bytes; rules look at %d at most", len(raw), maxArgument)
	}
	if raw[0] == '"' { // most are text, and need no decoder
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return cty.NilVal, errNotJSON
		}
		return textOf(s)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	r := &jsonReader{Decoder: d}
	v, err := r.value(0)
	if _, more := d.Token(); err == nil && !errors.Is(more, io.EOF) {
		return cty.NilVal, errors.New("it is not one JSON value")
	}
	return v, err
}

type jsonReader struct {
	*json.Decoder
	values int // read so far
}

func (r *jsonReader) value(depth int) (cty.Value, error) {
	if r.values++; r.values > maxValues {
		return cty.NilVal, fmt.Errorf("it has more than %d values, which is too much work", maxValues)
	}
	if depth > maxDepth {
		return cty.NilVal, fmt.Errorf("it has more than %d lists or objects inside each other", maxDepth)
	}
	token, err := r.Token()
	if err != nil {
		return cty.NilVal, errNotJSON
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return r.list(depth)
		}
		return r.object(depth)
	case string:
		return textOf(t)
	case json.Number:
		return numberOf(t.String())
	case bool:
		return cty.BoolVal(t), nil
	}
	return cty.NullVal(cty.DynamicPseudoType), nil
}

func (r *jsonReader) list(depth int) (cty.Value, error) {
	var items []cty.Value
	for r.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return v, err
		}
		items = append(items, v)
	}
	_, err := r.Token()
	return cty.TupleVal(items), err
}

func (r *jsonReader) object(depth int) (cty.Value, error) {
	items := map[string]cty.Value{}
	for r.More() {
		key, err := r.value(maxDepth)
		if err != nil {
			return key, err
		}
		name := key.AsString()
		if _, twice := items[name]; twice {
			return cty.NilVal, fmt.Errorf("it has two members named %q in one object", brief(name))
		}
		if items[name], err = r.value(depth + 1); err != nil {
			return cty.NilVal, err
		}
	}
	_, err := r.Token()
	return cty.ObjectVal(items), err
}

func textOf(s string) (cty.Value, error) {
	if !norm.NFC.IsNormalString(s) {
		return cty.NilVal, errComposition
	}
	return cty.StringVal(s), nil
}

var errNumber = errors.New("it holds a number that is too long or too large")

// numberOf keeps a number exact, and refuses one that cannot be.
func numberOf(s string) (cty.Value, error) {
	_, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	if len(s) > maxDigits || len(exponent) > len("-0000") {
		return cty.NilVal, errNumber
	}
	v, err := cty.ParseNumberVal(s)
	if err != nil || outOfRange(v.AsBigFloat()) {
		return cty.NilVal, errNumber
	}
	return v, nil
}
