package textutil

import "unicode/utf8"

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
