package main

import (
	"bytes"
	"unicode/utf8"
)

// clip gives the first limit characters of line, its line ending not counted.
func clip(line []byte, limit int) []byte {
	body, crlf := bytes.CutSuffix(line, []byte("\r\n"))
	if !crlf {
		body = bytes.TrimSuffix(line, []byte("\n"))
	}
	if len(body) <= limit {
		return line
	}
	at := 0
	for range limit {
		_, size := utf8.DecodeRune(body[at:])
		if at += size; at >= len(body) {
			return line
		}
	}
	return line[:at:at]
}
