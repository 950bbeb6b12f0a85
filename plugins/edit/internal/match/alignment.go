package match

import (
	"slices"
	"strings"
)

// An alignment is a place where old_string was found, and how its lines lie on those of the file.
type alignment struct {
	Range
	ignores equivalence
	blocks  []block // in order; all lines of old_string, and those of the file between them
	// headCut and tailCut report that the place starts or ends within a line.
	headCut, tailCut bool
}

// A block says that lines o0 to o1 of old_string are lines f0 to f1 of the file, the last not included. Either side
// may be empty: lines that the file does not have, or that old_string did not quote.
type block struct {
	o0, o1, f0, f1 int
	relation       relation
}

// A relation says how the two sides of a block are related.
type relation int

const (
	same    relation = iota // equal in the normal form of the pass
	typo                    // equal but for misspelt words
	altered                 // something else
	skipped                 // blank lines and comments, which the pass ignored
)

func (b block) single() bool   { return b.o1-b.o0 == 1 && b.f1-b.f0 == 1 }
func (b block) onlyOld() bool  { return b.f0 == b.f1 }
func (b block) onlyFile() bool { return b.o0 == b.o1 }
func (b block) oneSided() bool { return b.onlyOld() || b.onlyFile() }

// align makes the alignment of a hit, from the lines that the equal bytes came from.
func (t *Text) align(f *finding, h hit) *alignment {
	a := &alignment{Range: h.Range, ignores: f.ignores}
	a.headCut, a.tailCut = !t.startsLine(f.file, h), !t.endsLine(f.file, h, f.ignores)
	old := f.reading.old
	o, l := old.lineAt(int(f.old.start[0])), t.lineAt(h.Start)
	equal := []block{{o, o + 1, l, l + 1, same}}
	for k := range f.old.text {
		o, l = old.lineFrom(o, int(f.old.start[k])), t.lineFrom(l, int(f.file.start[h.i+k]))
		last := &equal[len(equal)-1]
		if o >= last.o1 && l >= last.f1 {
			equal = append(equal, block{o, o + 1, l, l + 1, same})
			continue
		}
		last.o1, last.f1 = max(last.o1, o+1), max(last.f1, l+1)
	}
	a.blocks = t.edgeBlocks(old, 0, equal[0].o0, equal[0].f0, -1)
	for i, b := range equal {
		if i > 0 {
			before := equal[i-1]
			a.blocks = append(a.blocks, t.gap(old, before.o1, b.o0, before.f1, b.f0)...)
		}
		a.blocks = append(a.blocks, b)
	}
	last := equal[len(equal)-1]
	a.blocks = append(a.blocks, t.edgeBlocks(old, last.o1, len(old.lines), last.f1, +1)...)
	return a
}

// edgeBlocks aligns the lines of old_string before those that the pass compared, or with a step of 1 behind them, with
// what the file has on that side of line f.
func (t *Text) edgeBlocks(old *source, o0, o1, f, step int) []block {
	if len(old.commentLines(o0, o1)) == 0 {
		return t.outerBlanks(o0, o1, f, step)
	}
	near := t.uncoded(f, o1-o0+slack, step)
	out := t.gap(old, o0, o1, near.from, near.to)
	for len(out) > 0 && step < 0 && out[0].onlyFile() {
		out = out[1:]
	}
	for len(out) > 0 && step > 0 && out[len(out)-1].onlyFile() {
		out = out[:len(out)-1]
	}
	return out
}

// uncoded are at most n lines before line f, or with a step of 1 from it on, that are blank or comments.
func (t *Text) uncoded(f, n, step int) (out span) {
	for out = (span{f, f}); out.to-out.from < n; {
		switch {
		case step < 0 && out.from > 0 && t.blankOrComment(out.from-1):
			out.from--
		case step > 0 && out.to < len(t.lines) && t.blankOrComment(out.to):
			out.to++
		default:
			return out
		}
	}
	return out
}

