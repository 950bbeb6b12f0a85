package corpus

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// squash reduces a text to what nobody would take for another text: no white space, no commas and semicolons, one kind
// of quotes and dashes, composed letters. Two places that squash alike fit a noisy quotation alike.
func squash(text string) string {
	if ascii(text) {
		return strings.Map(squashed, text)
	}
	return strings.Map(squashed, norm.NFKC.String(text))
}

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

func squashed(r rune) rune {
	switch r {
	case ' ', '\t', '\n', '\r', ',', ';', '、', '\u200b', '\ufeff', '\\':
		return -1
	case '"', '“', '”', '‘', '’', '`', '„':
		return '\''
	case '–', '—', '‐', '‑', '−':
		return '-'
	case '。':
		return '.'
	}
	if unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

// keys squashes line by line.
func keys(lines []line) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = squash(l.text)
	}
	return out
}

func size(keys []string) int {
	n := 0
	for _, k := range keys {
		n += len(k)
	}
	return n
}

// letters counts the letters and digits of a text.
func letters(text string) int {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}
