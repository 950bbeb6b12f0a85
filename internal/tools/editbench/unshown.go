package editbench

import (
	"slices"
	"strings"
)

// Families in which old_string does not show what new_string needs: how signs are written that only new lines have,
// or which of two blocks that are nearly the same is meant.

// doubtful makes the case of a family in which it is as well to refuse.
func doubtful(noise func(d *draft) bool) func(d *draft) (Case, bool) {
	return func(d *draft) (Case, bool) {
		c, ok := finished(noise)(d)
		c.Doubtful = true
		return c, ok
	}
}

// withText gives lines that come, or the changed one, a text with signs that no quoted line has.
func (d *draft) withText(text string) bool {
	done := false
	for i := range d.cells {
		if c := &d.cells[i]; c.kind == inserted {
			c.want += text
			c.new, done = c.want, true
		}
	}
	return done
}

// unshownEscapes is escaped throughout, and new lines have escapes of their own that old_string does not show.
func (d *draft) unshownEscapes() bool {
	text := one(d.Rand, []string{` "x"`, ` "a\tb"`, ` "a\n"`, ` 'it'`, ` "C:\\dir"`, "\tx", ` /\d+\s/`, ` "\"q\""`})
	if !d.plan(false) || strings.ContainsAny(joinLines(d.lines[d.from:d.from+d.count]), `\&`) || !d.withText(text) {
		return false
	}
	pairs := one(d.Rand, [][]string{{`\`, `\\`, "\n", `\n`, "\t", `\t`, `"`, `\"`},
		{"\n", `\n`, "\t", `\t`, `"`, `\"`}, {`\`, `\\`, `"`, `\"`}, {`"`, `\"`}, {"\t", `\t`}, {"\n", `\n`}})
	d.note("escapes that old_string does not show: " + text)
	f := strings.NewReplacer(pairs...).Replace
	d.wrap = append(d.wrap, func(old, fresh string) (string, string) { return f(old), f(fresh) })
	return true
}

// oddSigns are texts that a model writes on purpose, in new lines.
var oddSigns = []string{"a “quoted” word", "‘one’", "10\u00a0km", "1990–2000", "yes — no", "a\u200bb",
	"שלום\u200f", "½ – ¾", "…", "«ja»", "Ａ（全角）"}

// signsOfNewLines has odd signs only in comments that come, beside some other noise.
func (d *draft) signsOfNewLines() bool {
	lang := d.src.lang
	if !lang.prose && (lang.comment == "" || !d.program()) || !d.plan(false) {
		return false
	}
	text := one(d.Rand, oddSigns)
	if !lang.prose {
		text = lang.comment + " " + text
	}
	if strings.ContainsFunc(joinLines(d.lines), func(r rune) bool { return r > 0x7f }) || !d.withText(" "+text) {
		return false
	}
	d.note("odd signs in new lines")
	d.literal = true
	noises := []func(*draft) bool{(*draft).tabs, (*draft).shift, (*draft).spaced, (*draft).returns,
		func(*draft) bool { return true }, func(d *draft) bool { return d.count < 6 || d.spell(1, (*cell).still, true) }}
	return one(d.Rand, noises)(d)
}

// nearDuplicate means one of two copies that one line of code tells apart, and has a typo in another line.
func (m *maker) nearDuplicate() (Case, bool) {
	d, differ, ok := m.duplicates(6, 16, 1)
	if !ok || len(differ) != 1 || !d.program() || !d.calm(differ[0]) {
		return Case{}, false
	}
	if _, comment, _ := d.src.lang.split(d.text(differ[0])); comment != "" || !d.plan(true) {
		return Case{}, false
	}
	other := func(c *cell) bool { return c.still() && !slices.Contains(differ, c.at-d.from) }
	still := func(c cell) bool { return c.at == d.from+differ[0] && c.still() }
	if !slices.ContainsFunc(d.cells, still) || !d.spell(1, other, true) {
		return Case{}, false
	}
	d.local = false
	d.note("one line tells it from a copy")
	return d.finish()
}

// layoutOff has one line that stays one step too deep, or not deep enough, in both strings.
func (d *draft) layoutOff() bool {
	if name := d.src.lang.name; name != "python" && name != "yaml" || d.src.unit == "" || !d.plan(true) {
		return false
	}
	i, ok := d.calmCell()
	if !ok {
		return false
	}
	d.note("a line one step off")
	c := &d.cells[i]
	if rest, deep := strings.CutPrefix(c.old, d.src.unit); deep && d.yes(2) {
		c.old = rest
	} else {
		c.old = d.src.unit + c.old
	}
	c.new = c.old
	return true
}

// mixedEndings has lines with either ending, at random, and quotes all with one of them.
func (d *draft) mixedEndings() bool {
	d.note("mixed line endings")
	d.lines = slices.Clone(d.lines)
	for i := range d.lines {
		if d.lines[i].eol != "" {
			d.lines[i].eol = one(d.Rand, []string{"\n", "\r\n"})
		}
	}
	if !d.plan(false) || slices.ContainsFunc(d.cells, func(c cell) bool { return c.kind == inserted }) {
		return false
	}
	d.literal, d.tail = true, true // without it the last line takes the ending of the one that it replaces
	if d.yes(2) {
		d.wrap = append(d.wrap, func(old, fresh string) (string, string) {
			return strings.ReplaceAll(old, "\n", "\r\n"), strings.ReplaceAll(fresh, "\n", "\r\n")
		})
	}
	return true
}

// lastComma has a comma too many, or lacks one, behind a line that stays.
func (d *draft) lastComma() bool {
	if !d.plan(true) {
		return false
	}
	for _, i := range d.Perm(len(d.cells)) {
		c := &d.cells[i]
		rest, has := strings.CutSuffix(c.old, ",")
		if !c.still() || !has && (i+1 == len(d.cells) || !strings.ContainsAny(d.cells[i+1].old+" ", ")]}")) {
			continue
		}
		if d.note("a comma too many or too few"); !has {
			rest = c.old + ","
		}
		c.old, c.new = rest, rest
		return true
	}
	return false
}