// outerBlanks aligns the blank lines at one end of old_string with those of the file beside the place, if the file
// has as many. Else they are lines that the file does not have.
func (t *Text) outerBlanks(from, to, at, step int) (out []block) {
	n, have := to-from, 0
	k := at
	if step < 0 {
		k = at - 1
	}
	for have < n && k >= 0 && k < len(t.lines) && isBlank(t.text(k)) {
		have, k = have+1, k+step
	}
	if missing := n - have; step > 0 && missing > 0 || missing > 1 {
		have = 0
	}
	for k := range n {
		b := block{from + k, from + k + 1, at, at, skipped}
		switch {
		case step < 0 && k >= n-have:
			b.f0, b.f1, b.relation = at-(n-k), at-(n-k)+1, same
		case step > 0 && k < have:
			b.f0, b.f1, b.relation = at+k, at+k+1, same
		case step < 0:
			b.f0, b.f1 = at-have, at-have
		}
		out = append(out, b)
	}
	return out
}

const (
	maxGapPairs = 4000 // lines of a gap that are compared with each other
	equalLines  = 10.0 // the gain of lines that are equal but for blanks
)

// gap aligns lines that the pass ignored: blank lines and comments.
func (t *Text) gap(old *source, o0, o1, f0, f1 int) (out []block) {
	gain := func(i, j int) float64 {
		a, b := old.key(o0+i), t.key(f0+j)
		switch {
		case a == "" && b == "":
			return 1
		case a == "" || b == "":
			return 0
		case a == b:
			return equalLines
		}
		if s := similarity(a, b); s >= minCommentAlike {
			return 4 + s
		}
		return 2
	}
	var pairs [][2]int
	if (o1-o0)*(f1-f0) <= maxGapPairs {
		pairs = bestPairs(o1-o0, f1-f0, gain)
	}
	o, f := o0, f0
	for _, p := range pairs {
		out = append(out, unpaired(o, o0+p[0], f, f0+p[1])...)
		o, f = o0+p[0], f0+p[1]
		b := block{o, o + 1, f, f + 1, skipped}
		if gain(p[0], p[1]) == equalLines || isBlank(old.text(o)) {
			b.relation = same
		}
		out = append(out, b)
		o, f = o+1, f+1
	}
	return append(out, unpaired(o, o1, f, f1)...)
}

// unpaired makes a block of each line of old_string, and then of the file, that has no counterpart.
func unpaired(o0, o1, f0, f1 int) (out []block) {
	for o := o0; o < o1; o++ {
		out = append(out, block{o, o + 1, f0, f0, skipped})
	}
	for f := f0; f < f1; f++ {
		out = append(out, block{o1, o1, f, f + 1, skipped})
	}
	return out
}

// Comments that a pass ignored may still speak against a place.

const (
	minEdgeAlike = 0.5 // similarity of comments at the edges that have no informative word in common
	ownComment   = 20  // letters and digits of a comment that is at one place only
	muchCode     = 8   // lines of code that hardly another place has as well
	maxReworded  = 2   // comments in other words for each line of code
)

// edgeCommentsFit reports whether the file, too, has a comment where old_string starts or ends with one.
func (t *Text) edgeCommentsFit(r *reading, h hit) bool {
	first, last := r.code()
	if first < 0 {
		return false
	}
	from, to := t.span(h.Range)
	n := len(r.old.lines)
	above, below := t.uncoded(from, first, -1), t.uncoded(to, n-last-1, +1)
	return commentsFit(r.old.commentLines(0, first), t.commentLines(above.from, from)) &&
		commentsFit(r.old.commentLines(last+1, n), t.commentLines(to, below.to))
}

func commentsFit(old, file []string) bool {
	if len(old) == 0 || len(file) == 0 {
		return len(old) == 0
	}
	a, b := strings.Join(old, " "), strings.Join(file, " ")
	words := topics(b)
	return slices.ContainsFunc(topics(a), func(w string) bool { return slices.Contains(words, w) }) ||
		similarity(squeeze([]byte(a)), squeeze([]byte(b))) >= minEdgeAlike
}

// topics are the words of a comment that say what it is about.
func topics(comment string) []string {
	return slices.DeleteFunc(tokens().FindAllString(strings.ToLower(comment), -1), func(w string) bool {
		return alnums([]byte(w)) < 3 || commonWords[w]
	})
}

