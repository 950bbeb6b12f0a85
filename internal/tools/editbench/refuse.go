package editbench

import (
	"slices"
	"strings"
)

// Edits that must be refused, for a place that does not exist.

// refused makes the case of a draft whose quotation must not be found in a file.
func (d *draft) refused(file []line) (Case, bool) {
	old, fresh := d.strings()
	data := joinLines(file)
	c := Case{Name: d.src.Name, Noise: strings.Join(d.notes, ", "), Data: []byte(data), Old: old, New: fresh}
	absent := !strings.Contains(strings.Join(keys(file), ""), squash(old))
	return c, absent && old != fresh && letters(old) >= 20
}

// elsewhere quotes another file.
func (m *maker) elsewhere() (Case, bool) {
	kind := one(m.Rand, m.kinds)
	here, there := one(m.Rand, kind), one(m.Rand, kind)
	d, ok := m.draw(there, 2, 30)
	if here == there || !ok || !d.plan(false) {
		return Case{}, false
	}
	have := setOf(strings.Join(here.keys, " "))
	alike := 0
	for i := range d.cells {
		if k := squash(d.cells[i].old); letters(k) > 2 && have[k] {
			alike++
		}
	}
	d.note("from another file")
	if alike*4 > d.count {
		return Case{}, false
	}
	return d.refused(here.lines)
}

// nearlyThere quotes what looks like a part of the file and is not.
func (m *maker) nearlyThere() (Case, bool) {
	d, ok := m.draw(m.source(), 5, 20)
	if !ok {
		return Case{}, false
	}
	file := d.lines
	switch m.IntN(5) {
	case 0:
		return d.forged(file, "only the first and last line are right", d.foreignLines(1, d.count-1))
	case 1:
		return d.forged(file, "half of it is right", d.foreignLines(d.count/2, d.count))
	case 2:
		return d.forged(file, "lines in another order", d.shuffled())
	case 3:
		d.note("another name in the line to change")
		ok = d.stale(d.otherName)
	default:
		d.note("another number in the line to change")
		ok = d.stale(d.otherNumber)
	}
	if !ok {
		return Case{}, false
	}
	return d.refused(file)
}

// forged makes the case of an edit to lines that the file does not have.
func (d *draft) forged(file []line, note string, lines []line) (Case, bool) {
	if lines == nil {
		return Case{}, false
	}
	d.note(note)
	d.lines = slices.Concat(file[:d.from], lines, file[d.from+d.count:])
	d.look(d.from, d.count)
	if !d.plan(false) || d.codeThere(file) {
		return Case{}, false
	}
	return d.refused(file)
}

// codeThere says that the file has what is quoted, but for comments, which may just be out of date.
func (d *draft) codeThere(file []line) bool {
	code := func(texts []string) string {
		return squash(strings.Join(slices.DeleteFunc(texts, func(text string) bool { return !d.statement(text) }), ""))
	}
	var old, all []string
	for i := range d.cells {
		if d.cells[i].hasOld() {
			old = append(old, d.cells[i].old)
		}
	}
	for _, l := range file {
		all = append(all, l.text)
	}
	return strings.Contains(code(all), code(old))
}

// foreignLines returns the window with a part of it taken from elsewhere in the file.
func (d *draft) foreignLines(from, to int) []line {
	out := slices.Clone(d.lines[d.from : d.from+d.count])
	n := to - from
	at := d.IntN(len(d.lines) - n)
	if far := 3*d.count + 20; at > d.from-far && at < d.from+far || n < 3 {
		return nil // from nearby it could be the place with some lines left out
	}
	said := 0
	for i := range n {
		if squash(d.lines[at+i].text) == squash(out[from+i].text) {
			return nil
		}
		if out[from+i] = d.lines[at+i]; letters(out[from+i].text) >= 3 && d.statement(out[from+i].text) {
			said++
		}
	}
	if said < 2 {
		return nil // a comment may just be out of date
	}
	return out
}

