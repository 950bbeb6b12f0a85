package wild

import (
	"errors"
	"fmt"
	"strings"
)

// Limits of a Glob.
const (
	maxPattern      = 1 << 10 // bytes
	maxAlternatives = 64      // after all {} are written out
)

// A Glob is a pattern as models and shells write it.
type Glob struct {
	alternatives []*Pattern
	fold         bool
}

// ParseGlob reads a pattern: * and ? stay in one part of a path, ** as a part of its own is any number of directories,
// [a-z] and [!a-z] are sets of characters, {a,b} are alternatives, and \ takes the meaning from the character behind it.
// With fold, upper and lower case are the same. At most 1024 bytes, and at most 64 alternatives in all; the errors are for
// the model.
func ParseGlob(text string, fold bool) (*Glob, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), maxPattern)
	}
	if fold {
		text = strings.ToLower(text)
	}
	all, err := expand(text)
	if err != nil {
		return nil, err
	}
	g := &Glob{fold: fold}
	for _, one := range all {
		p := parser{text: one, path: true, runes: true}
		pattern := p.pattern()
		if pattern.never {
			return nil, errors.New(`a [ without its ], or a \ at the end`)
		}
		g.alternatives = append(g.alternatives, pattern)
	}
	return g, nil
}

// Match tells whether one of the alternatives matches all of path.
func (g *Glob) Match(path string) bool {
	if g.fold {
		path = strings.ToLower(path)
	}
	for _, p := range g.alternatives {
		if p.Match(path) {
			return true
		}
	}
	return false
}

// expand writes out the alternatives in the first {}, and then those in what that gives.
func expand(text string) ([]string, error) {
	done, todo := []string{}, []string{text}
	for len(todo) > 0 {
		before, options, after, err := braces(todo[0])
		if err != nil {
			return nil, err
		}
		if options == nil {
			done = append(done, todo[0])
		}
		todo = todo[1:]
		for _, option := range options {
			todo = append(todo, before+option+after)
		}
		if len(done)+len(todo) > maxAlternatives {
			return nil, fmt.Errorf("its {} make more than %d alternatives", maxAlternatives)
		}
	}
	return done, nil
}

// braces cuts text at its first {}. Those in a class or behind a backslash are none.
func braces(text string) (before string, options []string, after string, err error) {
	depth, begin, from := 0, 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '[':
			i += classSize(text[i:]) - 1
		case c == '{':
			if depth++; depth == 1 {
				begin, from = i, i+1
			}
		case c == ',' && depth == 1:
			options, from = append(options, text[from:i]), i+1
		case c == '}' && depth > 0:
			if depth--; depth == 0 {
				return text[:begin], append(options, text[from:i]), text[i+1:], nil
			}
		}
	}
	if depth > 0 {
		return "", nil, "", errors.New("a { without its }")
	}
	return "", nil, "", nil
}

// classSize is how long the class is that text begins with, 1 when it never ends.
func classSize(text string) int {
	p := parser{text: text, at: 1}
	if _, ok := p.class(); ok {
		return p.at
	}
	return 1
}
