package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/textutil"
)

// maxProblems is how many problems of a document are listed; the rest is only counted.
const maxProblems = 5

// Problem is one thing wrong with a document, worded for the author of the document.
type Problem struct {
	Path    string `json:"path"`    // such as edits[2].old_string, or "" for the document itself
	Message string `json:"message"` // what is wrong, what is allowed, what was given
	// Property is the name of the unknown property that the problem is about, if it is about one of the object at Path.
	Property string `json:"-"`
}

// String is the path, if there is one, and the message.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Invalid says why a document is not valid: at least one problem, outer before inner, and by name on one level.
type Invalid struct {
	Problems []Problem // at most maxProblems
	More     int       // how many others there are
}

// Error is all problems in one line.
func (i *Invalid) Error() string {
	words := make([]string, len(i.Problems))
	for k, p := range i.Problems {
		words[k] = p.String()
	}
	text := strings.Join(words, "; ")
	if i.More > 0 {
		text += "; and " + textutil.Count(i.More, "more problem")
	}
	return text
}

func invalid(format string, args ...any) *Invalid {
	return &Invalid{Problems: []Problem{{Message: fmt.Sprintf(format, args...)}}}
}

// finding is a problem before it is sorted, with what choosing between alternatives needs to know.
type finding struct {
	at      *location
	word    string // the keyword that refused
	message string
	// property is Problem.Property
	property string
}

// maxFindings are kept for sorting; beyond it problems are only counted.
const maxFindings = 1000

// invalid sorts the findings, drops doubles, and keeps the first few.
func (c *checker) invalid() *Invalid {
	slices.SortStableFunc(c.findings, func(a, b finding) int {
		return cmp.Or(a.at.compare(b.at), strings.Compare(a.message, b.message))
	})
	problems := make([]Problem, len(c.findings))
	for i, f := range c.findings {
		problems[i] = Problem{Path: f.at.String(), Message: f.message, Property: f.property}
	}
	problems = slices.Compact(problems)
	kept := min(len(problems), maxProblems)
	return &Invalid{Problems: problems[:kept:kept], More: len(problems) - kept + c.uncounted}
}

// location is where a value is in its document: a chain of steps up to the root, which is nil.
type location struct {
	up    *location
	name  string // of a property
	index int    // of an item, or -1 for a property
}

func (p *location) member(name string) *location { return &location{up: p, name: name, index: -1} }
func (p *location) item(i int) *location         { return &location{up: p, index: i} }

func (p *location) steps() []*location {
	var out []*location
	for ; p != nil; p = p.up {
		out = append(out, p)
	}
	slices.Reverse(out)
	return out
}

