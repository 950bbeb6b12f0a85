package match

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// What a refusal shows when old_string is not in the file: the parts of the file that are most similar to it.
const (
	maxCandidates = 3
	minScore      = 0.4      // similarity of a block that is shown as a candidate
	maxAsked      = 40       // lines of old_string that are searched for, fewer in a large file
	maxLooked     = 80 << 20 // bytes that are searched for them
	maxNear       = 60       // lines of the file that are compared with each
	minStretch    = 0.7      // similarity of a part of a line that is shown instead of the line
	minShared     = 0.05     // how much of a line of old_string a line of the file must share to be shown at all
	fewShared     = 0.3      // with less than that in common it is more likely that the file is another one
	maxOneLine    = 2000     // bytes of a line that is shown whole

	copyHint = "If that is the place, use the text of these lines as old_string, exactly as they are; " +
		"else read the file again."
)

// notFound refuses because old_string is not in the file, and says what comes closest and how it differs.
func (t *Text) notFound(c Change, readings []*reading) *Refusal {
	r := &Refusal{Kind: NotFound, Message: "old_string is not in the file."}
	if t.foundByLooserPass(c, r) {
		return r
	}
	read := readings[0]
	for _, one := range readings[1:] {
		if one.lastPass == lastPass {
			read = one
		}
	}
	if line := t.elision(read); line != "" {
		t.showClosest(c, read, r)
		r.Message += " old_string has the line " + quoteShort(line) +
			", which stands for lines left out, and the file does " +
			"not have it."
		r.Hint = "Give old_string in full, or make one edit for each of the parts, in one call of multi."
		return r
	}
	text, what := wrapping(c.Old)
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	if what == "" || isBlankString(text) || !t.hasLine(lines[0]) && !t.hasLine(lines[len(lines)-1]) {
		t.showClosest(c, read, r)
		return r
	}
	t.showClosest(c, newReading("", text, c.New, lastPass, t.syntax), r)
	r.Message += " old_string " + what + ", which the file does not have."
	return r
}

// wrapping returns old_string without what may have been put around it or before its lines, and says what that is; ""
// when there is nothing like it.
func wrapping(old string) (text, what string) {
	for _, w := range wrappings {
		if text, _, ok := w.undo(Change{Old: old}); ok {
			return text, w.how
		}
	}
	if text, ok := withoutColumn(old, " -+"); ok && hasLineWith(old, "-") {
		return text, "has the first column of a diff"
	}
	return old, ""
}

// showClosest shows the lines that are most similar to a reading of old_string.
func (t *Text) showClosest(c Change, read *reading, r *Refusal) {
	if t.showStretch(c, read.old, r) {
		return
	}
	all, lines := t.windows(read), read.old.filledLines(2)
	if len(all) == 0 && read.index != nil && len(lines) > 1 { // no line is equal
		from, _, _ := t.nearestBlock(c, read.old)
		all = t.windowsAt(read, map[int]float64{from - lines[0]: 1})
	}
	var candidates []Candidate
	for _, w := range all[:min(len(all), maxCandidates)] {
		if w.score >= minScore {
			candidates = append(candidates, w.candidate())
		}
	}
	if len(candidates) == 0 {
		if !t.showNearest(c, read, r) {
			r.Hint = farHint(c)
		}
		return
	}
	w := all[0]
	r.Message = closestMessage(w.first, w.last+1, candidates[0].Similarity)
	if cause := t.cause(read, w); cause != "" {
		r.Message += " " + cause
	}
	r.Diff = t.windowDiff(read, w)
	from, to := t.extend(w)
	t.showLines(r, from, to)
	if r.Exact == "" { // too long: where it begins to differ
		from = w.firstDifference()
		t.showLines(r, max(w.first, from-5), min(w.last+1, from+15))
	}
	r.Candidates, r.Hint = candidates, copyHint
}

func closestMessage(from, to int, similarity float64) string {
	return fmt.Sprintf("old_string is not in the file. Closest: %s (%.0f %% alike).", lineSpan(from, to), similarity*100)
}

