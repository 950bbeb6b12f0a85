package match

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	maxPlaces = 8  // that a refusal lists
	maxAbove  = 40 // lines above a place that are looked at for one that tells it from the others
)

// ambiguous refuses because old_string fits several places.
func (t *Text) ambiguous(f *finding) *Refusal {
	r := t.several(f)
	r.Message = fmt.Sprintf("old_string fits %s places%s, at lines %s.", many(r.Count), butFor(f.number), t.lineList(f.hits))
	r.Hint = "Use as old_string the lines that show the one you mean, all of them, or add another line above or below that tells it from the others, to both old_string and new_string" + unlessAll(f.number)
	return r
}

func many(n int) string {
	if n >= maxHits {
		return fmt.Sprintf("more than %d", maxHits)
	}
	return strconv.Itoa(n)
}

func unlessAll(pass int) string {
	if pass <= lastForAll {
		return ", or set replace_all to change all of them."
	}
	return "."
}

// miscounted refuses because there are more or fewer places than expected.
func (t *Text) miscounted(c Change, f *finding) *Refusal {
	r := t.several(f)
	r.Message = fmt.Sprintf("old_string fits %s, not %d, at lines %s.", plural(r.Count, "place"), c.Expected, t.lineList(f.hits))
	r.Hint = "Look at the places: give the number that is right, or an old_string that fits only those you mean."
	return r
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return many(n) + " " + what + "s"
}

// several lists the places of a finding, each with what tells it from the others.
func (t *Text) several(f *finding) *Refusal {
	r := &Refusal{Kind: Ambiguous, Count: len(f.hits)}
	shown := f.hits[:min(len(f.hits), maxPlaces)]
	var b strings.Builder
	for i, h := range shown {
		from, to := t.span(h.Range)
		above := t.telling(shown, i)
		why := ""
		if above >= 0 {
			why = fmt.Sprintf("line %d above it is %s", above+1, quoteShort(squeeze(t.text(above))))
		}
		r.Candidates = append(r.Candidates, Candidate{StartLine: from + 1, EndLine: to, Similarity: 1, Why: why})
		if b.Len() > maxExcerpt*2/3 && i > 1 {
			continue
		}
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(t.numberedLines(t.apart(from, to, above)))
	}
	r.Excerpt = b.String()
	return r
}

// apart gives the lines that show a place: with the line above that tells it from the others, or as many more as it takes.
func (t *Text) apart(from, to, above int) (first, last int) {
	if above >= 0 && from-above <= maxMore && t.once(above, to) {
		return above, to
	}
	if first, last = t.unique(from, to); first < from || last > to {
		return first, last
	}
	return max(0, from-1), min(len(t.lines), to+1)
}

// telling is the closest line above a place that the other places do not have at the same distance, or -1.
func (t *Text) telling(hits []hit, which int) int {
	own := t.lineAt(hits[which].Start)
	for d := 1; d <= min(own, maxAbove); d++ {
		text := squeeze(t.text(own - d))
		other := slices.ContainsFunc(hits, func(h hit) bool {
			at := t.lineAt(h.Start)
			return at != own && at-d >= 0 && squeeze(t.text(at-d)) == text
		})
		if text != "" && !other {
			return own - d
		}
	}
	return -1
}

// lineList names the first lines of places.
func (t *Text) lineList(hits []hit) string {
	var out []string
	for _, h := range hits[:min(len(hits), maxPlaces)] {
		out = append(out, strconv.Itoa(t.lineAt(h.Start)+1))
	}
	if len(hits) > maxPlaces {
		out = append(out, "...")
	}
	return strings.Join(out, ", ")
}

// rivals refuses because two places are about as like old_string as the other.
func (t *Text) rivals(w, v *window) *Refusal {
	r := &Refusal{Kind: Ambiguous, Count: 2}
	r.Message = fmt.Sprintf("old_string is not in the file as it is, and comes close to two places: %s and %s.", lineSpan(w.first, w.last+1), lineSpan(v.first, v.last+1))
	r.Hint = "Copy old_string from the one that you mean, exactly, with a line that only this one has."
	r.Candidates = []Candidate{t.candidate(w), t.candidate(v)}
	r.Excerpt = t.numberedLines(t.unique(w.first, w.last+1)) + "\n" + t.numberedLines(t.unique(v.first, v.last+1))
	return r
}
