package textutil

import (
	"testing"
	"unicode/utf8"
)

func TestList(t *testing.T) {
	t.Parallel()
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := List(words, "or"); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

func TestTrimPartial(t *testing.T) {
	t.Parallel()
	// without an unfinished end, and without the rest of a character at the start
	for in, want := range map[string][2]string{
		"":                     {"", ""},
		"plain":                {"plain", "plain"},
		"é日𝄞":                  {"é日𝄞", "é日𝄞"},
		"a\xF0\x9D\x84":        {"a", "a\xF0\x9D\x84"},
		"a\xE6":                {"a", "a\xE6"},
		"\xA5b":                {"\xA5b", "b"},
		"\x9D\x84\x9Eb":        {"\x9D\x84\x9Eb", "b"},
		"\xFF":                 {"\xFF", "\xFF"},
		"a\x80\x80\x80\x80":    {"a\x80\x80\x80\x80", "a\x80\x80\x80\x80"},
		"\x80\x80\x80\x80\x80": {"\x80\x80\x80\x80\x80", "\x80\x80\x80\x80\x80"},
	} {
		if end, start := string(TrimPartialEnd([]byte(in))), string(TrimPartialStart([]byte(in))); end != want[0] ||
			start != want[1] {
			t.Errorf("%q: %q and %q", in, end, start)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"two\n\tlines":           "two\n\tlines",
		"Windows\r\nlines":       "Windows\nlines",
		"a\x1b[31mb":             "a?[31mb",
		"a\u202eb\u2066c":        "a?b?c",
		"a\u200bb\u2060c\ufeffd": "a?b?c?d",
		"a\U000e0041\U000e007f":  "a??",
		"a\U000e0100":            "a?",
		"a\u00adb\u115fc\u3164":  "a?b?c?",
		"a\u2028b\u2029c\u0085":  "a?b?c?",
		"\ue000\u2800":           "??",
		"bad \xff":               "bad \ufffd",
		"grüße, 世界 👋🏽 👨‍👩‍👧 ❤️ 1️⃣": "grüße, 世界 👋🏽 👨‍👩‍👧 ❤️ 1️⃣",
		"\u0645\u06cc\u200c\u062e":  "\u0645\u06cc\u200c\u062e",
		"a\u200db\u200c\u200d":      "a?b??",
	} {
		got, n := Visible(in, '?')
		if got != want {
			t.Errorf("Visible(%q) gives %q, want %q", in, got, want)
		}
		if gone, m := Visible(in, -1); m != n || utf8.RuneCountInString(gone) != utf8.RuneCountInString(got)-n {
			t.Errorf("%q: %d characters are counted, and without them it is %q", in, n, gone)
		}
	}
}