// String is the place as people write it: edits[2].old_string, env["a b"], or "" for the root.
func (p *location) String() string {
	var b strings.Builder
	for _, s := range p.steps() {
		switch {
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case !simpleName(s.name):
			b.WriteString("[" + quote(s.name) + "]")
		case b.Len() > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

func (p *location) pointer() string {
	var b strings.Builder
	for _, s := range p.steps() {
		if s.index >= 0 {
			b.WriteString("/" + strconv.Itoa(s.index))
		} else {
			b.WriteString("/" + textutil.EscapePointer(s.name))
		}
	}
	return b.String()
}

// compare orders places: outer before inner, items by number, properties by name.
func (p *location) compare(q *location) int {
	a, b := p.steps(), q.steps()
	for i := range min(len(a), len(b)) {
		if c := cmp.Or(cmp.Compare(a[i].index, b[i].index), strings.Compare(a[i].name, b[i].name)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func simpleName(s string) bool {
	for _, r := range s {
		if !strings.ContainsRune("_-$", r) && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') {
			return false
		}
	}
	return s != "" && len(s) <= maxQuoted
}

// maxQuoted bounds, in code points, what is shown of any one value, name or pattern.
const maxQuoted = 60

// quote is s in quotes, control characters escaped, cut at a code point with an ellipsis when it is long.
func quote(s string) string {
	var b strings.Builder
	room := maxQuoted - 3
	for _, r := range s {
		shown := strconv.Quote(string(r))
		shown = shown[1 : len(shown)-1]
		if room -= len([]rune(shown)); room < 0 {
			b.WriteString("…")
			break
		}
		b.WriteString(shown)
	}
	return `"` + b.String() + `"`
}

// show formats a value for a message; the contents of objects and arrays are omitted.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case json.Number:
		return textutil.CutRunes(v.String(), 30, "…")
	case bool:
		return strconv.FormatBool(v)
	case nil:
		return "null"
	}
	return kindOf(v).String()
}

// showTyped is show with the type in front, for when the type is what is wrong.
func showTyped(v any) string {
	switch kindOf(v) {
	case kindString, kindNumber, kindBoolean:
		return kindOf(v).String() + " " + show(v)
	}
	return show(v)
}

// showWhole is a value of the schema (const, enum), containers as short JSON.
func showWhole(v any) string {
	switch v.(type) {
	case map[string]any, []any:
		if b, err := json.Marshal(v); err == nil {
			return textutil.CutRunes(string(b), maxQuoted, "…")
		}
	}
	return show(v)
}

// listed joins words, as many as stay readable.
func listed(words []string, sep string) string {
	const most, room = 40, 400
	var shown []string
	size := 0
	for i, w := range words {
		w = textutil.CutRunes(w, room/2, "…")
		if size += len(w) + len(sep); i == most || i > 0 && size > room {
			return strings.Join(shown, sep) + fmt.Sprintf("%s… (%d in all)", sep, len(words))
		}
		shown = append(shown, w)
	}
	return strings.Join(shown, sep)
}

func either(words []string) string { return textutil.List(words, "or") }

func article(kind string) string {
	switch {
	case kind == "null":
		return kind
	case strings.ContainsRune("aio", rune(kind[0])):
		return "an " + kind
	}
	return "a " + kind
}

// typeWords is "an integer" or "string, integer or null".
func typeWords(words []string) string {
	if len(words) == 1 {
		return article(words[0])
	}
	return either(words)
}

// packedHint recognizes the commonest slip of models: the value as JSON inside a string.
func packedHint(want kind, v any) string {
	s, ok := v.(string)
	if !ok {
		return ""
	}
	s = strings.TrimSpace(s)
	object := want&kindObject != 0 && strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}")
	array := want&kindArray != 0 && strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]")
	if object || array {
		return "; write the JSON itself, not a string with JSON in it"
	}
	return ""
}

func (c *checker) enumWords(allowed []any, got any, at *location) string {
	shown := c.show(got, at)
	if len(allowed) == 1 {
		return fmt.Sprintf("%s, got %s", showWhole(allowed[0]), shown)
	}
	words := make([]string, len(allowed))
	for i, v := range allowed {
		words[i] = showWhole(v)
	}
	return fmt.Sprintf("one of %s; got %s%s", listed(words, ", "), shown, c.nearestValue(allowed, got, at))
}

// gotInstead shows a value that fits none of the schemas: of an object the names of its properties, and the values of
// those that tell the schemas apart.
func (c *checker) gotInstead(subs []*node, v any, at *location) string {
	shown, hint := c.showTyped(v, at), ""
	if _, secret := c.name(at); secret {
		return shown
	}
	var types kind
	var constants []any
	for _, sub := range subs {
		types |= sub.referred().types
		constants = append(constants, sub.referred().enum...)
	}
	obj, _ := v.(map[string]any)
	var words []string
	for _, name := range c.names(obj)[:min(len(obj), explained)] {
		word := (*location)(nil).member(name).String()
		var tags []any
		for _, sub := range subs {
			if tag := sub.referred().byName[name]; tag != nil {
				tags = append(tags, tag.referred().enum...)
			}
		}
		if tags != nil {
			word += " " + c.show(obj[name], at.member(name))
			hint = cmp.Or(hint, c.nearestValue(tags, obj[name], at.member(name)))
		}
		words = append(words, word)
	}
	if words != nil {
		return shown + " with " + listed(words, ", ") + hint
	}
	return shown + cmp.Or(packedHint(types, v), c.nearestValue(constants, v, at))
}

func (c *checker) nearestValue(allowed []any, got any, at *location) string {
	s, ok := got.(string)
	if _, secret := c.name(at); !ok || secret {
		return ""
	}
	var names []string
	for _, v := range allowed {
		if name, ok := v.(string); ok {
			names = append(names, name)
		}
	}
	if slices.Contains(names, s) {
		return ""
	}
	return didYouMean(textutil.Nearest(s, names))
}

// alternatives names what several schemas ask for, up to the mark before the next clause: "string or null,", or "one
// of: ...;".
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
	case n.types != 0 && n.pattern != nil:
		return either(n.typeWords) + " matching " + textutil.CutRunes(n.pattern.text, maxQuoted, "…")
	case n.types != 0:
		return either(n.typeWords)
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
		return textutil.CutRunes(n.title, maxQuoted, "…")
	}
	return "what the schema says at #" + textutil.CutRunes(n.at, 2*maxQuoted, "…")
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

// describeObject names the properties that distinguish one object from another: constants, then the required, then
// any.
func (n *node) describeObject() string {
	var words []string
	for _, m := range n.properties {
		if len(m.node.enum) == 1 {
			words = append(words, textutil.CutRunes(m.name, maxQuoted, "…")+" "+showWhole(m.node.enum[0]))
		}
	}
	for _, name := range n.required {
		if sub := n.byName[name]; sub == nil || len(sub.enum) != 1 {
			words = append(words, textutil.CutRunes(name, maxQuoted, "…"))
		}
	}
	for _, m := range n.properties {
		if len(n.required) == 0 && len(m.node.enum) != 1 {
			words = append(words, textutil.CutRunes(m.name, maxQuoted, "…"))
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

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return " (did you mean " + quote(name) + "?)"
}
