// Package lazy makes regular expressions and sets of names at their first use, so that a program that does not need
// them starts without them.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles the expression at its first call. That call panics if the expression is
// malformed.
func Regexp(expression string) func() *regexp.Regexp {
	return (&pattern{expression: expression}).compiled
}

// A pattern takes half the memory of a sync.OnceValue, and programs have some hundred.
type pattern struct {
	expression string
	once       sync.Once
	regexp     *regexp.Regexp
}

func (p *pattern) compiled() *regexp.Regexp {
	p.once.Do(func() { p.regexp = regexp.MustCompile(p.expression) })
	return p.regexp
}
