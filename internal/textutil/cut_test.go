package textutil

import "testing"

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
