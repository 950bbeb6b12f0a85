package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestKept(t *testing.T) {
	for _, test := range []struct{ name, printed, want string }{
		{"nothing", "", ""},
		{"short", "abc", "abc"},
		{"exactly full", "0123456789abcdef", "0123456789abcdef"},
		{"one over", "0123456789abcdefg", "01234567\n[... 1 bytes left out ...]\n9abcdefg"},
		{"far over", strings.Repeat("x", 1000) + "the tail", "xxxxxxxx\n[... 992 bytes left out ...]\nthe tail"},
		{"line break at the border", "0123456\n" + strings.Repeat("x", 100), "0123456\n[... 92 bytes left out ...]\nxxxxxxxx"},
		{"characters at the borders", "0123456ä" + strings.Repeat("x", 100) + "😀56789", "0123456\n[... 106 bytes left out ...]\n56789"},
		{"a character across a border that is no cut", "0123456ä901234", "0123456ä901234"},
		{"not UTF-8", strings.Repeat("\xff", 17), "\uFFFD\n[... 1 bytes left out ...]\n\uFFFD"},
		{"only continuation bytes", strings.Repeat("\x80", 17), "\uFFFD\n[... 1 bytes left out ...]\n\uFFFD"},
	} {
		for _, step := range []int{1, 3, 7, 8, 9, 1 << 20} {
			t.Run(fmt.Sprintf("%s by %d", test.name, step), func(t *testing.T) {
				k := kept{half: 8}
				for piece := range pieces(test.printed, step) {
					k.add([]byte(piece))
				}
				got := textKept(&k)
				if got.shown != test.want || got.total != int64(len(test.printed)) {
					t.Errorf("got %q of %d, want %q of %d", got.shown, got.total, test.want, len(test.printed))
				}
				if again := textKept(&k); again != got {
					t.Errorf("asked again: %+v", again)
				}
			})
		}
	}
}

// A keptText is all that can be shown of a stream.
type keptText struct {
	shown          string
	total, leftOut int64
}

func textKept(k *kept) keptText {
	s := k.snapshot()
	shown, leftOut := s.text(0)
	return keptText{shown, k.total, leftOut}
}

// pieces cuts s into pieces of n bytes.
func pieces(s string, n int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for len(s) > 0 {
			cut := min(n, len(s))
			if !yield(s[:cut]) {
				return
			}
			s = s[cut:]
		}
	}
}

func FuzzKept(f *testing.F) {
	f.Add([]byte("some text that is longer than it may be"), uint8(5), uint8(3))
	f.Add([]byte("äöü😀\xff\x80"), uint8(2), uint8(1))
	f.Fuzz(func(t *testing.T, printed []byte, half, step uint8) {
		k := kept{half: int(half) + 1}
		for piece := range pieces(string(printed), int(step)+1) {
			k.add([]byte(piece))
		}
		got := textKept(&k)
		if !utf8.ValidString(got.shown) || got.total != int64(len(printed)) {
			t.Fatalf("%+v of %d bytes", got, len(printed))
		}
		if len(printed) <= 2*k.half {
			if want := valid(printed); got.shown != want || got.leftOut != 0 {
				t.Fatalf("got %+v, want all of %q", got, want)
			}
			return
		}
		if got.leftOut < int64(len(printed)-2*k.half) || got.leftOut > int64(len(printed)-2*k.half+2*(utf8.UTFMax-1)) {
			t.Fatalf("%d bytes left out of %d, keeping %d", got.leftOut, len(printed), 2*k.half)
		}
		if !bytes.Equal(k.head, printed[:k.half]) {
			t.Fatalf("head %q of %q", k.head, printed)
		}
	})
}
