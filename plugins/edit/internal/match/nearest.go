package match

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxAsked   = 40       // lines of old_string that are looked for, fewer in a large file
	maxLooked  = 80 << 20 // bytes that are looked through for them
	maxNear    = 60       // lines of the file that are compared with each
	minShared  = 0.05     // how much of a line of old_string a line of the file must share to be shown at all
	fewShared  = 0.3      // with less than that in common it is more likely that the file is another one
	maxOneLine = 2000     // bytes of a line that is shown whole
)

// bytePairs have a value for each pair of neighboring bytes, white space aside: those tell lines apart that have few whole
// words in common.
type bytePairs [1 << 16]float32

func pairOf(a, b byte) uint16 { return uint16(lower(a))<<8 | uint16(lower(b)) }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// eachPair goes through the different pairs of a text.
func eachPair(b []byte, seen *[1 << 16]int32, round int32, do func(uint16)) {
	last := byte(0)
	for _, c := range b {
		if c <= ' ' {
			continue
		}
		if p := pairOf(last, c); last != 0 && seen[p] != round {
			seen[p] = round
			do(p)
		}
		last = c
	}
}

// nearestLines shows the lines of the file that have the most in common with old_string, however little that is.
func (t *Text) nearestLines(c Change, read *reading, r *Refusal) bool {
	from, to, score := t.nearestBlock(c, read.old)
	if score < minShared/5 {
		return false
	}
	old := squeeze(read.old.data)
	if at := squeeze(t.data[t.lines[from].start:t.lines[to-1].end]); len(old) < 4*maxCompared {
		score = max(score/2, similarity(old, at))
	}
	var asked []int // lines of old_string that say something
	for i := range read.old.lines {
		if !isBlankLine(read.old.text(i)) {
			asked = append(asked, i)
		}
	}
	r.Message = fmt.Sprintf("old_string is not in the file. Closest: %s (%.0f %% alike).", lineSpan(from, to), score*100)
	if len(asked) == 1 && to-from == 1 && len(t.text(from)) > maxOneLine {
		t.shownPart(r, from, read.old.text(asked[0]))
		return true
	}
	t.show(r, from, to)
	r.Candidates[0].Similarity = math.Round(score*100) / 100
	if r.Hint = copyHint; score < fewShared {
		r.Hint = t.noClue(c) + " If these lines are the place after all, use them as old_string, exactly as they are."
	}
	if len(asked) == 1 && to-from == 1 {
		x, y := squeeze(read.old.text(asked[0])), squeeze(t.text(from))
		r.Message += " " + t.lineDiffers(x, y, from)
	}
	var lines []string
	have := map[string]bool{}
	for i := from; i < to; i++ {
		have[squeeze(t.text(i))] = true
	}
	for n, i := range asked {
		if text := read.old.text(i); !have[squeeze(text)] {
			lines = append(lines, "-"+cutAround(text, t.text(min(from+n, to-1))))
		}
	}
	for i := from; i < to; i++ {
		lines = append(lines, "+"+cutAround(t.text(i), read.old.text(asked[min(i-from, len(asked)-1)])))
	}
	r.Diff = nearChanges(lines)
	return true
}

// lineDiffers says how the one line of old_string differs from line j of the file.
func (t *Text) lineDiffers(old, file string, j int) string {
	x, y := tokens.FindAllString(old, -1), tokens.FindAllString(file, -1)
	if len(x) == len(y) {
		for i := range x {
			if x[i] != y[i] {
				return fmt.Sprintf("Line %d has %s where old_string has %s.", j+1, quoteShort(y[i]), quoteShort(x[i]))
			}
		}
	}
	return fmt.Sprintf("Line %d is %s; old_string has %s.", j+1, quoteAround(file, old), quoteAround(old, file))
}

