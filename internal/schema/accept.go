package schema

import (
	"math"
	"regexp"
)

// rule is a schema in the form that accept reads bytes with. Its answer is one-sided: what it accepts is valid, what
// it does not accept may still be.
type rule struct {
	open bool // asserts nothing of its own, all or any do
	all  []*rule
	any  [][]*rule

	kinds   kind // 0 for any
	scalars *scalars

	props     []prop
	required  bits256
	extra     *rule // for properties not in props; nil for anything
	closed    bool  // no such properties at all
	items     *rule // nil for anything
	minItems  int
	maxItems  int
	minLength int
	maxLength int
	pattern   *regexp.Regexp
	program   int // its instructions
	low, high float64
	lowOpen   bool // low itself is too low
	highOpen  bool
	hasLow    bool
	hasHigh   bool
}

type prop struct {
	name string
	rule *rule
}

// scalars are the values of an enum, without those that only the library can compare.
type scalars struct {
	texts            []string
	whole            []int64
	yes, no, nothing bool
}

// bits256 is a set of property numbers, and so the most properties a rule can have is 256.
type bits256 [4]uint64

func (b *bits256) add(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b *bits256) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }

// covers reports whether all of want is in b.
func (b *bits256) covers(want *bits256) bool {
	return (want[0]&^b[0])|(want[1]&^b[1])|(want[2]&^b[2])|(want[3]&^b[3]) == 0
}

// attempt is one reading of one document.
type attempt struct {
	cursor
	work   int
	depth  int
	extras [maxExtras]span // names of the properties outside props, of all objects being read
	used   int
}

type span struct{ start, end int32 }

// maxExtras bounds the properties outside props in one object and the objects around it: to be told from each other they are compared.
const maxExtras = 32

// accepts reads the document once. False means "ask the library". A nil rule knows nothing.
// Work is bounded by the length of the document, so no schema can make it slow.
func (r *rule) accepts(doc []byte) bool {
	if r == nil {
		return false
	}
	a := attempt{cursor: cursor{data: doc}, work: 4096 + 4*len(doc)}
	if !a.value(r) {
		return false
	}
	a.peek()
	return a.pos == len(doc)
}

var anything = &rule{maxItems: math.MaxInt, maxLength: math.MaxInt}

func (a *attempt) value(r *rule) bool {
	if r == nil {
		r = anything
	}
	b := a.peek()
	if a.work--; a.work < 0 {
		return false
	}
	start := a.pos
	if !r.open && !a.own(r, b) {
		return false
	}
	for _, sub := range r.all {
		a.pos = start
		if !a.value(sub) {
			return false
		}
	}
	for _, subs := range r.any {
		if !a.first(start, subs) {
			return false
		}
	}
	return true
}

// first looks for an alternative that accepts the value at start.
func (a *attempt) first(start int, subs []*rule) bool {
	depth, used := a.depth, a.used
	for _, sub := range subs {
		a.pos, a.depth, a.used = start, depth, used
		if a.value(sub) {
			return true
		}
	}
	return false
}

// own applies what the rule says itself to the value that starts with b.
func (a *attempt) own(r *rule, b byte) bool {
	switch b {
	case '"':
		return r.allows(kindString) && a.text(r)
	case '{':
		return r.allows(kindObject) && r.scalars == nil && a.object(r)
	case '[':
		return r.allows(kindArray) && r.scalars == nil && a.array(r)
	case 't':
		return r.allows(kindBoolean) && (r.scalars == nil || r.scalars.yes) && a.literal("true")
	case 'f':
		return r.allows(kindBoolean) && (r.scalars == nil || r.scalars.no) && a.literal("false")
	case 'n':
		return r.allows(kindNull) && (r.scalars == nil || r.scalars.nothing) && a.literal("null")
	}
	return r.allows(kindNumber|kindInteger) && a.number(r)
}

func (r *rule) allows(k kind) bool { return r.kinds == 0 || r.kinds&k != 0 }

func (a *attempt) array(r *rule) bool {
	if a.depth++; a.depth > maxDepth {
		return false
	}
	a.pos++
	count := 0
	for more := a.peek() != ']'; more; more = a.separator() {
		if count++; count > r.maxItems || !a.value(r.items) {
			return false
		}
	}
	a.depth--
	return a.close(']') && count >= r.minItems
}

// separator steps over a comma, if there is one.
func (a *attempt) separator() bool {
	if a.peek() != ',' {
		return false
	}
	a.pos++
	return true
}

func (a *attempt) close(end byte) bool {
	if a.peek() != end {
		return false
	}
	a.pos++
	return true
}
