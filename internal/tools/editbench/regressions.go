package editbench

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Families of faults that use has shown, each drawn over all languages alike.

// family makes the recipe of one, on lo to hi lines of a file of any language.
func family(name string, lo, hi int, draw func(d *draft) (Case, bool)) recipe {
	return recipe{name, func(m *maker) (Case, bool) {
		d, ok := m.draw(one(m.Rand, one(m.Rand, m.alike)), lo, hi)
		if !ok {
			return Case{}, false
		}
		return draw(d)
	}}
}

// finished makes the case of a family that is to be edited.
func finished(noise func(d *draft) bool) func(d *draft) (Case, bool) {
	return func(d *draft) (Case, bool) {
		if !noise(d) {
			return Case{}, false
		}
		return d.finish()
	}
}

// besides changes a word of a line that has one blank before it or after it, and returns the place of the blank.
func (d *draft) besides() (c *cell, gap int, ok bool) {
	for _, i := range d.Perm(len(d.cells)) {
		c, text := &d.cells[i], d.text(i)
		found := tokens.FindAllStringIndex(text, -1)
		if len(found) == 0 || c.kind != kept {
			continue
		}
		w := one(d.Rand, found)
		lone := func(at int) bool {
			return at > len(indentOf(text)) && at < len(text)-1 && text[at] == ' ' && text[at-1] != ' ' && text[at+1] != ' ' &&
				text[at-1] != '\t' && text[at+1] != '\t'
		}
		gap := w[0] - 1
		if !lone(gap) || lone(w[1]) && d.yes(2) {
			gap = w[1]
		}
		if !lone(gap) || quoted(text[:gap]) {
			continue
		}
		want := text[:w[0]] + d.instead(text[w[0]:w[1]]) + text[w[1]:]
		if squash(want) == squash(text) {
			continue
		}
		c.alter(want)
		return c, gap, true
	}
	return nil, 0, false
}

// blankMore is a run of blanks in old_string, right beside what changes, where the file and new_string have one.
func (d *draft) blankMore() bool {
	d.note("a blank too many beside the change")
	c, gap, ok := d.besides()
	if ok {
		c.old = c.old[:gap] + one(d.Rand, []string{"  ", "   ", "\t", " \t"}) + c.old[gap+1:]
	}
	return ok
}

// blankLess lacks the blank there.
func (d *draft) blankLess() bool {
	d.note("a blank too few beside the change")
	c, gap, ok := d.besides()
	if !ok || letters(c.old[gap-1:gap]) > 0 && letters(c.old[gap+1:gap+2]) > 0 || c.old[gap-1] == '_' ||
		c.old[gap+1] == '_' || c.old[gap-1] >= utf8.RuneSelf || c.old[gap+1] >= utf8.RuneSelf {
		return false // words would be written as one
	}
	c.old = c.old[:gap] + c.old[gap+1:]
	return letters(c.old) >= 12
}

// misspeltDuplicates quotes a block that the file has twice, with several typos.
func (d *draft) misspeltDuplicates() (Case, bool) {
	file := slices.Clone(d.lines)
	duplicate := append([]line{{"", "\n"}}, d.lines[d.from:d.from+d.count]...)
	at := d.from + d.count
	if d.yes(2) {
		at = d.from
		duplicate = append(slices.Clone(d.lines[d.from:d.from+d.count]), line{"", "\n"})
	}
	file = slices.Insert(file, at, duplicate...)
	if !d.plan(true) || !d.spell(2+d.IntN(2), (*cell).still, true) {
		return Case{}, false
	}
	d.note("one of two that are the same")
	return d.refused(file)
}

// prefixes are how tools and agents number the lines that they show; %d is the number, P the file.
var prefixes = []string{"%6d\t", "%d\t", "%6d→", "%d→", "%d:", "%d: ", "%5d|", "%d|", "%4d | ", "P:%d:", "P:%d: ",
	"L%d:", "L%d: ", "[%d] ", "[%d]", "%d→\t"}

// prefixed has one of these before each line. On blank lines, editors and models trim what is after it.
func (d *draft) prefixed() bool {
	form := one(d.Rand, prefixes)
	d.note("prefix " + form)
	form = strings.ReplaceAll(form, "P", d.src.Name)
	trim, both := d.yes(2), !d.yes(4)
	number := func(text string) string {
		lines := strings.Split(text, "\n")
		for i, l := range lines {
			if l != "" || i < len(lines)-1 {
				lines[i] = fmt.Sprintf(form, d.from+1+i) + l
			}
			if trim && l == "" {
				lines[i] = strings.TrimRight(lines[i], " \t")
			}
		}
		return strings.Join(lines, "\n")
	}
	d.wrap = append(d.wrap, func(old, fresh string) (string, string) {
		if both && fresh != "" {
			fresh = number(fresh)
		}
		return number(old), fresh
	})
	return d.count >= 2
}

