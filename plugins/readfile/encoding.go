package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"

	"github.com/toolhost/toolhost/internal/charsetdetect"
	"github.com/toolhost/toolhost/internal/iso2022jp"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// A textEncoding is how a text is written in bytes.
type textEncoding struct {
	name string            // as the WHATWG Encoding Standard has it, in lower case
	enc  encoding.Encoding // nil for UTF-8, which is taken as it is
}

var utf8Coding = textEncoding{name: "utf-8"}

// aliases are names that people and other programs use, Python among them, and the standard does not have; all in the
// form that squeezed gives.
var aliases = map[string]string{
	"cp949": "euc-kr", "uhc": "euc-kr", "ms949": "euc-kr", "euckr": "euc-kr",
	"cp932": "shift_jis", "shiftjis": "shift_jis", "eucjp": "euc-jp",
	"cp936": "gbk", "cp950": "big5", "cp874": "windows-874", "tis620": "windows-874",
	"utf16": "utf-16", "utf16le": "utf-16le", "utf16be": "utf-16be", "utf32": "utf-32le", "utf32le": "utf-32le",
	"utf32be": "utf-32be", "utf8sig": "utf-8", "utf8bom": "utf-8",
	"ansi": "windows-1252", "macroman": "macintosh", "maccyrillic": "x-mac-cyrillic",
	"koi8r": "koi8-r", "koi8u": "koi8-u",
}

// more are encodings that the standard does not have: the wide ones, and those of DOS.
var more = map[string]encoding.Encoding{
	"utf-32le": utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM),
	"utf-32be": utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
	"cp437":    charmap.CodePage437, "cp850": charmap.CodePage850, "cp852": charmap.CodePage852,
	"cp855": charmap.CodePage855, "cp858": charmap.CodePage858, "cp860": charmap.CodePage860,
	"cp862": charmap.CodePage862, "cp863": charmap.CodePage863, "cp865": charmap.CodePage865,
}

// squeezed is a name as all its spellings have it: latin-1, iso_8859_1, windows1252, win-1252 and ibm850 among them.
func squeezed(name string) string {
	name = strings.NewReplacer("-", "", "_", "", " ", "").Replace(name)
	for _, prefix := range []string{"windows", "win", "ibm"} {
		if number, ok := strings.CutPrefix(name, prefix); ok && strings.Trim(number, "0123456789") == "" {
			return "cp" + number
		}
	}
	return name
}

// encodingNamed finds an encoding by one of its names (https://encoding.spec.whatwg.org/#names-and-labels).
func encodingNamed(name string) (textEncoding, error) {
	label := strings.ToLower(strings.TrimSpace(name))
	short := squeezed(label)
	for _, label := range []string{label, cmp.Or(aliases[short], short)} {
		if enc, ok := more[label]; ok {
			return textEncoding{label, enc}, nil
		}
		enc, err := htmlindex.Get(label)
		if err != nil || enc == encoding.Replacement {
			continue
		}
		canonical, err := htmlindex.Name(enc)
		switch {
		case err != nil:
			continue
		case canonical == utf8Coding.name:
			return utf8Coding, nil
		}
		return textEncoding{canonical, enc}, nil
	}
	return textEncoding{}, &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments",
		Message: fmt.Sprintf("encoding: %.60q is not a supported encoding", name),
		Suggestion: "Leave it out to have the encoding guessed, or use a name such as utf-8, utf-16le, windows-1252, " +
			"iso-8859-2, koi8-r, euc-kr, shift_jis, gb18030 or big5."}
}

// reader returns what in holds as UTF-8. What cannot be decoded becomes U+FFFD.
func (c textEncoding) reader(in *bufio.Reader) *bufio.Reader {
	if c.enc == nil {
		return in
	}
	return bufio.NewReaderSize(transform.NewReader(io.Reader(in), c.enc.NewDecoder()), blockSize)
}

// legacy reports encodings of one region, in which no one writes U+FFFD.
func (c textEncoding) legacy() bool { return c.enc != nil && !strings.HasPrefix(c.name, "utf-") }

const (
	sniffed   = 8 << 10  // how much of a file is examined to distinguish text from binary
	looked    = 1 << 20  // how much to find out its encoding
	blockSize = 64 << 10 // of reading
)

// A decoded is the content of a file, made UTF-8.
type decoded struct {
	textEncoding
	in     *bufio.Reader
	head   []byte // the first bytes of the file as they are
	binary bool
	note   string // what was done, for the model
}

