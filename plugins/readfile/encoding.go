package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"

	"github.com/toolhost/toolhost/sdk"
)

// A coding is how a text is written in bytes.
type coding struct {
	name string            // as the WHATWG Encoding Standard has it, in lower case
	enc  encoding.Encoding // nil for UTF-8, which is taken as it is
}

var utf8Coding = coding{name: "utf-8"}

// aliases are names that people use and the standard does not have.
var aliases = map[string]string{
	"cp949": "euc-kr", "uhc": "euc-kr", "ms949": "euc-kr", "cp932": "shift_jis", "cp936": "gbk", "cp950": "big5",
	"utf16": "utf-16", "utf16le": "utf-16le", "utf16be": "utf-16be", "utf-32": "utf-32le", "ansi": "windows-1252",
}

var wide = map[string]encoding.Encoding{
	"utf-32le": utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM),
	"utf-32be": utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
}

// codingOf finds an encoding by one of its names (https://encoding.spec.whatwg.org/#names-and-labels).
func codingOf(name string) (coding, error) {
	label := strings.ToLower(strings.TrimSpace(name))
	if known, ok := aliases[label]; ok {
		label = known
	}
	if enc, ok := wide[label]; ok {
		return coding{label, enc}, nil
	}
	enc, err := htmlindex.Get(label)
	if err != nil || enc == encoding.Replacement {
		return coding{}, unknownEncoding(name)
	}
	canonical, err := htmlindex.Name(enc)
	switch {
	case err != nil:
		return coding{}, unknownEncoding(name)
	case canonical == utf8Coding.name:
		return utf8Coding, nil
	}
	return coding{canonical, enc}, nil
}

func unknownEncoding(name string) error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments", Message: fmt.Sprintf("encoding: %.60q is no encoding known here", name),
		Suggestion: "Leave it out to have the encoding guessed, or use a name such as utf-8, utf-16le, windows-1252, iso-8859-2, koi8-r, euc-kr, shift_jis, gb18030 or big5."}
}

// reader gives what in holds as UTF-8. What cannot be decoded becomes U+FFFD.
func (c coding) reader(in *bufio.Reader) *bufio.Reader {
	if c.enc == nil {
		return in
	}
	return bufio.NewReaderSize(transform.NewReader(io.Reader(in), c.enc.NewDecoder()), blockSize)
}

// legacy tells of encodings of one region, in which nobody writes U+FFFD.
func (c coding) legacy() bool { return c.enc != nil && !strings.HasPrefix(c.name, "utf-") }
