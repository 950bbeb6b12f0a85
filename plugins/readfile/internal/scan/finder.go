package scan

import (
	"bytes"
	"strings"
)

// A finder finds a literal in a text, from left to right, and remembers where it saw what.
type finder struct {
	literal
	rare         int // where in the literal its rarest byte is; only for fold
	lower, upper int // where in the text that byte is next, in either case
	next         int // where the literal is next
}

const (
	unknown = -1 // not looked yet
	nowhere = -2
)

func newFinder(l literal) *finder {
	f := &finder{literal: l}
	for i := range l.text {
		if rank(l.text[i]) > rank(l.text[f.rare]) {
			f.rare = i
		}
	}
	f.reset()
	return f
}

// reset forgets the text.
func (f *finder) reset() { f.lower, f.upper, f.next = unknown, unknown, unknown }

// common are bytes in the order of how often they are in code and prose, roughly, the commonest first.
const common = " etaonirsldcupmfhg\n\t_().,\"=-:/bvywk0;1x*'>jz2q{}[]<3456789"

// rank is higher for bytes that are rarer. Those that have an upper and a lower case are searched for twice.
func rank(b byte) int {
	if i := strings.IndexByte(common, b); i >= 0 {
		return i
	}
	return len(common)
}

// find gives where the literal begins at from or behind it, or nowhere.
func (f *finder) find(data []byte, from int) int {
	if f.next == nowhere || f.next >= from {
		return f.next
	}
	if f.fold {
		f.next = f.findFold(data, from)
	} else {
		f.next = at(bytes.Index(data[from:], []byte(f.text)), from)
	}
	return f.next
}

func (f *finder) findFold(data []byte, from int) int {
	low := f.text[f.rare]
	up := low
	if 'a' <= low && low <= 'z' {
		up -= 'a' - 'A'
	}
	for next := from + f.rare; ; {
		f.lower, f.upper = nextByte(data, low, f.lower, next), nextByte(data, up, f.upper, next)
		place := earlier(f.lower, f.upper)
		if place == nowhere {
			return nowhere
		}
		if begin := place - f.rare; begin+len(f.text) <= len(data) && equalFold(data[begin:begin+len(f.text)], f.text) {
			return begin
		}
		next = place + 1
	}
}

// nextByte gives where b is at from or behind it, when known is where it was found last.
func nextByte(data []byte, b byte, known, from int) int {
	if known == nowhere || known >= from {
		return known
	}
	if from > len(data) {
		return nowhere
	}
	return at(bytes.IndexByte(data[from:], b), from)
}

func at(index, from int) int {
	if index < 0 {
		return nowhere
	}
	return from + index
}

// earlier is the smaller of two places, of which each may be nowhere.
func earlier(a, b int) int {
	if a == nowhere || b != nowhere && b < a {
		return b
	}
	return a
}

// equalFold compares with text in lower case. Only ASCII letters have a case here.
func equalFold(data []byte, text string) bool {
	for i, b := range data {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != text[i] {
			return false
		}
	}
	return true
}
