package match

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Pass 8 is for small files and small old_strings: it compares lines with lines.
const (
	maxSimilarLines = 400
	maxSimilarFile  = 2 << 20
	maxWindows      = 12 // parts of the file that are compared with old_string line by line
	maxCommon       = 12 // a line that is in the file more often does not say where old_string is
	slack           = 3  // how many lines more or less than old_string a window has
)

// planSimilar is pass 8: old_string as a block whose lines are nearly those of the file, in one place that is clearly
// the best.
func (t *Text) planSimilar(c Change, readings []*reading) (*Plan, *Refusal) {
	for _, r := range readings {
		if r.lastPass < lastPass || t.elision(r) != "" {
			continue
		}
		all := t.windows(r)
		if len(all) == 0 || !t.nearlyEqual(r, all[0]) {
			continue
		}
		w := all[0]
		a := t.alignWindow(r, w)
		if t.otherComments(r, a) || r.padded || r.bareNew && r.shifted() {
			continue // with bareNew or padded: how far new_string is indented does not follow from what is behind the numbers
		}
		rivals := all[1:]
		for _, at := range []int{w.first - len(r.index.keys), w.last + 1} { // too close to the best for own votes
			if v := t.layOut(r.index, at, Range{w.first, w.last + 1}); v.first >= 0 {
				rivals = append(rivals, v)
			}
		}
		for _, rival := range rivals {
			if !w.overlaps(rival) && !r.index.dominates(w, rival) {
				return nil, t.rivals(w, rival)
			}
		}
		return t.planWindow(c, r, w, a)
	}
	return nil, nil
}

func (t *Text) planWindow(c Change, r *reading, w *window, a *alignment) (*Plan, *Refusal) {
	if c.inserted(a.Range) {
		return nil, t.ownInsertion(a.Range)
	}
	r, refusal := t.adapted(c, r, []Range{a.Range})
	if refusal == nil {
		refusal = t.twice(r, a)
	}
	if refusal != nil {
		return nil, refusal
	}
	right := *r // new lines have words as the file spells them, too
	typos := slices.DeleteFunc(slices.Clone(w.typos), func(s substitution) bool { return !s.certain() })
	right.old, right.new = newSource(t.respell(r.old.data, typos), t.syntax), string(t.respell([]byte(r.new), typos))
	edits, refusal := t.project(similarPass, &right, a)
	if refusal != nil {
		return nil, refusal
	}
	if len(edits) == 0 {
		return nil, t.noEffect(a.Range)
	}
	return &Plan{Edits: edits, Places: []Range{a.Range}, Pass: similarPass, PassName: passNumbered(similarPass).name,
		Warnings: t.similarWarnings(r, w)}, nil
}

// hasRival reports that, line by line, another part of the file is as similar to a reading as the place h, or a part
// of what is a comment there. What is a comment at one place need not be one at the other.
func (t *Text) hasRival(r *reading, h hit) bool {
	from, to := t.span(h.Range)
	here := &window{first: from, last: to - 1}
	all := t.windows(r)
	if r.index == nil {
		return false
	}
	file := t.lineIndex()
	commented := func(j int) bool { return j >= from && j < to && file.comment[j] }
	for i, key := range r.index.keys {
		if r.index.isCode(i) && slices.ContainsFunc(file.at[key], commented) {
			return true
		}
	}
	at := slices.IndexFunc(all, here.overlaps)
	return at >= 0 && slices.ContainsFunc(all, func(w *window) bool {
		return !w.overlaps(here) && !r.index.dominates(all[at], w)
	})
}

// A lineIndex has the lines of a text in the form in which pass 8 compares them.
type lineIndex struct {
	keys    []string // of each line; "" for a blank one
	comment []bool   // the line is a comment
	source  *source
	weight  []float64
	at      map[string][]int // where a key is, of lines that are informative
}

// minWeight is the least weight, the root of the count of letters and digits, of an informative line.
var minWeight = math.Sqrt(3)

// informative reports that a line has enough in it to distinguish it from others, isCode that it is also no comment.
func (x *lineIndex) informative(i int) bool { return x.weight[i] >= minWeight }
func (x *lineIndex) isCode(i int) bool      { return x.informative(i) && !x.comment[i] }

