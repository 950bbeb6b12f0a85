package when

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/toolhost/toolhost/host/internal/hclfile"
)

// plainFunctions are the functions of conditions that depend on their arguments alone. A null is an error unless the
// function says otherwise, and an unknown argument makes the result unknown.
func plainFunctions() map[string]function.Function {
	return map[string]function.Function{
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
}

// Functions are the names of all functions that conditions have, sorted.
func Functions() []string {
	names := []string{"commands", "inside", "matches", "paths", "runs"}
	return slices.Sorted(slices.Values(slices.AppendSeq(names, maps.Keys(plainFunctions()))))
}

// usage shows how each function with a fixed number of arguments is called.
var usage = map[string]string{
	"abs": "abs(NUMBER)", "alltrue": "alltrue(LIST)", "anytrue": "anytrue(LIST)", "basename": "basename(PATH)",
	"commands": "commands(TEXT)", "contains": "contains(LIST, VALUE)", "dirname": "dirname(PATH)",
	"distinct": "distinct(LIST)",
	"endswith": "endswith(TEXT, END)", "flatten": "flatten(LIST)", "inside": "inside(PATH, FOLDER)",
	"join": "join(SEPARATOR, LIST)",
	"keys": "keys(OBJECT)", "length": "length(LIST)", "lookup": "lookup(OBJECT, KEY, DEFAULT)", "lower": "lower(TEXT)",
	"matches": "matches(PATTERN, TEXT)", "paths": "paths()", "runs": "runs(TEXT, LIST)", "split": "split(SEPARATOR, TEXT)",
	"startswith":  "startswith(TEXT, START)",
	"strcontains": "strcontains(TEXT, PART)", "trimspace": "trimspace(TEXT)", "upper": "upper(TEXT)",
	"values": "values(OBJECT)",
}

// newFunction makes a function whose result has one type whatever the arguments are.
func newFunction(
	result cty.Type, params []function.Parameter, f func(args []cty.Value) (cty.Value, error),
) function.Function {
	return function.New(&function.Spec{
		Params: params,
		Type:   function.StaticReturnType(result),
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f(args) },
	})
}

func texts1(f func(string) string) function.Function {
	return newFunction(cty.String, []function.Parameter{{Name: "text", Type: cty.String}},
		func(args []cty.Value) (cty.Value, error) {
			return cty.StringVal(f(args[0].AsString())), nil
		})
}

func texts2(f func(a, b string) bool) function.Function {
	return newFunction(cty.Bool, []function.Parameter{{Name: "text", Type: cty.String}, {Name: "part", Type: cty.String}},
		func(args []cty.Value) (cty.Value, error) {
			return cty.BoolVal(f(args[0].AsString(), args[1].AsString())), nil
		})
}

// startsWithFunction also works on a text of which only the beginning is known.
var startsWithFunction = newFunction(cty.Bool,
	[]function.Parameter{{Name: "text", Type: cty.String, AllowUnknown: true}, {Name: "part", Type: cty.String}},
	func(args []cty.Value) (cty.Value, error) {
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
	})

// listParameter is for lists of any kind, whose items may be null or unknown.
var listParameter = function.Parameter{Name: "list", Type: cty.DynamicPseudoType}

var errNoList = errors.New("it must be a list")

func itemsOf(v cty.Value) ([]cty.Value, error) {
	if !hclfile.ListKind.Is(v) {
		return nil, function.NewArgError(0, errNoList)
	}
	return v.AsValueSlice(), nil
}

// quantifier is anytrue and alltrue: a decisive item decides; without one, an unknown item makes the result unknown.
func quantifier(decisive cty.Value) function.Function {
	return newFunction(cty.Bool, []function.Parameter{listParameter}, func(args []cty.Value) (cty.Value, error) {
		items, err := itemsOf(args[0])
		out := decisive.Not()
		for i, item := range items {
			switch {
			case !item.IsKnown():
				out = cty.UnknownVal(cty.Bool)
			case !hclfile.BoolKind.Is(item):
				return out, fmt.Errorf("item %d is %s, not true or false", i+1, hclfile.KindOf(item))
			case item.RawEquals(decisive):
				return decisive, nil
			}
		}
		return out, err
	})
}

var containsFunction = newFunction(cty.Bool, []function.Parameter{listParameter,
	{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}},
	func(args []cty.Value) (cty.Value, error) {
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
	})

