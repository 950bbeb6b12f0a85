package match

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxCompared = 400         // runes of a line that are compared; the rest counts for equality only
	maxWork     = 150_000_000 // cells of the tables for the distances of one plan: a fraction of a second
	maxTypos    = 3           // misspelt words of a line
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

// likeness is the similarity of two lines but for their blanks, 0 when it is less than some.
func likeness(a, b string, least float64) float64 {
	if s := similarity(squeeze([]byte(a)), squeeze([]byte(b))); s >= least {
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
// greater than the limit.
func distance(a, b []rune, limit int) int {
	head, tail := equalEnds(a, b)
	a, b = a[head:len(a)-tail], b[head:len(b)-tail]
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > limit {
		return limit + 1
	}
	if len(a) == 0 {
		return len(b)
	}
	n := len(b) + 1
	rows := make([]int, 3*n)
	before, last, row := rows[:n], rows[n:2*n], rows[2*n:]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		if fillRow(a, b, i, limit, before, last, row) > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit+1)
}

// fillRow fills row i of the table of edits from the two before it, only where the distance can be within the limit,
// and returns the least of it.
func fillRow(a, b []rune, i, limit int, before, last, row []int) int {
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

// A substitution is a word that the model misspelt, and what the file has.
type substitution struct{ old, file string }

// typos reports whether a line of old_string is one of the file but for misspelt words, and returns these.
func (t *Text) typos(old, file string) (out []substitution, ok bool) {
	x, y := tokens.FindAllString(old, -1), tokens.FindAllString(file, -1)
	if len(x) != len(y) {
		return nil, abs(len(x)-len(y)) == 1 && despaced(old) == despaced(file)
	}
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		if len(out) == maxTypos || !t.misspells(x[i], y[i]) {
			return nil, false
		}
		out = append(out, substitution{x[i], y[i]})
	}
	return out, len(out) > 0 || despaced(old) == despaced(file)
}

func (t *Text) isTypo(old, file string) bool {
	_, ok := t.typos(old, file)
	return ok
}

// misspells reports whether a word, which must not be one of the file, is similar to another one.
func (t *Text) misspells(old, file string) bool {
	if digits(old) != digits(file) || t.hasWord(old) {
		return false
	}
	a, b := []rune(norm.NFC.String(old)), []rune(norm.NFC.String(file))
	if !wordRune(a[0]) || !wordRune(b[0]) {
		return false
	}
	if ideograph(a[0]) || ideograph(b[0]) {
		a, b = []rune(norm.NFD.String(old)), []rune(norm.NFD.String(file))
		return min(len(a), len(b)) >= 4 && distance(a, b, 2) <= 2
	}
	n := min(len(a), len(b))
	limit := min(n-3, 3, n/2)
	if limit < 1 {
		return false
	}
	d := distance(a, b, limit)
	return d <= limit && (d == 1 || unicode.ToLower(a[0]) == unicode.ToLower(b[0]))
}

// certain reports that a word can only be the other one misspelt: two letters have changed places, or one that is not
// the first or the last is another, missing or too many. Words that differ more, or there, are often two names: sync
// and async, item and items, minCount and maxCount.
func (s substitution) certain() bool {
	a, b := []rune(norm.NFC.String(s.old)), []rune(norm.NFC.String(s.file))
	ends := a[0] == b[0] && a[len(a)-1] == b[len(b)-1]
	x, y := slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return ideograph(a[0]) || (ends || slices.Equal(x, y)) && distance(a, b, 1) == 1
}

// certainTypo reports whether a line of old_string can only be one of the file with misspelt words.
func (t *Text) certainTypo(old, file string) bool {
	typos, ok := t.typos(old, file)
	return ok && !slices.ContainsFunc(typos, func(s substitution) bool { return !s.certain() })
}

// hasWord reports whether the file has a word, on its own.
func (t *Text) hasWord(word string) bool {
	known, ok := t.words[word]
	if ok {
		return known
	}
	text := t.stream(presentForm).text
	for i := range indexes(text, []byte(word), false) {
		if known = !insideWord(text, i) && !insideWord(text, i+len(word)); known {
			break
		}
	}
	t.words[word] = known
	return known
}
