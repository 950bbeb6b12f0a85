// Package scan finds the lines of a text that a regular expression matches, fast and whatever the expression.
//
// Lines are matched one by one, without their line endings (LF or CRLF): ^ and $ are their ends, and nothing matches across
// them. Whether a line matches is decided by an automaton that is built as it is needed: where it knows its way a byte costs
// one look-up, and an expression that makes it learn on and on costs time that is linear, and bounded memory. Where every
// match has to hold some literal text, lines without it are not even looked at.
package scan

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Limits of a pattern.
const (
	MaxPattern = 1 << 10 // bytes

	maxProgram = 10_000 // instructions; what a counted repeat such as x{1000} makes
)

// A Pattern is a compiled expression. Many goroutines may use it at once, each with a Scanner of its own.
type Pattern struct {
	prog     *syntax.Prog
	classes  *classes
	literals []literal // each match holds one of them; empty when that is not known
	whole    bool      // the only literal is all there is to match
}

// Options say how a pattern is read.
type Options struct {
	Literal    bool // as fixed text
	IgnoreCase bool
}

// A PatternError says what is wrong with a pattern.
type PatternError struct {
	// Offset is where in the pattern, in bytes; -1 when it is nowhere in particular.
	Offset int
	// Problem says what is wrong, and Hint, which may be empty, what to do.
	Problem, Hint string
}

func (e *PatternError) Error() string {
	if e.Offset < 0 {
		return e.Problem
	}
	return fmt.Sprintf("%s at offset %d", e.Problem, e.Offset)
}

// Compile reads a pattern in the syntax of RE2. Its errors are of type *PatternError.
func Compile(pattern string, o Options) (*Pattern, error) {
	if len(pattern) > MaxPattern {
		return nil, &PatternError{Offset: -1, Problem: fmt.Sprintf("it has %d bytes, at most %d are allowed", len(pattern), MaxPattern)}
	}
	flags := syntax.Perl
	if o.Literal {
		flags = syntax.Literal
	}
	if o.IgnoreCase {
		flags |= syntax.FoldCase
	}
	re, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, explain(pattern, err)
	}
	if hasLineBreak(re) {
		return nil, &PatternError{Offset: max(strings.Index(pattern, `\n`), strings.IndexByte(pattern, '\n')), Problem: "a line break can never match: lines are searched one by one",
			Hint: "Search for the text of one line, and ask for lines around it."}
	}
	return assemble(re.Simplify())
}

// assemble makes the program and all that makes it fast.
func assemble(re *syntax.Regexp) (*Pattern, error) {
	prog, err := syntax.Compile(re)
	if err == nil && len(prog.Inst) > maxProgram {
		err = fmt.Errorf("it takes %d instructions, at most %d are allowed", len(prog.Inst), maxProgram)
	}
	if err != nil {
		return nil, &PatternError{Offset: -1, Problem: err.Error(), Hint: "Use smaller counts in {}."}
	}
	p := &Pattern{prog: prog, classes: newClasses(prog), literals: required(re)}
	p.whole = len(p.literals) == 1 && !p.literals[0].fold && re.Op == syntax.OpLiteral && p.literals[0].text == string(re.Rune)
	return p, nil
}

// hasLineBreak tells whether a match would have to hold a line break that stands in the pattern as such.
func hasLineBreak(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && strings.ContainsRune(string(re.Rune), '\n') {
		return true
	}
	if re.Op == syntax.OpAlternate || re.Op == syntax.OpStar || re.Op == syntax.OpQuest || re.Op == syntax.OpRepeat && re.Min == 0 {
		return false
	}
	for _, sub := range re.Sub {
		if hasLineBreak(sub) {
			return true
		}
	}
	return false
}

var lookaround = regexp.MustCompile(`^\(\?<?[=!]`)

// explain finds where a mistake is, and what to do about those that come from other dialects.
func explain(pattern string, err error) *PatternError {
	e, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return &PatternError{Offset: -1, Problem: err.Error()}
	}
	out := &PatternError{Offset: strings.Index(pattern, e.Expr), Problem: fmt.Sprintf("%s: %s", e.Code, e.Expr)}
	switch {
	case lookaround.MatchString(e.Expr):
		out.Problem = fmt.Sprintf("lookahead and lookbehind are not in RE2: %s", e.Expr[:min(4, len(e.Expr))])
		out.Hint = "Search for the part that must be there, and pick from the results."
	case e.Code == syntax.ErrInvalidEscape && len(e.Expr) == 2 && '1' <= e.Expr[1] && e.Expr[1] <= '9':
		out.Problem = "backreferences are not in RE2: " + e.Expr
		out.Hint = "Write out what it refers to."
	case e.Code == syntax.ErrInvalidRepeatSize:
		out.Hint = "Counts in {} may be up to 1000, also when multiplied by those around them."
	}
	if e.Expr == "" {
		out.Offset = -1
	}
	return out
}