// lengthFunction counts items, or the characters of a string. A word that is only known when the command runs may
// become several, so a list with one has no known length.
var lengthFunction = newFunction(cty.Number, []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	func(args []cty.Value) (cty.Value, error) {
		v := args[0]
		switch {
		case hclfile.TextKind.Is(v):
			return cty.NumberIntVal(int64(utf8.RuneCountInString(v.AsString()))), nil
		case !hclfile.ListKind.Is(v) && !hclfile.ObjectKind.Is(v):
			return cty.UnknownVal(cty.Number),
				function.NewArgErrorf(0, "it must be a list, an object or a string, not %s", hclfile.KindOf(v))
		}
		for _, item := range hclfile.Parts(v) {
			if !item.IsKnown() {
				return cty.UnknownVal(cty.Number), nil
			}
		}
		return cty.NumberIntVal(int64(v.LengthInt())), nil
	})

// coalesceFunction gives the first argument that is not null.
var coalesceFunction = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "values", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true,
		AllowDynamicType: true},
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

// Bounds for functions whose work or result grows faster than their arguments. Both take lists of mixed types: cty
// needs a minute to convert a long one to a single type.
const (
	maxDistinct = 1000
	maxJoined   = 1 << 20
)

var distinctFunction = newFunction(cty.DynamicPseudoType, []function.Parameter{listParameter},
	func(args []cty.Value) (cty.Value, error) {
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
	})

var joinFunction = newFunction(cty.String, []function.Parameter{{Name: "separator", Type: cty.String}, listParameter},
	func(args []cty.Value) (cty.Value, error) {
		unknown := cty.UnknownVal(cty.String)
		if !hclfile.ListKind.Is(args[1]) {
			return unknown, function.NewArgError(1, errNoList)
		}
		var words []string
		separator, bytes := args[0].AsString(), 0
		for i, item := range args[1].AsValueSlice() {
			word, err := convert.Convert(item, cty.String)
			if err == nil && word.IsNull() {
				err = errors.New("it is null")
			}
			if err != nil {
				return unknown, fmt.Errorf("item %d: %w", i+1, err)
			}
			if !word.IsKnown() {
				return unknown, nil
			}
			words = append(words, word.AsString())
			if bytes += len(word.AsString()) + len(separator); bytes > maxJoined {
				return unknown, fmt.Errorf("the text would have more than %d KiB", maxJoined>>10)
			}
		}
		return cty.StringVal(strings.Join(words, separator)), nil
	})

// Bounds for a pattern: bytes of its text, and instructions, which each byte of the searched text may cost.
const (
	maxPattern     = 1 << 10
	maxPatternWork = 1000
)

// patterns are the regular expressions of a file, compiled. Nothing is added once the file is read.
type patterns map[string]*regexp.Regexp

// compile adds a pattern, and gives the work that it costs for each byte of text.
func (p patterns) compile(text string) (work int, problem, hint string) {
	if len(text) > maxPattern {
		return 0, fmt.Sprintf("has %d bytes, more than %d", len(text), maxPattern), "make several rules of it"
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, "cannot be read: " + strings.TrimPrefix(err.Error(), "error parsing regexp: "),
			"the syntax is that of RE2: https://github.com/google/re2/wiki/Syntax"
	}
	if work = workOf(tree); work > maxPatternWork {
		return 0, "is too much work: its repetitions come to more than a thousand steps",
			"use * or + instead of large numbers in { }"
	}
	if p[text], err = regexp.Compile(text); err != nil {
		return 0, "cannot be compiled: " + err.Error(), "write a simpler one"
	}
	return work, "", ""
}

// workOf is about how many instructions an expression compiles to. It stops counting when they are too many.
func workOf(e *syntax.Regexp) int {
	n := 1 + len(e.Rune)
	for _, sub := range e.Sub {
		if n += workOf(sub); n > maxPatternWork {
			return n
		}
	}
	if e.Op == syntax.OpRepeat {
		n *= max(e.Min, e.Max, 1)
	}
	return n
}

// function is matches(PATTERN, TEXT). It is false for a text that is null.
func (p patterns) function() function.Function {
	params := []function.Parameter{{Name: "pattern", Type: cty.String}, {Name: "text", Type: cty.String, AllowNull: true}}
	return newFunction(cty.Bool, params, func(args []cty.Value) (cty.Value, error) {
		re := p[args[0].AsString()]
		if re == nil {
			return cty.UnknownVal(cty.Bool), fmt.Errorf("the pattern is not known")
		}
		return cty.BoolVal(!args[1].IsNull() && re.MatchString(args[1].AsString())), nil
	})
}
