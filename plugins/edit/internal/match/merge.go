package match

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// mergeBody gives the line of the file as the model changed it: what its old and new line have in common stays as the file
// has it, and only what is between comes from the new line. All three are without indentation. It is false when the file
// differs from the old line in the very part that changes.
func (p *projection) mergeBody(old, fresh, file []byte) ([]byte, bool) {
	if t := bytes.TrimRight(old, " \t"); len(t) < len(old) {
		old, fresh = t, bytes.TrimRight(fresh, " \t")
	}
	a, b := p.stream(old), p.stream(file)
	if bytes.Equal(p.stream(fresh).text, b.text) {
		return file, true
	}
	at := stops(a, b)
	if at == nil {
		old, fresh = p.t.spelled(old, fresh, string(a.text), string(b.text))
		a = p.stream(old)
		at = stops(a, b)
	}
	head := commonPrefix(old, fresh)
	tail := commonSuffix(old[head:], fresh[head:])
	if at == nil {
		if at = wordStops(a, b); at == nil {
			return nil, false
		}
		head, tail = wholeWords(old, fresh, head, tail)
	}
	if !p.clear(a, b, at, head, len(old)-tail) {
		if gluedWords(a, b, at, max(1, unitsBefore(a, head)), unitsBefore(a, len(old)-tail)) {
			return nil, false
		}
		text := beside(old, fresh, file, head, tail)
		return text, text != nil
	}
	m := merge{old: old, fresh: fresh, file: file, a: a, b: b, at: at, head: head, tail: tail}
	start, end, middle := m.middle()
	if end < start {
		return nil, false
	}
	return slices.Concat(file[:start], withoutTwin(middle, file[end:]), file[end:]), true
}

// spelled gives an old line and a new one with the words that the old one misspells as the file spells them.
func (t *Text) spelled(old, fresh []byte, was, is string) (a, b []byte) {
	slips, _ := t.slips(was, is)
	right := func(word []byte) []byte {
		for _, s := range slips {
			if string(word) == s.old {
				return []byte(s.file)
			}
		}
		return word
	}
	return tokens.ReplaceAllFunc(old, right), tokens.ReplaceAllFunc(fresh, right)
}

// beside gives the changed line when the file has the bytes of the old one before and behind the changed part, and only blanks
// beside or in that part differ: then those of the new line are written. It is nil when there is more that differs.
func beside(old, fresh, file []byte, head, tail int) []byte {
	before, behind := bytes.TrimRight(old[:head], " \t"), bytes.TrimLeft(old[len(old)-tail:], " \t")
	if len(before)+len(behind) > min(len(file), len(fresh)) || !bytes.HasPrefix(file, before) || !bytes.HasSuffix(file, behind) || despaced(string(old)) != despaced(string(file)) {
		return nil
	}
	return bytes.Clone(fresh)
}

// clear says that bytes from to to of the old line have the same blanks in the file, where these tell words apart.
func (p *projection) clear(a, b *stream, at []int, from, to int) bool {
	if p.place.level&noSpace != 0 {
		return !gluedWords(a, b, at, max(1, unitsBefore(a, from)), unitsBefore(a, to))
	}
	return len(a.text) == len(b.text) || despaced(string(a.text)) != despaced(string(b.text)) || sameBlanks(a, b, at, from, to)
}

// withoutTwin drops a separator at the end of what is put in when the file goes on with it.
func withoutTwin(in, rest []byte) []byte {
	if n := len(in); n > 0 && len(rest) > 0 && in[n-1] == rest[0] && (rest[0] == ';' || rest[0] == ',') {
		return in[:n-1]
	}
	return in
}

// sameBlanks says that bytes from to to of a line, and the blanks around them, are the same in the file.
func sameBlanks(a, b *stream, at []int, from, to int) bool {
	x, y := unitsBefore(a, from), unitsBefore(a, to)
	x, y = max(0, x-1), min(len(a.text), y+1)
	return bytes.Equal(a.text[x:y], b.text[at[x]:max(at[x], at[y])])
}

// gluedWords says that between units from and to two words stand together in one text and apart in the other. Who knows then
// which words of the new line do.
func gluedWords(a, b *stream, at []int, from, to int) bool {
	for k := from; k <= to && k < len(a.text); k++ {
		j := at[k]
		if !a.border(k) || j < 1 || j >= len(b.text) || (a.start[k] > a.end[k-1]) == (b.start[j] > b.end[j-1]) {
			continue
		}
		before, _ := utf8.DecodeLastRune(a.text[:k])
		after, _ := utf8.DecodeRune(a.text[k:])
		if wordRune(before) && wordRune(after) {
			return true
		}
	}
	return false
}

// wholeWords shortens what two lines have in common so that no word is taken apart.
func wholeWords(old, fresh []byte, head, tail int) (int, int) {
	for head > 0 && (insideWord(old, head) || insideWord(fresh, head)) {
		head--
	}
	for tail > 0 && (insideWord(old, len(old)-tail) || insideWord(fresh, len(fresh)-tail)) {
		tail--
	}
	return head, tail
}

// stream is one line in the form of the level that the place was found at, comments included.
func (p *projection) stream(b []byte) *stream {
	return canon(newSource(b, nil), p.place.level&^noNotes)
}

// startsSign says that a text starts with a sign of its own, not within a rune or with a mark on the one before.
func startsSign(b []byte) bool {
	return len(b) == 0 || b[0] < utf8.RuneSelf || utf8.RuneStart(b[0]) && norm.NFC.Properties(b).BoundaryBefore()
}

func blankByte(c byte) bool { return c == ' ' || c == '\t' }
