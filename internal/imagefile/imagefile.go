// Package imagefile tells whether an image is whole. Model vendors refuse a request for one broken image in it, and
// with it all that was said before.
package imagefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// maxSide is the most pixels that an image may have across or down:
// https://platform.claude.com/docs/en/build-with-claude/vision
const maxSide = 8000

var (
	errShort = errors.New("it ends too early")
	errForm  = errors.New("it is damaged")
)

// Check says what is wrong with an image of a type: it is not whole, or larger than models take. Pixels are not
// decoded, and types other than PNG, JPEG, GIF and WebP are not looked at.
func Check(data []byte, mimeType string) error {
	size, ok := map[string]func([]byte) (width, height int, err error){"image/png": sizeOfPNG, "image/jpeg": sizeOfJPEG,
		"image/gif": sizeOfGIF, "image/webp": sizeOfWebP}[mimeType]
	if !ok {
		return nil
	}
	width, height, err := size(data)
	switch {
	case err != nil:
		return err
	case width == 0 || height == 0:
		return errors.New("it has no pixels")
	case max(width, height) > maxSide:
		return fmt.Errorf("it has %d x %d pixels, at most %d either way are allowed", width, height, maxSide)
	}
	return nil
}

// A reader takes pieces of an image; what is missing makes it short.
type reader struct {
	rest  []byte
	short bool
}

// take returns the next n bytes, or zeros when they are not there.
func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.short, r.rest = true, nil
		return make([]byte, min(n, 16))
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

// skip passes over n bytes.
func (r *reader) skip(n int) {
	if n < 0 || n > len(r.rest) { // a size of 32 bits may be negative
		r.short, n = true, len(r.rest)
	}
	r.rest = r.rest[n:]
}

// sizeOfPNG follows the chunks (https://www.w3.org/TR/png) to the last one.
func sizeOfPNG(data []byte) (width, height int, err error) {
	r := reader{rest: data}
	r.skip(8)
	for first := true; ; first = false {
		from := r.rest
		size := int(binary.BigEndian.Uint32(r.take(4)))
		kind := string(r.take(4))
		body := r.rest
		r.skip(size)
		sum := binary.BigEndian.Uint32(r.take(4))
		switch {
		case r.short:
			return 0, 0, errShort
		case crc32.ChecksumIEEE(from[4:8+size]) != sum, first != (kind == "IHDR"), first && size != 13:
			return 0, 0, errForm
		case first:
			width, height = int(binary.BigEndian.Uint32(body)), int(binary.BigEndian.Uint32(body[4:]))
		case kind == "IEND":
			return width, height, nil
		}
	}
}

// sizeOfJPEG follows the segments (https://www.w3.org/Graphics/JPEG/itu-t81.pdf) to the first scan, and looks for an
// end.
func sizeOfJPEG(data []byte) (width, height int, err error) {
	r := reader{rest: data}
	r.skip(2)
	for {
		if r.take(1)[0] != 0xFF {
			return 0, 0, errForm
		}
		kind := r.take(1)[0]
		for kind == 0xFF && !r.short {
			kind = r.take(1)[0]
		}
		isFrame := 0xC0 <= kind && kind <= 0xCF && kind != 0xC4 && kind != 0xC8 && kind != 0xCC
		size := int(binary.BigEndian.Uint16(r.take(2))) - 2
		body := reader{rest: r.rest}
		r.skip(max(size, 0))
		if isFrame {
			head := body.take(5)
			height, width = int(binary.BigEndian.Uint16(head[1:])), int(binary.BigEndian.Uint16(head[3:]))
		}
		switch {
		case r.short || body.short, kind == 0xDA && !bytes.Contains(r.rest, []byte("\xFF\xD9")):
			return 0, 0, errShort
		case size < 0:
			return 0, 0, errForm
		case kind == 0xDA:
			return width, height, nil
		}
	}
}

// sizeOfGIF follows the blocks (https://www.w3.org/Graphics/GIF/spec-gif89a.txt) to the end of the first frame:
// programs that make animations are not exact about the rest.
func sizeOfGIF(data []byte) (width, height int, err error) {
	r := reader{rest: data}
	head := r.take(13)
	width, height = int(binary.LittleEndian.Uint16(head[6:])), int(binary.LittleEndian.Uint16(head[8:]))
	r.skip(colorTable(head[10]))
	for !r.short {
		switch r.take(1)[0] {
		case 0x21: // an extension
			r.skip(1)
			r.skipBlocks()
		case 0x2C: // a frame
			r.skip(colorTable(r.take(9)[8]) + 1)
			r.skipBlocks()
			if !r.short {
				return width, height, nil
			}
		default:
			if !r.short {
				return 0, 0, errForm
			}
		}
	}
	return 0, 0, errShort
}

// colorTable is the size of the color table that flags of GIF announce.
func colorTable(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

// skipBlocks passes over blocks of GIF, up to the empty one that ends them.
func (r *reader) skipBlocks() {
	for size := 1; size > 0 && !r.short; {
		size = int(r.take(1)[0])
		r.skip(size)
	}
}

// sizeOfWebP reads the first chunk (https://developers.google.com/speed/webp/docs/riff_container).
func sizeOfWebP(data []byte) (width, height int, err error) {
	r := reader{rest: data}
	r.skip(4)
	size := int(binary.LittleEndian.Uint32(r.take(4)))
	if size > len(r.rest) {
		return 0, 0, errShort
	}
	r.skip(4)
	kind := string(r.take(4))
	r.skip(4)
	head := r.take(10)
	switch {
	case r.short:
		return 0, 0, errShort
	case kind == "VP8 " && string(head[3:6]) == "\x9D\x01\x2A":
		width, height = int(binary.LittleEndian.Uint16(head[6:])), int(binary.LittleEndian.Uint16(head[8:]))
		return width & 0x3FFF, height & 0x3FFF, nil
	case kind == "VP8L" && head[0] == 0x2F:
		bits := int(binary.LittleEndian.Uint32(head[1:]))
		return bits&0x3FFF + 1, bits>>14&0x3FFF + 1, nil
	case kind == "VP8X":
		width, height = int(head[4])|int(head[5])<<8|int(head[6])<<16, int(head[7])|int(head[8])<<8|int(head[9])<<16
		return width + 1, height + 1, nil
	}
	return 0, 0, errForm
}