// halfEscaped has escapes in old_string, and in new_string all, some or none.
func (d *draft) halfEscaped() bool {
	old, fresh := d.strings()
	if strings.ContainsAny(old+fresh, `\&`) {
		return false
	}
	quotes := strings.NewReplacer(`"`, `\"`).Replace
	switch d.IntN(5) {
	case 0:
		d.note("quotes escaped, not those of changed lines of new_string")
		for i := range d.cells {
			c := &d.cells[i]
			still := c.still()
			if c.old = quotes(c.old); still {
				c.new = c.old
			}
		}
		was := old
		old, _ = d.strings()
		return old != was
	case 1:
		d.note("quotes escaped in old_string only")
		d.wrap = append(d.wrap, func(old, fresh string) (string, string) { return quotes(old), fresh })
		return quotes(old) != old
	case 2:
		d.note("entities")
		f := strings.NewReplacer(`"`, one(d.Rand, []string{"&quot;", "&#34;", "&#x22;"}), "'", one(d.Rand,
			[]string{"&#39;", "&#x27;", "&apos;"}), "<", "&lt;", ">", "&gt;").Replace
		both := !d.yes(3)
		d.wrap = append(d.wrap, func(old, fresh string) (string, string) {
			if both {
				fresh = f(fresh)
			}
			return f(old), fresh
		})
		return f(old) != old
	case 3:
		d.note(`quotes and brackets as \u`)
		f := strings.NewReplacer("'", `\u0027`, "<", `\u003c`, ">", `\u003e`).Replace
		d.wrap = append(d.wrap, func(old, fresh string) (string, string) { return f(old), f(fresh) })
		return f(old) != old
	}
	d.note(`letters as \u`)
	f := func(s string) string {
		var b strings.Builder
		for _, r := range s {
			if r < utf8.RuneSelf || r > 0xffff {
				b.WriteRune(r)
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		}
		return b.String()
	}
	d.wrap = append(d.wrap, func(old, fresh string) (string, string) { return f(old), f(fresh) })
	return f(old) != old
}

// breakLost has a line break at an edge of old_string that new_string lost.
func (d *draft) breakLost() bool {
	d.literal, d.tail = true, false
	head, tail := d.yes(2), d.yes(2)
	if !head {
		tail = true
	}
	if head && (d.from == 0 || blank(d.lines[d.from-1].text)) || !d.plan(false) {
		return false
	}
	if last := d.cells[len(d.cells)-1]; last.kind == deleted || d.cells[0].kind == deleted || d.count == 1 &&
		last.kind != changed {
		return false
	}
	d.note("line breaks lost")
	if d.yes(3) && !one(d.Rand, []func(*draft) bool{(*draft).tabs, (*draft).shift, (*draft).returns, (*draft).spaced})(d) {
		return false
	}
	trim := head && d.yes(2)
	d.wrap = append(d.wrap, func(old, fresh string) (string, string) {
		if head {
			old = "\n" + old
		}
		if tail {
			old += "\n"
		}
		if trim {
			fresh = strings.TrimLeft(fresh, " \t")
		}
		return old, fresh
	})
	return !trim || indentOf(d.cells[0].old) == indentOf(d.cells[0].new) && d.cells[0].kind != inserted
}

// stubs are lines that lazy models write for what they do not repeat; C is the comment of the language.
var stubs = []string{"C ...", "C...", "C …", "...", "…", "C (unchanged)", "C existing code",
	"C ... existing code ...", "C rest of the code", "C ... rest of the function ...", "/* ... */",
	"/* rest of the code */",
	"<!-- ... -->", "-- existing code --", "C ... other cases ...", "C same as before", "# ...", "// ...",
	"[... unchanged ...]", "{/* ... */}", "C ... (rest unchanged)", "C no changes below"}

// stubbed has such a line in new_string in place of two lines or more.
func (d *draft) stubbed() (Case, bool) {
	comment := d.src.lang.comment
	if comment == "" {
		comment = one(d.Rand, []string{"//", "#", "--", ";"})
	}
	stub := strings.ReplaceAll(one(d.Rand, stubs), "C", comment)
	from := 1 + d.IntN(d.count-3)
	to := from + 2 + d.IntN(d.count-from-2)
	code := 0
	for _, l := range d.lines[d.from+from : d.from+to] {
		if !blank(l.text) {
			code++
		}
	}
	text := joinLines(d.lines[d.from : d.from+d.count])
	if code < 2 || strings.Contains(text, "...") || strings.Contains(text, "…") {
		return Case{}, false
	}
	for i := from; i < to; i++ {
		d.cells[i].kind = deleted
	}
	d.cells = slices.Insert(d.cells, from, cell{kind: inserted, at: -1, new: indentOf(d.text(from)) + stub})
	if d.yes(2) && !d.changeToken(0) {
		return Case{}, false
	}
	d.note("placeholder " + stub)
	return d.unmeant()
}

// unmeant makes the case of a draft whose new_string must not be written, though old_string is found.
func (d *draft) unmeant() (Case, bool) {
	if d.yes(3) && !d.spaced() {
		return Case{}, false
	}
	return d.once()
}

// onlyNewFenced has the fence of a code block around new_string, or half of it, and none around old_string.
func (d *draft) onlyNewFenced() (Case, bool) {
	if !d.plan(false) {
		return Case{}, false
	}
	left := 0
	for i := range d.cells {
		if d.cells[i].still() && letters(d.cells[i].old) > 2 {
			left++
		}
	}
	text := joinLines(d.lines[d.from : d.from+d.count])
	if left*3 < d.count*2 || strings.Contains(text, "```") || strings.Contains(text, "~~~") {
		return Case{}, false
	}
	mark := one(d.Rand, []string{"```", "```", "~~~"})
	word := one(d.Rand, []string{"", d.src.lang.name, "text", strings.TrimPrefix(path.Ext(d.src.Name), ".")})
	open, end := mark+word+"\n", "\n"+mark+one(d.Rand, []string{"", "\n"})
	switch d.IntN(6) {
	case 0:
		open = ""
	case 1:
		end = ""
	}
	d.note("fence in new_string alone")
	d.wrap = append(d.wrap, func(old, fresh string) (string, string) {
		return old, open + strings.TrimSuffix(fresh, "\n") + end
	})
	return d.unmeant()
}

// twice asks for an insertion that has been made, in a way that old_string is there still.
func (d *draft) twice() (Case, bool) {
	i, at := d.count-1, d.count
	if d.yes(2) {
		i, at = 0, 0
	}
	if blank(d.text(i)) {
		return Case{}, false
	}
	d.literal = true
	d.cells = slices.Insert(d.cells, at, d.fresh(i)...)
	noisy := d.yes(3)
	if noisy && !one(d.Rand, []func(*draft) bool{(*draft).tabs, (*draft).spaced})(d) {
		return Case{}, false
	}
	d.note("made already")
	c, ok := d.finish()
	if !ok || !noisy && strings.Count(string(c.Want), c.Old) != 1 || strings.Count(string(c.Data), c.New) != 0 {
		return Case{}, false
	}
	return Case{Name: c.Name, Noise: c.Noise, Data: c.Want, Old: c.Old, New: c.New}, true
}

// meant is what looks like a slip and is none: dots and fences where they belong, a line twice on purpose.
func (d *draft) meant() bool {
	d.literal = true
	i := d.IntN(d.count)
	indent := indentOf(d.text(i))
	if blank(d.text(i)) {
		return false
	}
	var add []string
	switch lang := d.src.lang.name; {
	case d.yes(4):
		d.note("a line twice on purpose")
		add = []string{d.text(i)}
	case lang == "text" && path.Ext(d.src.Name) == ".md":
		if strings.Count(joinLines(d.lines[:d.from+i+1]), "```")%2 != 0 {
			return false
		}
		d.note("a code block in Markdown")
		add = []string{"", "```" + one(d.Rand, []string{"", "sh", "go"}), "make build", "...", "```"}
	case lang == "python":
		d.note("a body of dots")
		add = []string{indent + "def probe(self) -> int:", indent + "    ...", indent + "def size(self) -> int: ..."}
		if !d.program() {
			return false
		}
	case lang == "js":
		d.note("spread")
		add = []string{indent + "probe(", indent + d.src.unit + "...first,", indent + d.src.unit + "...rest", indent + ");"}
	case lang == "yaml" && indent == "":
		d.note("documents")
		add = []string{"---"}
	case d.src.lang.comment != "" && d.program():
		d.note("a sentence that goes on")
		add = []string{indent + d.src.lang.comment + " First one thing...", indent + d.src.lang.comment +
			" ...and then, unchanged, the other one."}
	default:
		return false
	}
	var cells []cell
	for _, l := range add {
		cells = append(cells, cell{kind: inserted, at: -1, want: l, new: l})
	}
	d.cells = slices.Insert(d.cells, i+1, cells...)
	return true
}

// staleLine quotes one line incorrectly: another number or name in it. The place is where the line is.
func (d *draft) staleLine() (Case, bool) {
	c := &d.cells[0]
	text := c.old
	was := d.otherNumber(text)
	if d.yes(2) || was == text {
		was = d.otherName(text)
	}
	known := wordsOf(d.lines)
	found := tokens.FindAllStringIndex(was, -1)
	if squash(was) == squash(text) || len(found) == 0 || letters(was) < 6 || strings.Contains(joinLines(d.lines),
		strings.TrimSpace(was)) {
		return Case{}, false
	}
	if d.yes(3) && len(names.FindAllString(text, -1)) > 0 { // a name that the file does not have
		name := one(d.Rand, names.FindAllString(text, -1))
		if was = swapWord(text, name, "never_"+name); known["never_"+name] {
			return Case{}, false
		}
	}
	if d.yes(2) {
		was = strings.TrimLeft(was, " \t")
	}
	d.note("one line with another word")
	fresh := strings.Replace(was, strings.TrimSpace(was), strings.TrimSpace(was)+" "+d.instead("changed"), 1)
	from := len(joinLines(d.lines[:d.from]))
	once := strings.Count("\n"+joinLines(d.lines), "\n"+text+"\n") == 1
	absent := !strings.Contains(strings.Join(keys(d.lines), ""), squash(was))
	return Case{Name: d.src.Name, Noise: strings.Join(d.notes, ", "), Data: []byte(joinLines(d.lines)), Old: was,
		New: fresh, start: from, end: from + len(text)}, once && absent && d.statement(text)
}

// rowForms are how languages write rows whose keys are numbers; the value comes in place of %s.
var rowForms = map[string]string{
	"yaml": "%d: {name: %s, kind: port}", "python": "%d: {\"name\": \"%s\", \"kind\": 1},",
	"js": "%d: { name: \"%s\", kind: 1 },", "go": "%d: {Name: \"%s\", Kind: 1},", "text": "%d: %s of the list",
	"rust": "%d | %s => open(1),", "c": "%d: %s, /* port */", "kotlin": "%d to \"%s\",", "ruby": "%d => \"%s\",",
	"php": "%d => \"%s\",", "lua": "[%d] = \"%s\",", "toml": "%d = \"%s\"",
	"sql": "%d | %s | open", "hcl": "%d = \"%s\"", "swift": "%d: \"%s\",", "csharp": "[%d] = \"%s\",",
}

// rows are some with keys of which one is the end of another.
func (d *draft) rows(form, indent string) (out []string, keys []int) {
	words := []string{"https", "admin", "metrics", "proxy", "mirror", "backup"}
	first := 100 + d.IntN(800)
	for i, word := range words[:3+d.IntN(3)] {
		keys = append(keys, first+i)
		out = append(out, indent+fmt.Sprintf(form, first+i, word+"_port"))
	}
	return out, keys
}

// numberKeys puts rows with numbers as keys into a file. Old_string has those, indented in another way.
func (m *maker) numberKeys() (Case, bool) { return m.numbers(false) }

// otherKeys has rows in old_string that the file does not have, whose text is there behind another number.
func (m *maker) otherKeys() (Case, bool) { return m.numbers(true) }

func (m *maker) numbers(absent bool) (Case, bool) {
	d, ok := m.draw(one(m.Rand, one(m.Rand, m.alike)), 2, 4)
	if !ok {
		return Case{}, false
	}
	form, ok := rowForms[d.src.lang.name]
	if !ok {
		return Case{}, false
	}
	indent := strings.Repeat(d.src.unit, 1+m.IntN(2))
	rows, keys := d.rows(form, indent)
	var block []line
	for _, r := range rows {
		block = append(block, line{r, "\n"})
	}
	d.lines = slices.Insert(slices.Clone(d.lines), d.from, block...)
	d.content = true
	d.look(d.from, len(rows))
	at := m.IntN(len(rows))
	d.cells[at].alter(strings.Replace(rows[at], "_port", "_gate", 1))
	if !absent {
		d.note("rows with numbers, indented in another way")
		d.reindent(func(string) string { return "" }, false)
		return d.finish()
	}
	d.note("rows with other numbers")
	n, count := m.IntN(len(rows)-1), 1+m.IntN(2)
	var old, fresh []string
	for i := n; i < n+count; i++ {
		other := strings.Replace(strings.TrimLeft(rows[i], " \t"), fmt.Sprint(keys[i]), fmt.Sprint(8000+keys[i]), 1)
		old, fresh = append(old, other), append(fresh, strings.Replace(other, "_port", "_gate", 1))
	}
	c := Case{Name: d.src.Name, Noise: strings.Join(d.notes, ", "), Data: []byte(joinLines(d.lines)), Old: "  " +
		strings.Join(old, "\n  ") + "\n", New: "  " + strings.Join(fresh, "\n  ") + "\n"}
	return c, !strings.Contains(squash(string(c.Data)), squash(c.Old))
}
