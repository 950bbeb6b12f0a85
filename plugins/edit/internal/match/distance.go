package match

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// squeeze is a line with single blanks and none around.
func squeeze(b []byte) string { return string(bytes.Join(bytes.Fields(b), []byte(" "))) }

// maxCompared is how many runes of a line are compared; what lines differ in after that is not looked at but for equality.
const maxCompared = 400

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

// maxWork bounds the distances of one plan, in cells of their tables: a fraction of a second.
const maxWork = 150_000_000

// compare is similarity as long as there is time for it.
func (t *Text) compare(a, b string) float64 {
	if t.work > maxWork {
		return 0
	}
	t.work += min(len(a), maxCompared) * min(len(b), maxCompared)
	return similarity(a, b)
}

func clipRunes(s string) []rune {
	if len(s) > maxCompared*utf8.UTFMax {
		s = s[:maxCompared*utf8.UTFMax]
	}
	r := []rune(strings.ToValidUTF8(s, "?"))
	return r[:min(len(r), maxCompared)]
}

// distance is the edit distance of two texts; neighbors that change places count as one edit. It is limit+1 when it is
// greater than the limit.
func distance(a, b []rune, limit int) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > limit {
		return limit + 1
	}
	if len(a) == 0 {
		return len(b)
	}
	return banded(a, b, limit)
}

// banded fills the rows of the table of edits only where the distance can be within the limit.
func banded(a, b []rune, limit int) int {
	n := len(b) + 1
	rows := make([]int, 3*n)
	before, last, row := rows[:n], rows[n:2*n], rows[2*n:]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		if bandRow(a, b, i, limit, before, last, row) > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit+1)
}

// bandRow fills row i from the two before it, and gives the least of it.
func bandRow(a, b []rune, i, limit int, before, last, row []int) int {
	lo, hi := max(1, i-limit), min(len(b), i+limit)
	row[lo-1] = limit + 1
	if lo == 1 {
		row[0] = i
	}
	least := row[lo-1]
	for j := lo; j <= hi; j++ {
		d := last[j-1]
		if a[i-1] != b[j-1] {
			d++
		}
		d = min(d, row[j-1]+1)
		if j < i+limit || i == 1 {
			d = min(d, last[j]+1)
		}
		if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
			d = min(d, before[j-2]+1)
		}
		row[j], least = d, min(least, d)
	}
	return least
}
