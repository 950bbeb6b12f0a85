package schema

import (
	"fmt"
	"slices"
	"strings"
)

// alternatives names what several schemas ask for, up to the mark before the next clause: "string or null,", or "one of: ...;".
func alternatives(subs []*node) string {
	var words []string
	plain := true
	for _, w := range descriptions(subs) {
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
		plain = plain && !strings.ContainsAny(w, " ,")
	}
	if plain || len(words) == 1 {
		return either(words) + ","
	}
	return "one of: " + listed(words, "; ") + ";"
}

// descriptions describes the first dozen of several schemas.
func descriptions(subs []*node) []string {
	const most = 12
	var words []string
	for _, sub := range subs[:min(len(subs), most)] {
		words = append(words, sub.describe())
	}
	if len(subs) > most {
		words = append(words, fmt.Sprintf("%d others", len(subs)-most))
	}
	return words
}

// describe is a few words for what a schema asks for, such as: string, "a" or "b", object with path, array of string.
func (n *node) describe() string { return n.describeWithin(3) }

func (n *node) describeWithin(levels int) string {
	switch {
	case n.never:
		return "nothing"
	case levels == 0:
		return n.label()
	case len(n.enum) > 0:
		return n.describeEnum()
	case n.types == kindObject || n.types == 0 && len(n.properties)+len(n.required) > 0:
		return n.describeObject()
	case n.types == kindArray && n.items != nil && !n.items.anything():
		return "array of " + n.items.describeWithin(levels-1)
	case n.types != 0:
		return n.describeTypes()
	case n.ref != nil:
		return n.ref.describeWithin(levels - 1)
	}
	return n.describeCombined(levels - 1)
}

func (n *node) describeCombined(levels int) string {
	subs, join := slices.Concat(n.anyOf, n.oneOf), either
	if len(subs) == 0 {
		subs, join = n.allOf, func(words []string) string { return strings.Join(words, " and ") }
	}
	if len(subs) == 0 {
		return n.label()
	}
	const most = 4
	var words []string
	for _, sub := range subs[:min(len(subs), most)] {
		if w := sub.describeWithin(levels); !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	if len(subs) > most {
		words = append(words, "others")
	}
	return join(words)
}

// label stands for a schema that has no short description: its title, or where it is.
func (n *node) label() string {
	if n.title != "" {
		return shorten(n.title, maxQuoted)
	}
	return "what the schema says at #" + shorten(n.at, 2*maxQuoted)
}

func (n *node) describeEnum() string {
	words := make([]string, 0, 5)
	for _, v := range n.enum[:min(len(n.enum), 5)] {
		words = append(words, showWhole(v))
	}
	if len(n.enum) > len(words) {
		return strings.Join(words, ", ") + " and others"
	}
	return either(words)
}

// describeObject names the properties that tell one object from another: constants, then the required, then any.
func (n *node) describeObject() string {
	var words []string
	for _, m := range n.properties {
		if len(m.node.enum) == 1 {
			words = append(words, shorten(m.name, maxQuoted)+" "+showWhole(m.node.enum[0]))
		}
	}
	for _, name := range n.required {
		if sub := n.byName[name]; sub == nil || len(sub.enum) != 1 {
			words = append(words, shorten(name, maxQuoted))
		}
	}
	for _, m := range n.properties {
		if len(n.required) == 0 && len(m.node.enum) != 1 {
			words = append(words, shorten(m.name, maxQuoted))
		}
	}
	if len(words) == 0 {
		return "object"
	}
	if len(words) > 6 {
		words = append(words[:6:6], "…")
	}
	return "object with " + strings.Join(words, ", ")
}

func (n *node) describeTypes() string {
	words := either(n.typeWords)
	if n.pattern != nil {
		words += " matching " + shorten(n.pattern.text, maxQuoted)
	}
	return words
}
