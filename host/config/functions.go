package config

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// plainFunctions are the functions of conditions that need to know nothing but their arguments. A null is an error where
// nothing else is said, and what is not known makes the result unknown.
var plainFunctions = map[string]function.Function{
	"abs":         stdlib.AbsoluteFunc,
	"alltrue":     quantifier(cty.False),
	"anytrue":     quantifier(cty.True),
	"basename":    texts1(path.Base),
	"coalesce":    coalesceFunction,
	"concat":      stdlib.ConcatFunc,
	"contains":    containsFunction,
	"dirname":     texts1(path.Dir),
	"distinct":    distinctFunction,
	"endswith":    texts2(strings.HasSuffix),
	"flatten":     stdlib.FlattenFunc,
	"join":        joinFunction,
	"keys":        stdlib.KeysFunc,
	"length":      lengthFunction,
	"lookup":      stdlib.LookupFunc,
	"lower":       stdlib.LowerFunc,
	"max":         stdlib.MaxFunc,
	"min":         stdlib.MinFunc,
	"split":       stdlib.SplitFunc,
	"startswith":  startsWithFunction,
	"strcontains": texts2(strings.Contains),
	"trimspace":   stdlib.TrimSpaceFunc,
	"upper":       stdlib.UpperFunc,
	"values":      stdlib.ValuesFunc,
}

// usage shows how each function with a fixed number of arguments is called.
var usage = map[string]string{
	"abs": "abs(NUMBER)", "alltrue": "alltrue(LIST)", "anytrue": "anytrue(LIST)", "basename": "basename(PATH)",
	"commands": "commands(TEXT)", "contains": "contains(LIST, VALUE)", "dirname": "dirname(PATH)", "distinct": "distinct(LIST)",
	"endswith": "endswith(TEXT, END)", "flatten": "flatten(LIST)", "inside": "inside(PATH, FOLDER)", "join": "join(SEPARATOR, LIST)",
	"keys": "keys(OBJECT)", "length": "length(LIST)", "lookup": "lookup(OBJECT, KEY, DEFAULT)", "lower": "lower(TEXT)",
	"matches": "matches(PATTERN, TEXT)", "paths": "paths()", "runs": "runs(TEXT, LIST)", "split": "split(SEPARATOR, TEXT)", "startswith": "startswith(TEXT, START)",
	"strcontains": "strcontains(TEXT, PART)", "trimspace": "trimspace(TEXT)", "upper": "upper(TEXT)", "values": "values(OBJECT)",
}

func texts1(f func(string) string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.StringVal(f(args[0].AsString())), nil
		},
	})
}

func texts2(f func(a, b string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "part", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(f(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

// startsWithFunction knows also of a text of which only the beginning is known whether it begins so.
var startsWithFunction = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String, AllowUnknown: true}, {Name: "part", Type: cty.String}},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		part := args[1].AsString()
		if args[0].IsKnown() {
			return cty.BoolVal(strings.HasPrefix(args[0].AsString(), part)), nil
		}
		switch prefix := prefixOf(args[0]); {
		case strings.HasPrefix(prefix, part):
			return cty.True, nil
		case strings.HasPrefix(part, prefix):
			return cty.UnknownVal(cty.Bool), nil
		}
		return cty.False, nil
	},
})

// listParameter is for lists of any kind, whose items may be null or unknown.
var listParameter = function.Parameter{Name: "list", Type: cty.DynamicPseudoType}

var errNoList = errors.New("it must be a list")

func itemsOf(v cty.Value) ([]cty.Value, error) {
	if !listKind.is(v) {
		return nil, function.NewArgError(0, errNoList)
	}
	return v.AsValueSlice(), nil
}

// quantifier is anytrue and alltrue: one item that is decisive decides, else one that is unknown leaves it unknown.
func quantifier(decisive cty.Value) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{listParameter},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			items, err := itemsOf(args[0])
			out := decisive.Not()
			for i, item := range items {
				switch {
				case !item.IsKnown():
					out = cty.UnknownVal(cty.Bool)
				case !boolKind.is(item):
					return out, fmt.Errorf("item %d is %s, not true or false", i+1, kindOf(item))
				case item.RawEquals(decisive):
					return decisive, nil
				}
			}
			return out, err
		},
	})
}

var containsFunction = function.New(&function.Spec{
	Params: []function.Parameter{listParameter, {Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		items, err := itemsOf(args[0])
		out := cty.False
		for _, item := range items {
			switch same := item.Equals(args[1]); {
			case !same.IsKnown():
				out = cty.UnknownVal(cty.Bool)
			case same.True():
				return cty.True, nil
			}
		}
		return out, err
	},
})

// lengthFunction counts items, or the characters of a string. A word that is only known when the command runs may become
// several, so a list with one has no known length.
var lengthFunction = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v := args[0]
		switch {
		case textKind.is(v):
			return cty.NumberIntVal(int64(utf8.RuneCountInString(v.AsString()))), nil
		case !listKind.is(v) && !objectKind.is(v):
			return cty.UnknownVal(cty.Number), function.NewArgErrorf(0, "it must be a list, an object or a string, not %s", kindOf(v))
		}
		for _, item := range parts(v) {
			if !item.IsKnown() {
				return cty.UnknownVal(cty.Number), nil
			}
		}
		return cty.NumberIntVal(int64(v.LengthInt())), nil
	},
})

// coalesceFunction gives the first argument that is not null.
var coalesceFunction = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "values", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		v, err := firstValue(args)
		return v.Type(), err
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return firstValue(args) },
})

func firstValue(args []cty.Value) (cty.Value, error) {
	for _, v := range args {
		if !v.IsKnown() || !v.IsNull() {
			return v, nil
		}
	}
	return cty.DynamicVal, errors.New("all of them are null")
}
