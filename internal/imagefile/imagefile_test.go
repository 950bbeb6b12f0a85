package imagefile

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"
)

// whole are images as programs make them.
func whole(t testing.TB) map[string][]byte {
	t.Helper()
	picture := image.NewPaletted(image.Rect(0, 0, 30, 20), color.Palette{color.Black, color.White})
	for i := range picture.Pix {
		picture.Pix[i] = uint8(i * i % 2)
	}
	var p, j, g bytes.Buffer
	check(t, png.Encode(&p, picture))
	check(t, jpeg.Encode(&j, picture, nil))
	check(t, gif.EncodeAll(&g, &gif.GIF{Image: []*image.Paletted{picture, picture}, Delay: []int{1, 1}}))
	return map[string][]byte{"image/png": p.Bytes(), "image/jpeg": j.Bytes(), "image/gif": g.Bytes(),
		"image/webp": webp("VP8L", "\x2F\x1D\xC0\x04\x00\x00\x00\x00\x00\x00")}
}

func webp(kind, body string) []byte {
	out := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(12+len(body)))...)
	return append(append(append(out, "WEBP"+kind...),
		binary.LittleEndian.AppendUint32(nil, uint32(len(body)))...), body...)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWholeImages(t *testing.T) {
	for mimeType, data := range whole(t) {
		check(t, Check(data, mimeType))
		check(t, Check(append(slices.Clip(data), "behind its end"...), mimeType))
	}
	check(t, Check([]byte("x"), "image/svg+xml"))
	check(t, Check(webp("VP8 ", "\x00\x00\x00\x9D\x01\x2A\x1E\x00\x14\x00"), "image/webp"))
	check(t, Check(webp("VP8X", "\x00\x00\x00\x00\x1D\x00\x00\x13\x00\x00"), "image/webp"))
}

// An image that was cut off anywhere is not whole, but for a GIF behind its first frame.
func TestImagesThatAreCut(t *testing.T) {
	for mimeType, data := range whole(t) {
		if mimeType == "image/gif" {
			data = data[:len(data)/2]
		}
		for n := range len(data) - 1 {
			if err := Check(data[:n], mimeType); err == nil {
				t.Fatalf("%s of %d bytes is whole with %d", mimeType, len(data), n)
			}
		}
	}
}

func TestImagesThatAreDamaged(t *testing.T) {
	all := whole(t)
	changed := func(mimeType string, at int, to byte) []byte {
		out := bytes.Clone(all[mimeType])
		out[at] = to
		return out
	}
	tests := []struct {
		name, mimeType string
		data           []byte
		want           string
	}{
		{"zeros", "image/png", append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 100)...), "damaged"},
		{"a changed byte", "image/png", changed("image/png", 45, 0xAA), "damaged"},
		{"a huge chunk", "image/png", changed("image/png", 33, 0xFF), "too early"},
		{"no segment", "image/jpeg", []byte("\xFF\xD8hello"), "damaged"},
		{"a segment without a size", "image/jpeg", []byte("\xFF\xD8\xFF\xE0\x00\x00\x00\x00"), "damaged"},
		{"no frame", "image/jpeg", []byte("\xFF\xD8\xFF\xDA\x00\x02\xFF\xD9"), "no pixels"},
		{"no block", "image/gif", []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00\x07"), "damaged"},
		{"no width", "image/gif", changed("image/gif", 6, 0), "no pixels"},
		{"too wide", "image/gif", changed("image/gif", 7, 0x80), "it has 32798 x 20 pixels, at most 8000"},
		{"another chunk", "image/webp", webp("ALPH", strings.Repeat("x", 10)), "damaged"},
		{"wrong start", "image/webp", webp("VP8 ", strings.Repeat("x", 10)), "damaged"},
	}
	for _, test := range tests {
		if err := Check(test.data, test.mimeType); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for mimeType, data := range whole(f) {
		f.Add(data, mimeType)
	}
	f.Fuzz(func(_ *testing.T, data []byte, mimeType string) { _ = Check(data, mimeType) })
}
