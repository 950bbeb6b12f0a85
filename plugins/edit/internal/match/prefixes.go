package match

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A numbering is how a tool that shows files puts line numbers before their lines.
type numbering struct {
	mark *regexp.Regexp // the number, and the text of the line
	// after are what may stand between the mark and the text: nobody knows whether it is a part of the text.
	after []string
	// weak says that text of its own often looks like that: one line with such a number must be near that line.
	weak bool
	// listed says that people number things like that: a new_string that alone has such numbers means them.
	listed bool
}

var numberings = []numbering{
	{mark: regexp.MustCompile(`^[ \t]*(\d+)(?:\t|→)(.*)$`), after: []string{""}},
	{mark: regexp.MustCompile(`^[ \t]*(\d+) ?[|│┃┆┊](.*)$`), after: []string{"", " "}},
	{mark: regexp.MustCompile(`^[ \t]*(?:[^\s:]*?[./][^\s:]*:)(\d+)[:-](.*)$`), after: []string{"", " ", "\t"}},
	{mark: regexp.MustCompile(`^[ \t]*(?:[^\s:]*?[./][^\s:]*?[:-])(\d+)[:-](.*)$`), after: []string{"", " ", "\t"}},
	{mark: regexp.MustCompile(`^[ \t]*(?:[Ll]|[Ll]ine )(\d+)(?:[:|]|$)(.*)$`), after: []string{"", " ", "\t"}},
	{mark: regexp.MustCompile(`^[ \t]*(\d+)[:-](.*)$`), after: []string{"", " ", "\t"}, weak: true, listed: true},
	{mark: regexp.MustCompile(`^[ \t]*\[(\d+)\]:?(.*)$`), after: []string{"", " "}, weak: true, listed: true},
	{mark: regexp.MustCompile(`^[ \t]*(\d+)[.)](.*)$`), after: []string{"", " "}, weak: true, listed: true},
	{mark: regexp.MustCompile(`^[ \t]*(\d+)((?: .*)?)$`), after: []string{" ", "  "}, weak: true, listed: true},
}

// bareNumber is a line whose text is empty, with what follows the number trimmed.
var bareNumber = regexp.MustCompile(`^[ \t]*(\d+)[ \t]*$`)

// A numbered text is one whose lines have numbers before them.
type numbered struct {
	numbering
	number []int    // of each line; 0 for one that has none
	text   []string // of each line, without its number
	marks  int      // lines that have more than the bare number
}

// split takes line numbers from a text. Without strict some lines may have none.
func (n numbering) split(s string, strict bool) (out numbered, ok bool) {
	out.numbering = n
	last := 0
	lines := strings.Split(s, "\n")
	for _, l := range lines {
		number, text, marked := n.line(strings.TrimSuffix(l, "\r"))
		switch {
		case number == 0 && (strings.TrimSpace(l) == "" || !strict):
			text = l
		case number == 0, strict && number <= last:
			return out, false
		default:
			last = number
		}
		if marked {
			out.marks++
		}
		out.number, out.text = append(out.number, number), append(out.text, text)
	}
	return out, out.marks > 0
}

// line takes the number from a line; it is 0 when there is none.
func (n numbering) line(l string) (number int, text string, marked bool) {
	m := n.mark.FindStringSubmatch(l)
	if m == nil {
		if m = bareNumber.FindStringSubmatch(l); m == nil {
			return 0, "", false
		}
		m = append(m, "")
	}
	number, err := strconv.Atoi(m[1])
	if err != nil || number == 0 {
		return 0, "", false
	}
	return number, m[2], len(strings.Trim(l, " ")) > len(m[1])
}

// without gives the text with a blank, or what else may stand after the numbers, taken away as well. It is false when a line
// does not have it.
func (n numbered) without(after string) (string, bool) {
	out := slices.Clone(n.text)
	for i, l := range out {
		rest, ok := strings.CutPrefix(l, after)
		switch {
		case n.number[i] == 0:
			continue
		case !ok && strings.TrimSpace(l) != "":
			return "", false
		case !ok:
			rest = "" // what followed the number is trimmed
		}
		out[i] = rest
	}
	return strings.Join(out, "\n"), true
}

