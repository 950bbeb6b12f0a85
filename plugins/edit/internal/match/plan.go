package match

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

const byteOrderMark = "\ufeff"

// Plan finds the places of a change and makes the edits. The error is always a *Refusal, and then nothing may be
// changed.
func (t *Text) Plan(c Change) (*Plan, error) {
	starts := c.New == byteOrderMark+c.Old && bytes.HasPrefix(t.data, []byte(c.Old)) // the file shall have one
	marked := strings.Contains(c.Old, byteOrderMark) ||
		c.Strictness != Exact && strings.HasPrefix(c.New, byteOrderMark) && !starts
	if marked && !bytes.Contains(t.data, []byte(byteOrderMark)) { // it is no text
		c.Old, c.New = without(c.Old, byteOrderMark), without(c.New, byteOrderMark)
	}
	var notes []string
	if plain := t.plainControls(c); plain.Old != c.Old {
		c, notes = plain, []string{"The control characters of old_string, which the file does not have, were left out."}
	}
	for peeled, ok := t.peeled(c); ok; peeled, ok = t.peeled(c) {
		c, notes = peeled, []string{"What both strings had around lines, such as tags or a fence, was left out."}
	}
	if p := t.planElided(c); p != nil {
		return p, nil
	}
	p, refusal := t.plan(c)
	if refusal == nil && c.Strictness != Exact {
		refusal = cmp.Or(t.checkTabs(p), t.checkDedent(c, p))
	}
	if refusal != nil {
		return nil, refusal
	}
	p.Warnings = append(p.Warnings, notes...)
	if note := t.finalBreak(p); note != "" {
		p.Warnings = append(p.Warnings, note)
	}
	return p, nil
}

func (t *Text) plan(c Change) (*Plan, *Refusal) {
	_, _, _, hunk := t.undiffed(c)
	switch {
	case c.Old == "":
		return nil, guard("old_string is empty, which fits everywhere.",
			"To insert text, give a line that is there as old_string, and that line with the new text as new_string.")
	case isBlankString(c.Old):
		return nil, guard("old_string is nothing but white space, which says no place.",
			"Include a line of text before or after it.")
	case !hunk && t.sameHunk(c) && hasLineWith(c.Old, "+"):
		return nil, guard("old_string and new_string are the same diff, and the lines that it keeps and takes out are "+
			"not in the file, or more than once.", "Give as old_string the lines as they are in the file, and as "+
			"new_string the lines that shall be there, both without - and +.")
	case !hunk && (c.Old == c.New || t.sameHunk(c)):
		r := guard("old_string and new_string are the same, so nothing would change.",
			"Set new_string to the text that you want.")
		if !t.sameHunk(c) {
			r.Kind = Same
		}
		return nil, r
	}
	c.All = c.All || c.Expected > 1
	t.work = 0
	readings := t.readings(c)
	if f := t.find(c, readings); f != nil {
		return t.planFound(c, f)
	}
	if t.longerThanFile(readings) {
		r := guard("old_string is longer than the whole file.",
			"Read the file again: this may be another one than you think.")
		if near := (&Refusal{}); t.showNearest(c, readings[0], near) {
			r.Candidates, r.Excerpt, r.Exact = near.Candidates, near.Excerpt, near.Exact
		}
		return nil, r
	}
	similar := c.Strictness == Full && !c.All
	if similar {
		if p, refusal := t.planRespelled(c); p != nil || refusal != nil {
			return p, refusal
		}
	}
	if refusal := t.present(c, readings); refusal != nil {
		return nil, refusal
	}
	if similar {
		if p, refusal := t.planSimilar(c, readings); p != nil || refusal != nil {
			return p, refusal
		}
	}
	return nil, t.notFound(c, readings)
}

// minMeasured is the size of a file, in bytes, from which on an old_string can be too long. Of a smaller file a refusal
// shows all, which helps more.
const minMeasured = 2000

// longerThanFile reports that old_string has more than the whole file in every reading, ignoring white space.
func (t *Text) longerThanFile(readings []*reading) bool {
	size := ink(t.data)
	for _, r := range readings {
		if size < minMeasured || ink(r.old.data) <= size {
			return false
		}
	}
	return true
}