// shuffled returns the window's lines in an order where few neighbours are neighbours still.
func (d *draft) shuffled() []line {
	here := d.lines[d.from : d.from+d.count]
	out := slices.Clone(here)
	d.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	stays := len(common(keys(here), keys(out)))
	if stays*2 > len(here) {
		return nil
	}
	return out
}

// stale changes a line whose present text the model does not know.
func (d *draft) stale(other func(text string) string) bool {
	i := d.IntN(len(d.cells))
	c := &d.cells[i]
	was := other(c.old)
	if squash(was) == squash(c.old) || !d.program() && d.src.lang.comment != "" || !d.statement(c.old) {
		return false
	}
	found := tokens.FindAllStringIndex(was, -1)
	if len(found) == 0 {
		return false
	}
	t := one(d.Rand, found)
	c.alter(was[:t[0]] + d.instead(was[t[0]:t[1]]) + was[t[1]:])
	c.old = was
	return true
}

// statement reports whether a line is no comment, and has none: what a comment says may be out of date.
func (d *draft) statement(text string) bool {
	star := strings.HasPrefix(strings.TrimSpace(text), "*") || strings.Contains(text, "*/") || strings.Contains(text, "/*")
	return !star && (d.src.lang.comment == "" || d.codeOnly(text))
}

// otherName puts another name of the file in place of one.
func (d *draft) otherName(text string) string {
	name, other := d.word(text), d.word(d.lines[d.IntN(len(d.lines))].text)
	if name == "" || other == "" || strings.EqualFold(name, other) {
		return text
	}
	return swapWord(text, name, other)
}

func (d *draft) otherNumber(text string) string {
	found := digits.FindAllStringIndex(text, -1)
	if len(found) == 0 {
		return text
	}
	t := one(d.Rand, found)
	return text[:t[0]] + d.instead(text[t[0]:t[1]]) + text[t[1]:]
}

// done asks for an edit that has been made.
func (m *maker) done() (Case, bool) {
	d, ok := m.draw(m.source(), 3, 20)
	if !ok {
		return Case{}, false
	}
	appended := m.yes(4)
	if appended {
		i := d.count - 1
		d.cells = append(d.cells, d.fresh(i)...)
		ok = d.tabs()
	} else {
		ok = d.plan(false) && (m.yes(2) || d.tabs() || d.spaced())
	}
	if !ok {
		return Case{}, false
	}
	c, ok := d.finish()
	if !ok || strings.Contains(string(c.Want), strings.TrimSpace(c.Old)) {
		return Case{}, false
	}
	there := strings.Contains(squash(string(c.Want)), squash(c.Old))
	return Case{Name: c.Name, Noise: "done already, " + c.Noise, Data: c.Want, Old: c.Old, New: c.New}, appended == there
}

// senseless asks for what no file can make right.
func (m *maker) senseless() (Case, bool) {
	s := m.source()
	d, ok := m.draw(s, 3, 12)
	if !ok {
		return Case{}, false
	}
	text := joinLines(d.lines[d.from : d.from+d.count])
	c := Case{Name: s.Name, Data: s.Data, Old: text, New: "x := 1\n"}
	switch m.IntN(6) {
	case 0:
		c.Noise, c.Old = "old_string is empty", ""
		c.New = text
	case 1:
		c.Noise, c.Old = "old_string is blank", one(m.Rand, []string{" ", "\n", "\t\n", "  \n \n", "\u3000"})
		c.New = text
	case 2:
		c.Noise, c.New = "new_string is old_string", text
	case 3:
		c.Noise, c.Old = "old_string is longer than the file", string(s.Data)+text
	default:
		c.Noise = "new_string leaves something out"
		c.New = omitted(d)
		ok = !strings.Contains(text, "...")
	}
	return c, ok
}

// omitted is what lazy models write.
func omitted(d *draft) string {
	mark := one(d.Rand, []string{"... existing code ...", "... rest of the code ...",
		"rest of the function unchanged ...", "... (unchanged) ..."})
	comment := d.src.lang.comment
	if comment == "" {
		comment = "//"
	}
	first, last := d.text(0), d.text(d.count-1)
	return first + " // new\n" + indentOf(d.text(1)) + comment + " " + mark + "\n" + last + "\n"
}
