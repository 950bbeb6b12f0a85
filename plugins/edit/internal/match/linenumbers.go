package match

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/lazy"
)

// A numbering is how a tool that shows files puts line numbers before their lines.
type numbering struct {
	mark func() *regexp.Regexp // the number, and the text of the line
	// after are the characters that may be between the mark and the text: it is not known whether it is a part of the
	// text.
	after []string
	// weak numberings often are text themselves: one line with such a number must be near that line.
	weak bool
	// listed numberings are used by people: a new_string that alone has such numbers means them.
	listed bool
	// people number lists like that, from 1, in texts.
	people bool
}

var numberings = []numbering{
	{mark: lazy.Regexp(`^[ \t]*(\d+)(?:\t|→)(.*)$`), after: []string{""}},
	{mark: lazy.Regexp(`^[ \t]*(\d+) ?[|│┃┆┊](.*)$`), after: []string{"", " "}},
	{mark: lazy.Regexp(`^[ \t]*(?:[^\s:]*?[./][^\s:]*:)(\d+)[:-](.*)$`), after: []string{"", " ", "\t"}},
	{mark: lazy.Regexp(`^[ \t]*(?:[^\s:]*?[./][^\s:]*?[:-])(\d+)[:-](.*)$`), after: []string{"", " ", "\t"}},
	{mark: lazy.Regexp(`^[ \t]*(?:[Ll]|[Ll]ine )(\d+)(?:[:|]|$)(.*)$`), after: []string{"", " ", "\t"}},
	{mark: lazy.Regexp(`^[ \t]*(\d+)[:-](.*)$`), after: []string{"", " ", "\t"}, weak: true, listed: true},
	{mark: lazy.Regexp(`^[ \t]*\[(\d+)\]:?(.*)$`), after: []string{"", " "}, weak: true, listed: true},
	{mark: lazy.Regexp(`^[ \t]*(\d+)[.)](.*)$`), after: []string{"", " "}, weak: true, listed: true,
		people: true},
	{mark: lazy.Regexp(`^[ \t]*<(\d+)>(.*)$`), after: []string{"", " "}, weak: true, listed: true},
	{mark: lazy.Regexp(`^[ \t]*(\d+) -(.*)$`), after: []string{" ", "", "\t"}, weak: true, listed: true},
	{mark: lazy.Regexp(`^[ \t]*(?://|#|--) ?(\d+):(.*)$`), after: []string{" ", "", "\t"}, weak: true, listed: true},
	{mark: lazy.Regexp(`^[ \t]*(\d+)((?: .*)?)$`), after: []string{" ", "  "}, weak: true, listed: true},
}

var (
	// bareNumber is a line whose text is empty, with what follows the number trimmed.
	bareNumber = lazy.Regexp(`^[ \t]*(\d+)[ \t]*$`)
	// toolNumber is a line number that only a tool writes: set in columns, or with a sign of its own after it.
	toolNumber = lazy.Regexp(`(?m)^(  +\d+\t|[ \t]*\d+→|[ \t]*\d+ ?[│┃┆┊])`)
	// mayNumber is the start of a line that may have a number, for a quick look.
	mayNumber = lazy.Regexp(`(?m)^[ \t]*(?:[[<]?\d|(?://|#|--) ?\d|[Ll]\d|[Ll]ine \d|[^\s:]*[./][^\s:]*[:-]\d)`)
)

