package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	sniffed    = 8 << 10 // how much of a file is looked at to tell text from binary
	bufferSize = 64 << 10
)

// A decoded is the content of a file, made UTF-8 where a byte order mark says how.
type decoded struct {
	in     *bufio.Reader
	head   []byte // the first bytes of the file as they are
	binary bool
	note   string // what was done, for the model
}

// decode drops a byte order mark and decodes UTF-16 that has one. All else is taken for UTF-8 or binary.
func decode(file io.Reader) (decoded, error) {
	in := bufio.NewReaderSize(file, bufferSize)
	head, err := in.Peek(sniffed)
	if ignoreEOF(err) != nil {
		return decoded{}, err
	}
	out := decoded{in: in, head: bytes.Clone(head)}
	switch {
	case bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")):
		_, err = in.Discard(3)
		out.note = "the file starts with a UTF-8 byte order mark, which is not shown"
	case bytes.HasPrefix(head, []byte("\xFF\xFE")):
		out.in, err = fromUTF16(in, binary.LittleEndian)
		out.note = "decoded from UTF-16 (little endian)"
	case bytes.HasPrefix(head, []byte("\xFE\xFF")):
		out.in, err = fromUTF16(in, binary.BigEndian)
		out.note = "decoded from UTF-16 (big endian)"
	}
	if ignoreEOF(err) != nil {
		return decoded{}, err
	}
	head, err = out.in.Peek(sniffed)
	out.binary = isBinary(head)
	return out, ignoreEOF(err)
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// isBinary tells whether head, the start of a file, is not text: it has a NUL, or is mostly invalid as UTF-8.
func isBinary(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	bad, size := 0, len(head)
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n == 1 && utf8.FullRune(head) { // a last rune may be cut off
			bad++
		}
		head = head[n:]
	}
	return bad*3 > size
}

func fromUTF16(in *bufio.Reader, order binary.ByteOrder) (*bufio.Reader, error) {
	_, err := in.Discard(2)
	return bufio.NewReaderSize(&utf16Reader{in: in, order: order}, bufferSize), err
}

// A utf16Reader gives UTF-16 as UTF-8. What is no character becomes U+FFFD.
type utf16Reader struct {
	in    *bufio.Reader
	order binary.ByteOrder
	char  [utf8.UTFMax]byte
	rest  []byte // of char, what did not fit
}

func (u *utf16Reader) Read(b []byte) (int, error) {
	size := 0
	for size < len(b) {
		if len(u.rest) == 0 {
			r, err := u.next()
			if err != nil && size == 0 {
				return 0, err
			} else if err != nil {
				break // it comes again with the next Read
			}
			u.rest = utf8.AppendRune(u.char[:0], r)
		}
		n := copy(b[size:], u.rest)
		size, u.rest = size+n, u.rest[n:]
	}
	return size, nil //nolint:nilerr // the error comes again with the next Read
}

// next takes one or two units of 16 bits, and a lone last byte for one.
func (u *utf16Reader) next() (rune, error) {
	units, err := u.in.Peek(4)
	if len(units) == 0 {
		return 0, err
	}
	r, size := utf8.RuneError, min(len(units), 2)
	if size == 2 {
		r = rune(u.order.Uint16(units))
	}
	if utf16.IsSurrogate(r) {
		r = utf8.RuneError
		if len(units) == 4 {
			r = utf16.DecodeRune(rune(u.order.Uint16(units)), rune(u.order.Uint16(units[2:])))
		}
		if r != utf8.RuneError {
			size = 4
		}
	}
	_, err = u.in.Discard(size)
	return r, err
}
