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
	r.Hint = "Add the line above or below that tells the one you mean from the others to both old_string and new_string" + unlessAll(f.number)
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
		if b.Len() > maxExcerpt {
			continue
		}
		if above >= 0 && above < from-1 {
			b.WriteString(t.numberedLines(above, above+1) + "   ...\n")
		}
		b.WriteString(t.numberedLines(from-1, min(to+1, from+2)))
		if i < len(shown)-1 {
			b.WriteString("\n")
		}
	}
	r.Excerpt = b.String()
	return r
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
	r.Excerpt = t.numberedLines(w.first, min(w.last+1, w.first+12)) + "\n" + t.numberedLines(v.first, min(v.last+1, v.first+12))
	return r
}