// planFound makes the plan for what a pass has found, or refuses it.
func (t *Text) planFound(c Change, f *finding) (*Plan, *Refusal) {
	if refusal := t.choose(c, f); refusal != nil {
		return nil, refusal
	}
	if refusal := t.staleTwin(c, f); refusal != nil {
		return nil, refusal
	}
	if f.reading.unclear {
		return nil, t.unclearEscapes(f.hits[0].Range)
	}
	if refusal := t.settleIndentation(f); refusal != nil {
		return nil, refusal
	}
	p := &Plan{Pass: f.number, PassName: f.name}
	for _, h := range f.hits {
		p.Places = append(p.Places, h.Range)
	}
	var refusal *Refusal
	if f.reading, refusal = t.adapted(c, f.reading, p.Places); refusal != nil {
		return nil, refusal
	}
	p.Warnings = t.warnings(f)
	if f.number == 1 && c.Strictness != Exact {
		if refusal := t.exactEdits(c, f, p); refusal != nil {
			return nil, refusal
		}
	} else {
		for _, h := range f.hits {
			edits, refusal := t.edits(c, f, h)
			if refusal != nil {
				return nil, refusal
			}
			p.Edits = append(p.Edits, edits...)
		}
	}
	if overlapping(p.Edits) {
		return nil, t.conflictAt(p.Places[0], "the places of old_string lie so close that their changes overlap")
	}
	if len(p.Edits) == 0 {
		return nil, t.noEffect(p.Places[0])
	}
	return p, nil
}

// overlapping reports whether edits are not sorted, or overlap.
func overlapping(edits []Edit) bool {
	for i := 1; i < len(edits); i++ {
		if edits[i].Start < edits[i-1].End {
			return true
		}
	}
	return false
}

// edits are those for one hit.
func (t *Text) edits(c Change, f *finding, h hit) ([]Edit, *Refusal) {
	switch {
	case f.number > 1 && c.inserted(h.Range):
		return nil, t.ownInsertion(h.Range)
	case f.number == 1:
		return t.literalEdits(f.reading, h.Range), nil
	case !f.reading.shrinks() && t.presentAt(f, h):
		return nil, t.alreadyApplied(h.Range)
	case f.number == indentationPass && !c.All && c.NearLine == 0:
		// The block that old_string stood for may have become new_string, and this one be like it, but at another depth.
		fresh := strings.Trim(f.reading.new, "\n")
		at := bytes.Index(t.data, []byte("\n"+fresh+"\n")) + 1
		there := Range{at, at + len(fresh)}
		if at > 0 && strings.Contains(fresh, "\n") && (there.End <= h.Start || there.Start >= h.End) &&
			alnums([]byte(fresh)) >= 12 && squeeze([]byte(fresh)) != squeeze(f.reading.old.data) && !f.reading.shrinks() {
			return nil, t.alreadyApplied(there)
		}
	}
	a := t.align(f, h)
	if refusal := t.twice(f.reading, a); refusal != nil {
		return nil, refusal
	}
	return t.project(f.number, f.reading, a)
}

// adapted is a reading with new_string as it is meant for its places: without what it has and old_string has not, and
// indented as the file is. It is refused when what else it has was most likely not meant to be written. A strictness of
// exact means it literally.
func (t *Text) adapted(c Change, r *reading, places []Range) (*reading, *Refusal) {
	if c.Strictness == Exact {
		return r, nil
	}
	breaks := strings.HasSuffix(r.new, "\n") || strings.HasSuffix(r.new, `\n`) // else it is a blank line with a number
	r, refusal := t.newAlone(r, places[0])
	if breaks {
		r = t.dropExtraBreak(r, places)
	}
	if refusal == nil {
		refusal = cmp.Or(t.placeholders(r, places), t.onlyNewMarked(r, places), t.onlyNewFenced(r, places))
	}
	if refusal != nil {
		return nil, refusal
	}
	return t.keepFirstIndent(t.inFileForm(r, places[0]), places[0])
}

// maxNearLine is how close a place must be to near_line to be chosen; it must also be twice as close as the next.
const maxNearLine = 20

