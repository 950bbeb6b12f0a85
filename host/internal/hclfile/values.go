package hclfile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/text/unicode/norm"

	"github.com/toolhost/toolhost/internal/lazy"
)

// A Kind is a type as users see it: HCL has two types each for lists and objects.
type Kind struct {
	Words string
	Is    func(cty.Value) bool
}

// The kinds of values.
var (
	TextKind   = Kind{"a string", isType(cty.String)}
	BoolKind   = Kind{"true or false", isType(cty.Bool)}
	NumberKind = Kind{"a number", isType(cty.Number)}
	ListKind   = Kind{"a list of strings", func(v cty.Value) bool {
		t := v.Type()
		return !v.IsNull() && (t.IsTupleType() || t.IsListType() || t.IsSetType())
	}}
	ObjectKind = Kind{"an object", func(v cty.Value) bool {
		t := v.Type()
		return !v.IsNull() && (t.IsObjectType() || t.IsMapType())
	}}
)

func isType(t cty.Type) func(cty.Value) bool {
	return func(v cty.Value) bool { return !v.IsNull() && v.Type() == t }
}

// KindOf names the type of a value, for "must be …, not …".
func KindOf(v cty.Value) string {
	switch {
	case v.IsNull():
		return "null"
	case TextKind.Is(v):
		return "a string"
	case NumberKind.Is(v):
		return "a number"
	case BoolKind.Is(v):
		return "a bool"
	case ListKind.Is(v):
		return "a list"
	default:
		return "an object"
	}
}

// ItemRange is the position of an item of a list, if the list is written literally.
func ItemRange(e hclsyntax.Expression, i int) hcl.Range {
	if list, ok := e.(*hclsyntax.TupleConsExpr); ok && i < len(list.Exprs) {
		return list.Exprs[i].Range()
	}
	return e.Range()
}

// LiteralKey returns a key of an object that needs no evaluation.
func LiteralKey(item hclsyntax.ObjectConsItem) (string, bool) {
	key, diags := item.KeyExpr.Value(nil)
	if diags.HasErrors() || !TextKind.Is(key) || !key.IsKnown() {
		return "", false
	}
	return key.AsString(), true
}

// A Check returns the problem with a string and what to do about it, or "" for a valid one.
type Check func(string) (problem, hint string)

// value evaluates an attribute. There is no expression when it is absent, null, or wrong and reported.
func (b *Body) value(name string) (cty.Value, hclsyntax.Expression) {
	a := b.attr(name)
	if a == nil {
		return cty.NilVal, nil
	}
	v, ok := b.Eval(a.Expr)
	if !ok || !v.IsNull() {
		b.given[name] = true
	}
	if !ok || v.IsNull() {
		return cty.NilVal, nil
	}
	return v, a.Expr
}

// Typed is value for an attribute of one kind; hint says what to write instead of a value of another kind.
func (b *Body) Typed(name string, k Kind, hint func(cty.Value) string) (cty.Value, hclsyntax.Expression) {
	b.asks(name, k.Words)
	v, e := b.value(name)
	if e != nil && !k.Is(v) {
		b.Wrong(e.Range(), "%s must be %s, not %s", name, k.Words, KindOf(v)).Hint = hint(v)
		return cty.NilVal, nil
	}
	return v, e
}

// Text reads a string, "" when there is none.
func (b *Body) Text(name string, c Check) string {
	return b.text(name, TextKind.Words, c, func(v cty.Value) string {
		if NumberKind.Is(v) {
			return fmt.Sprintf("write %s = %q", name, b.Source(b.ExprOf(name)))
		}
		return "write " + name + ` = "…"`
	})
}

// text reads a string of the form that words name; hint says what to write instead of a value of another kind.
func (b *Body) text(name, words string, c Check, hint func(cty.Value) string) string {
	v, e := b.Typed(name, Kind{words, TextKind.Is}, hint)
	if e == nil {
		return ""
	}
	return b.checked(v.AsString(), name, e.Range(), c)
}

