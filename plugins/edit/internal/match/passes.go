package match

import (
	"bytes"
	"iter"
	"slices"
	"unicode"
)

// A pass looks for old_string in the file, with both in the normal form of an equivalence. Several rows may share a
// number.
type pass struct {
	number  int    // as results and warnings give it
	name    string // likewise
	differs string // in what old_string may differ from the file, for warnings
	ignores equivalence
}

// passes are tried in this order, for every reading of old_string; the first that finds a place decides. Pass 8
// compares line by line and comes last (similar.go); all others compare for equality (search). From pass 2 on
// old_string is searched for without the white space around it. To add a pass, add a row: see allows and fits for
// what a place must have besides.
var passes = []pass{
	// Byte for byte, ignoring line endings. The only pass that may find a part of a word.
	{1, "exact", "", 0},
	// Blank lines around old_string, and indentation of its first line.
	{2, "trimmed", "white space around it", 0},
	{blanksPass, "trailing blanks", "blanks at the end of lines", trailingBlanks},
	// Indentation; new lines are indented as the lines around them are in the file (indentation.go).
	{indentationPass, "tabs and spaces", "indentation", trailingBlanks | leadingBlanks},
	// Composed and decomposed letters, quotes, dashes, width. The last pass for replace_all.
	{5, "Unicode forms", "line endings or forms of Unicode", trailingBlanks | leadingBlanks | unicodeForms},
	{6, "runs of blanks", "runs of blanks or blank lines", trailingBlanks | leadingBlanks | unicodeForms | blankRuns},
	{6, "runs of blanks", "runs of blanks or blank lines", lineForm &^ comments},
	// Comments left out or in other words. From here on only whole lines are found.
	{7, "comments", "comments", lineForm},
	// White space of any kind, line breaks, which quote is used; then separators; then comments as well.
	{lastPass, "key tokens", "white space, line breaks and separators", allSpace | unicodeForms},
	{lastPass, "key tokens", "white space, line breaks and separators", allSpace | unicodeForms | separators},
	{lastPass, "key tokens", "white space, line breaks and separators", allSpace | unicodeForms | separators | comments},
	// Misspelt words, a few lines that differ, are missing or too many: the one place that is clearly the best.
	{similarPass, "similar lines", "a few words or lines", lineForm},
}

const (
	indentationPass = 4
	blanksPass      = 3 // the first pass in which the places have other blanks than old_string
	similarPass     = 8
	lastPass        = 9
	lastForAll      = 5 // the last pass that may change all places of old_string
	lastComment     = 6 // the last pass to which comments are text like any other
	maxHits         = 100_000
)

// lineForm is the equivalence in which pass 8 compares lines.
const lineForm = trailingBlanks | leadingBlanks | unicodeForms | blankRuns | blankLines | comments

func passNumbered(n int) pass {
	return passes[slices.IndexFunc(passes, func(p pass) bool { return p.number == n })]
}

// A hit is a place found in a stream: its bytes i to j.
type hit struct {
	Range
	i, j int
}

// A finding is the result of a pass for a reading.
type finding struct {
	pass
	order   int // of the pass
	reading *reading
	file    *stream
	old     *stream
	hits    []hit
	short   bool // old_string has so little in it that it must be whole lines, with the same signs in the same order
}

