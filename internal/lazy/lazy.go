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
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