// choose leaves in a finding the places to be changed, or refuses when it is not clear which they are.
func (t *Text) choose(c Change, f *finding) *Refusal {
	n := len(f.hits)
	switch {
	case c.All && n == maxHits: // there may be more
		return guard(fmt.Sprintf("old_string fits %d places or more, too many for one edit; nothing was changed.", n),
			"Use a program such as sed, or an old_string that fits fewer places.")
	case c.Expected > 0 && c.All && n != c.Expected:
		return t.miscounted(c, f)
	case c.All || n == 1:
		return nil
	case c.NearLine <= 0:
		return t.ambiguous(f)
	}
	best, first, second := 0, 1<<30, 1<<30
	for i, h := range f.hits {
		from, to := t.span(h.Range)
		switch d := max(from+1-c.NearLine, c.NearLine-to, 0); {
		case d < first:
			best, first, second = i, d, first
		case d < second:
			second = d
		}
	}
	if first > maxNearLine || second < 2*first || second == first {
		return t.ambiguous(f)
	}
	f.hits = f.hits[best : best+1]
	return nil
}

// maxTwinLines is how many lines staleTwin compares: in a file of lines that are all equal it would be all with all.
const maxTwinLines = 1_000_000

// staleTwin refuses a place that has other blanks than old_string where lines elsewhere have the same, and are all of
// its lines but one, which is another, comes or is missing: old_string may be those as they were before an edit.
func (t *Text) staleTwin(c Change, f *finding) *Refusal {
	old := newSource(bytes.Trim(toLF(f.reading.old.data), "\n"), nil).rightTrimmed()
	n, compared := len(old), 0
	if f.number < indentationPass || f.number > lastComment || len(f.hits) > 1 || c.NearLine > 0 || n < 2 ||
		!bytes.Contains(t.data, []byte(old[0])) && !bytes.Contains(t.data, []byte(old[n-1])) {
		return nil
	}
	lines := t.rightTrimmed()
	first, last := t.span(f.hits[0].Range)
	head, tail := equalEnds(old, lines[first:last])
	here := head + tail
	for i := 0; i < 3*len(lines) && compared < maxTwinLines; i++ {
		from, to := i/3, i/3+n-1+i%3
		if from < last && to > first || to > len(lines) {
			continue
		}
		head, tail := equalEnds(old, lines[from:to])
		kept := head + tail
		compared += kept
		twin := kept == min(n, to-from) && min(head, tail) > 0
		if to-from == n {
			twin = kept == n-1 && likeness(old[head], lines[from+head]) > 0
		}
		if !twin || kept <= here || alnums([]byte(strings.Join(slices.Concat(old[:head], old[n-tail:]), ""))) < 12 {
			continue
		}
		return &Refusal{Kind: Ambiguous, Count: 2, Message: fmt.Sprintf("old_string fits %s%s, and has the blanks of %s "+
			"and all lines but one: it may be these lines as they were before an edit.",
			t.where(f.hits[0].Range), butFor(f.pass), lineSpan(from, to)),
			Hint:    "Copy old_string from the place that you mean, exactly.",
			Excerpt: t.numberedLines(first, last) + "\n" + t.numberedLines(from, to), Candidates: []Candidate{
				{StartLine: first + 1, EndLine: last, Similarity: 1}, {StartLine: from + 1, EndLine: to, Similarity: 1}}}
	}
	return nil
}

// literalEdits put new_string in place of old_string, with the line endings that the file has there.
func (t *Text) literalEdits(r *reading, at Range) []Edit {
	was := t.data[at.Start:at.End]
	with := []byte(r.new)
	if !bytes.Equal(toLF(with), toLF(r.old.data)) {
		if at.Start > 0 && was[0] == '\n' && t.data[at.Start-1] == '\r' {
			at.Start-- // a line ending is changed as a whole
			was = t.data[at.Start:at.End]
		}
		with = t.fitEndings(r, at)
	}
	if bytes.Equal(was, with) {
		return nil
	}
	return []Edit{{at, with}}
}

// fitEndings gives each line of new_string the ending that it has in the file, or that of the line it takes the place
// of, and lines that come the ending of the line before.
func (t *Text) fitEndings(r *reading, at Range) []byte {
	fresh := newSource(toLF([]byte(r.new)), nil)
	counterpart := counterparts(r.old, fresh)
	var out []byte
	first := t.lineAt(at.Start)
	last := first
	for i, l := range fresh.lines {
		out = append(out, fresh.text(i)...)
		if counterpart[i] >= 0 {
			last = first + counterpart[i]
		}
		if l.next > l.end {
			out = append(out, t.eol(last)...)
		}
	}
	return out
}

