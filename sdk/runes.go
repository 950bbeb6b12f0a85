package sdk

import "unicode/utf8"

// WholeEnd gives b without the start of a character at its end whose rest is missing, as where a stream of UTF-8 is cut.
// Bytes that are no UTF-8 stay.
func WholeEnd(b []byte) []byte {
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

// WholeStart gives b without the rest of a character at its start.
func WholeStart(b []byte) []byte {
	for i := range min(len(b), utf8.UTFMax) {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}