// find tries the passes in order and returns what the first of them finds for the first reading that has a place. It
// iterates over passes, not readings, so that a large file is normalized once for each of them.
func (t *Text) find(c Change, readings []*reading) *finding {
	raw := &finding{pass: passes[0], reading: newReading("", c.Old, c.New, 1, t.syntax)}
	for _, part := range t.candidates(raw.reading) {
		text := t.bytes(part)
		for i := range indexes(text, []byte(c.Old), c.All) {
			i += t.lines[part.from].start
			if h := (hit{Range: Range{i, i + len(c.Old)}}); c.Strictness == Exact || t.wholeCharacters(h.Range) {
				raw.hits = append(raw.hits, h)
			}
			if len(raw.hits) == maxHits {
				break
			}
		}
	}
	if len(raw.hits) > 0 {
		return t.anyIndentation(c, raw)
	}
	found := make([]*finding, len(readings))
	for order, p := range passes {
		if p.number == similarPass || p.number > 1 && c.Strictness == Exact ||
			p.number > similarPass && c.Strictness == Safe || p.number > lastForAll && c.All {
			continue
		}
		if f := earliest(found); p.number > lastComment && f != nil && f.reading.lastPass < p.number {
			return f // a reading with escapes is closer to the file than one that has to ignore comments
		}
		for i, r := range readings {
			if found[i] != nil || p.number > r.lastPass || t.lacksWord(p, r) {
				continue
			}
			if found[i] = t.search(p, r, c.All); found[i] != nil {
				if p.number == 1 {
					found[i] = t.anyIndentation(c, found[i])
				}
				found[i].order = order
			}
		}
		if found[0] != nil {
			return found[0]
		}
	}
	return earliest(found)
}

// anyIndentation is an exact finding, or that of the pass that ignores indentation if old_string begins within the
// indentation of each line that it was found on and there are more such lines: its own indentation is none of theirs
// then, and says nothing about which of them it means.
func (t *Text) anyIndentation(c Change, f *finding) *finding {
	old := f.reading.old
	if c.Strictness == Exact || !blankByte(old.data[0]) || isBlank(old.text(0)) ||
		slices.ContainsFunc(f.hits, func(h hit) bool {
			before := t.data[t.lines[t.lineAt(h.Start)].start:h.Start]
			return len(before) == 0 || !isBlank(before)
		}) {
		return f
	}
	p := passNumbered(indentationPass)
	more := t.search(p, f.reading, c.All)
	if more == nil || len(more.hits) <= len(f.hits) {
		return f
	}
	// The indentation of further lines fits where it was found: only a first line with just its own counts against that.
	if len(old.filledLines(2)) > 1 && !slices.ContainsFunc(more.hits, func(h hit) bool {
		return leading(t.text(t.lineAt(h.Start))) == leading(old.data)
	}) {
		return f
	}
	return more
}

// wholeCharacters reports that a place neither starts nor ends between a letter and the mark on it.
func (t *Text) wholeCharacters(r Range) bool {
	return !startsMark(t.data[r.Start:]) && !startsMark(t.data[r.End:])
}

// earliest is the finding of the strictest pass.
func earliest(all []*finding) (best *finding) {
	for _, f := range all {
		if f != nil && (best == nil || f.order < best.order) {
			best = f
		}
	}
	return best
}

// search looks for a reading of old_string in the stream of a pass. It returns nil when there is no place.
func (t *Text) search(p pass, r *reading, all bool) *finding {
	file, old := t.streamFor(p, r), normalize(r.old, p.ignores)
	if p.number > 1 {
		old = old.trimmed()
	}
	if len(old.text) == 0 {
		return nil
	}
	f := &finding{pass: p, reading: r, file: file, old: old}
	if p.ignores&comments != 0 && t.elision(r) != "" {
		return nil
	}
	if p.number > 1 && !p.allows(r, old) {
		f.short = alnums(old.text) > 0 && len(old.text) > 1 && p.ignores&comments == 0
		if !f.short {
			return nil
		}
	}
	last := 0
	for i := range indexes(file.text, old.text, false) {
		h := hit{i: i, j: i + len(old.text)}
		h.Range = Range{int(file.start[h.i]), int(file.end[h.j-1])}
		if all && i < last || !file.border(h.i) || !file.border(h.j) || p.number > 1 && !t.fits(f, h) ||
			!t.wholeCharacters(h.Range) || r.name == "dashes" && (insideRun(t.data, h.Start) || insideRun(t.data, h.End)) ||
			r.numbers != nil && !t.numbersFit(f, h) ||
			r.name == "diff" && !(t.startsLine(file, h) && t.endsLine(file, h, p.ignores)) {
			continue
		}
		f.hits, last = append(f.hits, h), h.j
		if len(f.hits) == maxHits {
			break
		}
	}
	switch {
	case len(f.hits) == 0:
		return nil
	case p.ignores&(comments|maybeComments) == comments:
		return t.confirmed(f)
	}
	return f
}

