package schema

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
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
	pattern   *pattern
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

// maxExtras bounds the properties outside props in one object and the objects around it: to distinguish them they are
// compared.
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

// object reads an object. It gives up on names with escapes and on names given twice, anywhere.
func (a *attempt) object(r *rule) bool {
	if a.depth++; a.depth > maxDepth {
		return false
	}
	a.pos++
	var seen bits256
	outer, next := a.used, 0
	for more := a.peek() != '}'; more; more = a.separator() {
		name, ok := a.name()
		if !ok {
			return false
		}
		i := r.find(a.data[name.start:name.end], next)
		switch {
		case i >= 0 && seen.has(i):
			return false
		case i >= 0:
			seen.add(i)
			next = i + 1
			ok = a.value(r.props[i].rule)
		default:
			ok = !r.closed && a.newExtra(name, outer) && a.value(r.extra)
		}
		if !ok {
			return false
		}
	}
	a.depth--
	a.used = outer
	return a.close('}') && seen.covers(&r.required)
}

// name reads a property name and the colon after it.
func (a *attempt) name() (text, bool) {
	if a.peek() != '"' {
		return text{}, false
	}
	t, ok := a.cursor.text()
	if !ok || t.escaped || a.peek() != ':' {
		return t, false
	}
	a.pos++
	return t, true
}

// find looks a property up, first where the schema's own order would have it.
func (r *rule) find(name []byte, next int) int {
	for i := next; i < len(r.props); i++ {
		if r.props[i].name == string(name) {
			return i
		}
	}
	for i := range min(next, len(r.props)) {
		if r.props[i].name == string(name) {
			return i
		}
	}
	return -1
}

// newExtra notes a name outside props and reports whether it is new in this object, whose names start at outer.
func (a *attempt) newExtra(name text, outer int) bool {
	if a.used == len(a.extras) {
		return false
	}
	for _, other := range a.extras[outer:a.used] {
		if string(a.data[other.start:other.end]) == string(a.data[name.start:name.end]) {
			return false
		}
	}
	a.extras[a.used] = span{int32(name.start), int32(name.end)}
	a.used++
	return true
}

func (a *attempt) text(r *rule) bool {
	t, ok := a.cursor.text()
	if !ok || t.runes < r.minLength || t.runes > r.maxLength {
		return false
	}
	size := t.end - t.start
	if a.work -= size / 8; r.scalars == nil && r.pattern == nil {
		return true
	}
	if t.escaped {
		return false
	}
	value := a.data[t.start:t.end]
	if r.scalars != nil && !r.scalars.text(value) {
		return false
	}
	if r.pattern == nil {
		return true
	}
	a.work -= size * r.pattern.size / 64
	return a.work >= 0 && r.pattern.matches(value)
}

func (s *scalars) text(value []byte) bool {
	return slices.ContainsFunc(s.texts, func(t string) bool { return t == string(value) }) // allocates nothing
}

// exactDigits is how many decimal digits a float64 keeps apart: two numbers with no more compare as their floats do.
const exactDigits = 15

var powers = [exactDigits + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14,
	1e15}

// number reads a number. Where its value matters it gives up on exponents, on long numbers, and on 1.0 as an integer.
func (a *attempt) number(r *rule) bool {
	n, ok := a.cursor.number()
	if !ok || n.tooLong() || !n.whole && !r.allows(kindNumber) {
		return false
	}
	if r.scalars == nil && !r.hasLow && !r.hasHigh {
		return true
	}
	if n.digits > exactDigits || n.scientific {
		return false
	}
	digits := a.mantissa(n)
	if r.scalars != nil && (!n.whole || !slices.Contains(r.scalars.whole, digits)) {
		return false
	}
	return r.within(float64(digits) / powers[n.fraction])
}

// mantissa is the number without its point and exponent.
func (a *attempt) mantissa(n numeral) int64 {
	var v int64
	for _, b := range a.data[n.start:n.end] {
		if b-'0' <= 9 {
			v = v*10 + int64(b-'0')
		}
	}
	if a.data[n.start] == '-' {
		return -v
	}
	return v
}

func (r *rule) within(v float64) bool {
	if r.hasLow && (v < r.low || r.lowOpen && v == r.low) {
		return false
	}
	return !r.hasHigh || v < r.high || v == r.high && !r.highOpen
}

// newRule makes the rule of a schema, or nil if accept does not support a keyword in it.
func newRule(root *node) *rule {
	m := ruleMaker{done: map[*node]*rule{}}
	r := m.rule(root)
	if m.unsupported {
		return nil
	}
	return r
}

type ruleMaker struct {
	done        map[*node]*rule // a schema may contain itself
	unsupported bool
}

func (m *ruleMaker) rule(n *node) *rule {
	for n.onlyRefers() {
		n = n.ref
	}
	if r, ok := m.done[n]; ok {
		return r
	}
	r := &rule{}
	m.done[n] = r
	if m.unsupported = m.unsupported || n.unsupportedByAccept(); m.unsupported {
		return r
	}
	m.fill(r, n)
	return r
}

// onlyRefers reports a schema that is nothing but a $ref.
func (n *node) onlyRefers() bool { return n.ref != nil && n.spread == n.ref.spread+1 && n.bare() }

// bare reports that n asserts nothing of its own, only by the schemas that it combines.
func (n *node) bare() bool {
	return n.types == 0 && n.enum == nil && n.pattern == nil && !hasAny(n, counts) && !hasAny(n, bounds) &&
		n.properties == nil && n.required == nil && n.additional == nil && n.items == nil && !n.unsupportedByAccept()
}

