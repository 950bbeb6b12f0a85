package corpus

import (
	"slices"
	"strings"
)

// An operation is something that an edit does at a cell; it says whether that was possible.
type operation func(d *draft, i int) bool

var operations = []operation{
	(*draft).changeToken, (*draft).changeToken, (*draft).changeToken, (*draft).insert, (*draft).insert, (*draft).insert,
	(*draft).remove, (*draft).replace, (*draft).rename, (*draft).parameter,
}

// plan makes one edit of one to three hunks. With inner it leaves the window's first and last line alone.
func (d *draft) plan(inner bool) bool {
	hunks := 1
	if d.count >= 8 && d.yes(3) {
		hunks += 1 + d.IntN(2)
	}
	part := d.count / hunks
	done := 0
	for h := range hunks {
		for range 4 {
			if i, ok := d.spot(h*part, part, inner); ok && one(d.Rand, operations)(d, i) {
				done++
				break
			}
		}
	}
	return done > 0
}

// spot picks a cell by the file's line, as cells move when others are put in.
func (d *draft) spot(first, count int, inner bool) (int, bool) {
	lo, hi := first, first+count-1
	if inner {
		lo, hi = max(lo, 1), min(hi, d.count-2)
	}
	if lo > hi {
		return 0, false
	}
	at := d.from + lo + d.IntN(hi-lo+1)
	i := slices.IndexFunc(d.cells, func(c cell) bool { return c.at == at })
	return i, i >= 0 && d.cells[i].kind == kept
}

// alter makes a cell one that the edit changes.
func (c *cell) alter(want string) {
	c.kind, c.want, c.new = changed, want, want
}

func (d *draft) text(i int) string { return d.lines[d.cells[i].at].text }

// changeToken puts another name, number or operator in a line.
func (d *draft) changeToken(i int) bool {
	text := d.text(i)
	found := tokens.FindAllStringIndex(text, -1)
	if len(found) == 0 {
		return false
	}
	t := found[d.IntN(len(found))]
	want := text[:t[0]] + d.instead(text[t[0]:t[1]]) + text[t[1]:]
	if squash(want) == squash(text) {
		return false
	}
	d.cells[i].alter(want)
	return true
}

// parameter adds one before a closing parenthesis.
func (d *draft) parameter(i int) bool {
	text := d.text(i)
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open <= 0 || end < open || d.src.lang.prose {
		return d.changeToken(i)
	}
	add := one(d.Rand, []string{"limit", "strict", "depth"})
	if end > open+1 {
		add = ", " + add
	}
	d.cells[i].alter(text[:end] + add + text[end:])
	return true
}

// rename gives a name of the line another one, everywhere in the window.
func (d *draft) rename(i int) bool {
	name := d.word(d.text(i))
	if name == "" {
		return false
	}
	fresh, done := d.freshName(name), 0
	for j := range d.cells {
		if d.cells[j].kind != kept {
			continue
		}
		if want := swapWord(d.text(j), name, fresh); want != d.text(j) {
			d.cells[j].alter(want)
			done++
		}
	}
	return done > 0 && done < d.count
}

// remove takes one to three lines out, not all.
func (d *draft) remove(i int) bool {
	n := 1 + d.IntN(3)
	left := 0
	for j := range d.cells {
		if d.cells[j].kind == kept && (j < i || j >= i+n) && !blank(d.text(j)) {
			left++
		}
	}
	if left == 0 || blank(d.text(i)) {
		return false
	}
	for j := i; j < min(i+n, len(d.cells)) && d.cells[j].kind == kept; j++ {
		d.cells[j].kind = deleted
	}
	return true
}

// insert puts one to four lines before or after a cell.
func (d *draft) insert(i int) bool {
	if blank(d.text(i)) {
		return false
	}
	at := i + d.IntN(2)
	d.cells = slices.Insert(d.cells, at, d.fresh(i)...)
	return true
}

// replace puts other lines in the place of two to four.
func (d *draft) replace(i int) bool {
	n := 2 + d.IntN(3)
	if i+n > len(d.cells) || blank(d.text(i)) {
		return false
	}
	for j := i; j < i+n; j++ {
		if d.cells[j].kind != kept {
			return false
		}
	}
	if d.IntN(2) == 0 && !d.changeToken(i) {
		return false
	}
	for j := i; j < i+n; j++ {
		if d.cells[j].kind == kept {
			d.cells[j].kind = deleted
		}
	}
	d.cells = slices.Insert(d.cells, i+n, d.fresh(i)...)
	return slices.ContainsFunc(d.cells, func(c cell) bool { return c.kind == kept })
}

// fresh writes new lines with the indentation that a cell's line has.
func (d *draft) fresh(i int) []cell {
	indent, word := indentOf(d.text(i)), d.word(d.text(i))
	if word == "" {
		word = "value"
	}
	var out []cell
	for range 1 + d.IntN(2) {
		for _, text := range one(d.Rand, d.src.lang.inserts) {
			deep := len(text) - len(strings.TrimLeft(text, "\t"))
			text = indent + strings.Repeat(d.src.unit, deep) + strings.ReplaceAll(text[deep:], "W", word)
			out = append(out, cell{kind: inserted, at: -1, want: text, new: text})
		}
		if len(out) > 3 {
			break
		}
	}
	return out
}