// confirmed repeats a search that ignores comments, ignoring also what only may be a comment, and returns nil if that
// makes a difference: there may be more places then, or it is not clear that this is one.
func (t *Text) confirmed(f *finding) *finding {
	p := f.pass
	p.ignores |= maybeComments
	g := t.search(p, f.reading, false)
	switch {
	case g != nil && len(g.hits) > len(f.hits):
		return g
	case g == nil || g.hits[0].Range != f.hits[0].Range:
		return nil
	case len(f.hits) == 1 && (t.commentsDisagree(f.reading, t.align(f, f.hits[0])) || t.hasRival(f.reading, f.hits[0])):
		return nil
	}
	return f
}

// indexes returns the offsets at which a text has another; with apart those that do not overlap.
func indexes(text, sub []byte, apart bool) iter.Seq[int] {
	step := 1
	if apart {
		step = len(sub)
	}
	return func(yield func(int) bool) {
		for from := 0; ; {
			i := bytes.Index(text[from:], sub)
			if i < 0 || !yield(from+i) {
				return
			}
			from += i + step
		}
	}
}

// allows reports whether a normalized old_string has enough in it to be searched for.
func (p pass) allows(r *reading, old *stream) bool {
	letters := alnums(old.text)
	if p.number <= lastComment {
		return letters >= 3
	}
	first, last := r.code()
	return letters >= 12 && (p.ignores&comments == 0 || r.old.syntax != nil && first < last)
}

// fits reports whether a place starts and ends where words do, and where lines do when it must.
func (t *Text) fits(f *finding, h hit) bool {
	if insideWord(t.data, h.Start) || insideWord(t.data, h.End) || insideRun(t.data, h.Start) || insideRun(t.data, h.End) {
		return false
	}
	starts, ends := t.startsLine(f.file, h), t.endsLine(f.file, h, f.ignores)
	words := func(b []byte) []string {
		return slices.DeleteFunc(tokens().FindAllString(string(b), -1), func(s string) bool {
			return f.ignores&separators != 0 && (s == "," || s == ";")
		})
	}
	if f.short && (!starts || !ends || !slices.Equal(words(f.reading.old.data), words(t.data[h.Start:h.End]))) {
		return false
	}
	text := f.old.text
	first, last := text[:lineLen(text)], text[bytes.LastIndexByte(text, '\n')+1:]
	// Brackets alone on the first or last of several lines say nothing when they are a part of a line of the file.
	bare := len(f.reading.old.lines) > 1 && (!starts && alnums(first) == 0 || !ends && alnums(last) == 0)
	if f.number > lastComment || bare {
		return starts && ends && (f.ignores&(comments|maybeComments) != comments || t.edgeCommentsFit(f.reading, h))
	}
	return (starts || !f.reading.spaceBefore) && (ends || !f.reading.spaceAfter)
}

// startsLine reports whether a stream has nothing before a hit on its line.
func (t *Text) startsLine(s *stream, h hit) bool {
	l := t.lines[t.lineAt(h.Start)]
	return h.i == 0 || int(s.start[h.i-1]) < l.start || isBlank(t.data[l.start:h.Start])
}