// foundByLooserPass explains a refusal by the strictness or replace_all, when that is all that is in the way.
func (t *Text) foundByLooserPass(c Change, r *Refusal) bool {
	if c.Strictness == Full && !c.All {
		return false
	}
	loose := c
	loose.Strictness, loose.All, loose.Expected = Full, false, 0
	f := t.find(loose, t.readings(loose))
	if f == nil {
		return false
	}
	at := f.hits[0].Range
	r.Message = fmt.Sprintf("old_string is not in the file literally; %s has it%s.", t.where(at), butFor(f.pass))
	r.Hint = "Copy old_string from there, exactly."
	if c.All {
		r.Hint = "For replace_all old_string must match the file exactly, except for white space: copy it from there."
	}
	t.show(r, at)
	r.Candidates[0].Why = "the same" + butFor(f.pass)
	return true
}

func (w *window) candidate() Candidate {
	equal := 0
	for i := range w.pairs {
		if w.pairs[i] >= 0 && w.relations[i] == same {
			equal++
		}
	}
	return Candidate{StartLine: w.first + 1, EndLine: w.last + 1, Similarity: math.Round(w.score*100) / 100,
		Why: fmt.Sprintf("%s of old_string equal, %d not", plural(equal, "line"), len(w.pairs)-equal)}
}

// extend returns the lines of the file that a window is on, with as many more at its ends as old_string has there
// unpaired.
func (t *Text) extend(w *window) (from, to int) {
	paired := func(j int) bool { return j >= 0 }
	head, tail := slices.IndexFunc(w.pairs, paired), 0
	for w.pairs[len(w.pairs)-1-tail] < 0 {
		tail++
	}
	from, to = max(0, w.first-head), min(len(t.lines), w.last+1+tail)
	for from < w.first && isBlank(t.text(from)) {
		from++
	}
	for to > w.last+1 && isBlank(t.text(to-1)) {
		to--
	}
	return from, to
}

// firstDifference is the line of the file where a window begins to differ from old_string.
func (w *window) firstDifference() int {
	at := w.first
	for i, j := range w.pairs {
		if j < 0 || w.relations[i] != same || j > at {
			return at
		}
		at = j + 1
	}
	return at
}

// cause names the first thing in which a window differs from old_string.
func (t *Text) cause(r *reading, w *window) string {
	at, comment := w.first, ""
	for i, key := range r.index.keys {
		j := w.pairs[i]
		if j < 0 {
			if r.index.isCode(i) {
				return fmt.Sprintf("old_string has the line %s, which is not there.", quoteShort(key))
			}
			if comment == "" && r.old.commentOnly(i) {
				comment = fmt.Sprintf("old_string has the comment %s, which is not there.",
					quoteShort(string(bytes.TrimSpace(r.old.text(i)))))
			}
			continue
		}
		for k := at; k < j; k++ {
			if t.lineIndex().isCode(k) {
				return fmt.Sprintf("Line %d, %s, is missing in old_string.", k+1, quoteShort(t.lineIndex().keys[k]))
			}
		}
		at = j + 1
		if w.relations[i] == altered || w.relations[i] == typo {
			return t.lineCause(r.old, i, j)
		}
	}
	if comment != "" {
		return comment
	}
	for i, j := range w.pairs {
		if j < 0 {
			continue
		}
		if hidden := t.hiddenCause(r.old, i, j); hidden != "" {
			return hidden
		}
	}
	for i, j := range w.pairs {
		if j >= 0 && r.old.key(i) != t.key(j) {
			return fmt.Sprintf("Line %d is %s; old_string has %s.", j+1, quoteAround(t.key(j), r.old.key(i)),
				quoteAround(r.old.key(i), t.key(j)))
		}
	}
	return "The lines are there, but in another order, not as a block of their own, or with other text on the same line."
}

// hiddenCause says how line i of old_string differs from line j of the file, if they look the same.
func (t *Text) hiddenCause(from *source, i, j int) string {
	hidden := hiddenDifference(t.text(j), from.text(i))
	if hidden == "" {
		return ""
	}
	return fmt.Sprintf("Line %d looks the same, but %s.", j+1, hidden)
}

