package config

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// A pattern's bounds: of its text, and of the program it becomes, which each byte of the text that is searched may cost.
const (
	maxPattern     = 1 << 10
	maxPatternWork = 1000
)

// patterns are the regular expressions of a file, compiled. Nothing is added once the file is read.
type patterns map[string]*regexp.Regexp

// compile adds a pattern, and tells how much work it is for each byte of text.
func (p patterns) compile(text string) (work int, problem, hint string) {
	if len(text) > maxPattern {
		return 0, fmt.Sprintf("has %d bytes, more than %d", len(text), maxPattern), "make several rules of it"
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, "cannot be read: " + strings.TrimPrefix(err.Error(), "error parsing regexp: "), "the syntax is that of RE2: https://github.com/google/re2/wiki/Syntax"
	}
	if work = workOf(tree); work > maxPatternWork {
		return 0, "is too much work: its repetitions come to more than a thousand steps", "use * or + instead of large numbers in { }"
	}
	if p[text], err = regexp.Compile(text); err != nil {
		return 0, "cannot be compiled: " + err.Error(), "write a simpler one"
	}
	return work, "", ""
}

// workOf is about how many instructions an expression becomes. It stops counting when they are too many.
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
	return function.New(&function.Spec{
		Params: params,
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			re := p[args[0].AsString()]
			if re == nil {
				return cty.UnknownVal(cty.Bool), fmt.Errorf("the pattern is not known")
			}
			return cty.BoolVal(!args[1].IsNull() && re.MatchString(args[1].AsString())), nil
		},
	})
}
