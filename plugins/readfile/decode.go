package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/sdk"
)

const (
	sniffed   = 8 << 10  // how much of a file is looked at to tell text from binary
	looked    = 1 << 20  // how much to find out its encoding
	blockSize = 64 << 10 // of reading
)

// A decoded is the content of a file, made UTF-8.
type decoded struct {
	coding
	in     *bufio.Reader
	head   []byte // the first bytes of the file as they are
	binary bool
	note   string // what was done, for the model
}

// decode finds out how a file is encoded, unless that is asked for by name, and decodes it. A byte order mark is dropped.
// Size, if known, keeps the buffer as small as the file.
func decode(file io.Reader, size int64, asked coding) (decoded, error) {
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
	{"\xEF\xBB\xBF", "utf-8"}, {"\xFF\xFE\x00\x00", "utf-32le"}, {"\x00\x00\xFE\xFF", "utf-32be"}, {"\xFF\xFE", "utf-16le"}, {"\xFE\xFF", "utf-16be"},
}

// choose settles the encoding and how many bytes of a mark to drop.
func (d *decoded) choose(look []byte, asked coding) (drop int) {
	for _, m := range marks {
		if bytes.HasPrefix(look, []byte(m.mark)) && (asked.name == "" || family(asked.name) == family(m.name)) {
			d.coding, _ = codingOf(m.name)
			d.note = "decoded from " + m.name
			if m.name == "utf-8" {
				d.note = "the file starts with a UTF-8 byte order mark, which is not shown"
			}
			return len(m.mark)
		}
	}
	if asked.name != "" {
		d.coding, d.note = asked, "decoded from "+asked.name+", as asked"
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
	d.coding = utf8Coding
	switch {
	case bytes.IndexByte(d.head, 0) >= 0:
		name := utf16Without(d.head)
		if d.binary = name == ""; !d.binary {
			d.coding, _ = codingOf(name)
			d.note = "decoded from " + name + ", by a guess" + doubt
		}
	case utf8.Valid(sdk.WholeEnd(look)):
	case known(d.head) && controls(d.head) > 0: // the looks alone are a few letters, such as BM
		d.binary = true
	case mostlyUTF8(look):
	case noisy(d.head):
		d.binary = true
	default:
		var found bool
		d.coding, found = guess(look)
		d.note = "decoded from " + d.name + ", by a guess" + doubt
		if !found {
			d.note = "not UTF-8, and no encoding is likely; decoded from " + d.name + doubt
		}
	}
}
