package iso2022jp

import (
	"strings"
	"testing"
)

func TestIs(t *testing.T) {
	const word = "\x1b$B@_Dj\x1b(B"
	for text, want := range map[string]bool{
		word:                                true,
		"a\n" + word + "\nb\n":              true,
		"\x1b$@@_Dj\x1b(J\n":                true,
		word + "\n\x1b$B@":                  true, // cut off
		word + "\n\x1b$":                    true,
		"":                                  false,
		"plain\n":                           false,
		"caf\u00e9 " + word + "\n":          false,
		"\x1b[31mred\x1b[0m " + word + "\n": false, // what a terminal was sent
		"\x1b(0lqqk\x1b(B\x1b$B\n":          false,
		"$B@_Dj(B\n":                        false, // the escapes were lost
		"\x1b$B!\t\x1b(B\n":                 false,
	} {
		if Is([]byte(text)) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
	if !Is([]byte(strings.Repeat(word+"\n", 1000))) {
		t.Error("a long text")
	}
}
