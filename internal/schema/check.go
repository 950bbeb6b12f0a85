package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// checker finds what is wrong with a document, for the words. It looks at everything that the library will look at, so
// its work budget bounds the library's work as well; that is why it never stops at the first problem.
type checker struct {
	work      int // steps left
	findings  []finding
	uncounted int               // findings beyond maxFindings
	quiet     int               // above 0, findings are dropped: the value has one already that explains them
	wordless  bool              // only whether there are findings matters
	shown     map[string]string // see ValidateShowing
}

// name is what a value by reference is called; it is false for a value that may be shown.
func (c *checker) name(at *place) (string, bool) {
	for ; len(c.shown) > 0; at = at.up {
		if name, there := c.shown[at.pointer()]; there {
			return "the value of " + shorten(name, 2*maxQuoted), true
		}
		if at == nil {
			break
		}
	}
	return "", false
}

// show is show for a value of the document.
func (c *checker) show(v any, at *place) string {
	if name, there := c.name(at); there {
		return name
	}
	return show(v)
}

// showTyped is showTyped for a value of the document.
func (c *checker) showTyped(v any, at *place) string {
	if name, there := c.name(at); there {
		return kindOf(v).String() + ", " + name
	}
	return showTyped(v)
}

// full reports that the words of another finding would not be read.
func (c *checker) full() bool {
	return c.wordless || c.quiet > 0 || len(c.findings) == maxFindings
}

func (c *checker) add(at *place, word, format string, args ...any) {
	switch {
	case c.quiet > 0:
	case len(c.findings) == maxFindings:
		c.uncounted++
	case c.wordless:
		c.findings = append(c.findings, finding{at: at, word: word})
	default:
		c.findings = append(c.findings, finding{at: at, word: word, message: fmt.Sprintf(format, args...)})
	}
}

// check applies one schema to one value.
func (c *checker) check(n *node, v any, at *place) {
	if c.work -= n.weight + size(v)/200; c.work < 0 {
		return
	}
	if n.never {
		c.add(at, "false", "is not allowed")
		return
	}
	if !c.checkValue(n, v, at) {
		c.quiet++
		defer func() { c.quiet-- }()
	}
	switch v := v.(type) {
	case map[string]any:
		c.object(n, v, at)
	case []any:
		c.array(n, v, at)
	case string:
		c.text(n, v, at)
	case json.Number:
		c.number(n, v, at)
	}
	c.combine(n, v, at)
}

// size is what the library does with a value each time it applies a schema to it, as bytes: it formats scalars, and
// notes for each property or item whether it has been looked at.
func size(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case json.Number:
		return numberSize(v)
	case map[string]any:
		return 16 * len(v)
	case []any:
		return 16 * len(v)
	}
	return 0
}

func numberSize(n json.Number) int {
	if strings.ContainsAny(n.String(), "eE") {
		return maxNumber
	}
	return len(n)
}

// checkValue looks at type, enum and const. If one of them refuses, no other keyword says anything new.
func (c *checker) checkValue(n *node, v any, at *place) bool {
	if n.enum != nil {
		c.work -= breadth(v) / 8
		if number, ok := v.(json.Number); ok {
			c.work -= len(n.enum) * numberSize(number) / 64
		}
		if !n.enumSet[canonical(v)] {
			c.add(at, "enum", "must be %s", c.enumWords(n.enum, v, at))
			return false
		}
	}
	if !n.types.holds(v) {
		c.add(at, "type", "must be %s, got %s%s", typeWords(n.typeWords), c.showTyped(v, at), packedHint(n.types, v))
		return false
	}
	return true
}

// breadth is how many values stand in v, itself included, long ones counted more than once; it is what comparing v costs.
func breadth(v any) int {
	total := 1 + size(v)/64
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			total += len(name)/64 + breadth(m)
		}
	case []any:
		for _, item := range v {
			total += breadth(item)
		}
	}
	return total
}

func (c *checker) text(n *node, s string, at *place) {
	if n.minLength != nil || n.maxLength != nil {
		c.length(n, utf8.RuneCountInString(s), at)
	}
	if n.format != nil {
		if c.work -= len(s) / 50; !n.format.holds(s) {
			c.add(at, "format", "must be %s, got %s", n.format.words, c.show(s, at))
		}
	}
	if n.pattern == nil {
		return
	}
	if c.work -= len(s) * n.pattern.size / 100; c.work >= 0 && !n.pattern.re.MatchString(s) {
		c.add(at, "pattern", "must match the pattern %s, got %s", shorten(n.pattern.text, 2*maxQuoted), c.show(s, at))
	}
}

func (c *checker) length(n *node, runes int, at *place) {
	if n.minLength != nil && runes < *n.minLength {
		if runes == 0 && *n.minLength == 1 {
			c.add(at, "minLength", "must not be empty")
		} else {
			c.add(at, "minLength", "must be at least %s long, got %d", plural(*n.minLength, "character"), runes)
		}
	}
	if n.maxLength != nil && runes > *n.maxLength {
		c.add(at, "maxLength", "must be at most %s long, got %d", plural(*n.maxLength, "character"), runes)
	}
}

func (c *checker) number(n *node, v json.Number, at *place) {
	if n.minimum == nil && n.maximum == nil && n.exclusiveMinimum == nil && n.exclusiveMaximum == nil && n.multipleOf == nil {
		return
	}
	c.work -= numberSize(v) / 4
	exact := rational(v)
	limit := func(b *bound, word, asks string, refused func(int) bool) {
		if b != nil && refused(exact.Cmp(b.exact)) {
			c.add(at, word, "must be %s %s, got %s", asks, show(b.text), c.show(v, at))
		}
	}
	limit(n.minimum, "minimum", "at least", func(order int) bool { return order < 0 })
	limit(n.maximum, "maximum", "at most", func(order int) bool { return order > 0 })
	limit(n.exclusiveMinimum, "exclusiveMinimum", "more than", func(order int) bool { return order <= 0 })
	limit(n.exclusiveMaximum, "exclusiveMaximum", "less than", func(order int) bool { return order >= 0 })
	if m := n.multipleOf; m != nil && !exact.Quo(exact, m.exact).IsInt() {
		c.add(at, "multipleOf", "must be a multiple of %s, got %s", show(m.text), c.show(v, at))
	}
}