// checked returns the string, or "" when the check fails.
func (b *Body) checked(s, what string, at hcl.Range, c Check) string {
	problem, hint := c(s)
	if problem == "" {
		return s
	}
	b.Wrong(at, "%s %s", what, problem).Hint = hint
	return ""
}

// item is checked for a value in a list or an object.
func (b *Body) item(v cty.Value, what string, at hcl.Range, c Check) string {
	if !TextKind.Is(v) {
		m := b.Wrong(at, "%s must be a string, not %s", what, KindOf(v))
		switch {
		case v.IsNull():
			m.WithHint("remove it")
		case ListKind.Is(v), ObjectKind.Is(v):
			m.WithHint("write one string here")
		default:
			m.WithHint("put it in quotes where it is written")
		}
		return ""
	}
	return b.checked(v.AsString(), what, at, c)
}

// OneOf reads one of several words, "" when there is none.
func (b *Body) OneOf(name string, choices []string) string {
	b.asks(name, `"`+strings.Join(choices, `", "`)+`"`)
	return b.text(name, TextKind.Words, func(s string) (problem, hint string) {
		if slices.Contains(choices, s) {
			return "", ""
		}
		return cannotBe(s), Suggest(s, choices, "it is one of")
	}, func(cty.Value) string { return `write one of "` + strings.Join(choices, `", "`) + `"` })
}

// Texts reads a list of strings. It is false when there is none, or when it was wrong and reported.
func (b *Body) Texts(name string, c Check) ([]string, bool) {
	v, e := b.Typed(name, ListKind, func(v cty.Value) string { return "write " + name + " = " + b.listFor(name, v) })
	if e == nil {
		return nil, false
	}
	before, out := b.Count(), []string{}
	for i, item := range v.AsValueSlice() {
		out = append(out, b.item(item, fmt.Sprintf("item %d of %s", i+1, name), ItemRange(e, i), c))
	}
	return out, b.Count() == before
}