// line takes the number from a line; it is 0 when there is none. Marked lines have more than the bare number.
func (n numbering) line(l string) (number int, text string, marked bool) {
	m := n.mark().FindStringSubmatch(l)
	if m == nil {
		if m = bareNumber().FindStringSubmatch(l); m == nil {
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

// marks reports whether a line has a number and more.
func (n numbering) marks(l string) bool {
	number, _, marked := n.line(l)
	return number > 0 && marked
}

// A numbered text is one whose lines have numbers before them.
type numbered struct {
	numbering
	number []int    // of each line; 0 for one without a number
	text   []string // of each line, without its number
	gutter []string // of each line, what was before its text
	marked int      // lines that have more than the bare number
}

// split takes line numbers from a text. With strict all lines but blank ones must have one, and they must rise.
func (n numbering) split(s string, strict bool) (out numbered, ok bool) {
	out.numbering = n
	last := 0
	for l := range strings.SplitSeq(s, "\n") {
		number, text, marked := n.line(strings.TrimSuffix(l, "\r"))
		switch {
		case number == 0 && (isBlankString(l) || !strict):
			text = l
		case number == 0, strict && number <= last:
			return out, false
		default:
			last = number
		}
		if marked {
			out.marked++
		}
		out.number, out.text = append(out.number, number), append(out.text, text)
		gutter := ""
		if marked {
			gutter = strings.TrimSuffix(strings.TrimSuffix(l, "\r"), text)
		}
		out.gutter = append(out.gutter, gutter)
	}
	return out, out.marked > 0
}

// first is the first number, or 0.
func (n numbered) first() int {
	i := slices.IndexFunc(n.number, func(number int) bool { return number > 0 })
	return n.number[max(i, 0)]
}

// without returns the text with what may be after the numbers removed. It is false when a line does not have it.
func (n numbered) without(after string) (string, bool) {
	out := slices.Clone(n.text)
	for i, l := range out {
		if n.number[i] == 0 {
			continue
		}
		rest, ok := strings.CutPrefix(l, after)
		if !ok && !isBlankString(l) {
			return "", false
		}
		if !ok {
			rest = "" // what followed the number is trimmed
		}
		out[i] = rest
	}
	return strings.Join(out, "\n"), true
}

// unpad cuts from the lines without a number the blanks that they have where others have one. They are cut when the
// lines then are as deep as those of old_string or the numbered ones, or one step deeper, and else are not. It is false
// when both can be, or neither.
func (t *Text) unpad(n numbered, after, old string) (out numbered, settled bool) {
	if n.marked == 0 {
		return n, true
	}
	step, _ := t.step()
	step = cmp.Or(step, "    ")
	depths := [2]map[string]bool{{}, {}} // of lines as they are, and cut
	learn := func(l string, known map[string]bool) {
		if ind := leading([]byte(l)); !isBlankString(l) {
			known[ind], known[ind+step] = true, true
		}
	}
	gutter := ""
	for i, l := range n.text {
		if n.number[i] > 0 {
			old += "\n" + strings.TrimPrefix(l, after)
		}
		gutter = cmp.Or(gutter, n.gutter[i])
	}
	for l := range strings.SplitSeq(old, "\n") {
		learn(l, depths[0])
		learn(l, depths[1])
	}
	out = n
	out.text = slices.Clone(n.text)
	padded, fits := false, [2]bool{true, true}
	for i, l := range n.text {
		if gutter = cmp.Or(n.gutter[i], gutter); n.number[i] > 0 || isBlankString(l) {
			continue
		}
		rest, ok := behindGutter(l, gutter, after)
		if !ok {
			return n, true
		}
		padded, out.text[i] = true, rest
		for k, l := range []string{l, rest} {
			fits[k] = fits[k] && depths[k][leading([]byte(l))]
			learn(l, depths[k])
		}
	}
	switch {
	case !padded || fits[0] && !fits[1]:
		return n, true
	case fits[1] && !fits[0]:
		return out, true
	}
	return n, false
}

// behindGutter cuts off blanks that are as wide as the gutter of another line, or end in the sign of that.
func behindGutter(l, gutter, after string) (rest string, ok bool) {
	if sign := lastRune([]byte(gutter)); strings.ContainsRune("\t→|│┃┆┊", sign) {
		if blank, rest, ok := strings.Cut(l, string(sign)); ok && blank != "" && strings.Trim(blank, " ") == "" {
			return strings.TrimPrefix(rest, after), true
		}
	}
	return strings.CutPrefix(l, strings.Repeat(" ", utf8.RuneCountInString(gutter)+len(after)))
}

// withoutNumbers returns the readings of a change whose old_string has line numbers.
func (t *Text) withoutNumbers(c Change) (out []*reading) {
	for _, n := range numberings {
		old, ok := n.split(c.Old, true)
		if !ok || n.after[0] != "" && len(old.text) < 2 {
			continue
		}
		fresh, ok := old.splitNew(c.New)
		if !ok {
			continue
		}
		for _, after := range n.after {
			o, ok1 := old.without(after)
			unpadded, settled := t.unpad(fresh, after, o)
			f, ok2 := unpadded.without(after)
			if ok1 && ok2 && !isBlankString(o) {
				r := newReading("line numbers", o, f, lastPass, t.syntax)
				r.numbers, r.bareNew, r.padded = &old, fresh.marked == 0, !settled
				out = append(out, r)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return out
}

// splitNew takes the numbers from new_string as they were taken from old_string. It is false when it is not clear
// whether new_string has such numbers or text.
func (n numbered) splitNew(s string) (out numbered, ok bool) {
	out, _ = n.split(s, false)
	first, last := n.first(), slices.Max(n.number)+len(out.text)
	texts := setOf(n.text)
	known := func(l string) bool { return !isBlankString(l) && texts[l] }
	twice := slices.ContainsFunc(n.text, n.marks) // numbers behind the numbers
	lines := strings.Split(s, "\n")
	taken, left := 0, 0
	for i, number := range out.number {
		if number == 0 || !n.marks(lines[i]) {
			continue
		}
		again, _, _ := n.line(out.text[i])
		if number >= first && number <= last && !known(lines[i]) && (!twice || again > 0 || known(out.text[i])) {
			taken++
			continue
		}
		left++
		out.number[i], out.text[i] = 0, lines[i]
	}
	if taken > 0 && left > 0 {
		return out, false
	}
	out.marked = taken
	for i, number := range out.number {
		if number == 0 || n.marks(lines[i]) {
			continue
		}
		inside := number >= first && number <= last // a number and nothing else
		if inside != (taken > 0) {
			return out, false
		}
		if !inside {
			out.number[i], out.text[i] = 0, lines[i]
		}
	}
	return out, true
}

// maxNumberOff is how far from the line that a weak number names the text may be.
const maxNumberOff = 50

// numbersFit reports whether a place fits a reading without its line numbers: such a text is of whole lines. Passes
// that compare indentation must find that of the first line too.
func (t *Text) numbersFit(f *finding, h hit) bool {
	r, at := f.reading, t.lineAt(h.Start)
	if !t.startsLine(f.file, h) || !t.endsLine(f.file, h, f.ignores) ||
		r.numbers.weak && r.numbers.marked == 1 && abs(at+1-slices.Max(r.numbers.number)) > maxNumberOff {
		return false
	}
	return f.ignores&(leadingBlanks|allSpace) != 0 ||
		leading(t.text(at)) == leading(r.old.text(r.old.lineAt(int(f.old.start[0]))))
}

// settleIndentation refuses a change whose line numbers leave open how far the lines of new_string are indented.
func (t *Text) settleIndentation(f *finding) *Refusal {
	r := f.reading
	if r.numbers == nil || isBlankString(r.new) {
		return nil
	}
	asFile := leading(t.text(t.lineAt(f.hits[0].Start))) == leading(r.old.text(r.old.lineAt(int(f.old.start[0]))))
	if !r.padded && (!r.bareNew || asFile && !r.shifted() || t.hasIndented(r.new, f.hits[0].Range)) {
		return nil
	}
	doubt := t.conflictAt(f.hits[0].Range, "old_string has line numbers, and it does not follow from it how far the "+
		"lines behind them are indented")
	doubt.Hint = "Give old_string and new_string without line numbers, indented as the file is."
	if r.padded {
		doubt.Message = "new_string has line numbers before some lines, and it does not follow from those how far the " +
			"other lines are indented."
	}
	return doubt
}

// hasIndented reports whether the lines of a text that the file has at a place are indented as they are there.
func (t *Text) hasIndented(s string, at Range) (found bool) {
	from, to := t.span(at)
	place := newSource(t.bytes(span{from, to}), nil)
	count := place.counts(0, to-from)
	for l := range strings.Lines(s) {
		key := squeeze([]byte(l))
		i := slices.IndexFunc(place.lines, func(l line) bool { return squeeze(place.data[l.start:l.end]) == key })
		switch {
		case i < 0 || count[key] > 1 || alnums([]byte(key)) == 0:
		case leading(place.text(i)) != leading([]byte(l)):
			return false
		default:
			found = true
		}
	}
	return found
}

// shifted reports whether all indented lines that new_string keeps have another indentation.
func (r *reading) shifted() (moved bool) {
	was := map[string]string{}
	for o := range r.old.lines {
		if key := r.old.key(o); key != "" && r.old.count(key) == 1 {
			was[key] = leading(r.old.text(o))
		}
	}
	for l := range strings.Lines(r.new) {
		is := leading([]byte(l))
		if ind, kept := was[squeeze([]byte(l))]; kept && ind == is && is != "" {
			return false
		} else if kept && ind != is {
			moved = true
		}
	}
	return moved
}

// numbersAlone returns new_string without line numbers that it has and old_string has not, if there are any.
func (t *Text) numbersAlone(r *reading, at int) (fresh string, ok bool, refusal *Refusal) {
	if !mayNumber().MatchString(r.new) {
		return "", false, nil
	}
	old := strings.Split(strings.TrimSuffix(string(r.old.data), "\n"), "\n")
	for _, n := range numberings {
		fresh, ok := n.split(r.new, false)
		if !ok || slices.ContainsFunc(old, n.marks) {
			continue
		}
		text, shared, placed, all, settled := t.nearestText(fresh, old, at)
		// Those of the first lines of a program are as likely their numbers in the file as a list.
		program := placed && all && shared > 1 && t.syntax != nil && !t.prose() && t.kind() != "page"
		list := n.listed && !program && (fresh.first() == 1 || t.listGoesOn(n, at, fresh.first()))
		sure := toolNumber().MatchString(r.new) || !n.listed && !n.mark().MatchString("1\t")
		alike := similarity(squeeze([]byte(text)), squeeze(r.old.data))
		switch {
		case text == strings.Join(old, "\n"), shared == 0 && !all, list:
			continue // to number lines is the change, or some of the new lines start with a number
		case !settled:
		case shared > 0 && (sure || placed && fresh.first() > 1),
			shared == 0 && sure && leading([]byte(text)) == leading(r.old.data):
			return text, true, nil
		case shared == 0 && !sure && alike < 0.8 && (!placed || alike < 0.5):
			continue
		}
		return "", false, guard("new_string has what looks like line numbers, which old_string does not have. "+
			"They would be written into the file.", "Give new_string without line numbers. If they are meant, "+
			"give old_string as whole lines and make the edit in a strictness of exact.")
	}
	return "", false, nil
}

// listGoesOn reports whether the last numbered line above another has the number before a given one.
func (t *Text) listGoesOn(n numbering, at, number int) bool {
	for i := at - 1; i >= max(0, at-maxAbove); i-- {
		if have, _, marked := n.line(string(t.text(i))); marked {
			return have == number-1
		}
	}
	return false
}

// nearestText removes after the numbers what leaves most lines equal to those of old. It reports how many are, whether
// their numbers are those of the file, whether all lines have one, and whether the indentation of those that have none
// is settled.
func (t *Text) nearestText(n numbered, old []string, at int) (text string, shared int, placed, all, settled bool) {
	shared = -1
	where := map[string]int{}
	for o, l := range slices.Backward(old) {
		where[l] = o + 1
	}
	for _, after := range n.after {
		unpadded, sure := t.unpad(n, after, strings.Join(old, "\n"))
		s, ok := unpadded.without(after)
		if !ok {
			continue
		}
		same, here := 0, true
		for i, l := range strings.Split(s, "\n") {
			if n.number[i] == 0 || isBlankString(l) {
				continue
			}
			o := where[l] - 1
			if o >= 0 {
				same++
			}
			if o >= 0 || same == 0 {
				here = here && n.number[i] == at+max(o, i)+1
			}
		}
		if same > shared {
			text, shared, placed, settled = s, same, here, sure
		}
	}
	all = true
	for i, number := range n.number {
		all = all && (number > 0 || isBlankString(n.text[i]))
	}
	return text, max(shared, 0), placed && shared >= 0, all, settled
}
