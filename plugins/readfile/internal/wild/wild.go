// Package wild matches paths against patterns with wildcards: those of git's ignore files, byte for byte as git does it,
// and those that models write, with {alternatives} and whole characters.
//
// A match needs no memory, and time that no pattern drives up exponentially.
package wild

import (
	"strings"
	"unicode/utf8"
)

// A Pattern is what Git or Glob made of one text. Many goroutines may use it at once.
type Pattern struct {
	tokens []token
	runes  bool // a character is a rune, not a byte
	never  bool // it matches nothing
}

type token struct {
	kind  kind
	char  rune
	class *class
}

type kind uint8

const (
	exact kind = iota // char itself
	any1              // one character, but no slash
	oneOf             // one character of class, but no slash
	star              // any number of characters without a slash
	dirs              // nothing, or anything that ends with a slash
	rest              // anything
)

// Match tells whether the pattern matches all of s.
func (p *Pattern) Match(s string) bool {
	if p.never {
		return false
	}
	m := matching{Pattern: p, s: s, star: -1, deep: -1}
	for {
		if m.token == len(p.tokens) && m.at == len(s) {
			return true
		}
		if !m.step() && !m.back() {
			return false
		}
	}
}

// A matching is where a match stands. On a dead end only the last star needs to be tried with more, and behind it the
// last dirs or rest: whatever an earlier one could take, these can.
type matching struct {
	*Pattern
	s         string
	token, at int // what comes next

	star, starAt int // the token behind the last star, -1 for none, and where it begins to match
	deep, deepAt int // the same for the last dirs or rest
}

// step matches one more token; false is a dead end.
func (m *matching) step() bool {
	if m.token == len(m.tokens) {
		return false
	}
	t := &m.tokens[m.token]
	switch t.kind {
	case star:
		m.token++
		m.star, m.starAt = m.token, m.at
		return true
	case dirs, rest:
		m.token++
		m.deep, m.deepAt, m.star = m.token, m.at, -1
		return true
	}
	if m.at == len(m.s) {
		return false
	}
	char, size := m.next(m.at)
	if !t.matches(char) {
		return false
	}
	m.token++
	m.at += size
	return true
}

func (t *token) matches(char rune) bool {
	switch t.kind {
	case exact:
		return t.char == char
	case any1:
		return char != '/'
	}
	return char != '/' && t.class.has(char)
}

// next is the character at a place, and its size.
func (m *matching) next(at int) (rune, int) {
	if c := m.s[at]; c < utf8.RuneSelf || !m.runes {
		return rune(c), 1
	}
	return decode(m.s[at:])
}

// decode takes the first rune. A byte that is part of none is a character of its own, behind all others.
func decode(s string) (rune, int) {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		r = utf8.MaxRune + 1 + rune(s[0])
	}
	return r, size
}

// back lets the last wildcard that can take more do so; false when there is none.
func (m *matching) back() bool {
	if m.star >= 0 && m.starAt < len(m.s) && m.s[m.starAt] != '/' {
		_, size := m.next(m.starAt)
		m.starAt += size
		m.token, m.at = m.star, m.starAt
		return true
	}
	if m.deep < 0 || m.deepAt >= len(m.s) {
		return false
	}
	skip := 1
	if m.tokens[m.deep-1].kind == dirs {
		skip = strings.IndexByte(m.s[m.deepAt:], '/') + 1
	}
	m.deepAt += skip
	m.token, m.at, m.star = m.deep, m.deepAt, -1
	return skip > 0
}
