package schema

import "slices"

// unevaluatedProperties looks at the properties that no other keyword of n, nor of the schemas it combines, has looked at.
func (c *checker) unevaluatedProperties(n *node, obj map[string]any, at *place) {
	seen := map[string]bool{}
	c.seenProperties(n, obj, at, seen, true)
	var unknown []string
	for _, name := range c.names(obj) {
		switch {
		case seen[name]:
		case n.unevaluatedProperties.never:
			unknown = append(unknown, name)
		default:
			c.check(n.unevaluatedProperties, obj[name], c.member(at, name))
		}
	}
	if len(unknown) > 0 {
		c.unknown("unevaluatedProperties", unknown, n.declared(map[*node]bool{}), n, obj, at)
	}
}

// declared are the properties of n and of all schemas that it combines.
func (n *node) declared(visited map[*node]bool) []member {
	if visited[n] {
		return nil
	}
	visited[n] = true
	out := slices.Clone(n.properties)
	n.inPlace(func(sub *node) { out = append(out, sub.declared(visited)...) })
	return out
}

func (c *checker) seenProperties(n *node, obj map[string]any, at *place, seen map[string]bool, own bool) {
	if c.work -= len(obj) * (1 + len(n.patternProperties)) / 4; c.work < 0 {
		return
	}
	for name := range obj {
		if n.byName[name] != nil || n.additional != nil || n.unevaluatedProperties != nil && !own || n.matches(name) {
			seen[name] = true
		}
	}
	c.eachApplied(n, obj, at, func(sub *node) { c.seenProperties(sub, obj, at, seen, false) })
}

func (n *node) matches(name string) bool {
	for _, m := range n.patternProperties {
		if m.pattern.re.MatchString(name) {
			return true
		}
	}
	return false
}

// eachApplied calls f for the schemas in n that apply to the value and hold.
func (c *checker) eachApplied(n *node, v any, at *place, f func(*node)) {
	holds := func(sub *node) bool {
		return sub != nil && c.work >= 0 && c.valid(sub, v, at)
	}
	each := func(list ...*node) {
		for _, sub := range list {
			if holds(sub) {
				f(sub)
			}
		}
	}
	each(n.ref)
	each(n.allOf...)
	each(n.anyOf...)
	each(n.oneOf...)
	if n.cond != nil && holds(n.cond) {
		f(n.cond)
		each(n.then)
	} else if n.cond != nil {
		each(n.otherwise)
	}
	obj, _ := v.(map[string]any)
	for _, m := range n.dependentSchemas {
		if _, given := obj[m.name]; given {
			each(m.node)
		}
	}
}

// unevaluatedItems is unevaluatedProperties for arrays.
func (c *checker) unevaluatedItems(n *node, list []any, at *place) {
	seen := make([]bool, len(list))
	c.seenItems(n, list, at, seen, true)
	for i, v := range list {
		switch {
		case seen[i]:
		case n.unevaluatedItems.never:
			c.add(at.item(i), "unevaluatedItems", "is not allowed")
		default:
			c.check(n.unevaluatedItems, v, at.item(i))
		}
	}
}

func (c *checker) seenItems(n *node, list []any, at *place, seen []bool, own bool) {
	if c.work -= len(list) / 8; c.work < 0 {
		return
	}
	for i, v := range list {
		covered := i < len(n.prefixItems) || n.items != nil || n.unevaluatedItems != nil && !own
		if covered || n.contains != nil && c.valid(n.contains, v, at.item(i)) {
			seen[i] = true
		}
	}
	c.eachApplied(n, list, at, func(sub *node) { c.seenItems(sub, list, at, seen, false) })
}
