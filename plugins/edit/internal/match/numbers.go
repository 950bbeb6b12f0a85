package match

import (
	"strings"
	"unicode"
)

// tellingNote is how many letters and digits a comment has that stands at one place only.
const tellingNote = 20

// maxMisquoted is how many comments in other words a line of code may bear.
const maxMisquoted = 2

// misquoted says that the comments of old_string, of which the pass took no notice, speak against a place: there are more of
// them in other words than the code can bear, one stands elsewhere in the file, or one differs in its numbers only.
func (t *Text) misquoted(r *reading, p *place) bool {
	notes, code := 0, 0
	for _, c := range p.cells {
		for o := c.o0; o < c.o1; o++ {
			switch {
			case r.old.onlyNotes(o) && c.kind == filler:
				notes++
				if key := squeeze(r.old.text(o)); alnums([]byte(key)) >= tellingNote && len(t.lineIndex().at[key]) > 0 {
					return true
				}
			case !r.old.onlyNotes(o) && alnums(r.old.text(o)) >= 3:
				code++
			}
		}
	}
	return notes > maxMisquoted*code || t.renumbered(r, p)
}

// renumbered says that a comment, of which the pass took no notice, is the one of the file but for its numbers. Those are
// what tells one place from its neighbors.
func (t *Text) renumbered(r *reading, p *place) bool {
	for _, c := range p.cells {
		if !c.single() {
			continue
		}
		old, file := r.old.note(c.o0), t.note(c.f0)
		if old != file && old != "" && withoutDigits(old) == withoutDigits(file) {
			return true
		}
	}
	return false
}

// note is the comment that line i is or ends with, without its white space.
func (s *source) note(i int) string {
	if s.onlyNotes(i) {
		return squeeze(s.text(i))
	}
	return squeeze(s.data[s.tail(i):s.lines[i].end])
}

func withoutDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsNumber(r) {
			return -1
		}
		return r
	}, s)
}
