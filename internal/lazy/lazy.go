// Package lazy makes regular expressions and sets of names at their first use, so that a program that does not need
// them starts without them.
package lazy

import (
	"iter"
	"regexp"
	"strings"
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

// Set returns a function that makes a set of the words at its first call: for long lists that are asked often.
func Set(words Words) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for word := range words.All() {
			set[word] = true
		}
		return set
	})
}

// Words is a set of names in one text, with blanks or ends of lines between them. A constant takes no time and no
// memory when a program starts; Has takes as long as a search of the text.
type Words string

// Has reports whether the name is one of the words.
func (w Words) Has(name string) bool {
	if name == "" || strings.ContainsAny(name, " \t\n") {
		return false
	}
	for at := 0; ; at++ {
		i := strings.Index(string(w[at:]), name)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(name)
		if (at == 0 || w[at-1] <= ' ') && (end == len(w) || w[end] <= ' ') {
			return true
		}
	}
}

// All returns the words in their order.
func (w Words) All() iter.Seq[string] { return strings.FieldsSeq(string(w)) }

// Any reports whether one of the words fits.
func (w Words) Any(fits func(word string) bool) bool {
	for word := range w.All() {
		if fits(word) {
			return true
		}
	}
	return false
}