// lineCause says how line i of old_string differs from line j of the file.
func (t *Text) lineCause(from *source, i, j int) string {
	if hidden := t.hiddenCause(from, i, j); hidden != "" {
		return hidden
	}
	old, file := from.key(i), t.key(j)
	if words, _, _ := otherWords(old, file); len(words) > 0 {
		s := words[0]
		if digits(s.old) == digits(s.file) && alnums([]byte(s.old)) >= 3 && !t.hasWord(s.old) {
			return fmt.Sprintf("Line %d has %s; %s is nowhere in the file.", j+1, quoteShort(s.file), quoteShort(s.old))
		}
		return fmt.Sprintf("Line %d has %s where old_string has %s.", j+1, quoteShort(s.file), quoteShort(s.old))
	}
	return fmt.Sprintf("Line %d is %s; old_string has %s.", j+1, quoteAround(file, old), quoteAround(old, file))
}

// windowDiff shows old_string against a window, the lines that differ and those next to them.
func (t *Text) windowDiff(r *reading, w *window) string {
	var lines []string
	at := w.first
	for i, j := range w.pairs {
		if j < 0 {
			if !isBlank(r.old.text(i)) {
				lines = append(lines, "-"+cutLine(r.old.text(i)))
			}
			continue
		}
		for ; at < j; at++ {
			lines = append(lines, "+"+cutLine(t.text(at)))
		}
		at = j + 1
		if w.relations[i] == same {
			lines = append(lines, " "+cutLine(t.text(j)))
			continue
		}
		if !isBlank(r.old.text(i)) {
			lines = append(lines, "-"+cutAround(r.old.text(i), t.text(j)))
		}
		lines = append(lines, "+"+cutAround(t.text(j), r.old.text(i)))
	}
	return onlyChanges(lines)
}

// onlyChanges leaves out the lines of a diff that are far from what differs.
func onlyChanges(lines []string) string {
	var b strings.Builder
	left := false
	changed := func(i int) bool { return i >= 0 && i < len(lines) && lines[i][0] != ' ' }
	for i, l := range lines {
		if !changed(i-1) && !changed(i) && !changed(i+1) {
			left = true
			continue
		}
		if b.Len() > maxDiff {
			b.WriteString("...\n")
			break
		}
		if left {
			b.WriteString("...\n")
			left = false
		}
		b.WriteString(l + "\n")
	}
	return b.String()
}

// farHint says what may be wrong when nothing in the file is similar to old_string.
func farHint(c Change) string {
	if strings.ContainsRune(c.Old, '\uFFFD') {
		return "old_string holds U+FFFD, which stands for bytes that are not UTF-8: choose a part without such bytes."
	}
	return "Little in the file comes close. Read it again, and see whether it is the right file: " +
		"old_string must be copied from it."
}

// bytePairs have a value for each pair of neighboring bytes, ignoring white space: they distinguish lines with few
// whole words in common.
type bytePairs [1 << 16]float32

func pairOf(a, b byte) uint16 {
	lower := func(c byte) uint16 {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		return uint16(c)
	}
	return lower(a)<<8 | lower(b)
}

// A pairSet goes through the different pairs of texts, one text after the other.
type pairSet struct {
	seen  [1 << 16]int32
	round int32
}

func (s *pairSet) each(b []byte, do func(uint16)) {
	s.round++
	last := byte(0)
	for _, c := range b {
		if c <= ' ' {
			continue
		}
		if p := pairOf(last, c); last != 0 && s.seen[p] != s.round {
			s.seen[p] = s.round
			do(p)
		}
		last = c
	}
}

// showNearest shows the lines of the file that have the most in common with old_string, however little that is.
func (t *Text) showNearest(c Change, read *reading, r *Refusal) bool {
	from, to, score := t.nearestBlock(c, read.old)
	if score < minShared/5 {
		return false
	}
	old := squeeze(read.old.data)
	if at := squeeze(t.data[t.lines[from].start:t.lines[to-1].end]); len(old) < 4*maxCompared {
		score = max(score/2, similarity(old, at))
	}
	asked := read.old.filledLines(len(read.old.lines))
	oneLine := len(asked) == 1 && to-from == 1
	r.Message = closestMessage(from, to, score)
	t.showLines(r, from, to)
	r.Candidates[0].Similarity = math.Round(score*100) / 100
	if r.Hint = copyHint; score < fewShared {
		r.Hint = farHint(c) + " If these lines are the place after all, use them as old_string, " +
			"exactly as they are."
	}
	if oneLine {
		r.Message += " " + t.lineCause(read.old, asked[0], from)
	}
	var lines []string
	have := t.counts(from, to)
	for n, i := range asked {
		if have[read.old.key(i)] == 0 {
			lines = append(lines, "-"+cutAround(read.old.text(i), t.text(min(from+n, to-1))))
		}
	}
	for i := from; i < to; i++ {
		lines = append(lines, "+"+cutAround(t.text(i), read.old.text(asked[min(i-from, len(asked)-1)])))
	}
	r.Diff = onlyChanges(lines)
	return true
}