// withoutNumbers gives the readings of a change whose old_string has line numbers.
func (t *Text) withoutNumbers(c Change) (out []*reading) {
	for _, n := range numberings {
		old, ok := n.split(c.Old, true)
		if !ok || n.after[0] != "" && len(old.text) < 2 {
			continue
		}
		fresh, ok := old.renumbered(c.New)
		if !ok {
			continue
		}
		for _, after := range n.after {
			o, ok1 := old.without(after)
			f, ok2 := fresh.without(after)
			if ok1 && ok2 && strings.TrimSpace(o) != "" {
				r := newReading("line numbers", o, f, 9, t.syntax)
				r.numbers = &old
				r.bareNew = fresh.marks == 0
				out = append(out, r)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return out
}

// renumbered takes the numbers from new_string as they were taken from old_string. It is false when it cannot be told whether
// what new_string has is such a number or text.
func (n numbered) renumbered(s string) (out numbered, ok bool) {
	out, _ = n.split(s, false)
	first, last := slices.Min(n.number), slices.Max(n.number)
	for _, at := range n.number {
		if at > 0 {
			first = at
			break
		}
	}
	last += len(out.text)
	texts := lineSet(n.text)
	known := func(l string) bool { return strings.TrimSpace(l) != "" && texts[l] }
	twice := slices.ContainsFunc(n.text, func(l string) bool { number, _, marked := n.line(l); return number > 0 && marked })
	lines := strings.Split(s, "\n")
	taken, left := 0, 0
	for i, number := range out.number {
		if number == 0 {
			continue
		}
		_, _, marked := n.line(lines[i])
		again, _, _ := n.line(out.text[i])
		if marked && number >= first && number <= last && !known(lines[i]) && (!twice || again > 0 || known(out.text[i])) {
			taken++
			continue
		}
		if marked {
			left++
			out.number[i], out.text[i] = 0, lines[i]
		}
	}
	if taken > 0 && left > 0 {
		return out, false
	}
	out.marks = taken
	for i, number := range out.number {
		if _, _, marked := n.line(lines[i]); number > 0 && !marked { // a number and nothing else
			inside := number >= first && number <= last
			if inside != (taken > 0) {
				return out, false
			}
			if !inside {
				out.number[i], out.text[i] = 0, lines[i]
			}
		}
	}
	return out, true
}

// nearNumber is how far from the line that a weak number names the text may be.
const nearNumber = 50

// numbered says whether a place fits a reading whose line numbers were taken off: such a text is of whole lines. Passes that
// heed indentation must find that of the first line too.
func (t *Text) numberedAt(f *finding, h hit) bool {
	r := f.reading
	at := t.lineAt(h.Start)
	if !t.startsLine(f.file, h) || !t.endsLine(f.file, h, f.level) {
		return false
	}
	if r.numbers.weak && r.numbers.marks == 1 {
		number := slices.Max(r.numbers.number)
		if abs(at+1-number) > nearNumber {
			return false
		}
	}
	return f.level&(lead|noSpace) != 0 || leading(t.text(at)) == leading(r.old.text(r.old.lineAt(int(f.old.start[0]))))
}

// frame refuses a change whose line numbers leave open how far the lines behind them are indented, or takes it as it must be
// meant: new_string without numbers has the indentation of the file.
func (t *Text) frame(f *finding) *Refusal {
	r := f.reading
	if r.numbers == nil {
		return nil
	}
	exact := f.level&(lead|noSpace) == 0
	if exact && !(r.bareNew && r.shifted()) {
		return nil
	}
	p := t.place(f, f.hits[0])
	doubt := t.conflictAt(f.hits[0].Range, "old_string has line numbers, and it does not follow from it how far the lines behind them are indented")
	doubt.Hint = "Give old_string and new_string without line numbers, indented as the file is."
	if exact {
		return doubt
	}
	if r.bareNew {
		for _, g := range append([]*finding{f}, f.also...) {
			if asOld, _ := g.reading.framed(t, t.place(g, g.hits[0])); asOld && g.hits[0].Range == f.hits[0].Range {
				f.reading, f.old, f.file, f.hits = g.reading, g.old, g.file, g.hits
				return nil
			}
		}
		if _, asFile := r.framed(t, p); !asFile || len(f.hits) > 1 {
			return doubt
		}
		t.takeLines(f)
		return nil
	}
	mine, refusal := t.project(f.number, r, p)
	for _, g := range f.also {
		if g.hits[0].Range != f.hits[0].Range {
			return doubt
		}
		if other, no := t.project(g.number, g.reading, t.place(g, g.hits[0])); (refusal == nil) != (no == nil) || !slices.EqualFunc(mine, other, sameEdit) {
			return doubt
		}
	}
	return nil
}

// shifted says that all indented lines that new_string keeps are indented in another way.
func (r *reading) shifted() bool {
	fresh := strings.Split(r.new, "\n")
	moved := false
	for _, pair := range r.kept() {
		was, is := leading(r.old.text(pair[0])), leading([]byte(fresh[pair[1]]))
		if pair[2] == 0 || was == is && was != "" {
			return false
		}
		moved = moved || was != is
	}
	return moved
}

// framed says whether the lines that new_string keeps are indented as in old_string, and whether they are as in the file.
func (r *reading) framed(t *Text, p *place) (asOld, asFile bool) {
	fresh := strings.Split(r.new, "\n")
	asOld, asFile = true, true
	cellOf := map[int]cell{}
	for _, c := range p.cells {
		for o := c.o0; o < c.o1; o++ {
			cellOf[o] = c
		}
	}
	for _, pair := range r.kept() {
		c, ok := cellOf[pair[0]]
		if !ok {
			continue
		}
		l := []byte(strings.TrimRight(fresh[pair[1]], " \t"))
		asOld = asOld && leading(l) == leading(r.old.text(pair[0]))
		asFile = asFile && c.single() && (bytes.Equal(l, bytes.TrimRight(t.text(c.f0), " \t")) || pair[2] == 0 && leading(l) == leading(t.text(c.f0)))
	}
	return asOld, asFile
}

// takeLines makes a finding one whose lines new_string replaces as it is.
func (t *Text) takeLines(f *finding) {
	r := f.reading
	from, to := t.span(f.hits[0].Range)
	f.hits[0].Range = Range{t.lines[from].start, t.lines[to-1].end}
	fresh := r.new
	if bytes.HasSuffix(r.old.data, newline) {
		fresh = strings.TrimSuffix(fresh, "\n")
	}
	f.literal = true
	f.reading = newReading(r.name, string(t.data[f.hits[0].Start:f.hits[0].End]), fresh, r.lastPass, t.syntax)
}

// kept pairs the lines of old_string and new_string that are the same but for blanks around them. When there are none it is
// the first lines that say something. The third number is 1 for lines that are the same.
func (r *reading) kept() (out [][3]int) {
	fresh := strings.Split(r.new, "\n")
	lines := map[string][]int{}
	for o := range r.old.lines {
		lines[squeeze(r.old.text(o))] = append(lines[squeeze(r.old.text(o))], o)
	}
	for n, l := range fresh {
		if s := squeeze([]byte(l)); s != "" && len(lines[s]) == 1 {
			out = append(out, [3]int{lines[s][0], n, 1})
		}
	}
	if len(out) > 0 {
		return out
	}
	spoken := func(l string) bool { return strings.TrimSpace(l) != "" }
	o := slices.IndexFunc(strings.Split(string(r.old.data), "\n"), spoken)
	if n := slices.IndexFunc(fresh, spoken); n >= 0 && o >= 0 {
		out = append(out, [3]int{o, n, 0})
	}
	return out
}

func sameEdit(a, b Edit) bool { return a.Range == b.Range && bytes.Equal(a.With, b.With) }
