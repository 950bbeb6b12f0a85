package match

import (
	"strings"
	"unicode/utf8"
)

const (
	maxCompared = 400         // runes of a line that are compared; the rest counts for equality only
	maxWork     = 150_000_000 // cells of the tables for the distances of one plan: a fraction of a second
)

// similarity is 1 for equal lines, 0 for those that have nothing in common, or too little to count.
func similarity(a, b string) float64 {
	if a == b {
		return 1
	}
	x, y := clipRunes(a), clipRunes(b)
	long := max(len(x), len(y))
	limit := long * 6 / 10
	d := distance(x, y, limit)
	if d > limit {
		return 0
	}
	return 1 - float64(d)/float64(long)
}

// likeness is the similarity of two lines but for their blanks, 0 when it is less than a half.
func likeness(a, b string) float64 {
	if s := similarity(squeeze([]byte(a)), squeeze([]byte(b))); s >= 0.5 {
		return s
	}
	return 0
}

// compare is similarity as long as there is time for it.
func (t *Text) compare(a, b string) float64 {
	if t.work > maxWork {
		return 0
	}
	t.work += min(len(a), maxCompared) * min(len(b), maxCompared)
	return similarity(a, b)
}

func clipRunes(s string) []rune {
	r := []rune(strings.ToValidUTF8(s[:min(len(s), maxCompared*utf8.UTFMax)], "?"))
	return r[:min(len(r), maxCompared)]
}

// distance is the edit distance of two texts; neighbors that change places count as one edit. It is limit+1 when it is
// greater than the limit, or both texts are too long.
func distance(a, b []rune, limit int) int {
	head, tail := equalEnds(a, b)
	a, b = a[head:len(a)-tail], b[head:len(b)-tail]
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > limit || len(a) > maxCompared {
		return limit + 1
	}
	if len(a) == 0 {
		return len(b)
	}
	var p pattern
	p.set(a)
	d := len(a)
	for j, c := range b {
		d += p.step(c, true)
		if d-(len(b)-1-j) > limit {
			return limit + 1
		}
	}
	return d
}

// A pattern is a text that is compared with another one rune by rune, in a word of bits for each 64 of its runes: see
// H. Hyyrö, "A bit-vector algorithm for computing Levenshtein and Damerau edit distances", 2003. A bit of up or down
// says that in the column of the table of edits a cell is one more, or one less, than the cell above.
type pattern struct {
	last  uint64 // the bit of the last rune, in the last word
	ascii [utf8.RuneSelf]runeBits
	other map[rune]runeBits
	words [patternWords]column
	n     int // of words that are used
}

const patternWords = (maxCompared + 63) / 64

// runeBits say where a rune is in a pattern.
type runeBits [patternWords]uint64

// A column is what is known of 64 runes of the pattern after a rune of the other text.
type column struct{ up, down, diagonal, equal uint64 }

// set takes a pattern of at most maxCompared runes. It may be called once.
func (p *pattern) set(text []rune) {
	p.n, p.last = (len(text)+63)/64, 1<<((len(text)-1)%64)
	for i := range p.n {
		p.words[i].up = ^uint64(0)
	}
	for i, c := range text {
		if c < utf8.RuneSelf {
			p.ascii[c][i/64] |= 1 << (i % 64)
			continue
		}
		if p.other == nil {
			p.other = map[rune]runeBits{}
		}
		bits := p.other[c]
		bits[i/64] |= 1 << (i % 64)
		p.other[c] = bits
	}
}

// step goes on to the next rune of the other text, and returns by how much the distance changes. Anchored, the other
// text is compared from its start, and neighbors that change places count as one edit; else from where it is nearest.
func (p *pattern) step(c rune, anchored bool) (change int) {
	bits := &p.ascii[c&(utf8.RuneSelf-1)]
	if c >= utf8.RuneSelf {
		other := p.other[c]
		bits = &other
	}
	more, less, swapped := uint64(0), uint64(0), uint64(0) // what the word before passes on
	if anchored {
		more = 1
	}
	for i := range p.n {
		w := &p.words[i]
		equal := bits[i]
		swap := uint64(0)
		if anchored {
			swap = ((^w.diagonal&equal)<<1 | swapped) & w.equal
			swapped = (^w.diagonal & equal) >> 63
		}
		x := equal | less
		diagonal := ((x & w.up) + w.up) ^ w.up | x | w.down | swap
		right, left := w.down|^(diagonal|w.up), diagonal&w.up
		if i == p.n-1 {
			if right&p.last != 0 {
				change++
			}
			if left&p.last != 0 {
				change--
			}
		}
		up, down := right<<1|more, left<<1|less
		more, less = right>>63, left>>63
		*w = column{up: down | ^(diagonal | up), down: up & diagonal, diagonal: diagonal, equal: equal}
	}
	return change
}
