package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/sdk"
)

func TestTail(t *testing.T) {
	long := strings.Repeat("x", maxLineChars+1)
	tests := []struct {
		name, content, arguments, text, notes string
		first, last, total                    int
		truncated                             bool
	}{
		{"of a longer text", numberedLines(9), `"tail":2`, "8\n9\n",
			"[lines 8-9 of 9; for those before use start_line and end_line=7]\n", 8, 9, 9, false},
		{"no final newline", "a\nb\nc", `"tail":2`, "b\nc",
			"\n[lines 2-3 of 3; for those before use start_line and end_line=1]\n", 2, 3, 3, false},
		{"all of it", numberedLines(3), `"tail":3`, "1\n2\n3\n", "", 1, 3, 3, false},
		{"more than there are", numberedLines(3), `"tail":1000000000`, "1\n2\n3\n", "", 1, 3, 3, false},
		{"empty lines", "a\n\n\n", `"tail":2`, "\n\n", "[lines 2-3 of 3; for those before use start_line and end_line=1]\n",
			2, 3, 3, false},
		{"the default said", numberedLines(9), `"tail":1,"start_line":1`, "9\n",
			"[lines 9-9 of 9; for those before use start_line and end_line=8]\n", 9, 9, 9, false},
		{"an empty file", "", `"tail":2`, "", "[the file is empty]\n", 1, 0, 0, false},
		{"not all fit", numberedLines(9), `"tail":5,"max_bytes":5`, "8\n9\n",
			"[lines 8-9 of 9, cut at 5 bytes; 5 lines were asked for; for those before use start_line and end_line=7]\n", 8, 9,
			9, true},
		{"not one fits", "a\n123456789", `"tail":2,"max_bytes":5`, "12345",
			"\n[the last line has 9 bytes, the first 5 are shown; raise max_bytes (up to 1048576)]\n", 2, 2, 2, true},
		{"long lines", "a\n" + long + "\nb\n", `"tail":2`, long[1:] + "\nb\n",
			"[lines 2-3 of 3; for those before use start_line and end_line=1]\n" +
				"[cut at 2000 characters: line 2 (2002 bytes); for the whole of it read it alone: start_line=2, end_line=2]\n", 2,
			3,
			3, true},
		{"one long line", "a\n" + long, `"tail":1`, long,
			"\n[lines 2-2 of 2; for those before use start_line and end_line=1]\n", 2, 2, 2, false},
		{"with numbers", numberedLines(12), `"tail":2,"line_numbers":true`, "    11\t11\n    12\t12\n",
			"[lines 11-12 of 12; for those before use start_line and end_line=10]\n", 11, 12, 12, false},
		{"of utf-16", "\xFF\xFE" + wideBytes("a\nb\nc\n", binary.LittleEndian), `"tail":1`, "c\n",
			"[lines 3-3 of 3; for those before use start_line and end_line=2]\n[decoded from utf-16le]\n", 3, 3, 3, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, "file", test.content)
			r := f.run(t, "read", `{"path":"file",%s}`, test.arguments)
			out := structured[readOutput](t, r)
			notes := r.Content[len(r.Content)-1].Text
			if text(r) != test.text+test.notes+"[etag "+out.Etag+"]" {
				t.Errorf("read %q with the notes %q, want %q with %q", r.Content[0].Text, notes, test.text, test.notes)
			}
			if out.StartLine != test.first || out.EndLine != test.last || *out.TotalLines != test.total ||
				out.Truncated != test.truncated || r.Truncated != test.truncated {
				t.Errorf("structured as %s", r.Structured)
			}
		})
	}
}

// What is not held in full is counted all the same.
func TestTailOfALongText(t *testing.T) {
	f := start(t, "file", numberedLines(2_000_000))
	r := f.run(t, "read", `{"path":"file","tail":2}`)
	if want := "1999999\n2000000\n[lines 1999999-2000000 of 2000000;"; !strings.HasPrefix(text(r), want) {
		t.Errorf("read %q, want %q", text(r), want)
	}
}

func text(r *sdk.Result) string {
	var out strings.Builder
	for _, c := range r.Content {
		out.WriteString(c.Text)
	}
	return out.String()
}

