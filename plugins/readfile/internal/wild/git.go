package wild

import "strings"

// Git reads a pattern in the way of git's ignore files, from where its first wildcard is: what stands before that is not
// part of it. With path the pattern is one for paths, in which ** may stand for directories; else for names without a slash.
// A pattern that has an error matches nothing.
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

// token reads one token; false is an error in the pattern.
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

// stars reads the rest of one star or more. Only two or more that have a part of the path to themselves are more than one.
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
