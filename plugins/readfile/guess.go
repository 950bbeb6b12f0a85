package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gogs/chardet"
)

const (
	sure       = 50      // of 100, how sure the detector has to be
	likely     = 20      // how sure of a script that windows-1252 cannot write
	guessBytes = 8 << 10 // how many bytes it gets to see
)

// guess names the encoding of a text that is not UTF-8, and says whether there is more to it than that most such files are
// windows-1252.
func guess(text []byte) (c coding, found bool) {
	sample := telling(text)
	results, _ := chardet.NewTextDetector().DetectAll(sample) // an error is for nothing found
	slices.SortFunc(results, func(a, b chardet.Result) int {  // they come in the order of goroutines
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.Charset, b.Charset))
	})
	enough := sure
	if foreign(sample) {
		enough = likely
	}
	for _, r := range results {
		if r.Confidence < enough {
			break
		}
		if c, err := codingOf(r.Charset); err == nil && c.legacy() && c.decodes(sample) {
			return c, true
		}
	}
	c, _ = codingOf("windows-1252")
	return c, false
}

// telling gives the lines of a text that tell of its encoding, those that are not ASCII alone: the English around a few
// comments says nothing.
func telling(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		if isASCII(line) {
			continue
		}
		if len(out)+len(line) > guessBytes {
			if len(out) == 0 {
				out = line[:guessBytes]
			}
			break
		}
		out = append(out, line...)
	}
	return out
}

// foreign tells of a text in which most letters are not ASCII, as in Cyrillic or Greek, and in no language of windows-1252.
func foreign(sample []byte) bool {
	ascii, other := 0, 0
	for _, c := range sample {
		if c >= utf8.RuneSelf {
			other++
		} else if unicode.IsLetter(rune(c)) {
			ascii++
		}
	}
	return other > ascii
}

func isASCII(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c >= utf8.RuneSelf })
}

// decodes tells whether a sample is sound in an encoding. Its last character may be cut off.
func (c coding) decodes(sample []byte) bool {
	text, err := c.enc.NewDecoder().Bytes(sample)
	text = bytes.TrimSuffix(text, []byte("\uFFFD"))
	return err == nil && !bytes.ContainsRune(text, utf8.RuneError)
}

// utf16Without finds UTF-16 that has no byte order mark by the zero bytes of its ASCII characters, which are all on one
// side. It gives "" for what is binary.
func utf16Without(head []byte) string {
	units := head[:len(head)&^1]
	switch {
	case len(units) < 4:
		return ""
	case isUTF16(units, binary.LittleEndian):
		return "utf-16le"
	case isUTF16(units, binary.BigEndian):
		return "utf-16be"
	}
	return ""
}

// isUTF16 asks for all characters to be ones that are printed, and at least a tenth of them ASCII. Since a character without
// a high byte is swapped into one that seldom is any, it does not hold for both orders.
func isUTF16(units []byte, order binary.ByteOrder) bool {
	text := make([]uint16, 0, len(units)/2)
	ascii := 0
	for ; len(units) > 1; units = units[2:] {
		u := order.Uint16(units)
		if u < utf8.RuneSelf {
			ascii++
		}
		text = append(text, u)
	}
	if utf16.IsSurrogate(rune(text[len(text)-1])) {
		text = text[:len(text)-1] // its other half may be cut off
	}
	runes := utf16.Decode(text)
	return ascii*10 >= len(text) && !slices.ContainsFunc(runes, func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.IsSpace(r)
	})
}

// mostlyUTF8 tells whether more characters of several bytes are sound than bytes are not: then it is UTF-8 with damages.
func mostlyUTF8(text []byte) bool {
	sound, broken := 0, 0
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 {
			broken++
		} else if n > 1 {
			sound++
		}
		text = text[n:]
	}
	return sound > broken
}

// noisy tells of more control characters than texts have, two in a hundred.
func noisy(head []byte) bool { return controls(head)*50 > len(head) }

// controls counts the control characters that texts hardly have.
func controls(head []byte) (n int) {
	for _, c := range head {
		if c < ' ' && !bytes.ContainsRune([]byte("\t\n\v\f\r\b\x1b"), rune(c)) || c == 0x7F {
			n++
		}
	}
	return n
}