// The end of a file of any size is read at once, and its lines are not counted.
func TestTailOfAHugeFile(t *testing.T) {
	f := start(t)
	tests := []struct {
		name, tailReader, arguments, want string
		truncated                         bool
	}{
		{"lines", "\n" + numberedLines(1000), `"tail":2`, "999\n1000\n[the last 2 lines of a file too large to count]",
			false},
		{"no final newline", "\na\nb", `"tail":2`, "a\nb\n[the last 2 lines of a file too large to count]", false},
		{"numbers", "\na\nb\n", `"tail":1,"line_numbers":true`,
			"b\n[the last 1 line of a file too large to count]\n[line numbers are not known in a file this large, so none are " +
				"shown]", false},
		{"not all fit", "\n" + numberedLines(1000), `"tail":9,"max_bytes":9`,
			"999\n1000\n[the last 2 lines of a file too large to count, cut at 9 bytes; 9 lines were asked for]", true},
		{"more than is looked at", "\nb\n", `"tail":2`,
			"b\n[the last 1 line of a file too large to count; 2 were asked for, and only the last 4 MiB are looked at]", true},
		{"a long line", "\n" + strings.Repeat("x", 3000) + "\nb\n", `"tail":2`, strings.Repeat("x", 2000) +
			"\nb\n[the last 2 lines of a file too large to count]\n[cut at 2000 characters: 1 line (3001 bytes)]", true},
		{"one line", "", `"tail":2`, "[the last line is longer than 4194304 bytes; no part of it is shown]", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sparse(t, f, "huge", numberedLines(10_000), 1<<36)
			f.write(t, "huge", 1<<36-int64(len(test.tailReader)), test.tailReader)
			r := f.run(t, "read", `{"path":"huge",%s}`, test.arguments)
			if text(r) != test.want || r.Truncated != test.truncated {
				t.Errorf("read %q, truncated %v, want %q", text(r), r.Truncated, test.want)
			}
			if out := structured[readOutput](t, r); out.TotalLines != nil || out.StartLine != 0 || out.EndLine != 0 ||
				out.Etag != "" {
				t.Errorf("structured as %s", r.Structured)
			}
		})
	}
}

func TestTailOfAHugeWideFile(t *testing.T) {
	f := start(t)
	sparse(t, f, "huge", "\xFE\xFF"+
		wideBytes("first\n", binary.BigEndian)+strings.Repeat(wideBytes("a", binary.BigEndian), sniffed), 1<<36)
	tailReader := wideBytes("\nlast 한글\n", binary.BigEndian)
	f.write(t, "huge", 1<<36-int64(len(tailReader)), tailReader)
	if got := text(f.run(t, "read", `{"path":"huge","tail":1}`)); !strings.HasPrefix(got, "last 한글\n[the last 1 line") {
		t.Errorf("read %q", got)
	}
}

func (f *fixture) write(t *testing.T, name string, at int64, content string) {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(f.dir, name), os.O_WRONLY, 0)
	check(t, err)
	_, err = file.WriteAt([]byte(content), at)
	check(t, err)
	check(t, file.Close())
}

func TestTailIsNoRange(t *testing.T) {
	f := start(t, "a", "text")
	for _, arguments := range []string{`"tail":1,"start_line":2`, `"tail":1,"end_line":1`} {
		contains(t, f.fails(t, "InvalidArguments", "read", `{"path":"a",%s}`, arguments).Message,
			"tail is given with start_line or end_line")
	}
	f.fails(t, "InvalidArguments", "read", `{"path":"a","tail":-1}`)
}

// The last lines are those that a range of the same numbers gives.
func TestTailIsTheEndOfTheRange(t *testing.T) {
	f := start(t)
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOf(rapid.StringMatching(`[a-z\n\r]{0,9}`)).Draw(rt, "lines")
		content := strings.Join(lines, "\n")
		n := rapid.IntRange(1, 20).Draw(rt, "tail")
		f.put(t, "file", content)
		all := slices.Collect(strings.Lines(content))
		if len(all) == 0 {
			return
		}
		numbers := rapid.Bool().Draw(rt, "numbers")
		tail := f.run(t, "read", `{"path":"file","tail":%d,"line_numbers":%v}`, n, numbers)
		whole := f.run(t, "read", `{"path":"file","start_line":%d,"line_numbers":%v}`, max(len(all)-n, 0)+1, numbers)
		if tail.Content[0].Text != whole.Content[0].Text || string(tail.Structured) != string(whole.Structured) {
			rt.Errorf("the last %d lines of %q are %q by tail, %q by range", n, content, tail.Content[0].Text,
				whole.Content[0].Text)
		}
	})
}
