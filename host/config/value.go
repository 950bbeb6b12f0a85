package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A check says what is wrong with a string and what to do about it, or "" when nothing is.
type check func(string) (problem, hint string)

// value evaluates an attribute. There is no expression when it is absent, null, or wrong and reported.
func (f *fields) value(name string) (cty.Value, hclsyntax.Expression) {
	a := f.attr(name)
	if a == nil {
		return cty.NilVal, nil
	}
	v, ok := f.eval(a.Expr)
	if !ok || !v.IsNull() {
		f.given[name] = true
	}
	if !ok || v.IsNull() {
		return cty.NilVal, nil
	}
	return v, a.Expr
}

// typed is value for an attribute of one kind; hint says what to write instead of a value of another kind.
func (f *fields) typed(name string, k kind, hint func(cty.Value) string) (cty.Value, hclsyntax.Expression) {
	v, e := f.value(name)
	if e != nil && !k.is(v) {
		f.wrong(e.Range(), "%s must be %s, not %s", name, k.words, kindOf(v)).Hint = hint(v)
		return cty.NilVal, nil
	}
	return v, e
}

// text reads a string, "" when there is none.
func (f *fields) text(name string, c check) string {
	v, e := f.typed(name, textKind, func(cty.Value) string { return "write " + name + ` = "…"` })
	if e == nil {
		return ""
	}
	return f.checked(v.AsString(), name, e.Range(), c)
}

// checked gives the string, or "" when the check is against it.
func (f *fields) checked(s, what string, at hcl.Range, c check) string {
	problem, hint := c(s)
	if problem == "" {
		return s
	}
	f.wrong(at, "%s %s", what, problem).Hint = hint
	return ""
}

// item is checked for a value in a list or an object.
func (f *fields) item(v cty.Value, what string, at hcl.Range, c check) string {
	if !textKind.is(v) {
		f.wrong(at, "%s must be a string, not %s", what, kindOf(v)).hint("put it in quotes where it is written")
		return ""
	}
	return f.checked(v.AsString(), what, at, c)
}

// texts reads a list of strings. It is false when there is none, or when it was wrong and reported.
func (f *fields) texts(name string, c check) ([]string, bool) {
	v, e := f.typed(name, listKind, func(v cty.Value) string { return "write " + name + " = " + listFor(v) })
	if e == nil {
		return nil, false
	}
	before, out := len(f.mistakes), []string{}
	for i, item := range v.AsValueSlice() {
		out = append(out, f.item(item, fmt.Sprintf("item %d of %s", i+1, name), itemRange(e, i), c))
	}
	return out, len(f.mistakes) == before
}

// listFor shows the list that was probably meant by a value that is none.
func listFor(v cty.Value) string {
	if !textKind.is(v) {
		return `["…"]`
	}
	words := strings.Fields(v.AsString())
	for i, w := range words {
		words[i] = fmt.Sprintf("%q", w)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// textMap reads an object whose values are strings, nil when there is none.
func (f *fields) textMap(name string, key, value check) map[string]string {
	v, e := f.typed(name, objectKind, func(cty.Value) string { return "write " + name + ` = { NAME = "…" }` })
	if e == nil {
		return nil
	}
	out, items, places := map[string]string{}, v.AsValueMap(), keyRanges(e)
	for _, k := range slices.Sorted(maps.Keys(items)) {
		at, found := places[k]
		if !found {
			at = e.Range()
		}
		f.checked(k, fmt.Sprintf("%s %q", name, k), at, key)
		out[k] = f.item(items[k], fmt.Sprintf("%s %q", name, k), at, value)
	}
	return out
}

// boolean reads true or false, false when there is neither.
func (f *fields) boolean(name string) bool {
	v, e := f.typed(name, boolKind, func(cty.Value) string { return "write " + name + " = true, without quotes" })
	return e != nil && v.True()
}

// integer reads a whole number from 1 to most, 0 when there is none.
func (f *fields) integer(name string, most int) int {
	hint := fmt.Sprintf("write a whole number from 1 to %d, without quotes", most)
	v, e := f.typed(name, numberKind, func(cty.Value) string { return hint })
	if e == nil {
		return 0
	}
	n, accuracy := v.AsBigFloat().Int64()
	if accuracy != 0 || n < 1 || n > int64(most) {
		f.wrong(e.Range(), "%s must be a whole number from 1 to %d", name, most).hint("remove it to have the default")
		return 0
	}
	return int(n)
}
