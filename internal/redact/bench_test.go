package redact

import "testing"

func BenchmarkRedact(b *testing.B) {
	r := New("hunter22")
	text := []byte(`{"command":"go test ./...","output":"` + string(make64K()) + `"}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.JSON(text)
	}
}

func make64K() []byte {
	out := make([]byte, 64<<10)
	for i := range out {
		out[i] = "a line of text with some words: and values = 1, "[i%48]
	}
	return out
}
