// Package textutil has what several packages do with texts of third parties before people or models read them.
package textutil

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// Count is a number with what it counts, such as "1 tool", "2 tools" or "3 properties".
func Count(n int, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(one, "y"))
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// List joins words as a sentence does: with commas, and the conjunction, such as "or", before the last one.
func List(words []string, conjunction string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " " + conjunction + " " + words[n-1]
	}
	return strings.Join(words, "")
}

var (
	pointerEscapes   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// EscapePointer returns name as one reference token of a JSON Pointer (RFC 6901, section 3).
func EscapePointer(name string) string { return pointerEscapes.Replace(name) }

// UnescapePointer returns the name that a reference token of a JSON Pointer means.
func UnescapePointer(token string) string { return pointerUnescapes.Replace(token) }

// IsASCII reports a text of ASCII characters alone.
func IsASCII[T ~string | ~[]byte](text T) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// CountUTF8 counts the characters of several bytes that are sound, and the bytes that are no part of any: text in UTF-8
// with damages has more of the former.
func CountUTF8(text []byte) (sound, broken int) {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 {
			broken++
		} else if n > 1 {
			sound++
		}
		text = text[n:]
	}
	return sound, broken
}

// OwnedString returns bytes as text, and makes it valid UTF-8. The text shares the memory of the bytes: the caller
// gives them up, and nothing may change them afterwards.
func OwnedString(b []byte) string {
	if !utf8.Valid(b) {
		return strings.ToValidUTF8(string(b), "\uFFFD")
	}
	return unsafe.String(unsafe.SliceData(b), len(b)) // a copy of a large result costs as much as sending it
}

// ReadOnlyBytes returns the bytes of a text, whose memory they share: nothing may change them.
func ReadOnlyBytes(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// ShellQuoted makes one word of a text, for a POSIX shell.
func ShellQuoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Clean makes a text valid UTF-8.
func Clean(s string) string {
	if utf8.ValidString(s) { // ten times as fast as the search for what to replace
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

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
