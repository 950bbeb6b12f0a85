package match

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What a refusal shows to be copied is whole, and together with the rest below 16 kB.
const (
	maxExcerpt = 7000
	maxDiff    = 1200
	maxExact   = 6000
	maxShown   = 120 // lines
	maxWidth   = 160 // of a line that is shown, and not to be copied
	maxMore    = 15  // lines that are added on a side to distinguish a place from others
	maxPlaces  = 8   // that a refusal lists
	maxAbove   = 40  // lines above a place that are searched for one that distinguishes it from the others
)

// butFor says in what a text that a pass found may differ.
func butFor(p pass) string {
	if p.differs == "" {
		return ""
	}
	return " but for " + p.differs
}

var readingWarnings = map[string]string{
	"line numbers": "old_string had line numbers at the start of its lines, which the file does not have; " +
		"they were left out.",
	"diff": "old_string and new_string had the first column of a diff; it was left out. " +
		"Give the text alone, without blanks, - and + before it.",
	"fence":     "old_string had the fence of a code block around it, which was left out.",
	"quotation": "old_string had > at the start of its lines, which the file does not have; it was left out.",
	"marks":     "old_string was in quotation marks, which the file does not have; they were left out.",
	"bullets":   "old_string had another sign before the items of a list than the file, whose sign was used.",
	"entities":  "old_string was escaped for HTML: give <, >, & and quotes as they are.",
	"escapes":   "old_string was escaped once too often: give quotes, tabs and line breaks as they are.",
}

// warnings say how the model's old_string differed from the file.
func (t *Text) warnings(f *finding) (out []string) {
	if w := readingWarnings[f.reading.name]; w != "" {
		out = append(out, w)
	}
	out = append(out, f.reading.notes...)
	if f.number == 1 {
		return out
	}
	said := fmt.Sprintf("old_string was found by pass %d, as it differs from the file in %s.", f.number, f.differs)
	if f.number >= blanksPass && f.number <= lastComment {
		h := f.hits[0].Range
		file, old := t.data[t.lines[t.lineAt(h.Start)].start:h.End], f.reading.old.data
		switch fileTabs, oldTabs := bytes.Contains(file, []byte("\t")), bytes.Contains(old, []byte("\t")); {
		case fileTabs && !oldTabs:
			said += " The file has tabs there, old_string has spaces."
		case oldTabs && !fileTabs:
			said += " The file has spaces there, old_string has tabs."
		}
	}
	return append(out, said+" What you did not change was left unchanged in the file.")
}

// finalBreak is the warning that the file ends with a line break after the edits and did not before, or the other way
// round.
func (t *Text) finalBreak(p *Plan) string {
	last := p.Edits[len(p.Edits)-1]
	if last.End < len(t.data) {
		return ""
	}
	end := last.With
	if len(end) == 0 {
		end = t.data[:last.Start]
	}
	switch had, has := bytes.HasSuffix(t.data, newline), bytes.HasSuffix(end, newline); {
	case has && !had:
		return "The file ends with a line break now, which it did not before."
	case had && !has && len(end) > 0:
		return "The file no longer ends with a line break."
	}
	return ""
}

// similarWarnings say which lines of old_string differ from the file.
func (t *Text) similarWarnings(r *reading, w *window) []string {
	out := []string{"old_string is not in the file literally; the lines most like it were changed. " +
		"Copy old_string from the file next time."}
	out = append(out, r.notes...)
	for i, k := range w.relations {
		j := w.pairs[i]
		switch {
		case len(out) > 4:
			return out
		case j < 0 && r.index.isCode(i):
			out = append(out, fmt.Sprintf("The file does not have the line %s.", quoteShort(r.index.keys[i])))
		case j >= 0 && k != same:
			out = append(out, fmt.Sprintf("Line %d is %s, not %s.", j+1, quoteShort(t.key(j)), quoteShort(r.old.key(i))))
		}
	}
	return out
}

// conflict refuses because the file has something at a block of the place that old_string does not have.
func (t *Text) conflict(a *alignment, b block, why string) *Refusal {
	at := a.Range
	for _, b := range a.blocks { // comments and blank lines at the edges are part of what old_string quotes
		if !b.oneSided() {
			at.Start, at.End = min(at.Start, t.lines[b.f0].start), max(at.End, t.lines[b.f1-1].end)
		}
	}
	r := t.conflictAt(at, why)
	if !b.onlyOld() {
		r.Message += fmt.Sprintf(" See line %d: %s.", b.f0+1, quoteShort(strings.TrimSpace(string(t.text(b.f0)))))
	}
	if r.Exact == "" { // too long to be shown as a whole
		r.Excerpt = t.numberedLines(max(0, b.f0-2), min(len(t.lines), max(b.f1, b.f0+1)+2))
	}
	return r
}

