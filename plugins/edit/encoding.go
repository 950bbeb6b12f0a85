package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"github.com/toolhost/toolhost/internal/charsetdetect"
	"github.com/toolhost/toolhost/internal/iso2022jp"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

var (
	cr, lf, crlf = []byte("\r"), []byte("\n"), []byte("\r\n")

	utf8Mark = []byte("\xEF\xBB\xBF")
)

// A form is the encoding and the byte order mark of a file. Models see and write the text alone.
type form struct {
	name    string
	mark    []byte            // the byte order mark in front
	codec   encoding.Encoding // nil when the bytes are the text
	unknown bool              // the bytes are not UTF-8, no encoding is configured, and none is likely
	guessed bool
}

var (
	plainForm   = form{name: "UTF-8"}
	shiftedForm = form{name: "ISO-2022-JP", codec: japanese.ISO2022JP}
	wideForms   = []form{
		{name: "UTF-16LE", mark: []byte("\xFF\xFE"), codec: unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
		{name: "UTF-16BE", mark: []byte("\xFE\xFF"), codec: unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
	}
)

// formOf detects the form of a file's content. Legacy is that of files that are not UTF-8; nil has it guessed, as tools
// that read do, if all bytes are kept in it.
func formOf(data []byte, legacy *form) form {
	if bytes.HasPrefix(data, utf8Mark) {
		return form{name: "UTF-8", mark: utf8Mark, unknown: !mostlyUTF8(data)}
	}
	for _, f := range wideForms {
		if bytes.HasPrefix(data, f.mark) {
			return f
		}
	}
	if iso2022jp.Is(data) {
		return shiftedForm
	}
	if utf8.Valid(data) {
		return plainForm
	}
	if legacy != nil && bytes.IndexByte(data, 0) < 0 {
		return *legacy
	}
	if mostlyUTF8(data) {
		return form{name: "UTF-8"}
	}
	for _, likely := range []func([]byte) string{charsetdetect.Declared, charsetdetect.Detect} {
		if f, err := codePage(likely(data)); err == nil {
			f.guessed = true
			if _, err := f.decode("", data); err == nil {
				return *f
			}
		}
	}
	return form{name: "UTF-8", unknown: true}
}

// mostlyUTF8 is true for text with a few invalid bytes, and false for another encoding.
func mostlyUTF8(data []byte) bool {
	sound, broken := textutil.CountUTF8(data)
	return sound >= broken
}

// decode returns the text of a file. It fails when the file is no text (BinaryFile), and when encoding the text does
// not give exactly the same bytes (EncodingNotKept).
func (f form) decode(path string, data []byte) ([]byte, error) {
	text := data[len(f.mark):]
	if f.codec != nil {
		var err error
		if text, err = f.codec.NewDecoder().Bytes(text); err != nil {
			return nil, f.notKept(path)
		}
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, &sdk.Error{Name: "BinaryFile",
			Message:    fmt.Sprintf("%q is not text: it holds NUL characters; nothing was changed", path),
			Suggestion: "Change it with a program that knows its format."}
	}
	if f.codec != nil {
		if back, err := f.encode(path, text); err != nil || !bytes.Equal(back, data) {
			return nil, f.notKept(path)
		}
	}
	return text, nil
}

func (f form) notKept(path string) error {
	return &sdk.Error{Name: "EncodingNotKept",
		Message: fmt.Sprintf("%q is not %s throughout: some of its bytes would not stay as they are; nothing was changed",
			path, f.name),
		Suggestion: "Change it with a program that works on bytes, or convert the file to UTF-8 first."}
}

// encode returns the bytes of text in this form. It fails with NotInEncoding when decoding them would not give the
// text.
func (f form) encode(path string, text []byte) ([]byte, error) {
	if f.codec == nil {
		return append(bytes.Clone(f.mark), text...), nil
	}
	data, err := f.codec.NewEncoder().Bytes(text)
	if err == nil {
		var back []byte
		if back, err = f.codec.NewDecoder().Bytes(data); err == nil && bytes.Equal(back, text) {
			return append(bytes.Clone(f.mark), data...), nil
		}
	}
	return nil, &sdk.Error{Name: "NotInEncoding",
		Message:    fmt.Sprintf("%q is %s, which has no %s; nothing was changed", path, f.name, f.foreign(text)),
		Suggestion: "Write it with other characters, or as an escape of the language that the file is in."}
}

// foreign quotes the first character that the encoding does not have.
func (f form) foreign(text []byte) string {
	for _, r := range string(text) {
		c := []byte(string(r))
		data, err := f.codec.NewEncoder().Bytes(c)
		if err != nil {
			return fmt.Sprintf("%q (%U)", r, r)
		}
		if back, err := f.codec.NewDecoder().Bytes(data); err != nil || !bytes.Equal(back, c) {
			return fmt.Sprintf("%q (%U)", r, r)
		}
	}
	return "place for this text"
}

// fits refuses text for a file of unknown encoding, unless it is ASCII, which nearly all encodings share.
func (f form) fits(path, text string) error {
	return f.onlyASCII(path, text, "how to write %q into it", "Use ASCII characters only")
}

// finds says why text is not found in a file of unknown encoding, from which tools that read show other characters by a
// guess.
func (f form) finds(path, text string) error {
	if strings.ContainsRune(text, utf8.RuneError) {
		return nil // the matcher's own advice is about those
	}
	return f.onlyASCII(path, text, "which bytes in it are the %q of old_string",
		"Choose an old_string of ASCII characters only, such as a part of the line")
}

func (f form) onlyASCII(path, text, unknown, advice string) error {
	at := strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
	if !f.unknown || at < 0 {
		return nil
	}
	r, _ := utf8.DecodeRuneInString(text[at:])
	return &sdk.Error{Name: "EncodingUnknown",
		Message: fmt.Sprintf("%q is not UTF-8, so it is not known "+unknown+"; nothing was changed", path, r),
		Suggestion: advice + ", or have the operator set the plugin's encoding, such as encoding = " +
			"\"windows-1252\"."}
}

// shown is the text of a file for a diff, or its bytes where it is no text.
func (f form) shown(data []byte) []byte {
	if !bytes.HasPrefix(data, f.mark) {
		return data
	}
	if text, err := f.decode("", data); err == nil {
		return text
	}
	return data
}
