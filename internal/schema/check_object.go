package schema

import (
	"maps"
	"slices"
)

func (c *checker) object(n *node, obj map[string]any, at *place) {
	c.presence(n, obj, at)
	for _, m := range n.properties {
		if v, ok := obj[m.name]; ok {
			c.check(m.node, v, c.member(at, m.name))
		}
	}
	if n.additional != nil || n.patternProperties != nil {
		c.extras(n, obj, at)
	}
	if n.propertyNames != nil {
		c.propertyNames(n.propertyNames, obj, at)
	}
	if n.unevaluatedProperties != nil {
		c.unevaluatedProperties(n, obj, at)
	}
	if n.minProperties != nil && len(obj) < *n.minProperties {
		c.add(at, "minProperties", "must have at least %s, got %d", plural(*n.minProperties, "property"), len(obj))
	}
	if n.maxProperties != nil && len(obj) > *n.maxProperties {
		c.add(at, "maxProperties", "must have at most %s, got %d", plural(*n.maxProperties, "property"), len(obj))
	}
}

// member is a step to a property. The library writes the name into several texts, each time.
func (c *checker) member(at *place, name string) *place {
	c.work -= len(name) / 50
	return at.member(name)
}

// presence looks at required and dependentRequired.
func (c *checker) presence(n *node, obj map[string]any, at *place) {
	for _, name := range n.missing(obj) {
		if sub := n.byName[name]; sub != nil {
			c.work -= sub.cost // the library applies it to null
		}
		c.work -= 1 + len(name)/20
		c.add(at, "required", "required property %s is missing", quote(name))
	}
	for _, d := range n.dependentRequired {
		if _, ok := obj[d.name]; !ok {
			continue
		}
		for _, name := range d.needs {
			if _, ok := obj[name]; !ok {
				c.work -= 1 + len(name)/20
				c.add(at, "dependentRequired", "property %s is required when %s is given", quote(name), quote(d.name))
			}
		}
	}
}

func (n *node) missing(obj map[string]any) []string {
	var out []string
	for _, name := range n.required {
		if _, ok := obj[name]; !ok {
			out = append(out, name)
		}
	}
	return out
}

// extras looks at the properties that are not in properties.
func (c *checker) extras(n *node, obj map[string]any, at *place) {
	var unknown []string
	for _, name := range c.names(obj) {
		matched := c.matching(n, name, obj[name], at) || n.byName[name] != nil
		switch {
		case matched || n.additional == nil:
		case n.additional.never:
			unknown = append(unknown, name)
		default:
			c.check(n.additional, obj[name], c.member(at, name))
		}
	}
	c.unknown("additionalProperties", unknown, n.properties, n, obj, at)
}

func (c *checker) names(obj map[string]any) []string {
	c.work -= len(obj) / 8
	return slices.Sorted(maps.Keys(obj))
}

// matching applies the schemas of all patterns that match the name.
func (c *checker) matching(n *node, name string, v any, at *place) bool {
	matched := false
	for _, m := range n.patternProperties {
		if c.work -= 1 + len(name)*m.pattern.size/50; c.work < 0 {
			return true
		}
		if m.pattern.re.MatchString(name) {
			matched = true
			c.check(m.node, v, c.member(at, name))
		}
	}
	return matched
}

func (c *checker) propertyNames(n *node, obj map[string]any, at *place) {
	for _, name := range c.names(obj) {
		for _, f := range c.problems(n, name, c.member(at, name)) {
			c.add(at, "propertyNames", "property name %s: %s", quote(name), f.message)
		}
	}
}

// unknown says for each property that is not allowed what to write instead; for very many, only that it is unknown.
func (c *checker) unknown(word string, unknown []string, known []member, n *node, obj map[string]any, at *place) {
	const explained = 20
	var allowed string
	var free []string
	if len(unknown) > 0 {
		allowed, free = allowedWords(n, known), unused(known, obj)
	}
	for i, name := range unknown {
		c.work -= 1 + len(name)/20
		if i >= explained {
			c.add(at, word, "unknown property %s", quote(name))
			continue
		}
		c.work -= 2 * len(known)
		meant := nearest(name, free)
		if missing := n.missing(obj); meant == "" && len(unknown) == 1 && len(missing) == 1 && slices.Contains(free, missing[0]) {
			meant = missing[0] // the only one too few, for the only one too many
		}
		c.add(at, word, "unknown property %s; %s%s", quote(name), allowed, didYouMean(meant))
	}
}

func allowedWords(n *node, known []member) string {
	var words []string
	for _, m := range known {
		if !m.node.never {
			words = append(words, shorten(m.name, maxQuoted))
		}
	}
	for _, m := range n.patternProperties {
		words = append(words, "names that match "+shorten(m.pattern.text, maxQuoted))
	}
	if len(words) == 0 {
		return "no properties are allowed here"
	}
	return "allowed: " + listed(words, ", ")
}

// unused are the known properties that the object could still be given.
func unused(known []member, obj map[string]any) []string {
	var out []string
	for _, m := range known {
		if _, used := obj[m.name]; !used && !m.node.never {
			out = append(out, m.name)
		}
	}
	return out
}
