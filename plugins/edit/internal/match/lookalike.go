package match

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// latin are letters of other scripts that look like a Latin one.
var latin = func() map[rune]rune {
	other := []rune("аеорсухіѕјАВЕКМНОРСТХІЅЈαοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
	out := map[rune]rune{}
	for i, r := range []rune("aeopcyxisjABEKMHOPCTXISJaoABEZHIKMNOPTYX") {
		out[other[i]] = r
	}
	return out
}()

// lookOf is what a reader sees of a line: without characters that do not print, with blanks, quotes, dashes and letters
// that look the same as one.
func lookOf(b []byte) string {
	return squeeze([]byte(strings.Map(func(r rune) rune {
		switch r = foldRune(r); {
		case latin[r] != 0:
			return latin[r]
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Variation_Selector, unicode.Cc, unicode.Cf):
			return -1
		}
		return r
	}, norm.NFKC.String(string(b)))))
}

// hiddenDifference says how a line of the file and one of old_string differ that look the same: the code points that
// each has where the other has others. It is "" for lines that look different, or differ only in blanks and tabs.
func hiddenDifference(file, old []byte) string {
	plain := func(b []byte) []byte {
		return bytes.Join(bytes.FieldsFunc(b, func(r rune) bool { return r < 0x80 && blankByte(byte(r)) }), []byte(" "))
	}
	if file, old = plain(file), plain(old); bytes.Equal(file, old) || !utf8.Valid(file) || !utf8.Valid(old) ||
		lookOf(file) != lookOf(old) {
		return ""
	}
	n := commonPrefix(file, old)
	file, old = file[n:], old[n:]
	n = commonSuffix(file, old)
	return fmt.Sprintf("has %s where old_string has %s", codePoints(file[:len(file)-n]), codePoints(old[:len(old)-n]))
}

// hiddenNames are the names of characters that do not print.
var hiddenNames = map[rune]string{' ': "a blank", '\f': "form feed", '\v': "vertical tab", '\u00a0': "no-break space",
	'\u00ad': "soft hyphen", '\u200b': "zero width space", '\u200c': "zero width non-joiner",
	'\u200d': "zero width joiner", '\u2028': "line separator", '\ufe0e': "variation selector",
	'\ufe0f': "variation selector", '\ufeff': "byte order mark"}

// codePoints names the first characters of a text.
func codePoints(b []byte) string {
	var out []string
	for _, r := range string(b) {
		name := fmt.Sprintf("%#U", r)
		if n := hiddenNames[r]; n != "" {
			name = fmt.Sprintf("%U (%s)", r, n)
		}
		if out = append(out, name); len(out) == 4 {
			break
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, " ")
}