// hasAny reports whether the node has one of these keywords.
func hasAny[T any](n *node, keywords map[string]func(*node) **T) bool {
	for _, field := range keywords {
		if *field(n) != nil {
			return true
		}
	}
	return false
}

// unsupportedByAccept reports keywords that accept does not know, or knows only within bounds.
func (n *node) unsupportedByAccept() bool {
	return n.never || n.oneOf != nil && !disjoint(n.oneOf) || n.not != nil || n.cond != nil ||
		n.patternProperties != nil || n.propertyNames != nil || n.unevaluatedProperties != nil ||
		n.dependentSchemas != nil || n.dependentRequired != nil || n.minProperties != nil || n.maxProperties != nil ||
		n.prefixItems != nil || n.contains != nil || n.unevaluatedItems != nil || n.uniqueItems ||
		n.multipleOf != nil || n.format != nil || len(n.properties) > 256
}

// disjoint reports whether no value fits two of the schemas: all are of objects with one required property, whose texts
// are others in each. So are the types that a plugin tells apart by a member.
func disjoint(list []*node) bool {
	return slices.ContainsFunc(list[0].referred().required, func(name string) bool {
		var seen []string
		for _, n := range list {
			n = n.referred()
			tag := n.byName[name]
			if n.types != kindObject || tag == nil || tag.enum == nil || !slices.Contains(n.required, name) {
				return false
			}
			for _, v := range tag.enum {
				text, ok := v.(string)
				if !ok || slices.Contains(seen, text) {
					return false
				}
				seen = append(seen, text)
			}
		}
		return true
	})
}

func (m *ruleMaker) fill(r *rule, n *node) {
	r.kinds = n.types
	r.scalars = newScalars(n.enum)
	r.maxItems, r.maxLength = math.MaxInt, math.MaxInt
	setCount(&r.minItems, n.minItems)
	setCount(&r.maxItems, n.maxItems)
	setCount(&r.minLength, n.minLength)
	setCount(&r.maxLength, n.maxLength)
	r.pattern = n.pattern
	m.fillBounds(r, n)
	m.fillProperties(r, n)
	if n.items != nil {
		r.items = m.orNil(n.items)
	}
	if n.ref != nil {
		r.all = append(r.all, m.rule(n.ref))
	}
	for _, sub := range n.allOf {
		r.all = append(r.all, m.rule(sub))
	}
	if n.anyOf != nil {
		r.any = append(r.any, m.rules(n.anyOf))
	}
	if n.oneOf != nil {
		r.any = append(r.any, m.rules(n.oneOf)) // of which at most one accepts a value
	}
	r.open = n.bare() && len(r.all)+len(r.any) > 0
}

func (m *ruleMaker) rules(list []*node) []*rule {
	out := make([]*rule, len(list))
	for i, n := range list {
		out[i] = m.rule(n)
	}
	return out
}

// orNil is the rule of n, nil if n accepts anything.
func (m *ruleMaker) orNil(n *node) *rule {
	if n.anything() {
		return nil
	}
	return m.rule(n)
}

func setCount(to, from *int) {
	if from != nil {
		*to = *from
	}
}

func (m *ruleMaker) fillProperties(r *rule, n *node) {
	r.props = make([]prop, len(n.properties))
	for i, p := range n.properties {
		r.props[i] = prop{name: p.name, rule: m.orNil(p.node)}
	}
	for _, name := range n.required {
		if i := r.find([]byte(name), 0); i >= 0 {
			r.required.add(i)
		} else if i := len(r.props); i < 256 {
			// Required but not described: as a property of any value, if additionalProperties does not say otherwise.
			r.props = append(r.props, prop{name: name})
			r.required.add(i)
			m.unsupported = m.unsupported || n.additional != nil
		} else {
			m.unsupported = true
		}
	}
	switch {
	case n.additional == nil:
	case n.additional.never:
		r.closed = true
	default:
		r.extra = m.orNil(n.additional)
	}
}

func (m *ruleMaker) fillBounds(r *rule, n *node) {
	for _, b := range []struct {
		from   *bound
		limit  *float64
		has    *bool
		open   *bool
		strict bool
	}{
		{n.minimum, &r.low, &r.hasLow, &r.lowOpen, false},
		{n.exclusiveMinimum, &r.low, &r.hasLow, &r.lowOpen, true},
		{n.maximum, &r.high, &r.hasHigh, &r.highOpen, false},
		{n.exclusiveMaximum, &r.high, &r.hasHigh, &r.highOpen, true},
	} {
		if b.from == nil {
			continue
		}
		v, ok := comparableFloat(b.from.text)
		m.unsupported = m.unsupported || !ok || *b.has // both kinds of one bound are rare; leave them to the library
		*b.limit, *b.has, *b.open = v, true, b.strict
	}
}

// comparableFloat is a bound as a float, if comparing short decimals with that float is as good as comparing exactly:
// it has few digits itself, or is beyond them all.
func comparableFloat(n json.Number) (float64, bool) {
	v, err := strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return 0, false
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
	digits := len(strings.Trim(mantissa, "-")) - strings.Count(mantissa, ".")
	return v, digits <= exactDigits && (v == 0 || math.Abs(v) > 1e-300) || math.Abs(v) >= 1e15
}

func newScalars(enum []any) *scalars {
	if enum == nil {
		return nil
	}
	s := &scalars{}
	for _, v := range enum {
		switch v := v.(type) {
		case string:
			s.texts = append(s.texts, v)
		case bool:
			s.yes, s.no = s.yes || v, s.no || !v
		case nil:
			s.nothing = true
		case json.Number:
			if exact := rational(v); exact.IsInt() && exact.Num().IsInt64() {
				s.whole = append(s.whole, exact.Num().Int64())
			}
		}
	}
	return s
}
