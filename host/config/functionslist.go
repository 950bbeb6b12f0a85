package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// Bounds for functions whose work or result would grow faster than what they are given. Both take lists as they are: cty
// needs a minute to turn a long one into a list of a single type.
const (
	maxDistinct = 1000
	maxJoined   = 1 << 20
)

var distinctFunction = function.New(&function.Spec{
	Params: []function.Parameter{listParameter},
	Type:   function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		items, err := itemsOf(args[0])
		if n := len(items); n > maxDistinct {
			err = fmt.Errorf("the list has %d items; at most %d are compared", n, maxDistinct)
		}
		if err != nil || slices.ContainsFunc(items, func(v cty.Value) bool { return !v.IsWhollyKnown() }) {
			return cty.DynamicVal, err
		}
		var out []cty.Value
		for _, item := range items {
			if !slices.ContainsFunc(out, item.RawEquals) {
				out = append(out, item)
			}
		}
		return cty.TupleVal(out), nil
	},
})

var joinFunction = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "separator", Type: cty.String}, listParameter},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		unknown := cty.UnknownVal(cty.String)
		if !listKind.is(args[1]) {
			return unknown, function.NewArgError(1, errNoList)
		}
		var words []string
		separator, bytes := args[0].AsString(), 0
		for i, item := range args[1].AsValueSlice() {
			word, err := wordOf(item)
			if err != nil || !word.IsKnown() {
				return unknown, wrapped(err, "item %d", i+1)
			}
			words = append(words, word.AsString())
			if bytes += len(word.AsString()) + len(separator); bytes > maxJoined {
				return unknown, fmt.Errorf("the text would have more than %d KiB", maxJoined>>10)
			}
		}
		return cty.StringVal(strings.Join(words, separator)), nil
	},
})

// wordOf gives an item as text.
func wordOf(item cty.Value) (cty.Value, error) {
	v, err := convert.Convert(item, cty.String)
	if err == nil && v.IsNull() {
		return v, errors.New("it is null")
	}
	return v, err
}

// wrapped puts what it is about before an error, if there is one.
func wrapped(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
