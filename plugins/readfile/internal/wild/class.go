package wild

import "strings"

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
	"alnum": {'0', '9', 'A', 'Z', 'a', 'z'}, "alpha": {'A', 'Z', 'a', 'z'}, "blank": {' ', ' ', '\t', '\t'}, "cntrl": {0, 31, 127, 127},
	"digit": {'0', '9'}, "graph": {'!', '~'}, "lower": {'a', 'z'}, "print": {' ', '~'}, "punct": {'!', '/', ':', '@', '[', '`', '{', '~'},
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

// member adds what begins with char to the class, and gives the character that a range could start from.
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
