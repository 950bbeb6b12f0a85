package textutil

import (
	"unicode/utf8"
)

// Cut returns the start of s, at most n bytes, without a part of a character at its end.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// CutRunes returns the start of s, at most n characters, followed by mark if anything was cut.
func CutRunes(s string, n int, mark string) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i] + mark
		}
	}
	return s
}
