package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"two\n\tlines":       "two\n\tlines",
		"Windows\r\nlines":   "Windows\nlines",
		"a\x1b[31mb":         "a\ufffd[31mb",
		"a\rb\x07\x00":       "a\ufffdb\ufffd\ufffd",
		"a\u009b2Jb":         "a\ufffd2Jb",
		"a\u202eb\u2066c":    "a\ufffdb\ufffdc",
		"bytes \x9b\xff":     "bytes \ufffd",
		"a\u200bb\U000e0041": "a\ufffdb\ufffd",
		"grüße, 世界 👋🏽 👩‍👧 ❤️": "grüße, 世界 👋🏽 👩‍👧 ❤️",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) gives %q, want %q", in, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 10, "short"},
		{"exactly", 7, "exactly"},
		{"exactly.", 7, "exactl…"},
		{"one\ntwo\x1b", 10, "one two "},
		{"a\u202eb", 10, "a b"},
		{"世界世界", 8, "世界世界"},
		{"世界世界", 7, "世界世…"},
		{"世界世界", 6, "世界…"},
		{"cafe\u0301s", 5, "cafe\u0301s"},
		{"cafe\u0301s!", 5, "cafe\u0301…"},
		{"a", 0, ""},
		{"ab", 1, "…"},
		{"", 0, ""},
	} {
		if got := fit(c.in, c.n); got != c.want {
			t.Errorf("fit(%q, %d) gives %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

// Nothing wraps, whatever the names and descriptions are, and columns stand under each other.
func TestTable(t *testing.T) {
	rows := [][]string{
		{"TOOL", "EFFECT", "CATEGORY", "DESCRIPTION"},
		{"readfile__read", "reads", "files", strings.Repeat("Reads a part of a text file. ", 10)},
		{"世界__世界", "-", "-", strings.Repeat("世界", 100)},
		{strings.Repeat("long", 10) + "__x", "changes", "twelve chars", "Short."},
	}
	for _, room := range []int{41, 80, 100, 120} {
		var out bytes.Buffer
		writeTable(&out, rows, room)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != len(rows) {
			t.Fatalf("%d lines:\n%s", len(lines), &out)
		}
		for _, line := range lines {
			if n := textColumns(line); n > room || strings.HasSuffix(line, " ") {
				t.Errorf("%d columns in %d: %q", n, room, line)
			}
		}
		if room > 80 && (textColumns(lines[1]) < room-1 || textColumns(before(lines[0], "EFFECT")) != textColumns(before(lines[1], "reads"))) {
			t.Errorf("columns are off:\n%s", &out)
		}
	}
}

func before(s, word string) string {
	s, _, _ = strings.Cut(s, word)
	return s
}

// Log lines, the words of cobra and the words of failures go through a cleaner.
func TestCleaner(t *testing.T) {
	var out bytes.Buffer
	n, err := cleaner{&out}.Write([]byte("a\x1bb\n"))
	if n != 4 || err != nil || out.String() != "a\ufffdb\n" {
		t.Errorf("%d, %v, %q", n, err, &out)
	}
}