// endsLine reports whether a stream has nothing after a hit on its line.
func (t *Text) endsLine(s *stream, h hit, ignores equivalence) bool {
	l := t.lines[t.lineAt(max(h.Start, h.End-1))]
	if h.j == len(s.text) || int(s.start[h.j]) >= l.end {
		return true
	}
	rest := t.data[h.End:max(h.End, l.end)]
	if ignores&separators != 0 {
		rest = bytes.TrimLeft(rest, " \t;,")
		return len(rest) == 0 || ignores&comments != 0 && t.commentStart(t.lineAt(h.End)) <= l.end-len(rest)
	}
	return isBlank(rest)
}

// maxLookups bounds the words of old_string that are looked up in the file.
const maxLookups = 200

const (
	maxRare   = 50       // places of a line that bound where old_string can be
	maxTried  = 4        // lines that are looked for
	maxNeedle = 60       // bytes of a line that are looked for: more take longer to find
	minLarge  = 64 << 10 // size of a file in which it is worth looking for them
)

// candidates are the lines of the file that can have a reading in a pass that ignores no more than indentation: in a
// large file those around one of its lines that is in few places, else all.
func (t *Text) candidates(r *reading) []span {
	if r.candidates != nil {
		return r.candidates
	}
	r.candidates = []span{{0, len(t.lines)}}
	if len(t.data) < minLarge || bytes.IndexByte(r.old.data, 0) >= 0 {
		return r.candidates
	}
	var lines [][]byte
	for i := range r.old.lines {
		l := bytes.Trim(r.old.text(i), blanks)
		lines = append(lines, l[:min(len(l), maxNeedle)])
	}
	slices.SortStableFunc(lines, func(a, b []byte) int { return len(b) - len(a) })
	for _, l := range lines[:min(len(lines), maxTried)] {
		if around, rare := t.linesAround(l, ink(r.old.data)); rare {
			r.candidates, r.bounded = around, true
			break
		}
	}
	return r.candidates
}

// linesAround are the lines that can have a text with a needle and some ink. It is false when that is in many places.
func (t *Text) linesAround(needle []byte, most int) (out []span, rare bool) {
	out = []span{}
	places := 0
	if len(needle) == 0 {
		return nil, false
	}
	for at := range indexes(t.data, needle, true) {
		if places++; places > maxRare {
			return nil, false
		}
		part := t.reach(Range{at, at + len(needle)}, most)
		if n := len(out); n > 0 && part.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, part.to)
			continue
		}
		out = append(out, part)
	}
	return out, true
}

// bounds reports whether a pass can find a reading in its candidates only, and those are not the whole file.
func (t *Text) bounds(p pass, r *reading) bool {
	t.candidates(r)
	return r.bounded && p.number <= indentationPass
}

// streamFor is the part of the file that can have a reading, in the normal form of a pass.
func (t *Text) streamFor(p pass, r *reading) *stream {
	if t.bounds(p, r) {
		return normalizeLines(t.source, p.ignores, r.candidates)
	}
	return t.stream(p.ignores)
}

// lacksWord reports whether old_string has, outside of comments, a word that is nowhere in the file. No pass that
// compares for equality can find it then: this saves normalizing a large file for those that must.
func (t *Text) lacksWord(p pass, r *reading) bool {
	if p.number == 1 || t.bounds(p, r) {
		return false
	}
	if r.lacksWord == nil {
		r.lacksWord = new(t.findForeignWord(r.old))
	}
	return *r.lacksWord
}

func (t *Text) findForeignWord(old *source) bool {
	known := old.comments()
	for _, at := range asciiWords().FindAllIndex(old.data, maxLookups) {
		for len(known) > 0 && known[0].End <= at[0] {
			known = known[1:]
		}
		if len(known) > 0 && known[0].Start < at[1] {
			continue
		}
		if unicode.IsMark(firstRune(old.data[at[1]:])) {
			continue // its last letter may be one with that mark in the file
		}
		word := old.data[at[0]:at[1]]
		if !bytes.Contains(t.data, word) && (isASCII(t.data) || !bytes.Contains(t.stream(presentForm).text, word)) {
			return true
		}
	}
	return false
}
