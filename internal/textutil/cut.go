package textutil

import "unicode/utf8"

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

// TrimPartialEnd returns b without a character at its end whose last bytes are missing, as where a stream of UTF-8 is
// cut. Bytes that are not UTF-8 stay.
func TrimPartialEnd(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(b[i]) {
			if utf8.FullRune(b[i:]) {
				return b
			}
			return b[:i]
		}
	}
	return b
}

// TrimPartialStart returns b without a character at its start whose first bytes are missing.
func TrimPartialStart(b []byte) []byte {
	for i := range min(len(b), utf8.UTFMax) {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}