// decode finds out how a file is encoded, unless that is asked for by name, and decodes it. A byte order mark is
// dropped. Size, if known, keeps the buffer as small as the file.
func decode(file io.Reader, size int64, asked textEncoding) (decoded, error) {
	in := bufio.NewReaderSize(file, int(min(max(size+1, blockSize), looked)))
	look, err := in.Peek(looked)
	if ignoreEOF(err) != nil && !errors.Is(err, bufio.ErrBufferFull) {
		return decoded{}, err
	}
	out := decoded{head: bytes.Clone(look[:min(len(look), sniffed)])}
	drop := out.choose(look, asked)
	if _, err := in.Discard(drop); err != nil {
		return decoded{}, err
	}
	out.in = out.reader(in)
	if head, err := out.in.Peek(sniffed); ignoreEOF(err) != nil {
		return decoded{}, err
	} else if bytes.IndexByte(head, 0) >= 0 {
		out.binary = true
	}
	return out, nil
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// marks are the byte order marks; the longer ones come first.
var marks = []struct{ mark, name string }{
	{"\xEF\xBB\xBF", "utf-8"}, {"\xFF\xFE\x00\x00", "utf-32le"}, {"\x00\x00\xFE\xFF", "utf-32be"},
	{"\xFF\xFE", "utf-16le"}, {"\xFE\xFF", "utf-16be"},
}

// choose settles the encoding and how many bytes of a mark to drop.
func (d *decoded) choose(look []byte, asked textEncoding) (drop int) {
	for _, m := range marks {
		if bytes.HasPrefix(look, []byte(m.mark)) && (asked.name == "" || family(asked.name) == family(m.name)) {
			d.textEncoding, _ = encodingNamed(m.name)
			d.note = "decoded from " + m.name
			if m.name == "utf-8" {
				d.note = "the file starts with a UTF-8 byte order mark, which is not shown"
			}
			return len(m.mark)
		}
	}
	if asked.name != "" {
		d.textEncoding, d.note = asked, "decoded from "+asked.name+", as asked"
		return 0
	}
	d.recognize(look)
	return 0
}

// family is the name without the order of bytes, about which a mark knows better than people.
func family(name string) string { return strings.TrimSuffix(strings.TrimSuffix(name, "le"), "be") }

// recognize finds out what the bytes of a file without a mark are.
func (d *decoded) recognize(look []byte) {
	const doubt = "; if letters look wrong, name the encoding, such as encoding=\"euc-kr\""
	d.textEncoding = utf8Coding
	whole := look
	if len(look) == looked { // else its last character is cut off by no one but the file
		whole = textutil.TrimPartialEnd(look)
	}
	switch {
	case bytes.IndexByte(d.head, 0) >= 0:
		name := utf16Without(d.head)
		if d.binary = name == ""; !d.binary {
			d.textEncoding, _ = encodingNamed(name)
			d.note = "decoded from " + name + ", by a guess" + doubt
		}
	case iso2022jp.Is(look):
		d.textEncoding, _ = encodingNamed("iso-2022-jp")
		d.note = "decoded from iso-2022-jp, by a guess" + doubt
	case utf8.Valid(whole):
	case known(d.head) && controls(d.head) > 0: // the looks alone are a few letters, such as BM
		d.binary = true
	case mostlyUTF8(look):
	case controls(d.head)*50 > len(d.head): // texts have two in a hundred at the most
		d.binary = true
	default:
		if c, ok := declared(look); ok {
			d.textEncoding, d.note = c, "decoded from "+c.name+", as the file itself says"+doubt
			return
		}
		var found bool
		d.textEncoding, found = guess(look)
		d.note = "decoded from " + d.name + ", by a guess" + doubt
		if !found {
			d.note = "not UTF-8, and no encoding is likely; decoded from " + d.name + doubt
		}
	}
}

// declared is the encoding that a text names at its start, if it is one of a region, and its bytes are sound in it.
func declared(text []byte) (c textEncoding, ok bool) {
	c, err := encodingNamed(charsetdetect.Declared(text))
	return c, err == nil && c.legacy() && c.decodes(text)
}

// guess names the encoding of a text that is not UTF-8, and reports whether there is more to it than that most such
// files are windows-1252.
func guess(text []byte) (c textEncoding, found bool) {
	name := charsetdetect.Detect(text)
	c, _ = encodingNamed(cmp.Or(name, "windows-1252"))
	return c, name != ""
}

// decodes reports whether a sample is sound in an encoding. Its last character may be cut off.
func (c textEncoding) decodes(sample []byte) bool {
	text, err := c.enc.NewDecoder().Bytes(sample)
	text = bytes.TrimSuffix(text, []byte("\uFFFD"))
	return err == nil && !bytes.ContainsRune(text, utf8.RuneError)
}

// utf16Without finds UTF-16 that has no byte order mark by the zero bytes of its ASCII characters, which are all on
// one side. It returns "" for what is binary.
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

// isUTF16 asks for all characters to be ones that are printed, and at least a tenth of them ASCII; of an alphabet,
// whose letters have one high byte, a twentieth; almost all, where else each byte by itself is ASCII or zero, as in a
// list whose items end in zeros. Since a character without a high byte is swapped into one that seldom is any, it does
// not hold for both orders.
func isUTF16(units []byte, order binary.ByteOrder) bool {
	text := make([]uint16, 0, len(units)/2)
	ascii, least := 0, 10
	high := map[uint16]bool{} // bytes
	anyHigh := slices.ContainsFunc(units, func(c byte) bool { return c >= utf8.RuneSelf })
	for ; len(units) > 1; units = units[2:] {
		u := order.Uint16(units)
		if u < utf8.RuneSelf {
			ascii++
		} else {
			high[u>>8] = true
		}
		text = append(text, u)
	}
	switch {
	case len(high) == 1 && len(text) >= 16:
		least = 5
	case !anyHigh:
		least = 80
	}
	if utf16.IsSurrogate(rune(text[len(text)-1])) {
		text = text[:len(text)-1] // its other half may be cut off
	}
	runes := utf16.Decode(text)
	return ascii*100 >= least*len(text) && !slices.ContainsFunc(runes, func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.IsSpace(r)
	})
}

func mostlyUTF8(text []byte) bool {
	sound, broken := textutil.CountUTF8(text)
	return sound > broken
}

// controls counts the control characters that texts hardly have.
func controls(head []byte) (n int) {
	for _, c := range head {
		if c < ' ' && !bytes.ContainsRune([]byte("\t\n\v\f\r\b\x1b"), rune(c)) || c == 0x7F {
			n++
		}
	}
	return n
}
