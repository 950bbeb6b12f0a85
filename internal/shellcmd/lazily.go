package shellcmd

import (
	"regexp"
	"sync"
)

// lazily compiles an expression when it is first asked for: a program that only passes by need not wait for it.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
