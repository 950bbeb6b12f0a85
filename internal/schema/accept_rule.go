package schema

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// newRule makes the rule of a schema, or nil if a keyword in it is beyond accept.
func newRule(root *node) *rule {
	m := ruleMaker{done: map[*node]*rule{}}
	r := m.rule(root)
	if m.beyond {
		return nil
	}
	return r
}

type ruleMaker struct {
	done   map[*node]*rule // a schema may contain itself
	beyond bool
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
	if m.beyond = m.beyond || n.beyondAccept(); m.beyond {
		return r
	}
	m.fill(r, n)
	return r
}

// onlyRefers reports a schema that is nothing but a $ref.
func (n *node) onlyRefers() bool { return n.ref != nil && n.spread == n.ref.spread+1 && n.bare() }

// bare reports that n asserts nothing of its own, only by the schemas that it combines.
func (n *node) bare() bool {
	return n.types == 0 && n.enum == nil && n.pattern == nil && !n.hasCounts() && !n.hasBounds() &&
		n.properties == nil && n.required == nil && n.additional == nil && n.items == nil && !n.beyondAccept()
}

func (n *node) hasCounts() bool {
	for _, field := range counts {
		if *field(n) != nil {
			return true
		}
	}
	return false
}

func (n *node) hasBounds() bool {
	for _, field := range bounds {
		if *field(n) != nil {
			return true
		}
	}
	return false
}

// beyondAccept reports keywords that accept does not know, or knows only within bounds.
func (n *node) beyondAccept() bool {
	return n.never || n.oneOf != nil || n.not != nil || n.cond != nil ||
		n.patternProperties != nil || n.propertyNames != nil || n.unevaluatedProperties != nil ||
		n.dependentSchemas != nil || n.dependentRequired != nil || n.minProperties != nil || n.maxProperties != nil ||
		n.prefixItems != nil || n.contains != nil || n.unevaluatedItems != nil || n.uniqueItems ||
		n.multipleOf != nil || n.format != nil || len(n.properties) > 256
}

func (m *ruleMaker) fill(r *rule, n *node) {
	r.kinds = n.types
	r.scalars = newScalars(n.enum)
	r.maxItems, r.maxLength = math.MaxInt, math.MaxInt
	setCount(&r.minItems, n.minItems)
	setCount(&r.maxItems, n.maxItems)
	setCount(&r.minLength, n.minLength)
	setCount(&r.maxLength, n.maxLength)
	if n.pattern != nil {
		r.pattern, r.program = n.pattern.re, n.pattern.size
	}
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
			m.beyond = m.beyond || n.additional != nil
		} else {
			m.beyond = true
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
		upper  bool
		strict bool
	}{
		{n.minimum, &r.low, &r.hasLow, &r.lowOpen, false, false},
		{n.exclusiveMinimum, &r.low, &r.hasLow, &r.lowOpen, false, true},
		{n.maximum, &r.high, &r.hasHigh, &r.highOpen, true, false},
		{n.exclusiveMaximum, &r.high, &r.hasHigh, &r.highOpen, true, true},
	} {
		if b.from == nil {
			continue
		}
		v, ok := comparableFloat(b.from.text)
		m.beyond = m.beyond || !ok || *b.has // both kinds of one bound are rare; leave them to the library
		*b.limit, *b.has, *b.open = v, true, b.strict
	}
}

// comparableFloat is a bound as a float, if comparing short decimals with that float is as good as comparing exactly: it has few digits
// itself, or is beyond them all.
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