// filledLines are the first lines that are not blank.
func (s *source) filledLines(most int) (out []int) {
	for i := range s.lines {
		if !isBlank(s.text(i)) && len(out) < most {
			out = append(out, i)
		}
	}
	return out
}

// nearestBlock finds the lines of the file that share the most pairs of bytes with old_string, rare ones counting for
// more. The score is the share that they have of them.
func (t *Text) nearestBlock(c Change, old *source) (from, to int, score float64) {
	most := min(maxAsked, 3+maxLooked/(1+len(t.data)))
	asked := old.filledLines(most)
	if len(asked) == 0 || len(t.lines) == 0 {
		return 0, 0, 0
	}
	pairs, weight, use := new(pairSet), new(bytePairs), new(bytePairs)
	for _, i := range asked {
		pairs.each(old.text(i), func(p uint16) { weight[p] = 1 })
	}
	for i := range t.lines {
		pairs.each(t.text(i), func(p uint16) { use[p] += weight[p] })
	}
	for p := range weight {
		if weight[p] > 0 {
			weight[p] = float32(math.Log(1 + float64(len(t.lines)+1)/float64(use[p]+1)))
		}
	}
	votes, total := map[int]float64{}, 0.0
	own := new(bytePairs)
	for _, i := range asked {
		sum := float32(0)
		pairs.each(old.text(i), func(p uint16) { sum += weight[p]; own[p] = weight[p] })
		total += float64(sum)
		for _, n := range t.nearestLines(old.text(i), own, sum, pairs) {
			votes[n.line-i+asked[0]] += n.score * float64(sum)
		}
		pairs.each(old.text(i), func(p uint16) { own[p] = 0 })
	}
	best, top := -1, 0.0
	for _, at := range slices.Sorted(maps.Keys(votes)) {
		v := votes[at]
		if len(asked) > 1 {
			v += (votes[at-1] + votes[at+1]) / 4
		}
		better := v > top*1.0001
		if c.NearLine > 0 && v > top*0.98 && best >= 0 {
			better = abs(at+1-c.NearLine) < abs(best+1-c.NearLine)
		}
		if best < 0 || better {
			best, top = at, max(v, top)
		}
	}
	if best < 0 || total == 0 {
		return 0, 0, 0
	}
	span := asked[len(asked)-1] - asked[0] + 1
	if len(asked) == most {
		span = min(len(old.lines)-asked[0], maxShown)
	}
	from, to = max(0, best), min(len(t.lines), max(best, 0)+span)
	for to-from > 1 && isBlank(t.text(to-1)) {
		to--
	}
	for to-from > 1 && isBlank(t.text(from)) {
		from++
	}
	return from, max(to, from+1), min(1, top/total)
}

// A nearLine is a line of the file with what it shares of one of old_string.
type nearLine struct {
	line  int
	score float64
}

// nearestLines returns the lines that share the most with a line of old_string, whose pairs have a weight, which sums
// up to sum.
func (t *Text) nearestLines(old []byte, own *bytePairs, sum float32, pairs *pairSet) []nearLine {
	var all []nearLine
	for i := range t.lines {
		got := float32(0)
		pairs.each(t.text(i), func(p uint16) { got += own[p] })
		if sum > 0 && float64(got/sum) >= minShared {
			all = append(all, nearLine{i, float64(got / sum)})
		}
	}
	slices.SortStableFunc(all, func(a, b nearLine) int { return cmp.Compare(b.score, a.score) })
	all = all[:min(len(all), maxNear)]
	x := squeeze(old)
	for i := range all { // of two that have all of it, the one that has little else is nearer
		y := t.key(all[i].line)
		all[i].score = (all[i].score + t.compare(x, y)) / 2
		if len(x) > 3 && strings.Contains(y, x) {
			all[i].score = max(all[i].score, 0.95)
		}
	}
	return all
}

