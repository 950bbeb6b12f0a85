package match

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// foldRune gives the plain form of a rune that models write in another way: quotes, dashes, odd spaces, full-width forms.
// It is -1 for those that are not seen at all.
func foldRune(r rune) rune {
	switch {
	case r >= 0xFF01 && r <= 0xFF5E:
		return r - 0xFEE0
	case r < 0xA0:
		return r
	}
	if to, ok := folded[r]; ok {
		return to
	}
	if unicode.Is(unicode.Zs, r) {
		return ' '
	}
	return r
}

// ellipsis stands for three dots.
const ellipsis = '\u2026'

var folded = map[rune]rune{
	'\u2018': '\'', '\u2019': '\'', '\u201a': '\'', '\u201b': '\'', '\u2032': '\'',
	'\u201c': '"', '\u201d': '"', '\u201e': '"', '\u201f': '"', '\u2033': '"',
	'\u2010': '-', '\u2011': '-', '\u2012': '-', '\u2013': '-', '\u2014': '-', '\u2015': '-', '\u2212': '-',
	'\u3002': '.', '\uff61': '.', '\u3001': ',', '\uff64': ',',
	'\u200b': -1, '\u200c': -1, '\u200d': -1, '\u2060': -1, '\ufeff': -1, '\u00ad': -1, '\u200e': -1, '\u200f': -1,
}

// foldInto appends the units of src, which starts at offset at of its text, in their plain form. Bytes that are not UTF-8
// stand for themselves.
func (s *stream) foldInto(src []byte, at int) {
	var it norm.Iter
	it.Init(norm.NFC, src)
	for !it.Done() {
		from := it.Pos()
		seg := it.Next()
		s.unit(seg, at+from, at+it.Pos())
	}
}

// unit appends one segment of normalized text. What a segment folds to belongs together: a match takes all of it or none.
func (s *stream) unit(seg []byte, from, to int) {
	for len(seg) > 0 {
		r, n := utf8.DecodeRune(seg)
		if r == utf8.RuneError && n == 1 {
			s.add(seg[0], from, to)
		} else if r == ellipsis {
			for range 3 {
				s.add('.', from, to)
			}
		} else if r = foldRune(r); r >= 0 {
			var buf [utf8.UTFMax]byte
			for _, c := range buf[:utf8.EncodeRune(buf[:], r)] {
				s.add(c, from, to)
			}
		}
		seg = seg[n:]
	}
}