// ends are the first and the last informative line, or -1.
func (x *lineIndex) ends() (first, last int) {
	first, last = -1, -1
	for i := range x.keys {
		if x.informative(i) {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	return first, last
}

func newLineIndex(src *source, s *stream) *lineIndex {
	n := len(src.lines)
	x := &lineIndex{source: src, keys: make([]string, n), comment: make([]bool, n), weight: make([]float64, n),
		at: map[string][]int{}}
	i, from := 0, 0
	for k, c := range s.text {
		if c == '\n' || k == len(s.text)-1 {
			i = src.lineFrom(i, int(s.start[k]))
			end := k
			if c != '\n' {
				end++
			}
			x.keys[i] = string(s.text[from:end])
			from = k + 1
		}
	}
	for i, key := range x.keys {
		if key == "" && !isBlank(src.text(i)) {
			key = src.key(i)
			x.keys[i], x.comment[i] = key, true
		}
		if x.weight[i] = math.Sqrt(float64(alnums([]byte(key)))); x.informative(i) {
			x.at[key] = append(x.at[key], i)
		}
	}
	return x
}

// lineIndex is the index of the file.
func (t *Text) lineIndex() *lineIndex {
	if t.index == nil {
		t.index = newLineIndex(t.source, t.stream(lineForm))
	}
	return t.index
}

// windows are the parts of the file that are most similar to a reading, the best first.
func (t *Text) windows(r *reading) []*window {
	if len(t.data) > maxSimilarFile || len(r.old.lines) > maxSimilarLines {
		return nil
	}
	if r.windows != nil {
		return r.windows
	}
	file := t.lineIndex()
	r.index = newLineIndex(r.old, normalize(r.old, lineForm))
	votes := map[int]float64{} // for the offset between lines of both that are equal
	for i, key := range r.index.keys {
		if r.index.informative(i) && len(file.at[key]) <= maxCommon {
			for _, j := range file.at[key] {
				votes[j-i] += r.index.weight[i]
			}
		}
	}
	r.windows = t.windowsAt(r, votes)
	return r.windows
}

// windowsAt lays out a reading on the parts of the file with the most votes, those for neighboring offsets included.
func (t *Text) windowsAt(r *reading, votes map[int]float64) (out []*window) {
	type peak struct {
		at  int
		sum float64
	}
	all := make([]peak, 0, len(votes))
	for d, own := range votes {
		p := peak{d, own / 1000}
		for k := d - slack; k <= d+slack; k++ {
			p.sum += votes[k]
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b peak) int { return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(a.at, b.at)) })
	var taken []int
	for _, p := range all {
		if slices.ContainsFunc(taken, func(d int) bool { return abs(d-p.at) <= slack }) {
			continue
		}
		if taken = append(taken, p.at); len(taken) > maxWindows {
			break
		}
		if w := t.layOut(r.index, p.at, Range{}); w.first >= 0 {
			out = append(out, w)
		}
	}
	slices.SortStableFunc(out, func(a, b *window) int { return cmp.Or(cmp.Compare(b.score, a.score), a.first-b.first) })
	return out
}

// A tally counts the informative lines of old_string, by what a window has of them.
type tally struct {
	lines, letters, code int
	equal, literal       int // literal are those of equal that are code
	typos                int // the same but for misspelt words
	others               int // paired with another line
	reworded, loose      int // comments of others in other words, in quite other ones
	missing              int
	extra                int    // lines of code that only the window has
	has                  []bool // whether the window has each line that is no comment in other words
}

func (t *Text) tally(r *reading, w *window) (n tally) {
	x, file := r.index, t.lineIndex()
	for i, key := range x.keys {
		if !x.informative(i) {
			continue
		}
		n.lines++
		n.letters += len(key)
		if !x.comment[i] {
			n.code++
		}
		switch {
		case w.pairs[i] < 0:
			n.missing++
		case w.relations[i] == same:
			if n.equal++; !x.comment[i] {
				n.literal++
			}
		case w.relations[i] == typo:
			n.typos++
		default:
			n.others++
			if w.relations[i] == skipped && len(file.at[key]) == 0 { // else it is that of another place
				if n.reworded++; t.compare(key, file.keys[w.pairs[i]]) < minSameLine {
					n.loose++
				}
			}
		}
		if w.pairs[i] < 0 || w.relations[i] != skipped {
			n.has = append(n.has, w.has(i))
		}
	}
	for j := w.first; j <= w.last; j++ {
		if file.isCode(j) && !slices.Contains(w.pairs, j) {
			n.extra++
		}
	}
	return n
}

// allowed is how many lines may be others, missing or too many: those are less of a doubt than other lines, and lines
// that old_string only leaves out the least.
func (n tally) allowed() (most int) {
	counted := n.lines
	if n.others > 0 {
		counted = n.code
	}
	switch {
	case counted >= 18:
		most = 2
	case counted >= 5, n.equal == n.lines: // which only leaves out a line
		most = 1
	}
	if n.equal == n.lines && counted >= 8 {
		most++
	}
	return most
}

// nearlyEqual reports that a window is so similar to old_string that it can be nothing else.
func (t *Text) nearlyEqual(r *reading, w *window) bool {
	n := t.tally(r, w)
	lines, others := n.lines, n.others
	// Where all of the code is there comments may be in other words: with little code only a few, and not in quite
	// other ones.
	if n.literal == n.code && n.missing+n.extra == 0 && (n.code >= 2 && n.reworded <= maxReworded*n.code ||
		n.loose == 0 && n.reworded <= n.equal) {
		lines, others = lines-n.reworded, others-n.reworded
	}
	return n.lines >= 3 && n.letters >= 40 && len(n.has) > 0 && n.has[0] && n.has[len(n.has)-1] && r.hasOuterBrackets(w) &&
		n.equal >= 2 && n.equal*100 >= 55*lines && n.typos*100 <= 45*lines &&
		others+max(n.missing, n.extra) <= n.allowed() && !w.renames() && !t.contradicts(r, w)
}

// hasOuterBrackets reports that the file has the brackets that old_string begins and ends with: else it is half of
// another block.
func (r *reading) hasOuterBrackets(w *window) bool {
	first, last := r.index.ends()
	for i, key := range r.index.keys {
		if (i < first || i > last) && key != "" && !r.index.comment[i] && w.pairs[i] < 0 {
			return false
		}
	}
	return true
}

// renames reports that one word stands for another on several lines: a change of name, not a typo.
func (w *window) renames() bool {
	for i, s := range w.typos {
		if slices.Contains(w.typos[:i], s) {
			return true
		}
	}
	return false
}

// contradicts reports that a line differs from the file in a number, in a name that the file has as well, or that it
// says the opposite: another line then, however similar it is.
func (t *Text) contradicts(r *reading, w *window) bool {
	for i, k := range w.relations {
		if k != altered || w.pairs[i] < 0 {
			continue
		}
		old, file := r.index.keys[i], t.lineIndex().keys[w.pairs[i]]
		was, sense := t.polarity(old)
		if is, other := t.polarity(file); was == is && sense != other {
			return true
		}
		words, _, _ := otherWords(old, file)
		if len(words) <= 2 && slices.ContainsFunc(words, func(s substitution) bool {
			return digits(s.old) != digits(s.file) || t.hasWord(s.old)
		}) {
			return true
		}
	}
	return false
}

// polarity parts a line into what it speaks of and the words, in a program also signs, that can turn its sense.
func (t *Text) polarity(line string) (rest, sense string) {
	for _, word := range tokens().FindAllString(line, -1) {
		switch {
		case turning[strings.ToLower(word)] && (!t.prose() || wordRune(firstRune([]byte(word)))):
			sense += word
		case strings.Trim(word, "=*/,;") != "":
			rest += word + " "
		}
	}
	return rest, sense
}

// turning are the words and signs without which a condition or a value is the opposite.
var turning = setOf(strings.Fields("! < > & | + - not and or true false yes no on off"))

// dominates reports that nothing speaks for the rival: no line of old_string is more similar to one of its lines than
// to one of the winner's, and it lacks two lines that the winner has. One is enough where it is code that the winner
// has to the letter, and all others are there but for typos, with nothing between them and with the same comments. A
// typo counts for both when both have what it misspells.
func (x *lineIndex) dominates(w, rival *window) bool {
	fewer, complete := 0, true
	for i := range x.keys {
		if !x.informative(i) {
			continue
		}
		switch has, other := w.has(i), rival.has(i); {
		case x.comment[i] && !has:
			complete = false
		case other && (!has || w.relations[i] != same && rival.relations[i] == same):
			return false
		case has && !other:
			fewer++
			complete = complete && w.relations[i] == same && !x.comment[i]
		default:
			complete = complete && has
		}
	}
	return fewer >= 2 || fewer == 1 && complete && !w.more
}

// alignWindow makes the alignment of a window.
func (t *Text) alignWindow(r *reading, w *window) *alignment {
	a := &alignment{ignores: lineForm}
	a.Start, a.End = t.lines[w.first].start+indentLen(t.text(w.first)), t.lines[w.last].end
	at := w.first
	for i, j := range w.pairs {
		if j < 0 {
			a.blocks = append(a.blocks, block{i, i + 1, at, at, skipped})
			if r.index.keys[i] != "" && !r.index.comment[i] {
				a.blocks[len(a.blocks)-1].relation = altered
			}
			continue
		}
		a.blocks = append(a.blocks, unpaired(i, i, at, j)...)
		at = j + 1
		if w.relations[i] == altered && similarity(r.index.keys[i], t.lineIndex().keys[j]) < minAlike {
			// Not the same line: one too many and one too few.
			a.blocks = append(a.blocks, block{i, i + 1, j, j, altered}, block{i + 1, i + 1, j, j + 1, skipped})
			continue
		}
		a.blocks = append(a.blocks, block{i, i + 1, j, j + 1, w.relations[i]})
	}
	return a
}
