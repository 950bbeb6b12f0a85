package match

import (
	"bytes"
	"fmt"
	"strings"
)

// conflict refuses because the file has something at a cell of the place that old_string does not know of.
func (t *Text) conflict(p *place, c cell, why string) *Refusal {
	at := p.Range
	for _, c := range p.cells { // comments and blank lines at the edges are part of what old_string quotes
		if c.o1 > c.o0 && c.f1 > c.f0 {
			at.Start, at.End = min(at.Start, t.lines[c.f0].start), max(at.End, t.lines[c.f1-1].end)
		}
	}
	r := t.conflictAt(at, why)
	if c.f1 > c.f0 {
		r.Message += fmt.Sprintf(" See line %d: %s.", c.f0+1, quoteShort(strings.TrimSpace(string(t.text(c.f0)))))
	}
	if r.Exact == "" { // too long to be shown as a whole
		from, to := max(0, c.f0-2), min(len(t.lines), max(c.f1, c.f0+1)+2)
		r.Excerpt = t.numberedLines(from, to)
	}
	return r
}

// conflictAt does so for a place as a whole.
func (t *Text) conflictAt(at Range, why string) *Refusal {
	from, to := t.span(at)
	r := t.shown(&Refusal{Kind: Conflict,
		Message: fmt.Sprintf("old_string is about %s, but %s.", lineSpan(from, to), why),
		Hint:    "Read these lines again, and copy old_string from there with all that is between."}, from, to)
	r.Candidates[0].Why = why
	return r
}

// ownInsertion refuses a place that an earlier change of the same call has written.
func (t *Text) ownInsertion(at Range) *Refusal {
	r := t.conflictAt(at, "that is text which an earlier edit of this call has put there, and it is not exactly the same")
	r.Hint = "Make both changes in one edit, or copy old_string exactly from the new_string of the earlier one."
	return r
}

// applied refuses because new_string is in the file already.
func (t *Text) applied(at Range) *Refusal {
	from, to := t.span(at)
	return &Refusal{Kind: AlreadyApplied,
		Message:    fmt.Sprintf("new_string is in the file already, at %s; this edit seems to have been made before.", lineSpan(from, to)),
		Hint:       "If that is what you want, there is nothing left to do. Else read these lines, and copy old_string from the file exactly.",
		Candidates: []Candidate{{StartLine: from + 1, EndLine: to, Similarity: 1, Why: "new_string is here"}},
		Excerpt:    t.numberedLines(from-1, to+1)}
}

// unchanged refuses because the file has at the place what new_string says.
func (t *Text) unchanged(at Range) *Refusal {
	r := t.applied(at)
	r.Message = fmt.Sprintf("The change makes no difference: what it would do to %s is there already, or is all about text that is not in the file.", t.where(at))
	return r
}

// shown is a refusal with the lines that it is about.
func (t *Text) shown(r *Refusal, from, to int) *Refusal {
	t.show(r, from, to)
	return r
}

// show adds the lines from one to another, the last not included, to a refusal that is about them: as many more as it takes
// for them to be in the file once, so that they can be used as old_string.
func (t *Text) show(r *Refusal, from, to int) {
	r.Candidates = []Candidate{{StartLine: from + 1, EndLine: to, Similarity: 1}}
	first, last := t.unique(from, to)
	r.Excerpt, r.Exact = t.numberedLines(first, last), t.exactText(first, last)
}

// unique widens a range of lines until their text is in the file once. It gives the range as it was when that takes too many.
func (t *Text) unique(from, to int) (first, last int) {
	if from >= to || t.once(from, to) {
		return from, to
	}
	for n := 1; n <= 2*maxMore; n++ {
		for up := 0; up <= min(n, maxMore); up++ {
			first, last = from-up, to+n-up
			if n-up <= maxMore && first >= 0 && last <= len(t.lines) && t.once(first, last) {
				return first, last
			}
		}
	}
	return from, to
}

// once says that the text of lines is nowhere else in the file.
func (t *Text) once(from, to int) bool {
	s := t.data[t.lines[from].start:t.lines[to-1].end]
	i := bytes.Index(t.data, s)
	return len(bytes.TrimSpace(s)) > 0 && i == t.lines[from].start && !bytes.Contains(t.data[i+1:], s)
}

// exactText is the text of lines as old_string would need it, or nothing when it is long.
func (t *Text) exactText(from, to int) string {
	if from >= to || to-from > maxShown {
		return ""
	}
	s := t.data[t.lines[from].start:t.lines[to-1].end]
	if len(s) > maxExact {
		return ""
	}
	return string(s)
}
