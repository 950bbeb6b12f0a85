// Package textutil has what several packages do with texts of third parties before people or models read them.
package textutil

import (
	"fmt"
	"strings"
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
