// Package wild matches paths against patterns with wildcards: those of git's ignore files, byte for byte as git does
// it, and those that models write, with {alternatives} and whole characters.
//
// A match needs no memory, and time that no pattern drives up exponentially.
package wild

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Pattern is a compiled pattern of Git or Glob. Many goroutines may use it at once.
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

// Match reports whether the pattern matches all of s.
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

// A matching is where a match stands. On a dead end only the last star needs to be tried with more, and after it the
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

// ParseGlob reads a pattern: * and ? stay in one part of a path, ** as a part of its own is any number of
// directories, [a-z] and [!a-z] are sets of characters, {a,b} are alternatives, and \ takes the meaning from the
// character after it. With fold, upper and lower case are the same. At most 1024 bytes, and at most 64 alternatives
// in all; the errors are for the model.
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

// Match reports whether one of the alternatives matches all of path.
func (g *Glob) Match(path string) bool {
	if g.fold {
		path = strings.ToLower(path)
	}
	return slices.ContainsFunc(g.alternatives, func(p *Pattern) bool { return p.Match(path) })
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

// Git reads a pattern in the way of git's ignore files, from where its first wildcard is: what is before that is
// not part of it. With path the pattern is one for paths, in which ** may stand for directories; else for names without
// a slash. A pattern that has an error matches nothing.
func Git(pattern string, path bool) *Pattern {
	p := parser{text: pattern, path: path}
	return p.pattern()
}

type parser struct {
	text        string
	at          int
	path, runes bool
	out         []token
}

func (p *parser) pattern() *Pattern {
	for p.at < len(p.text) {
		if !p.token() {
			return &Pattern{never: true}
		}
	}
	return &Pattern{tokens: p.out, runes: p.runes}
}

// char takes the next character; false when there is none.
func (p *parser) char() (rune, bool) {
	if p.at >= len(p.text) {
		return 0, false
	}
	char, size := rune(p.text[p.at]), 1
	if p.runes {
		char, size = decode(p.text[p.at:])
	}
	p.at += size
	return char, true
}

func (p *parser) token() bool {
	char, ok := p.char()
	next := token{kind: exact, char: char}
	switch char {
	case '?':
		next.kind = any1
	case '*':
		next.kind = p.stars()
	case '[':
		next.kind = oneOf
		next.class, ok = p.class()
	case '\\':
		next.char, ok = p.char()
	}
	p.out = append(p.out, next)
	return ok
}

// stars reads the rest of one star or more. Only two or more that have a part of the path to themselves are more than
// one.
func (p *parser) stars() kind {
	begin := p.at - 1
	p.at += len(p.text[p.at:]) - len(strings.TrimLeft(p.text[p.at:], "*"))
	behind := p.text[p.at:]
	switch alone := begin == 0 || p.text[begin-1] == '/'; {
	case !p.path || p.at-begin < 2 || !alone:
		return star
	case strings.HasPrefix(behind, "/"):
		p.at++
		return dirs
	case behind == "", strings.HasPrefix(behind, `\/`):
		return rest
	}
	return star
}

// A class is a set of characters, such as [a-z] or [!0-9].
type class struct {
	ranges  []rune // pairs, from and to
	negated bool
}

func (c *class) has(char rune) bool {
	for i := 0; i < len(c.ranges); i += 2 {
		if c.ranges[i] <= char && char <= c.ranges[i+1] {
			return !c.negated
		}
	}
	return c.negated
}

func (c *class) add(from, to rune) { c.ranges = append(c.ranges, from, to) }

// named are the classes in classes, such as [[:digit:]], as git has them: of ASCII only.
var named = map[string][]rune{
	"alnum": {'0', '9', 'A', 'Z', 'a', 'z'}, "alpha": {'A', 'Z', 'a', 'z'}, "blank": {' ', ' ', '\t', '\t'},
	"cntrl": {0, 31, 127, 127},
	"digit": {'0', '9'}, "graph": {'!', '~'}, "lower": {'a', 'z'}, "print": {' ', '~'},
	"punct": {'!', '/', ':', '@', '[', '`', '{', '~'},
	"space": {' ', ' ', '\t', '\n', '\r', '\r'}, "upper": {'A', 'Z'}, "xdigit": {'0', '9', 'A', 'F', 'a', 'f'},
}

// class reads a class whose [ was just read. It gives false when it never ends, or has a name in it that is none.
func (p *parser) class() (*class, bool) {
	c := &class{}
	char, ok := p.char()
	if ok && (char == '!' || char == '^') {
		c.negated = true
		char, ok = p.char()
	}
	before := rune(0) // the start of a range, if a dash follows
	for first := true; ok && (first || char != ']'); first = false {
		before, ok = p.member(c, char, before)
		if ok {
			char, ok = p.char()
		}
	}
	return c, ok
}

// member adds what begins with char to the class, and returns the character that a range could start from.
func (p *parser) member(c *class, char, before rune) (rune, bool) {
	if name, ok := p.name(char); ok {
		c.ranges = append(c.ranges, named[name]...)
		return 0, named[name] != nil
	}
	isRange := char == '-' && before != 0 && p.at < len(p.text) && p.text[p.at] != ']'
	ok := true
	if isRange {
		char, ok = p.char()
	}
	if ok && char == '\\' {
		char, ok = p.char()
	}
	if isRange {
		c.add(before, char)
		return 0, ok
	}
	c.add(char, char)
	return char, ok
}

// name reads the rest of [:name:]. Where that is not what comes, the [ is a character like others.
func (p *parser) name(char rune) (string, bool) {
	if char != '[' || !strings.HasPrefix(p.text[p.at:], ":") {
		return "", false
	}
	inside, _, ok := strings.Cut(p.text[p.at+1:], "]")
	name, colon := strings.CutSuffix(inside, ":")
	if !ok {
		return "", true // it never ends
	}
	if !colon {
		return "", false
	}
	p.at += len(inside) + 2
	return name, true
}
