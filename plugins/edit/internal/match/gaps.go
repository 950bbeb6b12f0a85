package match

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A merge puts the part that the model changed in a line into the line of the file. Beside the part, on either side, is a
// gap: blanks, or nothing. A gap that the model did not change is as the file has it, any other as new_string has it.
type merge struct {
	old, fresh, file []byte
	a, b             *stream // of old and of file
	at               []int   // where the places between the units of a are in b
	head, tail       int     // bytes that old and fresh have in common at their ends
}

// middle gives the part of the file's line that changes, and what comes in its place.
func (m *merge) middle() (start, end int, with []byte) {
	lo := len(bytes.TrimRightFunc(m.old[:m.head], unicode.IsSpace))
	hi := len(m.old) - len(bytes.TrimLeftFunc(m.old[len(m.old)-m.tail:], unicode.IsSpace))
	start, end = m.inFile(lo, hi)
	if end < start {
		return start, end, nil
	}
	wasLeft, was, wasRight := cutSpace(m.old[lo:hi])
	hereLeft, hereRight := m.beside(start, end, lo+len(wasLeft), hi-len(wasRight))
	left, fresh, right := cutSpace(m.fresh[lo : len(m.fresh)-(len(m.old)-hi)])
	ahead, behind := lastRune(m.old[:lo]), firstRune(m.old[hi:])
	switch { // text for text, or no text where some was, or text where none was
	case len(was) > 0 && len(fresh) > 0:
		left = gap(wasLeft, left, hereLeft, ahead, firstRune(fresh))
		right = gap(wasRight, right, hereRight, lastRune(fresh), behind)
	case hi == len(m.old):
	case len(was) > 0:
		old, file := wasLeft, hereLeft
		if !bytes.Equal(wasLeft, left) || len(left) > 0 && len(hereLeft) == 0 {
			old, file = wasRight, hereRight
		}
		if len(left) == 0 || len(file) > 0 {
			left = gap(old, left, file, ahead, behind)
		}
	case len(fresh) > 0:
		onLeft, onRight := m.sides(wasLeft, left, hereLeft, fresh, right, ahead, behind)
		if onLeft {
			left = gap(wasLeft, left, hereLeft, ahead, firstRune(fresh))
		}
		if onRight {
			right = gap(wasLeft, right, hereLeft, lastRune(fresh), behind)
		}
	}
	return start, end, append(append(bytes.Clone(left), fresh...), right...)
}

// inFile is the range of the file's line that bytes lo to hi of the old one stand for, blanks around it included.
func (m *merge) inFile(lo, hi int) (start, end int) {
	x, y := m.at[unitsBefore(m.a, lo)], m.at[unitsBefore(m.a, hi)]
	for x > 0 && blankByte(m.b.text[x-1]) {
		x--
	}
	for y < len(m.b.text) && blankByte(m.b.text[y]) {
		y++
	}
	if lo > 0 && x > 0 {
		start = int(m.b.end[x-1])
	}
	switch {
	case y < len(m.b.text):
		end = int(m.b.start[y])
	case y > 0:
		end = int(m.b.end[y-1])
	}
	return start, end
}

// beside gives what the part start to end of the file's line has before and after what bytes from to to of the old one stand
// for: white space, and signs that the level does not see.
func (m *merge) beside(start, end, from, to int) (left, right []byte) {
	if from == to {
		return m.file[start:end], nil
	}
	if u, v := unitsBefore(m.a, from), unitsBefore(m.a, to); u < v && m.at[u] < m.at[v] {
		return m.file[start:m.b.start[m.at[u]]], m.file[m.b.end[m.at[v]-1]:end]
	}
	left, _, right = cutSpace(m.file[start:end])
	return left, right
}

// gap is what stands between two signs of a changed line: what the file has there if new_string has what old_string has,
// else what new_string has. Never are signs written together that new_string has apart, or apart that it has together, where
// that makes other words of them.
func gap(old, fresh, file []byte, before, after rune) []byte {
	switch {
	case bytes.Equal(old, fresh) && !breaks(fresh, file, before, after):
		return file
	case bytes.IndexByte(file, '\n') >= 0 && bytes.IndexByte(fresh, '\n') < 0:
		return file // where lines end is not what the model changed
	}
	return fresh
}

// breaks says that one of two gaps makes one word or operator of what the other one keeps apart.
func breaks(fresh, file []byte, before, after rune) bool {
	return (len(fresh) == 0) != (len(file) == 0) && joint(before, after)
}

func joint(before, after rune) bool {
	return wordRune(before) && wordRune(after) || strings.ContainsRune(operators, before) && strings.ContainsRune(operators, after)
}

const operators = "+-*/<>=&|!:.%^~?@$#"

// sides says on which sides of new text the gap of the file goes, where the old line has a gap, or nothing, and no text.
func (m *merge) sides(old, left, file, fresh, right []byte, before, after rune) (onLeft, onRight bool) {
	onLeft, onRight = bytes.Equal(old, left), bytes.Equal(old, right)
	if !onLeft || !onRight {
		return onLeft, onRight
	}
	if last := lastRune(fresh); last == before && (last == ',' || last == ';') {
		return true, true // an element of a list
	}
	onLeft = m.leansRight()
	switch {
	case onLeft && breaks(left, file, before, firstRune(fresh)):
		onLeft = false
	case !onLeft && breaks(right, file, lastRune(fresh), after):
		onLeft = true
	}
	return onLeft, !onLeft
}

// leansRight says that what new has more after its first head bytes belongs to what follows there: it goes after the
// blanks that the file may have there, not before them.
func (m *merge) leansRight() bool {
	if m.head == 0 || blankByte(m.old[m.head-1]) || m.head+m.tail > len(m.fresh) || m.tail == 0 {
		return m.head > 0 && blankByte(m.old[m.head-1])
	}
	before, after, last := lastRune(m.old[:m.head]), firstRune(m.old[len(m.old)-m.tail:]), lastRune(m.fresh[:len(m.fresh)-m.tail])
	return !wordRune(before) && wordRune(after) && (wordRune(last) || last == '.' || strings.ContainsRune(",;:=+-*/<>&|", before))
}

// cutSpace takes the white space from both ends of a text; of one that is nothing else it is all on the left.
func cutSpace(b []byte) (left, text, right []byte) {
	n := len(b) - len(bytes.TrimLeftFunc(b, unicode.IsSpace))
	text = bytes.TrimRightFunc(b[n:], unicode.IsSpace)
	return b[:n], text, b[n+len(text):]
}

func firstRune(b []byte) rune {
	r, _ := utf8.DecodeRune(b)
	return r
}

func lastRune(b []byte) rune {
	r, _ := utf8.DecodeLastRune(b)
	return r
}