// nearestBlock finds the lines of the file that share the most pairs of bytes with old_string, rare ones counting for more.
// The score is the share that they have of them.
func (t *Text) nearestBlock(c Change, old *source) (from, to int, score float64) {
	var asked []int
	most := min(maxAsked, 3+maxLooked/(1+len(t.data)))
	for i := range old.lines {
		if !isBlankLine(old.text(i)) && len(asked) < most {
			asked = append(asked, i)
		}
	}
	if len(asked) == 0 || len(t.lines) == 0 {
		return 0, 0, 0
	}
	seen, round := new([1 << 16]int32), int32(0)
	weight, use := new(bytePairs), new(bytePairs)
	for _, i := range asked {
		round++
		eachPair(old.text(i), seen, round, func(p uint16) { weight[p] = 1 })
	}
	for i := range t.lines {
		round++
		eachPair(t.text(i), seen, round, func(p uint16) { use[p] += weight[p] })
	}
	for p := range weight {
		if weight[p] > 0 {
			weight[p] = float32(math.Log(1 + float64(len(t.lines)+1)/float64(use[p]+1)))
		}
	}
	votes := map[int]float64{}
	total := 0.0
	for _, i := range asked {
		sum := float32(0)
		own := new(bytePairs)
		round++
		eachPair(old.text(i), seen, round, func(p uint16) { sum += weight[p]; own[p] = weight[p] })
		total += float64(sum)
		for _, n := range t.shared(old.text(i), own, sum, seen, &round) {
			votes[n.line-i+asked[0]] += n.score * float64(sum)
		}
	}
	if total == 0 {
		return 0, 0, 0
	}
	best, top := -1, 0.0
	for at, v := range votes {
		if len(asked) > 1 {
			v += (votes[at-1] + votes[at+1]) / 4
		}
		better := v > top*1.0001
		if c.NearLine > 0 && v > top*0.98 && best >= 0 {
			better = abs(at+1-c.NearLine) < abs(best+1-c.NearLine)
		}
		if best < 0 || better || v >= top*0.9999 && at < best && c.NearLine == 0 {
			best, top = at, max(v, top)
		}
	}
	if best < 0 {
		return 0, 0, 0
	}
	span := asked[len(asked)-1] - asked[0] + 1
	if len(asked) == most {
		span = min(len(old.lines)-asked[0], maxShown)
	}
	from, to = max(0, best), min(len(t.lines), max(best, 0)+span)
	for to-from > 1 && isBlankLine(t.text(to-1)) {
		to--
	}
	for to-from > 1 && isBlankLine(t.text(from)) {
		from++
	}
	return from, max(to, from+1), min(1, top/total)
}

// A nearLine is a line of the file with what it shares of one of old_string.
type nearLine struct {
	line  int
	score float64
}

// shared gives the lines that share the most with a line of old_string, whose pairs have a weight, which sums up to sum.
func (t *Text) shared(old []byte, own *bytePairs, sum float32, seen *[1 << 16]int32, round *int32) []nearLine {
	var all []nearLine
	for i := range t.lines {
		*round++
		got := float32(0)
		eachPair(t.text(i), seen, *round, func(p uint16) { got += own[p] })
		if sum > 0 && float64(got/sum) >= minShared {
			all = append(all, nearLine{i, float64(got / sum)})
		}
	}
	slices.SortStableFunc(all, func(a, b nearLine) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	all = all[:min(len(all), maxNear)]
	x := squeeze(old)
	for i := range all { // of two that have all of it, the one that has little else is nearer
		y := squeeze(t.text(all[i].line))
		all[i].score = (all[i].score + t.compare(x, y)) / 2
		if len(x) > 3 && strings.Contains(y, x) {
			all[i].score = max(all[i].score, 0.95)
		}
	}
	return all
}

// shownPart shows the part of a very long line that is like old_string.
func (t *Text) shownPart(r *Refusal, i int, old []byte) {
	line := t.text(i)
	weight, seen := new(bytePairs), new([1 << 16]int32)
	eachPair(old, seen, 1, func(p uint16) { weight[p] = 1 })
	n := min(len(line), len(old)+len(old)/4)
	best, most, sum := 0, float32(-1), float32(0)
	for k := 0; k+1 < len(line); k++ {
		sum += weight[pairOf(line[k], line[k+1])]
		if k >= n {
			sum -= weight[pairOf(line[k-n], line[k-n+1])]
		}
		if sum > most {
			best, most = max(0, k+2-n), sum
		}
	}
	from, to := best, min(len(line), best+n)
	for len(line) > to-from && to-from < maxOneLine {
		for from > 0 && (!utf8.RuneStart(line[from]) || insideWord(line, from)) {
			from--
		}
		for to < len(line) && (!utf8.RuneStart(line[to]) || insideWord(line, to)) {
			to++
		}
		if strings.Count(string(t.data), string(line[from:to])) <= 1 {
			break
		}
		from, to = max(0, from-20), min(len(line), to+20)
	}
	part := string(line[from:to])
	r.Message += fmt.Sprintf(" It is %d bytes long; the part shown is what is most like old_string.", len(line))
	r.Candidates = []Candidate{{StartLine: i + 1, EndLine: i + 1, Similarity: 0.5, Why: "a part of a long line"}}
	r.Excerpt, r.Exact = fmt.Sprintf("%6d\t%s\n", i+1, part), part
	r.Diff = "-" + cutAround(old, []byte(part)) + "\n+" + cutAround([]byte(part), old) + "\n"
	r.Hint = "If that is the place, use the part of the line that is shown as old_string, exactly as it is; else read the file again."
}