// listFor shows the list that was probably meant by a value of another type.
func (b *Body) listFor(name string, v cty.Value) string {
	if !TextKind.Is(v) {
		return `["…"]`
	}
	e := b.ExprOf(name)
	if t, is := e.(*hclsyntax.TemplateExpr); !is || !t.IsStringLiteral() { // by reference: its value is not shown
		return "[" + b.Source(e) + "]"
	}
	words := strings.Fields(v.AsString())
	for i, w := range words {
		words[i] = fmt.Sprintf("%q", w)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// TextOrTexts reads a string or a list of strings, which must not be empty; nil when there is none.
func (b *Body) TextOrTexts(name string, c Check) []string {
	b.asks(name, "a string or a list of strings")
	a := b.attr(name)
	if a == nil {
		return nil
	}
	if v, ok := b.Eval(a.Expr); ok && TextKind.Is(v) {
		return []string{b.checked(v.AsString(), name, a.Expr.Range(), c)}
	}
	return b.SomeTexts(name, c)
}

// SomeTexts reads a list of strings, nil when there is none. An empty list is a mistake: a user could take it for
// nothing, and a rule for everything.
func (b *Body) SomeTexts(name string, c Check) []string {
	out, ok := b.Texts(name, c)
	if !ok {
		return nil
	}
	if len(out) == 0 {
		b.Wrong(b.ExprOf(name).Range(), "%s is empty, and could match nothing", name).
			WithHint("remove it to match all, or the whole rule")
	}
	return out
}

// TextMap reads an object whose values are strings, nil when there is none.
func (b *Body) TextMap(name string, key, value Check) map[string]string {
	b.asks(name, "an object of strings")
	v, e := b.Typed(name, ObjectKind, func(cty.Value) string { return "write " + name + ` = { NAME = "…" }` })
	if e == nil {
		return nil
	}
	positions := map[string]hcl.Range{} // the position of each key and its value
	if object, ok := e.(*hclsyntax.ObjectConsExpr); ok {
		for _, item := range object.Items {
			if key, ok := LiteralKey(item); ok {
				positions[key] = hcl.RangeBetween(item.KeyExpr.Range(), item.ValueExpr.Range())
			}
		}
	}
	out, items := map[string]string{}, v.AsValueMap()
	for _, k := range slices.Sorted(maps.Keys(items)) {
		at, found := positions[k]
		if !found {
			at = e.Range()
		}
		b.checked(k, fmt.Sprintf("%s %q", name, k), at, key)
		out[k] = b.item(items[k], fmt.Sprintf("%s %q", name, k), at, value)
	}
	return out
}

// Bool reads true or false, false when there is neither.
func (b *Body) Bool(name string) bool {
	choice := b.OptionalBool(name)
	return choice != nil && *choice
}

// OptionalBool reads true or false, nil when there is neither.
func (b *Body) OptionalBool(name string) *bool {
	v, e := b.Typed(name, BoolKind, func(v cty.Value) string { return "write " + name + " = " + switchFor(v) })
	if e == nil {
		return nil
	}
	return new(v.True())
}

// switchFor shows the true or false that was probably meant by a value of another type.
func switchFor(v cty.Value) string {
	word := ""
	switch {
	case TextKind.Is(v):
		word = strings.ToLower(strings.TrimSpace(v.AsString()))
	case NumberKind.Is(v):
		word = v.AsBigFloat().String()
	}
	switch cmp.Or(switches[word], word) {
	case "true", "1":
		return "true, without quotes"
	case "false", "0":
		return "false, without quotes"
	}
	return "true or false, without quotes"
}

// IsFalse reports whether the attribute is present and false.
func (b *Body) IsFalse(name string) bool {
	choice := b.OptionalBool(name)
	return choice != nil && !*choice
}

// Int reads a whole number from 1 to most, 0 when there is none.
func (b *Body) Int(name string, most int) int {
	b.asks(name, fmt.Sprintf("a whole number from 1 to %d", most))
	hint := fmt.Sprintf("write a whole number from 1 to %d, without quotes", most)
	v, e := b.Typed(name, NumberKind, func(cty.Value) string { return hint })
	if e == nil {
		return 0
	}
	n, accuracy := v.AsBigFloat().Int64()
	if accuracy != 0 || n < 1 || n > int64(most) {
		b.Wrong(e.Range(), "%s must be a whole number from 1 to %d", name, most).WithHint("remove it to have the default")
		return 0
	}
	return int(n)
}

func cannotBe(s string) (problem string) { return fmt.Sprintf("cannot be %q", Brief(s)) }

// longDuration matches what time.ParseDuration refuses only because it is too long.
var longDuration = lazy.Regexp(`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`)

// Duration reads a length of time such as "90s", from a millisecond to most; 0 when there is none.
func (b *Body) Duration(name string, most time.Duration) (d time.Duration) {
	b.asks(name, "a length of time from 1ms to "+Short(most))
	b.text(name, `a length of time such as "30s"`, func(s string) (problem, hint string) {
		parsed, err := time.ParseDuration(s)
		switch {
		case err != nil && !longDuration().MatchString(s):
			return cannotBe(s), `write a number and its unit, ms, s, m or h, such as "90s" or "2m"`
		case err == nil && parsed <= 0:
			return "must be more than zero", "remove it to have the default"
		case err != nil || parsed < time.Millisecond || parsed > most:
			return "must be from 1ms to " + Short(most), "remove it to have the default"
		}
		d = parsed
		return "", ""
	}, func(v cty.Value) string {
		meant := `"30s"; the units are ms, s, m and h`
		if NumberKind.Is(v) {
			if n, accuracy := v.AsBigFloat().Int64(); accuracy == 0 && n > 0 && n <= int64(most/time.Second) {
				meant = fmt.Sprintf(`"%ds" if you mean seconds`, n)
			}
		}
		return "write " + name + " = " + meant
	})
	return d
}

// Short writes a limit in one unit: "1h", where time.Duration writes "1h0m0s".
func Short(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

var bytesPattern = lazy.Regexp(`^([0-9]+)(KiB|MiB|GiB|TiB)$`)

// Bytes reads a size such as "512MiB", 0 when there is none.
func (b *Body) Bytes(name string) (size int64) {
	b.text(name, `a size such as "512MiB"`, func(s string) (problem, hint string) {
		m := bytesPattern().FindStringSubmatch(s)
		if m == nil {
			return cannotBe(s), `write a whole number and KiB, MiB, GiB or TiB, such as "512MiB"`
		}
		unit := map[string]int{"KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[m[2]]
		n, _ := strconv.ParseInt(m[1], 10, 64) // what matches is a number; of a larger one it is the largest
		if n == 0 {
			return "must be more than zero", "remove it to have the default"
		}
		size = min(n, math.MaxInt64>>unit) << unit
		return "", ""
	}, func(cty.Value) string { return "write " + name + ` = "512MiB"; the units are KiB, MiB, GiB and TiB` })
	return size
}

const maxRate = 1_000_000 // a second

var ratePattern = lazy.Regexp(`^([0-9]+(?:\.[0-9]+)?)/(s|m|h)$`)

// Rate reads a number per second, such as "10/s" or "60/m"; 0 when there is none.
func (b *Body) Rate(name string) (rate float64) {
	b.text(name, `a rate such as "10/s"`, func(s string) (problem, hint string) {
		m := ratePattern().FindStringSubmatch(s)
		if m == nil {
			return cannotBe(s), `write a number and /s, /m or /h, such as "10/s" or "60/m"`
		}
		n, _ := strconv.ParseFloat(m[1], 64) // what matches is a number, perhaps an infinite one
		rate = n / map[string]float64{"s": 1, "m": 60, "h": 3600}[m[2]]
		if rate <= 0 || rate > maxRate {
			return "must be more than zero, and at most a million a second", "remove it to have no limit"
		}
		return "", ""
	}, func(v cty.Value) string {
		meant := `"10/s"`
		if NumberKind.Is(v) && v.AsBigFloat().Sign() > 0 && v.LessThan(cty.NumberIntVal(maxRate)).True() {
			meant = fmt.Sprintf(`"%s/s" if you mean calls a second`, v.AsBigFloat().Text('f', -1))
		}
		return fmt.Sprintf("write %s = %s", name, meant)
	})
	return rate
}

// CheckArgument accepts texts that a process can be given as an argument or a variable.
func CheckArgument(s string) (problem, hint string) {
	if strings.ContainsRune(s, 0) {
		return "contains a NUL character", "remove it; no process can be given one"
	}
	return "", ""
}

// CheckPath accepts a path by its form alone.
func CheckPath(s string) (problem, hint string) {
	switch {
	case s == "":
		return "is empty", `write "." for the folder of this file`
	case s == "~" || strings.HasPrefix(s, "~/"):
		return `starts with "~", which only shells know`, `write "${env.HOME}` + Visible(s[1:]) + `"`
	}
	return CheckArgument(s)
}

// CheckVariable accepts the name of an environment variable.
func CheckVariable(s string) (problem, hint string) {
	if s == "" || strings.ContainsAny(s, "= \t\r\n\x00") {
		return "is not the name of a variable", `such a name is not empty and has no "=", space or NUL`
	}
	return "", ""
}

// CheckSHA256 accepts 64 hex digits.
func CheckSHA256(s string) (problem, hint string) {
	if len(s) == 64 && strings.Trim(s, "0123456789abcdefABCDEF") == "" {
		return "", ""
	}
	if rest, found := strings.CutPrefix(s, "sha256:"); found && len(rest) == 64 {
		return `must not start with "sha256:"`, "keep the 64 hex digits only"
	}
	return "must be 64 hex digits", "sha256sum PROGRAM prints them"
}

// CheckLine accepts one line of text.
func CheckLine(s string) (problem, hint string) {
	switch {
	case strings.TrimSpace(s) == "":
		return "is blank", "remove it, or write a text"
	case len(s) > 1000 || strings.ContainsFunc(s, unicode.IsControl):
		return "must be one line of at most 1000 bytes", ""
	}
	return "", ""
}

// Unstable says why HCL would change a string that comes from outside the file, "" when it would not.
func Unstable(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case !norm.NFC.IsNormalString(s):
		return "has letters that are written as a base letter and an accent"
	}
	return ""
}
