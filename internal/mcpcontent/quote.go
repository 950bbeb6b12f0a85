package mcpcontent

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// quoted appends a text as a JSON string, with no escape that JSON does not ask for.
func quoted(b []byte, text string) []byte {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	b = append(b, '"')
	from := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, text[from:i]...)
		from = i + 1
		if at := strings.IndexByte("\"\\\b\f\n\r\t", c); at >= 0 {
			b = append(b, '\\', `"\bfnrt`[at])
		} else {
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(b, text[from:]...), '"')
}

// usualEscapes reports whether quoted would write the same JSON string.
func usualEscapes(raw []byte) bool {
	for at := bytes.IndexByte(raw, '\\'); at >= 0; at = bytes.IndexByte(raw, '\\') {
		raw = raw[at+1:] // of a valid string, in which something follows
		switch {
		case strings.IndexByte(`"\bfnrt`, raw[0]) >= 0:
			raw = raw[1:]
		case raw[0] == 'u' && raw[1] == '0' && raw[2] == '0' && (raw[3] == '0' || raw[3] == '1') &&
			strings.IndexByte(hexDigits, raw[4]) >= 0 && (raw[3] == '1' || strings.IndexByte("89acd", raw[4]) < 0):
			raw = raw[5:]
		default:
			return false
		}
	}
	return true
}

// encoded appends bytes as a JSON string of base64.
func encoded(b, data []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), data), '"')
}
