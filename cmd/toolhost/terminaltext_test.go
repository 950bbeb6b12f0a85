package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestEscapeForTerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é 日\t\n":   "plain é 日\t\n",
		"a\u202eb\x1b[2J": `a\u{202e}b\u{1b}[2J`,
		"rm\u3164x":       `rm\u{3164}x`,
		"\u2800\u115f":    `\u{2800}\u{115f}`,
		"a\ufe0f":         `a\u{fe0f}`,
		"a\U000e0101":     `a\u{e0101}`,
		"\xff":            `\xff`,
	} {
		if got := escapeForTerminal(text); got != want {
			t.Errorf("%+q is shown as %+q", text, got)
		}
	}
}

func TestReplaceForTerminal(t *testing.T) {
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
		if got := replaceForTerminal(in); got != want {
			t.Errorf("replaceForTerminal(%q) gives %q, want %q", in, got, want)
		}
	}
}

// Log lines, cobra's messages and errors go through a replacingWriter.
func TestReplacingWriter(t *testing.T) {
	var out bytes.Buffer
	n, err := replacingWriter{&out}.Write([]byte("a\x1bb\n"))
	if n != 4 || err != nil || out.String() != "a\ufffdb\n" {
		t.Errorf("%d, %v, %q", n, err, &out)
	}
}

func TestFitLine(t *testing.T) {
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
		if got := fitLine(c.in, c.n); got != c.want {
			t.Errorf("fitLine(%q, %d) gives %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

// No line wraps, whatever the names and descriptions are, and columns are aligned.
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
		if room > 80 && (textColumns(lines[1]) < room-1 || textColumns(before(lines[0],
			"EFFECT")) != textColumns(before(lines[1], "reads"))) {
			t.Errorf("columns are off:\n%s", &out)
		}
	}
}

func before(s, word string) string {
	s, _, _ = strings.Cut(s, word)
	return s
}

func TestInRows(t *testing.T) {
	for _, c := range []struct {
		in   string
		room int
		want string
	}{
		{"as long as one likes", 0, "as long as one likes"},
		{"exactly twelve\n", 14, "exactly twelve\n"},
		{"one two three four five\nsix\n", 14, "one two three \n  … four five\nsix\n"},
		{"aaaaaaaaaaaaaaaabbbbbbbbbbbbc", 16, "aaaaaaaaaaaaaaaa\n  … bbbbbbbbbbbb\n  … c"},
		{"  a: " + strings.Repeat("x", 10), 14, "  a: xxxxxxxxx\n  … x"},
		{"no room at all", 1, "no room at \n  … all"},
		{"\x1b[31mred red red red\x1b[0m", 12, "\x1b[31mred red red \n  … red\x1b[0m"},
		{"a\tb\tc", 16, "a\tb\t\n  … c"},
		{"世界世界世界世界", 12, "世界世界世界\n  … 世界"},
		{"cafe\u0301 cafe\u0301", 12, "cafe\u0301 cafe\u0301"},
	} {
		if got := inRows(c.in, c.room); got != c.want {
			t.Errorf("inRows(%q, %d) gives %q, want %q", c.in, c.room, got, c.want)
		}
	}
}