// commonWords are in any comment.
var commonWords = setOf(strings.Fields(`
	the and for are was that this with from not but has have had its can may will all any one new old use used
	uses when then than into out set get see also only must should does done been being per via each more some
	such same other them they these those which what where who how why return returns returned value values
	given whole next thus just always really proper function file type types code line data todo fixme note`))

// commentsDisagree reports whether the comments of old_string speak against a place: there are more in other words
// than the code can bear, one stands elsewhere in the file, or one differs in its numbers only.
func (t *Text) commentsDisagree(r *reading, a *alignment) bool {
	reworded, code := 0, 0
	for _, b := range a.blocks {
		for o := b.o0; o < b.o1; o++ {
			switch {
			case r.old.commentOnly(o) && b.relation == skipped:
				reworded++
				if key := r.old.key(o); alnums([]byte(key)) >= ownComment && len(t.lineIndex().at[key]) > 0 {
					return true
				}
			case !r.old.commentOnly(o) && alnums(r.old.text(o)) >= 3:
				code++
			}
		}
	}
	return reworded > maxReworded*code || t.otherComments(r, a)
}

// swapsTopic reports whether two comments have the same words but for one of three or four, which is quite another, as
// in those of twins: one that is worded anew has other words around it as well.
func swapsTopic(was, is string) bool {
	a, b := topics(lookOf([]byte(was))), topics(lookOf([]byte(is)))
	if len(a) != len(b) || len(a) < 2 {
		return false
	}
	swapped := 0
	for i := range a {
		if !sameTopic(a[i], b[i]) {
			swapped++
		}
	}
	return 4*swapped >= len(a) && swapped <= max(1, len(a)/3)
}

// sameTopic reports whether two words are the same but for how they end or what qualifies them, or one is the other one
// misspelt.
func sameTopic(a, b string) bool {
	n := commonPrefix([]byte(a), []byte(b))
	stem := n == min(len(a), len(b)) || n >= 4 && 2*n >= min(len(a), len(b)) ||
		strings.HasSuffix(a, "_"+b) || strings.HasSuffix(b, "_"+a)
	return digits(a) == digits(b) && (stem || (substitution{a, b}).certain())
}

// sameSubject reports whether a comment has half of the topics of another one, or is much like it.
func sameSubject(was, is string) bool {
	a, b := topics(was), topics(is)
	n := len(slices.DeleteFunc(slices.Clone(a), func(w string) bool {
		return !slices.ContainsFunc(b, func(v string) bool { return sameTopic(w, v) })
	}))
	return 2*n >= len(a) || similarity(squeeze([]byte(was)), squeeze([]byte(is))) >= minEdgeAlike
}

// otherComments reports whether a comment is that of the file but for its numbers or its topic, which distinguish a
// place from its neighbors, or whether those between two lines of code, or behind one, are about something else. With
// much code that is equal they must have nothing in common for that.
func (t *Text) otherComments(r *reading, a *alignment) bool {
	var old, file []string
	code := 0
	for _, b := range a.blocks {
		if b.single() && b.relation == same && !r.old.blankOrComment(b.o0) && alnums(r.old.text(b.o0)) >= 3 {
			code++
		}
	}
	other := func() bool {
		was, is := strings.Join(old, " "), strings.Join(file, " ")
		differ := len(topics(was)) > 1 && len(topics(is)) > 0 &&
			(code < muchCode && !sameSubject(was, is) || !commentsFit(old, file)) &&
			isASCII([]byte(was)) == isASCII([]byte(is)) // else one may translate the other
		old, file = nil, nil
		return differ
	}
	for _, b := range a.blocks {
		if b.single() && b.relation != skipped && other() {
			return true
		}
		if b.single() {
			was, is := r.old.comment(b.o0), t.comment(b.f0)
			if was != is && was != "" && (withoutNumbers(was) == withoutNumbers(is) ||
				code < muchCode && swapsTopic(was, is)) {
				return true
			}
			old, file = append(old, was), append(file, is)
		}
		if b.single() && b.relation != skipped && other() {
			return true
		}
		if b.onlyOld() {
			old = append(old, r.old.commentLines(b.o0, b.o1)...)
		} else if b.onlyFile() {
			file = append(file, t.commentLines(b.f0, b.f1)...)
		}
	}
	return other()
}
