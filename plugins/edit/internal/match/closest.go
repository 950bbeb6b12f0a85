package match

import (
	"fmt"
	"math"
	"strings"
)

const (
	maxCandidates = 3
	minScore      = 0.4 // a block less like old_string than that is not worth a look
)

// notFound refuses because old_string is not in the file, and says what comes closest and how it differs.
func (t *Text) notFound(c Change, readings []*reading) *Refusal {
	r := &Refusal{Kind: NotFound, Message: "old_string is not in the file."}
	if t.strict(c, r) {
		return r
	}
	read := readings[0]
	for _, one := range readings[1:] {
		if one.lastPass == 9 {
			read = one
		}
	}
	all := t.closest(read)
	for _, w := range all[:min(len(all), maxCandidates)] {
		if w.score >= minScore {
			r.Candidates = append(r.Candidates, t.candidate(w))
		}
	}
	if len(r.Candidates) == 0 {
		r.Hint = t.noClue(c)
		return r
	}
	t.describe(r, read, all[0])
	return r
}

// strict explains a refusal by the strictness or replace_all, when that is all that is in the way.
func (t *Text) strict(c Change, r *Refusal) bool {
	if c.Strictness == Full && !c.All {
		return false
	}
	loose := c
	loose.Strictness, loose.All, loose.Expected = Full, false, 0
	f := t.find(loose, t.readings(loose))
	if f == nil {
		return false
	}
	from, to := t.span(f.hits[0].Range)
	r.Message = fmt.Sprintf("old_string is not in the file as it is; %s has it%s.", lineSpan(from, to), butFor(f.number))
	r.Hint = "Copy old_string from there, exactly."
	if c.All {
		r.Hint = "For replace_all old_string must be as it is in the file, but for white space: copy it from there, exactly."
	}
	r.Candidates = []Candidate{{StartLine: from + 1, EndLine: to, Similarity: 1, Why: "the same" + butFor(f.number)}}
	r.Excerpt, r.Exact = t.numberedLines(from, to), t.exactText(from, to)
	return true
}

// closest are the windows of pass 8, or when no line is equal, those with the most words in common.
func (t *Text) closest(r *reading) []*window {
	if all := t.windows(r); len(all) > 0 || r.index == nil {
		return all
	}
	return t.windowsAt(r, t.wordVotes(r))
}

func (t *Text) candidate(w *window) Candidate {
	equal := 0
	for i := range w.pairs {
		if w.pairs[i] >= 0 && w.kinds[i] == same {
			equal++
		}
	}
	return Candidate{StartLine: w.first + 1, EndLine: w.last + 1, Similarity: math.Round(w.score*100) / 100,
		Why: fmt.Sprintf("%s of old_string equal, %d not", plural(equal, "line"), len(w.pairs)-equal)}
}

// describe fills in how the best window differs, and what to do.
func (t *Text) describe(r *Refusal, read *reading, w *window) {
	best := r.Candidates[0]
	r.Message = fmt.Sprintf("old_string is not in the file. Closest: %s (%.0f %% alike).", lineSpan(w.first, w.last+1), best.Similarity*100)
	if cause := t.cause(read, w); cause != "" {
		r.Message += " " + cause
	}
	r.Excerpt = t.numberedLines(w.first, w.last+1)
	r.Diff = t.windowDiff(read, w)
	r.Exact = t.exactText(w.first, w.last+1)
	r.Hint = "If that is the place, copy old_string from it exactly; else read the file again."
	if r.Exact != "" {
		r.Hint = "If that is the place, use the text of these lines as old_string, exactly as they are; else read the file again."
	}
}

// noClue says what may be wrong when nothing in the file is like old_string.
func (t *Text) noClue(c Change) string {
	switch {
	case strings.ContainsRune(c.Old, '\uFFFD'):
		return "old_string holds U+FFFD, which stands for bytes that are not UTF-8: choose a part without such bytes."
	case len(t.data) > maxSimilarFile:
		return "The file is too large to look for what comes close. Search it for a word of old_string, and read the lines there."
	case len(strings.Split(c.Old, "\n")) > maxSimilarLines:
		return "old_string is too long to look for what comes close. Make several edits with short ones of it."
	}
	return "Nothing in the file comes close. Read it again, and see whether it is the right file: old_string must be copied from it."
}
