// Package iso2022jp recognizes texts in ISO-2022-JP. Their bytes are all ASCII, so they look like UTF-8.
package iso2022jp

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/encoding/japanese"

	"github.com/toolhost/toolhost/internal/lazy"
)

// shifted has an escape to characters of two bytes, and one back.
var shifted = lazy.Regexp(`\x1b\$[@B](?:[!-~]{2})+\x1b\([BJ]`)

// Is reports whether a text, whose last line may be cut off, has Japanese in it and is sound: what a terminal was sent
// has other escapes beside, such as those of colours, which would be lost.
func Is(text []byte) bool {
	if !shifted().Match(text) || slices.ContainsFunc(text, func(c byte) bool { return c >= utf8.RuneSelf }) {
		return false
	}
	if end := bytes.LastIndexByte(text, '\n'); end >= 0 {
		text = text[:end]
	}
	out, err := japanese.ISO2022JP.NewDecoder().Bytes(text)
	return err == nil && !bytes.ContainsRune(out, utf8.RuneError)
}
