package main

import (
	"io"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/internal/textutil"
)

// clean makes text safe for a terminal: lines and tabs stay, whatever could move the cursor, change colours, turn the
// direction of writing, or be there unseen becomes a replacement character.
func clean(text string) string {
	text, _ = textutil.Visible(text, unicode.ReplacementChar)
	return text
}

// A cleaner passes on clean text. Each write must hold whole characters.
type cleaner struct{ w io.Writer }

func (c cleaner) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.w, clean(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// fit makes text one line of at most n columns that cannot move the cursor.
func fit(text string, n int) string {
	text, _ = textutil.Visible(text, ' ')
	text = strings.NewReplacer("\n", " ", "\t", " ").Replace(text)
	used, end := 0, 0 // end is where the text is cut, so that the sign for it still fits
	for i, r := range text {
		if used+columns(r) > n {
			return text[:end] + "…"[:min(max(n, 0), 1)*len("…")]
		}
		used += columns(r)
		if used < n {
			end = i + len(string(r))
		}
	}
	return text
}

// wide are the characters that most terminals show in two columns.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x2e80, 0xa4cf, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f900, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

// columns is how much room a character takes.
func columns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

func textColumns(text string) (n int) {
	for _, r := range text {
		n += columns(r)
	}
	return n
}
