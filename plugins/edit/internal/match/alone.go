package match

import (
	"regexp"
	"slices"
	"strings"
)

// alone takes from new_string what old_string has not: line numbers, and escapes. Where it cannot be told whether they are
// meant the change is refused. The place of old_string starts at a line of the file, from 0.
func (t *Text) alone(c Change, r *reading, at int) (*reading, *Refusal) {
	if c.Strictness == Exact || r.name != "" {
		return r, nil
	}
	if fresh, ok, refusal := t.numbersAlone(r, at); ok || refusal != nil {
		return r.with(fresh, "new_string had line numbers at the start of its lines, which old_string and the file do not have; they were left out."), refusal
	}
	return r, nil
}

// with is the reading with another new_string, and a word on that.
func (r *reading) with(fresh, note string) *reading {
	out := *r
	out.new, out.notes = fresh, append(slices.Clone(r.notes), note)
	return &out
}

// unmistakable are line numbers that nobody writes but a tool: set in columns, or with a sign of their own behind them.
var unmistakable = regexp.MustCompile(`(?m)^(  +\d+\t|[ \t]*\d+→|[ \t]*\d+ ?[│┃┆┊])`)

// numbersAlone gives new_string without line numbers that it has and old_string has not, if there are any.
func (t *Text) numbersAlone(r *reading, at int) (fresh string, ok bool, refusal *Refusal) {
	old := strings.Split(strings.TrimSuffix(string(r.old.data), "\n"), "\n")
	for _, n := range numberings {
		fresh, ok := n.split(r.new, false)
		if !ok || slices.ContainsFunc(old, func(l string) bool { number, _, marked := n.line(l); return number > 0 && marked }) {
			continue
		}
		text, shared, placed, all := t.nearestText(fresh, old, at)
		list := n.listed && (fresh.first() == 1 || t.counts(n, at, fresh.first()))
		sure := unmistakable.MatchString(r.new) || !n.listed && !n.mark.MatchString("1\t")
		alike := similarity(squeeze([]byte(text)), squeeze(r.old.data))
		switch {
		case text == strings.Join(old, "\n"), shared == 0 && !all, list:
			continue // to number lines is the change, or some of the new lines start with a number
		case shared > 0 && (sure || placed && fresh.first() > 1), shared == 0 && sure && leading([]byte(text)) == leading(r.old.data):
			return text, true, nil
		case shared == 0 && !sure && alike < 0.8 && (!placed || alike < 0.5):
			continue
		}
		return "", false, &Refusal{Kind: Guard, Message: "new_string has what looks like line numbers, which old_string does not have. They would be written into the file.",
			Hint: "Give new_string without line numbers. If they are meant, give old_string as whole lines and make the edit in a strictness of exact."}
	}
	return "", false, nil
}

// counts says that the last line above another one that has a number has the one before it, as in a list that goes on.
func (t *Text) counts(n numbering, at, number int) bool {
	for i := at - 1; i >= max(0, at-maxAbove); i-- {
		if have, _, marked := n.line(string(t.text(i))); marked {
			return have == number-1
		}
	}
	return false
}

// nearestText takes away after the numbers what leaves most lines as they are in old. It says how many are, whether their
// numbers are those of the file, and whether all lines have one.
func (t *Text) nearestText(n numbered, old []string, at int) (text string, shared int, placed, all bool) {
	shared = -1
	for _, after := range n.after {
		s, ok := n.without(after)
		if !ok {
			continue
		}
		same, here := 0, true
		for i, l := range strings.Split(s, "\n") {
			o := slices.Index(old, l)
			if n.number[i] == 0 || strings.TrimSpace(l) == "" {
				continue
			}
			if o >= 0 {
				same++
			}
			if o >= 0 || same == 0 {
				here = here && n.number[i] == at+max(o, i)+1
			}
		}
		if same > shared {
			text, shared, placed = s, same, here
		}
	}
	all = true
	for i, number := range n.number {
		all = all && (number > 0 || strings.TrimSpace(n.text[i]) == "")
	}
	return text, max(shared, 0), placed && shared >= 0, all
}

// first is the first number.
func (n numbered) first() int {
	i := slices.IndexFunc(n.number, func(number int) bool { return number > 0 })
	return n.number[max(i, 0)]
}
