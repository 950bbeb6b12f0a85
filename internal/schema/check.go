package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/textutil"
)

// checker finds what is wrong with a document, for the words. It looks at everything that the library will look at, so
// its work budget bounds the library's work as well; that is why it never stops at the first problem.
type checker struct {
	work      int // steps left
	findings  []finding
	uncounted int               // findings beyond maxFindings
	quiet     int               // above 0, findings are dropped: the value has one already that explains them
	wordless  bool              // only whether there are findings matters
	shown     map[string]string // see validateShowing
}

// name returns the name of a value by reference; it is false for a value that may be shown.
func (c *checker) name(at *location) (string, bool) {
	for ; len(c.shown) > 0; at = at.up {
		if name, there := c.shown[at.pointer()]; there {
			return "the value of " + textutil.CutRunes(name, 2*maxQuoted, "…"), true
		}
		if at == nil {
			break
		}
	}
	return "", false
}

// show is show for a value of the document.
func (c *checker) show(v any, at *location) string {
	if name, there := c.name(at); there {
		return name
	}
	return show(v)
}

// showTyped is showTyped for a value of the document.
func (c *checker) showTyped(v any, at *location) string {
	if name, there := c.name(at); there {
		return kindOf(v).String() + ", " + name
	}
	return showTyped(v)
}

// full reports that another finding would not be shown.
func (c *checker) full() bool {
	return c.wordless || c.quiet > 0 || len(c.findings) == maxFindings
}

func (c *checker) add(at *location, word, format string, args ...any) {
	f := finding{at: at, word: word}
	if !c.full() {
		f.message = fmt.Sprintf(format, args...)
	}
	c.put(f)
}

func (c *checker) put(f finding) {
	switch {
	case c.quiet > 0:
	case len(c.findings) == maxFindings:
		c.uncounted++
	case f.property != "" && slices.ContainsFunc(c.findings, func(known finding) bool {
		return known.at == f.at && known.property == f.property
	}): // unknown to an alternative, and to the schema around it
	default:
		c.findings = append(c.findings, f)
	}
}

