package testutil

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
)

// PNG is an image of so many bytes, or of as few as it takes when size is 0.
func PNG(size int) string {
	var out bytes.Buffer
	_ = png.Encode(&out, image.NewRGBA(image.Rect(0, 0, 8, 8))) // into memory, which never fails
	const around, end = 12, 12                                  // bytes of a chunk besides its data, and of the last one
	padding := size - out.Len() - around
	if padding < 0 {
		return out.String()
	}
	chunk := append([]byte("paDd"), make([]byte, padding)...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk))
	last := out.Len() - end
	return string(binary.BigEndian.AppendUint32(bytes.Clone(out.Bytes()[:last]), uint32(padding))) + string(chunk) +
		string(out.Bytes()[last:])
}
