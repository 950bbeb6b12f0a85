package match

import (
	"slices"
	"strings"
)

// minEdgeAlike is how alike a comment at the start or the end of old_string must be to the one that the file has there, if
// the two have no word in common that says something.
const minEdgeAlike = 0.5

// edgeNotes says whether the file, too, has a comment where old_string starts or ends with one, of which the pass took no
// notice.
func (t *Text) edgeNotes(r *reading, h hit) bool {
	first, last := r.code()
	if first < 0 {
		return false
	}
	from, to := t.lineAt(h.Start), t.lineAt(max(h.Start, h.End-1))+1
	after := len(r.old.lines) - last - 1
	return t.edgeNote(r.old.notesIn(0, first), t.notesIn(t.above(from, first), from)) &&
		t.edgeNote(r.old.notesIn(last+1, len(r.old.lines)), t.notesIn(to, t.below(to, after)))
}

func (t *Text) edgeNote(old, file []string) bool {
	switch {
	case len(old) == 0:
		return true
	case len(file) == 0:
		return false
	}
	a, b := strings.Join(old, " "), strings.Join(file, " ")
	return tellingWord(a, b) || similarity(squeeze([]byte(a)), squeeze([]byte(b))) >= minEdgeAlike
}

// tellingWord says that two comments have a word in common, of those that not every comment has.
func tellingWord(a, b string) bool {
	words := tokens.FindAllString(b, -1)
	for _, w := range tokens.FindAllString(a, -1) {
		if alnums([]byte(w)) >= 3 && !slices.Contains(fillers, strings.ToLower(w)) && slices.Contains(words, w) {
			return true
		}
	}
	return false
}

var fillers = strings.Fields(`the and for are was that this with from not but has have had its can may will all any one new old use used uses when
	then than into out set get see also only must should does done been being per via each more some such same other them they these those
	which what where who how why return returns returned value values function file type types code line data todo fixme note`)

// notesIn gives the comments that the lines from one to another are.
func (s *source) notesIn(from, to int) (out []string) {
	for i := from; i < to; i++ {
		if s.onlyNotes(i) {
			out = append(out, string(s.text(i)))
		}
	}
	return out
}

// code gives the first and the last line of old_string that is neither blank nor a comment, -1 when there is none.
func (r *reading) code() (first, last int) {
	first = -1
	for i := range r.old.lines {
		if !r.old.weightless(i) {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	return first, last
}

// above gives the first of at most n lines before line f that are blank or comments, below what is behind the last of those
// from f on.
func (t *Text) above(f, n int) int {
	for ; n > 0 && f > 0 && t.weightless(f-1); n-- {
		f--
	}
	return f
}

func (t *Text) below(f, n int) int {
	for ; n > 0 && f < len(t.lines) && t.weightless(f); n-- {
		f++
	}
	return f
}

// weightless says that line i is blank or a comment.
func (s *source) weightless(i int) bool { return isBlankLine(s.text(i)) || s.onlyNotes(i) }

// headCells pairs the lines of old_string before those that the pass has compared, tailCells the lines after them.
func (t *Text) headCells(old *source, o1, f1 int) []cell {
	if len(old.notesIn(0, o1)) == 0 {
		return t.outer(0, o1, f1, -1)
	}
	cells := t.gap(old, 0, o1, t.above(f1, o1+slack), f1)
	for len(cells) > 0 && cells[0].o0 == cells[0].o1 {
		cells = cells[1:]
	}
	return cells
}

func (t *Text) tailCells(old *source, o0, f0 int) []cell {
	o1 := len(old.lines)
	if len(old.notesIn(o0, o1)) == 0 {
		return t.outer(o0, o1, f0, +1)
	}
	cells := t.gap(old, o0, o1, f0, t.below(f0, o1-o0+slack))
	for len(cells) > 0 && cells[len(cells)-1].o0 == cells[len(cells)-1].o1 {
		cells = cells[:len(cells)-1]
	}
	return cells
}