func (c *checker) check(n *node, v any, at *location) {
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

// size is the library's work for a value each time it applies a schema to it, as bytes: it formats scalars, and
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
func (c *checker) checkValue(n *node, v any, at *location) bool {
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

// breadth is how many values are in v, itself included, long ones counted more than once; comparing v costs as much.
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

func (c *checker) text(n *node, s string, at *location) {
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
	if c.work -= len(s) * n.pattern.size / 100; c.work >= 0 && !n.pattern.matches([]byte(s)) {
		c.add(at, "pattern", "must match the pattern %s, got %s", textutil.CutRunes(n.pattern.text, 2*maxQuoted, "…"),
			c.show(s, at))
	}
}

func (c *checker) length(n *node, runes int, at *location) {
	if n.minLength != nil && runes < *n.minLength {
		if runes == 0 && *n.minLength == 1 {
			c.add(at, "minLength", "must not be empty")
		} else {
			c.add(at, "minLength", "must be at least %s long, got %d", textutil.Count(*n.minLength, "character"), runes)
		}
	}
	if n.maxLength != nil && runes > *n.maxLength {
		c.add(at, "maxLength", "must be at most %s long, got %d", textutil.Count(*n.maxLength, "character"), runes)
	}
}

func (c *checker) number(n *node, v json.Number, at *location) {
	if n.minimum == nil && n.maximum == nil && n.exclusiveMinimum == nil && n.exclusiveMaximum == nil &&
		n.multipleOf == nil {
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

func (c *checker) object(n *node, obj map[string]any, at *location) {
	c.presence(n, obj, at)
	for _, m := range n.properties {
		v, ok := obj[m.name]
		if !ok {
			continue
		}
		before := len(c.findings)
		c.check(m.node, v, c.member(at, m.name))
		if v == nil && len(c.findings) > before && !slices.Contains(n.required, m.name) {
			c.findings[before].message += "; leave it out instead"
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
		c.add(at, "minProperties", "must have at least %s, got %d", textutil.Count(*n.minProperties, "property"), len(obj))
	}
	if n.maxProperties != nil && len(obj) > *n.maxProperties {
		c.add(at, "maxProperties", "must have at most %s, got %d", textutil.Count(*n.maxProperties, "property"), len(obj))
	}
}

// member is a step to a property. The library writes the name into several texts, each time.
func (c *checker) member(at *location, name string) *location {
	c.work -= len(name) / 50
	return at.member(name)
}

// presence looks at required and dependentRequired.
func (c *checker) presence(n *node, obj map[string]any, at *location) {
	for _, name := range n.missing(obj) {
		if sub := n.byName[name]; sub != nil {
			c.work -= sub.cost // the library applies it to null
		}
		c.work -= 1 + len(name)/20
		c.add(at, "required", "required property %s is missing%s", quote(name), c.elsewhere(n, name, obj))
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

// explained is how many properties are examined to say what was meant; for very many it would cost too much.
const explained = 20

// elsewhere says where the object seems to have a property that is missing: inside another one or, unless unknown says
// it, under a name like its own.
func (c *checker) elsewhere(n *node, name string, obj map[string]any) string {
	if c.full() || len(obj) > explained || len(n.required) > explained {
		return ""
	}
	var others []string
	for _, other := range c.names(obj) {
		if n.byName[other] != nil {
			continue
		}
		c.work -= 2
		if holds(obj[other], name) {
			return fmt.Sprintf(" (it is inside %s; send it without that)", quote(other))
		}
		others = append(others, other)
	}
	if given := cmp.Or(textutil.Nearest(name, others), textutil.Related(name, others)); given != "" && !n.closed() {
		return fmt.Sprintf(" (got %s)", quote(given))
	}
	return ""
}

// holds reports whether a value is an object with the property, also as JSON in a string.
func holds(v any, name string) bool {
	switch v := v.(type) {
	case map[string]any:
		_, ok := v[name]
		return ok
	case string:
		return len(v) < 64<<10 && packedHint(kindObject, v) != "" && strings.Contains(v, quote(name))
	}
	return false
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
func (c *checker) extras(n *node, obj map[string]any, at *location) {
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
func (c *checker) matching(n *node, name string, v any, at *location) bool {
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

func (c *checker) propertyNames(n *node, obj map[string]any, at *location) {
	for _, name := range c.names(obj) {
		for _, f := range c.problems(n, name, c.member(at, name)) {
			c.add(at, "propertyNames", "property name %s: %s", quote(name), f.message)
		}
	}
}

// unknown says for each property that is not allowed what was meant, and once what is allowed; for very many, only that
// they are unknown.
func (c *checker) unknown(word string, unknown []string, known []member, n *node, obj map[string]any, at *location) {
	var allowed string
	var free []string
	if len(unknown) > 0 {
		allowed, free = "; "+allowedWords(n, known), unused(known, obj)
	}
	for i, name := range unknown {
		c.work -= 1 + len(name)/20
		if i >= explained {
			c.put(finding{at: at, word: word, message: "unknown property " + quote(name), property: name})
			continue
		}
		c.work -= 2 * len(known)
		meant := cmp.Or(textutil.Nearest(name, free), textutil.Related(name, free))
		missing := n.missing(obj)
		fits := func(m member) bool {
			return slices.Equal(missing, []string{m.name}) && m.node.referred().types.holds(obj[name])
		}
		switch {
		case slices.ContainsFunc(missing, func(inner string) bool { return holds(obj[name], inner) }):
			meant = "" // elsewhere says so
		case meant == "" && len(unknown) == 1 && slices.ContainsFunc(known, fits):
			meant = missing[0] // the only one too few, for the only one too many
		}
		c.put(finding{at: at, word: word, message: "unknown property " + quote(name) + allowed + didYouMean(meant),
			property: name})
		allowed = ""
	}
}

func allowedWords(n *node, known []member) string {
	var words []string
	for _, m := range known {
		if !m.node.never {
			words = append(words, textutil.CutRunes(m.name, maxQuoted, "…"))
		}
	}
	for _, m := range n.patternProperties {
		words = append(words, "names that match "+textutil.CutRunes(m.pattern.text, maxQuoted, "…"))
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

func (c *checker) array(n *node, list []any, at *location) {
	for i, v := range list {
		switch {
		case i < len(n.prefixItems):
			c.check(n.prefixItems[i], v, at.item(i))
		case n.items == nil:
		case n.items.never:
			c.work--
		default:
			c.check(n.items, v, at.item(i))
		}
	}
	if n.items != nil && n.items.never && len(list) > len(n.prefixItems) {
		c.add(at, "items", "must have at most %s, got %d", textutil.Count(len(n.prefixItems), "item"), len(list))
	}
	if n.minItems != nil && len(list) < *n.minItems {
		c.add(at, "minItems", "must have at least %s, got %d", textutil.Count(*n.minItems, "item"), len(list))
	}
	if n.maxItems != nil && len(list) > *n.maxItems {
		c.add(at, "maxItems", "must have at most %s, got %d", textutil.Count(*n.maxItems, "item"), len(list))
	}
	if n.uniqueItems {
		c.unique(list, at)
	}
	if n.contains != nil {
		c.contains(n, list, at)
	}
	if n.unevaluatedItems != nil {
		c.unevaluatedItems(n, list, at)
	}
}

func (c *checker) unique(list []any, at *location) {
	first := make(map[string]int, len(list))
	for i, v := range list {
		if c.work -= breadth(v); c.work < 0 {
			return
		}
		key := canonical(v)
		if j, twice := first[key]; twice {
			c.add(at, "uniqueItems", "must not have equal items, but [%d] and [%d] are", j, i)
			return
		}
		first[key] = i
	}
}

func (c *checker) contains(n *node, list []any, at *location) {
	found := 0
	for i, v := range list {
		if c.valid(n.contains, v, at.item(i)) {
			found++
		}
	}
	least := 1
	if n.minContains != nil {
		least = *n.minContains
	}
	if found < least {
		c.add(at, "contains", "must have at least %s that is %s, got %d", textutil.Count(least, "item"),
			n.contains.describe(), found)
	}
	if n.maxContains != nil && found > *n.maxContains {
		c.add(at, "maxContains", "must have at most %s that is %s, got %d", textutil.Count(*n.maxContains, "item"),
			n.contains.describe(), found)
	}
}

// combine looks at the keywords that apply further schemas to the same value.
func (c *checker) combine(n *node, v any, at *location) {
	if n.ref != nil {
		c.check(n.ref, v, at)
	}
	for _, sub := range n.allOf {
		c.check(sub, v, at)
	}
	if n.anyOf != nil {
		if tried, fits := c.try(n.anyOf, v, at); fits == nil {
			c.noneFits("anyOf", n.anyOf, tried, v, at)
		}
	}
	if n.oneOf != nil {
		switch tried, fits := c.try(n.oneOf, v, at); {
		case fits == nil:
			c.noneFits("oneOf", n.oneOf, tried, v, at)
		case len(fits) > 1:
			c.add(at, "oneOf", "must fit exactly one alternative, but fits numbers %s of: %s", strings.Join(fits, " and "),
				listed(descriptions(n.oneOf), "; "))
		}
	}
	if n.not != nil && c.valid(n.not, v, at) {
		c.add(at, "not", "must not be %s, got %s", n.not.describe(), c.show(v, at))
	}
	if n.cond != nil {
		branch := n.then
		if !c.valid(n.cond, v, at) {
			branch = n.otherwise
		}
		if branch != nil {
			c.check(branch, v, at)
		}
	}
	if obj, ok := v.(map[string]any); ok {
		for _, m := range n.dependentSchemas {
			if _, given := obj[m.name]; given {
				c.check(m.node, v, at)
			}
		}
	}
}

// problems applies a schema with its own list of findings; none means valid.
func (c *checker) problems(n *node, v any, at *location) []finding {
	return c.branch(n, v, at, c.full())
}

func (c *checker) valid(n *node, v any, at *location) bool {
	return len(c.branch(n, v, at, true)) == 0
}

func (c *checker) branch(n *node, v any, at *location, wordless bool) []finding {
	side := checker{work: c.work, wordless: wordless, shown: c.shown}
	side.check(n, v, at)
	c.work = side.work
	return side.findings
}

// try applies alternatives, and returns the problems of each and the numbers of those that fit.
func (c *checker) try(subs []*node, v any, at *location) (tried [][]finding, fits []string) {
	tried = make([][]finding, len(subs))
	for i, sub := range subs {
		if tried[i] = c.problems(sub, v, at); len(tried[i]) == 0 {
			fits = append(fits, strconv.Itoa(i+1))
		}
	}
	return tried, fits
}

// noneFits reports the problems of the alternative that was probably meant, otherwise the alternatives.
func (c *checker) noneFits(word string, subs []*node, tried [][]finding, v any, at *location) {
	if meant := theOneMeant(tried, at); meant != nil {
		for _, f := range meant {
			c.put(f)
		}
		return
	}
	if c.full() {
		c.add(at, word, "")
		return
	}
	c.work -= 50 // for the words
	c.add(at, word, "must be %s got %s", alternatives(subs), c.gotInstead(subs, v, at))
}

// theOneMeant is the only alternative that the value's own type and constants, or else those of its properties, do not
// rule out.
func theOneMeant(tried [][]finding, at *location) []finding {
	open := slices.DeleteFunc(slices.Clone(tried), func(f []finding) bool { return ruledOut(f, at, 0) })
	if len(open) > 1 {
		open = slices.DeleteFunc(open, func(f []finding) bool { return ruledOut(f, at, 1) })
	}
	if len(open) != 1 {
		return nil
	}
	return open[0]
}

// ruledOut reports whether a type or a constant refused the value itself, or one step below it a constant.
func ruledOut(findings []finding, at *location, below int) bool {
	return slices.ContainsFunc(findings, func(f finding) bool {
		if below == 0 {
			return f.at == at && slices.Contains([]string{"type", "enum", "false", "anyOf", "oneOf"}, f.word)
		}
		return f.at != at && f.at != nil && f.at.up == at && f.word == "enum"
	})
}

// unevaluatedProperties looks at the properties that no other keyword of n, nor of the schemas it combines, has looked
// at.
func (c *checker) unevaluatedProperties(n *node, obj map[string]any, at *location) {
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

func (c *checker) seenProperties(n *node, obj map[string]any, at *location, seen map[string]bool, own bool) {
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
	return slices.ContainsFunc(n.patternProperties, func(m member) bool { return m.pattern.re.MatchString(name) })
}

// eachApplied calls f for the schemas in n that apply to the value and hold.
func (c *checker) eachApplied(n *node, v any, at *location, f func(*node)) {
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
func (c *checker) unevaluatedItems(n *node, list []any, at *location) {
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

func (c *checker) seenItems(n *node, list []any, at *location, seen []bool, own bool) {
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
