package match

import (
	"fmt"
	"strings"
)

// conflict refuses because the file has something at a cell of the place that old_string does not know of.
func (t *Text) conflict(p *place, c cell, why string) *Refusal {
	from, to := c.f0, max(c.f1, c.f0+1)
	r := t.conflictAt(p.Range, why)
	if c.f1 > c.f0 {
		r.Message += fmt.Sprintf(" See line %d: %s.", c.f0+1, quoteShort(strings.TrimSpace(string(t.text(c.f0)))))
	}
	r.Excerpt = t.numberedLines(from-2, to+2)
	return r
}

// conflictAt does so for a place as a whole.
func (t *Text) conflictAt(at Range, why string) *Refusal {
	from, to := t.span(at)
	return &Refusal{Kind: Conflict,
		Message:    fmt.Sprintf("old_string is about %s, but %s.", lineSpan(from, to), why),
		Hint:       "Read these lines again, and copy old_string from there with all that is between.",
		Candidates: []Candidate{{StartLine: from + 1, EndLine: to, Similarity: 1, Why: why}},
		Excerpt:    t.numberedLines(from, to),
		Exact:      t.exactText(from, to)}
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

// shown adds the lines from one to another, the last not included, to a refusal that is about them.
func (t *Text) shown(r *Refusal, from, to int) *Refusal {
	r.Candidates = []Candidate{{StartLine: from + 1, EndLine: to, Similarity: 1}}
	r.Excerpt, r.Exact = t.numberedLines(from, to), t.exactText(from, to)
	return r
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