// counterparts gives for each line of new_string the line of old_string that it is, has become of or takes the place
// of, and -1 for one that comes.
func counterparts(old, fresh *source) []int {
	out := slices.Repeat([]int{-1}, len(fresh.lines))
	x, y := old.rightTrimmed(), fresh.rightTrimmed()
	o, n := 0, 0
	through := func(toOld, toNew int) { // lines that are not paired take each other's place in order
		for ; o < toOld && n < toNew; o, n = o+1, n+1 {
			out[n] = o
		}
		o, n = toOld, toNew
	}
	for _, h := range diffLines(x, y) {
		through(h.a, h.na)
		if (h.b-h.a)*(h.nb-h.na) <= maxPairs {
			for _, pair := range bestPairs(h.b-h.a, h.nb-h.na, func(i, j int) float64 {
				return likeness(x[h.a+i], y[h.na+j])
			}) {
				through(h.a+pair[0], h.na+pair[1])
				through(o+1, n+1)
			}
		}
		through(h.b, h.nb)
	}
	through(len(x), len(y))
	return out
}

// presentForm is the equivalence in which new_string is searched for in the file, to see whether an edit was made
// before.
const presentForm = trailingBlanks | leadingBlanks | unicodeForms | blankRuns | blankLines

// presentAt reports that new_string is in the file already, over the very place of old_string. A deletion, whose
// new_string is a part of old_string, is always there and says nothing.
func (t *Text) presentAt(f *finding, h hit) bool {
	form := f.ignores&^(comments|separators) | trailingBlanks | leadingBlanks
	return slices.ContainsFunc(t.occurrencesOfNew(f.reading, form, 1, &h.Range), func(r Range) bool {
		return r.Start < h.End && r.End > h.Start
	})
}

// present refuses, before anything looser than equality is tried, when new_string is in the file already.
func (t *Text) present(c Change, readings []*reading) *Refusal {
	if c.Strictness == Exact {
		return nil
	}
	for _, r := range readings {
		if r.shrinks() {
			continue // pass 8 looks at that
		}
		if at := t.occurrencesOfNew(r, presentForm, 12, nil); len(at) > 0 {
			return t.alreadyApplied(at[0])
		}
	}
	return nil
}

// shrinks reports that lines go: that new_string is in the file does not say whether they have.
func (r *reading) shrinks() bool {
	return len(newSource([]byte(r.new), nil).filledLines(math.MaxInt)) < len(r.old.filledLines(math.MaxInt))
}

// occurrencesOfNew are the places of new_string in the file, or at a place of it, none when it has too few letters or
// is a part of old_string.
func (t *Text) occurrencesOfNew(r *reading, form equivalence, letters int, at *Range) []Range {
	fresh := normalize(newSource([]byte(r.new), t.syntax), form).trimmed()
	old := normalize(r.old, form).trimmed()
	if len(fresh.text) == 0 || letters > 1 && alnums(fresh.text) < letters || bytes.Contains(old.text, fresh.text) {
		return nil
	}
	if at != nil {
		return t.occurrencesAt(*at, form, fresh)
	}
	return t.occurrences(t.stream(form), fresh)
}

// occurrencesAt are the places of a text that a place of the file can be a part of.
func (t *Text) occurrencesAt(at Range, form equivalence, text *stream) []Range {
	return t.occurrences(normalizeLines(t.source, form, []span{t.reach(at, len(text.text))}), text)
}

// maxOccurrences bounds the occurrences of new_string that are examined.
const maxOccurrences = 1000

// occurrences are the places of a text in the file that do not start or end within a word.
func (t *Text) occurrences(file, text *stream) (out []Range) {
	for i := range indexes(file.text, text.text, false) {
		r := Range{int(file.start[i]), int(file.end[i+len(text.text)-1])}
		if !insideWord(t.data, r.Start) && !insideWord(t.data, r.End) {
			out = append(out, r)
		}
		if len(out) == maxOccurrences {
			break
		}
	}
	return out
}
