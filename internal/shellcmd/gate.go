package shellcmd

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// maxText is the longest text that is looked at, in bytes. No person reads longer ones before saying yes.
const maxText = 16 << 10

// gate refuses texts that a person and bash might read differently, or that take long to parse.
func gate(text string) error {
	if len(text) > maxText {
		return &RefusedError{Offset: maxText, Reason: fmt.Sprintf("it is longer than %d bytes", maxText)}
	}
	for i, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
				return &RefusedError{Offset: i, Reason: "it is not UTF-8"}
			}
		}
		if hidden(r) {
			return &RefusedError{Offset: i, Reason: fmt.Sprintf("it holds the character %U, which people cannot see", r)}
		}
	}
	return nil
}

// hidden reports characters that are invisible, move others, or look like a blank without being one.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r == 0x7f:
		return true
	case r < 0x80:
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == '\u2800' // the braille blank
}
