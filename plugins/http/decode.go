package main

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

const (
	sniffed     = 32 << 10 // how much of a body is looked at to guess its encoding
	leastGuess  = 50       // how sure a guess must be, of 100
	leastSample = 20       // bytes; guesses from less are chance
)

// decode gives a body as UTF-8, and the name of the encoding that it was in.
func (a *answer) decode() (text, name string) {
	e, name := a.encoding()
	if e != nil {
		if out, err := e.NewDecoder().Bytes(a.body); err == nil {
			return strings.TrimPrefix(string(out), "\uFEFF"), name
		}
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(a.whole()), "\uFEFF"), "\uFFFD"), "utf-8"
}

// encoding finds out which one it is: by a byte order mark, what the header or the page says, or by the looks of it. Nil
// is UTF-8.
func (a *answer) encoding() (encoding.Encoding, string) {
	if e, name, sure := charset.DetermineEncoding(a.body, ""); sure {
		return known(e, name) // a byte order mark
	}
	if e, name := charset.Lookup(a.charset); e != nil && name != "replacement" {
		return known(e, name)
	}
	if a.html() {
		if e, name, _ := charset.DetermineEncoding(a.body, ""); name != "windows-1252" { // which stands for not known as well
			return known(e, name)
		}
	}
	if utf8.Valid(a.whole()) || strings.HasSuffix(a.mediaType, "json") {
		return nil, "utf-8"
	}
	return guess(a.body)
}

func known(e encoding.Encoding, name string) (encoding.Encoding, string) {
	if name == "utf-8" {
		return nil, name // replacing what is not valid is the same for all of UTF-8
	}
	return e, name
}

// whole is the body without a last UTF-8 character that was cut off with the rest.
func (a *answer) whole() []byte {
	b := a.body
	for i := len(b) - 1; a.cut && i >= max(0, len(b)-utf8.UTFMax); i-- {
		if !utf8.RuneStart(b[i]) {
			continue
		}
		if !utf8.FullRune(b[i:]) {
			return b[:i]
		}
		break
	}
	return b
}

// guess tells an encoding by how often its characters come. Windows-1252 is what is left: every byte is a character there.
func guess(body []byte) (encoding.Encoding, string) {
	if sample := bytes.TrimSpace(body[:min(len(body), sniffed)]); len(sample) >= leastSample {
		if best, err := chardet.NewTextDetector().DetectBest(sample); err == nil && best.Confidence >= leastGuess {
			if e, name := charset.Lookup(best.Charset); e != nil && name != "utf-8" {
				return e, name
			}
		}
	}
	return charset.Lookup("windows-1252")
}
