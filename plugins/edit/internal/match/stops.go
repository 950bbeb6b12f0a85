package match

import (
	"bytes"
	"regexp"
)

// stops says for each place between the units of a which one it is between those of b, when both are equal.
func stops(a, b *stream) []int {
	if !bytes.Equal(a.text, b.text) {
		return nil
	}
	at := make([]int, len(a.text)+1)
	for i := range at {
		at[i] = i
	}
	return at
}

// wordStops does that for lines with misspelt words: word by word, or when only blanks are wrong, sign by sign.
func wordStops(a, b *stream) []int {
	x, y := tokens.FindAllIndex(a.text, -1), tokens.FindAllIndex(b.text, -1)
	if len(x) != len(y) {
		x, y = signs.FindAllIndex(a.text, -1), signs.FindAllIndex(b.text, -1)
		if despaced(string(a.text)) != despaced(string(b.text)) || len(x) != len(y) {
			return nil
		}
	}
	at := make([]int, len(a.text)+1)
	i := 0
	for k := range x {
		for ; i <= x[k][0]; i++ {
			at[i] = y[k][0]
		}
		for ; i < x[k][1]; i++ {
			at[i] = y[k][0]
		}
		at[x[k][1]] = y[k][1]
		i = x[k][1] + 1
		if k+1 < len(x) && x[k+1][0] == x[k][1] {
			i--
		}
	}
	for ; i <= len(a.text); i++ {
		at[i] = len(b.text)
	}
	return at
}

var signs = regexp.MustCompile(`\S`)

// unitsBefore counts the units of a stream that end at an offset of its text or before.
func unitsBefore(s *stream, offset int) int {
	n := 0
	for n < len(s.text) && int(s.end[n]) <= offset {
		n++
	}
	return n
}

// commonPrefix is how many bytes two texts have in common at their start, whole signs only.
func commonPrefix(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && (!startsSign(a[n:]) || !startsSign(b[n:])) {
		n--
	}
	return n
}

// commonSuffix is the same at their end.
func commonSuffix(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !startsSign(a[len(a)-n:]) {
		n--
	}
	return n
}
