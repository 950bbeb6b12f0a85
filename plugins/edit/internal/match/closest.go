package match

import (
	"fmt"
	"math"
	"slices"
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
	if len(r.Candidates) > 0 {
		t.describe(r, read, all[0])
		return r
	}
	if t.nearestLines(c, read, r) {
		return r
	}
	r.Hint = t.noClue(c)
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
	t.show(r, from, to)
	r.Candidates[0].Why = "the same" + butFor(f.number)
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
	r.Diff = t.windowDiff(read, w)
	all := r.Candidates
	from, to := t.extent(w)
	t.show(r, from, to)
	if r.Exact == "" { // too long: where it begins to differ
		from = w.firstOther()
		t.show(r, max(w.first, from-5), min(w.last+1, from+15))
	}
	r.Candidates, r.Hint = all, copyHint
}

const copyHint = "If that is the place, use the text of these lines as old_string, exactly as they are; else read the file again."

// extent are the lines of the file that a window is on, with as many more at its ends as old_string has there that are in none.
func (t *Text) extent(w *window) (from, to int) {
	paired := func(j int) bool { return j >= 0 }
	head := slices.IndexFunc(w.pairs, paired)
	tail := 0
	for tail < len(w.pairs) && w.pairs[len(w.pairs)-1-tail] < 0 {
		tail++
	}
	from, to = max(0, w.first-head), min(len(t.lines), w.last+1+tail)
	for from < w.first && isBlankLine(t.text(from)) {
		from++
	}
	for to > w.last+1 && isBlankLine(t.text(to-1)) {
		to--
	}
	return from, to
}

// firstOther is the line of the file where a window begins to differ from old_string.
func (w *window) firstOther() int {
	at := w.first
	for i, j := range w.pairs {
		if j < 0 || w.kinds[i] != same || j > at {
			return at
		}
		at = j + 1
	}
	return at
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
	return "Little in the file comes close. Read it again, and see whether it is the right file: old_string must be copied from it."
}