// showStretch shows the part of a line that is most similar to an old_string of one line, when that is more similar
// than the line as a whole, or the line is too long to be shown.
func (t *Text) showStretch(c Change, old *source, r *Refusal) bool {
	asked := old.filledLines(2)
	if len(asked) != 1 {
		return false
	}
	text := bytes.TrimSpace(old.text(asked[0]))
	i, _, score := t.nearestBlock(c, old)
	if score == 0 {
		return false
	}
	line := t.text(i)
	long := len(line) > maxOneLine
	if !long && alnums(text) < 4 {
		return false
	}
	part, alike := t.stretch(text, line)
	if len(part) == 0 || !long && (alike < minStretch || alike < similarity(squeeze(text), t.key(i))+0.05) {
		return false
	}
	r.Message = fmt.Sprintf("old_string is not in the file. Closest: line %d has %s (%.0f %% alike).", i+1,
		quoteAround(string(part), string(text)), alike*100)
	r.Hint = "If that is the place, copy old_string from this line, exactly; else read the file again."
	t.showLines(r, i, i+1)
	r.Candidates[0].Similarity, r.Candidates[0].Why = math.Round(alike*100)/100, "a part of the line"
	if long {
		at := bytes.Index(line, part)
		again := func() bool { return bytes.Contains(t.data[bytes.Index(t.data, part)+1:], part) }
		for end := at + len(part); len(part) < maxOneLine && again(); part = line[at:end] {
			at, end = max(0, at-20), min(len(line), end+20)
			for ; at > 0 && !utf8.RuneStart(line[at]); at-- {
			}
			for ; end < len(line) && !utf8.RuneStart(line[end]); end++ {
			}
		}
		r.Message += fmt.Sprintf(" It is %d bytes long; the part shown is what is most like old_string.", len(line))
		r.Excerpt = fmt.Sprintf("%6d\t%s\n", i+1, part)
	}
	if r.Exact = ""; bytes.Count(t.data, part) == 1 {
		r.Exact = string(part)
	}
	if bytes.Equal(part, text) {
		r.Message = fmt.Sprintf("old_string is in line %d, but with other text where old_string has white space at its "+
			"start or its end.", i+1)
		r.Hint = "Leave that white space out of both strings, or copy the whole line."
		return true
	}
	r.Diff = "-" + cutAround(text, part) + "\n+" + cutAround(part, text) + "\n"
	return true
}

// stretchEnd finds where in a line the part ends that takes the fewest edits to become a text, and how many these are.
// Anchored, it begins where the line does.
func stretchEnd(text, line []rune, anchored bool) (to, edits int) {
	var p pattern
	p.set(text)
	least := len(text)
	for j, n := 0, len(text); j < len(line); j++ {
		// Of two that are as near, the later end: a text that has a letter wrong at its end.
		if n += p.step(line[j], anchored); n <= least {
			least, to = n, j+1
		}
	}
	return to, least
}

// stretch finds the part of a line that takes the fewest edits to become a text, and how similar it is. It does not
// begin or end inside a word when the text has a word there.
func (t *Text) stretch(text, line []byte) (part []byte, alike float64) {
	x, y := clipRunes(string(text)), []rune(string(line))
	if t.work += len(x) * len(x); t.work > maxWork || len(x) == 0 {
		return nil, 0
	}
	to, least := stretchEnd(x, y, false)
	head := slices.Clone(y[max(0, to-len(x)-least):to]) // it is not longer than that
	slices.Reverse(head)
	back := slices.Clone(x)
	slices.Reverse(back)
	length, _ := stretchEnd(back, head, true)
	from := to - length
	for wordRune(x[0]) && from > 0 && from < len(y) && wordRune(y[from]) && wordRune(y[from-1]) {
		from--
	}
	for wordRune(x[len(x)-1]) && to > 0 && to < len(y) && wordRune(y[to-1]) && wordRune(y[to]) {
		to++
	}
	return bytes.TrimSpace([]byte(string(y[from:to]))), 1 - float64(least)/float64(len(x))
}
