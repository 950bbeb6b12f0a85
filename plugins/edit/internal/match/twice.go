package match

import (
	"bytes"
	"slices"
	"strings"
)

// twice says that an exact match of old_string is a part of new_string already, and where that is: the same insertion was made
// before. Brackets and words that only close something are often needed twice, and are not looked at.
func (t *Text) twice(r *reading, at Range) (there Range, ok bool) {
	const lv = trail // indentation counts: a block may be moved
	fresh, old := canon(newSource([]byte(r.new), t.syntax), lv).trimmed(), canon(r.old, lv).trimmed()
	if len(fresh.text) <= len(old.text) || !bytes.Contains(fresh.text, old.text) {
		return there, false
	}
	if !telling(strings.Replace(string(fresh.text), string(old.text), " ", 1)) {
		return there, false
	}
	first, last := t.span(at)
	n := bytes.Count(fresh.text, newline) + 1
	first, last = max(0, first-n), min(len(t.lines), last+n)
	base := t.lines[first].start
	near := &Text{source: newSource(t.data[base:t.lines[last-1].next], t.syntax)}
	was := t.data[at.Start:at.End]
	from := at.Start - base + len(was) - len(bytes.TrimLeft(was, spaces))
	to := at.End - base - len(was) + len(bytes.TrimRight(was, spaces))
	for _, got := range near.occurrences(canon(near.source, lv), fresh) {
		if got.Start <= from && got.End >= to {
			return Range{base + got.Start, base + got.End}, true
		}
	}
	return there, false
}

// closers are words that end a block or a branch.
var closers = strings.Fields("end fi done esac endif endfor endwhile endfunction else begin break return pass continue null None nil true false")

// telling says that an inserted text is more than brackets, closing tags and words that end a block.
func telling(s string) bool {
	for f := range strings.FieldsSeq(s) {
		if strings.HasPrefix(f, "</") {
			continue
		}
		if w := strings.Trim(f, "(){}[]<>;,."); alnums([]byte(w)) > 0 && !slices.Contains(closers, w) {
			return true
		}
	}
	return false
}

// appliedTwice refuses the same insertion for a second time.
func (t *Text) appliedTwice(at Range) *Refusal {
	r := t.applied(at)
	r.Message = "What new_string adds is in the file already, at " + t.where(at) + "; this edit seems to have been made before."
	r.Hint = "If that is what you want, there is nothing left to do. To add the same text once more, give as old_string what is there with the text that was added, and that with one more as new_string."
	return r
}
