// Package lazy puts off work that a program which only passes by need not wait for.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles an expression when it is first asked for. It panics then if that is none.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