// conflictAt does so for a place as a whole.
func (t *Text) conflictAt(at Range, why string) *Refusal {
	r := &Refusal{Kind: Conflict,
		Message: fmt.Sprintf("old_string is about %s, but %s.", t.where(at), why),
		Hint:    "Read these lines again, and copy old_string from there with all that is between."}
	t.show(r, at)
	r.Candidates[0].Why = why
	return r
}

// ownInsertion refuses a place that an earlier change of the same call inserted.
func (t *Text) ownInsertion(at Range) *Refusal {
	r := t.conflictAt(at, "that is text which an earlier edit of this call has put there, and it is not exactly the same")
	r.Hint = "Make both changes in one edit, or copy old_string exactly from the new_string of the earlier one."
	return r
}

// alreadyApplied refuses because new_string is in the file.
func (t *Text) alreadyApplied(at Range) *Refusal {
	from, to := t.span(at)
	return &Refusal{Kind: AlreadyApplied,
		Message: "new_string is in the file already, at " + t.where(at) + "; this edit seems to have been made before.",
		Hint: "If that is what you want, there is nothing left to do. " +
			"Else read these lines, and copy old_string from the file exactly.",
		Candidates: []Candidate{{StartLine: from + 1, EndLine: to, Similarity: 1, Why: "new_string is here"}},
		Excerpt:    t.numberedLines(from-1, to+1)}
}

// noEffect refuses because the file has at the place what new_string says.
func (t *Text) noEffect(at Range) *Refusal {
	r := t.alreadyApplied(at)
	r.Message = fmt.Sprintf("The change makes no difference: what it would do to %s is there already, "+
		"or is all about text that is not in the file.", t.where(at))
	return r
}

// ambiguous refuses because old_string fits several places.
func (t *Text) ambiguous(f *finding) *Refusal {
	r := t.several(f)
	r.Message = fmt.Sprintf("old_string fits %s%s, at lines %s.", plural(r.Count, "place"), butFor(f.pass),
		t.lineList(f.hits))
	r.Hint = "Use as old_string the lines that show the one you mean, all of them, or add another line above or below " +
		"that tells it from the others, to both old_string and new_string"
	if f.number <= lastForAll {
		r.Hint += ", or set replace_all to change all of them"
	}
	r.Hint += "."
	return r
}

// miscounted refuses because there are more or fewer places than expected.
func (t *Text) miscounted(c Change, f *finding) *Refusal {
	r := t.several(f)
	r.Message = fmt.Sprintf("old_string fits %s, not %d, at lines %s.", plural(r.Count, "place"), c.Expected,
		t.lineList(f.hits))
	r.Hint = "Look at the places: give the number that is right, or an old_string that fits only those you mean."
	return r
}

func plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case n >= maxHits:
		return fmt.Sprintf("more than %d %ss", maxHits, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// several lists the places of a finding, each with what distinguishes it from the others.
func (t *Text) several(f *finding) *Refusal {
	r := &Refusal{Kind: Ambiguous, Count: len(f.hits)}
	shown := f.hits[:min(len(f.hits), maxPlaces)]
	var b strings.Builder
	blocks := map[[2]int]bool{} // that are shown
	for i, h := range shown {
		from, to := t.span(h.Range)
		above := t.distinctAbove(shown, i)
		why := ""
		if above >= 0 {
			why = fmt.Sprintf("line %d above it is %s", above+1, quoteShort(t.key(above)))
		}
		r.Candidates = append(r.Candidates, Candidate{StartLine: from + 1, EndLine: to, Similarity: 1, Why: why})
		if b.Len() > maxExcerpt*2/3 && i > 1 {
			continue
		}
		if above >= 0 && from-above <= maxMore && t.once(above, to) {
			from = above
		} else if first, last := t.unique(from, to); first < from || last > to {
			from, to = first, last
		} else {
			from, to = from-1, to+1
		}
		if from, to = max(from, 0), min(to, len(t.lines)); blocks[[2]int{from, to}] {
			continue
		}
		if blocks[[2]int{from, to}] = true; b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(t.numberedLines(from, to))
	}
	r.Excerpt = b.String()
	return r
}

// distinctAbove is the closest line above a place that the other places do not have at the same distance, or -1.
func (t *Text) distinctAbove(hits []hit, which int) int {
	own := t.lineAt(hits[which].Start)
	for d := 1; d <= min(own, maxAbove); d++ {
		text := t.key(own - d)
		other := slices.ContainsFunc(hits, func(h hit) bool {
			at := t.lineAt(h.Start)
			return at != own && at-d >= 0 && t.key(at-d) == text
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
	for i := 0; i < len(hits); {
		if len(out) == maxPlaces {
			return fmt.Sprintf("%s and %d more places", strings.Join(out, ", "), len(hits)-i)
		}
		line, n := t.lineAt(hits[i].Start), 0
		for ; i < len(hits) && t.lineAt(hits[i].Start) == line; i++ {
			n++
		}
		if at := strconv.Itoa(line + 1); n > 1 {
			out = append(out, fmt.Sprintf("%s (%d times)", at, n))
		} else {
			out = append(out, at)
		}
	}
	return strings.Join(out, ", ")
}

// rivals refuses because two places are about as similar to old_string.
func (t *Text) rivals(w, v *window) *Refusal {
	return &Refusal{Kind: Ambiguous, Count: 2,
		Message: fmt.Sprintf("old_string is not in the file literally, and is similar to two places: %s (%s) and %s (%s).",
			lineSpan(w.first, w.last+1), w.candidate().Why, lineSpan(v.first, v.last+1), v.candidate().Why),
		Hint:       "Copy old_string from the one that you mean, exactly, with a line that only this one has.",
		Candidates: []Candidate{w.candidate(), v.candidate()},
		Excerpt: t.numberedLines(t.unique(w.first, w.last+1)) + "\n" +
			t.numberedLines(t.unique(v.first, v.last+1))}
}

// show adds the lines of a place to a refusal, showLines those from one to another, the last not included: as many
// more as it takes for them to be in the file once, so that they can be used as old_string.
func (t *Text) show(r *Refusal, at Range) {
	from, to := t.span(at)
	t.showLines(r, from, to)
}

func (t *Text) showLines(r *Refusal, from, to int) {
	r.Candidates = []Candidate{{StartLine: from + 1, EndLine: to, Similarity: 1}}
	first, last := t.unique(from, to)
	r.Excerpt, r.Exact = t.numberedLines(first, last), ""
	if first < last && last-first <= maxShown {
		if s := t.data[t.lines[first].start:t.lines[last-1].end]; len(s) <= maxExact {
			r.Exact = string(s)
		}
	}
}

// unique widens a range of lines until their text is in the file once. It returns the same range when that takes too
// many.
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

// once reports that the text of lines is nowhere else in the file.
func (t *Text) once(from, to int) bool {
	s := t.data[t.lines[from].start:t.lines[to-1].end]
	i := bytes.Index(t.data, s)
	return len(bytes.TrimSpace(s)) > 0 && i == t.lines[from].start && !bytes.Contains(t.data[i+1:], s)
}

// numberedLines shows the lines from one to another of the file, the last not included, with their numbers.
func (t *Text) numberedLines(from, to int) string {
	var b strings.Builder
	from, to = max(0, from), min(to, len(t.lines))
	for i := from; i < to; i++ {
		l := string(t.text(i))
		if b.Len() > maxExcerpt || i-from >= maxShown {
			fmt.Fprintf(&b, "... (%d lines more)\n", to-i)
			break
		}
		if b.Len()+len(l) > maxExcerpt {
			l = cutLine(t.text(i))
		}
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, l)
	}
	return b.String()
}

// where names the lines of a range, lineSpan lines counted from 0, the last not included.
func (t *Text) where(r Range) string { return lineSpan(t.span(r)) }

func lineSpan(from, to int) string {
	if to-from <= 1 {
		return fmt.Sprintf("line %d", from+1)
	}
	return fmt.Sprintf("lines %d to %d", from+1, to)
}

// quoteShort quotes a line, cut so that it fits into a sentence.
func quoteShort(s string) string {
	if r := []rune(s); len(r) > 80 {
		return strconv.Quote(string(r[:80])) + "..."
	}
	return strconv.Quote(s)
}

// quoteAround quotes a line so that what differs from another one is seen.
func quoteAround(s, other string) string {
	if n := commonPrefix([]byte(s), []byte(other)); utf8.RuneCountInString(s) > 80 && n > 40 {
		from := n - 30
		for from > 0 && !utf8.RuneStart(s[from]) {
			from--
		}
		return "..." + quoteShort(s[from:])
	}
	return quoteShort(s)
}

// cutLine is a line for an excerpt, cut when it is long, and cutAround one of a diff, cut so that what differs from
// another one is seen.
func cutLine(b []byte) string {
	if len(b) <= maxWidth {
		return string(b)
	}
	n := maxWidth
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return string(b[:n]) + "..."
}

func cutAround(b, other []byte) string {
	n := commonPrefix(b, other)
	if len(b) <= maxWidth || n < maxWidth/2 {
		return cutLine(b)
	}
	from := max(0, n-maxWidth/3)
	for from < len(b) && !utf8.RuneStart(b[from]) {
		from++
	}
	return "..." + cutLine(b[from:])
}
