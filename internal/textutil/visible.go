package textutil

import (
	"strings"
	"unicode"
)

// Invisible reports characters that show nothing, move the cursor, or change the direction of text around them:
// controls, format and bidirectional characters, tags, variation selectors, fillers, private use. Line feeds and tabs
// are not among them.
func Invisible(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r >= ' ' && r < 0x7f:
		return false
	case r == '\u2800': // the braille blank
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// joins reports the invisible characters that scripts and emoji need: one, behind a character that can be seen.
func joins(r, before rune) bool {
	switch r {
	case '\ufe0e', '\ufe0f': // how an emoji, or a digit on a key, is drawn
		return before > ' ' && !Invisible(before)
	case '\u200c', '\u200d': // between letters of Persian or Hindi, or the parts of an emoji
		return before > unicode.MaxASCII && (!Invisible(before) || before == '\ufe0f')
	}
	return false
}

// Visible puts the replacement, or nothing if it is negative, in place of each invisible character that no script or
// emoji needs, and counts them. Line ends become line feeds, and bytes that are no UTF-8 U+FFFD. Most texts stay the
// same.
func Visible(text string, replacement rune) (string, int) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.IndexFunc(text, Invisible) < 0 {
		return text, 0
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var before rune
	n := 0
	return strings.Map(func(r rune) rune {
		if Invisible(r) && !joins(r, before) {
			n++
			return replacement
		}
		before = r
		return r
	}, text), n
}
