package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

func TestReplace(t *testing.T) {
	tests := []struct {
		name, content, old, new string
		all                     bool
		want                    string
		count, line             int
	}{
		{"a word", "one\ntwo\nthree\n", "two", "2", false, "one\n2\nthree\n", 1, 2},
		{"lines", "one\ntwo\nthree\n", "one\ntwo\n", "1\n", false, "1\nthree\n", 1, 1},
		{"delete", "one\ntwo\nthree\n", "two\n", "", false, "one\nthree\n", 1, 2},
		{"delete all there is", "one\n", "one\n", "", false, "", 1, 1},
		{"insert", "one\nthree\n", "one\n", "one\ntwo\n", false, "one\ntwo\nthree\n", 1, 1},
		{"at the end, without a newline", "one\ntwo", "two", "2\n", false, "one\n2\n", 1, 2},
		{"drop the final newline", "one\ntwo\n", "two\n", "two", false, "one\ntwo", 1, 2},
		{"all", "a b a\nb a\n", "a", "aa", true, "aa b aa\nb aa\n", 3, 1},
		{"all, of one", "a b\n", "b", "c", true, "a c\n", 1, 1},
		{"all, overlapping", "aaaa\n", "aa", "b", true, "bb\n", 2, 1},
		{"dollars and backslashes", "x\n", "x", `$& $1 \1 \n`, false, "$& $1 \\1 \\n\n", 1, 1},
		{"other letters", "größe\n크기\n", "크기", "높이", false, "größe\n높이\n", 1, 2},
		{"bytes that are not UTF-8 stay", "gr\xFCn\nblau\n", "blau", "rot", false, "gr\xFCn\nrot\n", 1, 2},
		{"byte order mark stays", "\xEF\xBB\xBFone\n", "one", "1", false, "\xEF\xBB\xBF1\n", 1, 1},
		{"crlf file, lf strings", "one\r\ntwo\r\nthree\r\n", "one\ntwo\n", "1\n2\n2b\n", false, "1\r\n2\r\n2b\r\nthree\r\n", 1, 1},
		{"crlf file, crlf strings", "one\r\ntwo\r\n", "one\r\ntwo", "1\r\n2", false, "1\r\n2\r\n", 1, 1},
		{"crlf file, mixed strings", "one\r\ntwo\r\n", "one\r\ntwo\n", "1\n2\r\n", false, "1\r\n2\r\n", 1, 1},
		{"crlf file, part of a line", "one\r\ntwo\r\n", "tw", "tw\nx", false, "one\r\ntw\r\nxo\r\n", 1, 2},
		{"crlf file, all", "a\r\nb\r\na\r\nb\r\n", "a\nb\n", "c\n", true, "c\r\nc\r\n", 2, 1},
		{"lf file, crlf in new", "one\n", "one", "1\r\n2", false, "1\r\n2\n", 1, 1},
		{"mixed file, exact bytes", "one\r\ntwo\nthree\r\n", "one\r\ntwo\n", "1\n", false, "1\nthree\r\n", 1, 1},
		{"mixed file, no conversion", "one\r\ntwo\n", "two\n", "2\n3\n", false, "one\r\n2\n3\n", 1, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, "dir/file", test.content)
			a := args{"path": "dir/file", "old_string": test.old, "new_string": test.new, "replace_all": test.all}
			shown := f.preview(t, "replace", a)
			f.holds(t, "dir/file", test.content)
			result := f.run(t, "replace", a)
			f.holds(t, "dir/file", test.want)
			want := replaceOutput{Path: "dir/file", Replacements: test.count, FirstLine: test.line, Bytes: len(test.want)}
			if diff := cmp.Diff(want, structured[replaceOutput](t, result)); diff != "" {
				t.Errorf("structured (-want +got):\n%s", diff)
			}
			summary, diff, _ := strings.Cut(result.Content[0].Text, "\n\n")
			contains(t, summary, "dir/file", fmt.Sprintf("at line %d.", test.line))
			if diff != shown {
				t.Errorf("the preview shows\n%s\nthe result\n%s", shown, diff)
			}
		})
	}
}

func TestReplaceShowsADiff(t *testing.T) {
	f := start(t, "file", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n")
	got := f.run(t, "replace", args{"path": "file", "old_string": "five", "new_string": "5\n5b"}).Content[0].Text
	want := `Replaced 1 place in file, at line 5.

--- a/file
+++ b/file
@@ -2,7 +2,8 @@
 2
 3
 4
-five
+5
+5b
 6
 7
 8`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReplaceFailures(t *testing.T) {
	many := strings.Repeat("x\n", 30)
	f := start(t, "code", "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n", "many", many, "aaa", "aaa\n", "mixed", "one\r\ntwo\nthree\n", "lf", "one\ntwo\n",
		"nul", "a\x00b", "utf16", "\xFF\xFEa\x00", "readonly", "text", "large", "x"+strings.Repeat("\n", maxFile), "full", "x"+strings.Repeat("\n", maxFile-1), "invalid", "gr\xFCn\n",
		"long", strings.Repeat("long ", 1000)+"\n", "crlf", "a\r\nb\r\n", "nonl", "text", "wide", "if (a  ==  b) {\n")
	check(t, os.Chmod(f.path("readonly"), 0o444))
	tests := []struct {
		name, path, old, new string
		all                  bool
		want                 string
		message              string
	}{
		{"empty", "code", "", "x", false, "EmptyOldString", "old_string is empty"},
		{"empty, in a new file", "new", "", "x", false, "EmptyOldString", "old_string is empty"},
		{"equal", "code", "return 1", "return 1", false, "NoChange", "the same"},
		{"equal but for line endings that are kept", "crlf", "a\nb", "a\r\nb", false, "NoChange", "the same"},
		{"twice", "code", "return", "yield", false, "AmbiguousMatch", "fits 2 places in \"code\", at lines 2, 6;"},
		{"very often", "many", "x", "y", false, "AmbiguousMatch", "more than 20 places in \"many\", at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, ...;"},
		{"overlapping", "aaa", "aa", "b", false, "AmbiguousMatch", "fits 2 places"},
		{"nowhere", "code", "class C:", "x", false, "MatchNotFound", `No line is like its first, "class C:".`},
		{"nowhere, all", "code", "class C:", "x", true, "MatchNotFound", "is not in \"code\""},
		{"indentation", "code", "func b() {\n    return 2\n}", "x", false, "MatchNotFound", `The text is there at line 5 with other white space: line 6 is "\treturn 2", old_string has "    return 2".`},
		{"indentation of the first line", "code", "    return 2", "x", false, "MatchNotFound", `at line 6 with other white space: line 6 is "\treturn 2"`},
		{"spaces inside", "wide", "if (a == b) {", "x", false, "MatchNotFound", `line 1 is "if (a  ==  b) {" where old_string has "if (a == b) {"`},
		{"case", "code", "FUNC A() {", "x", false, "MatchNotFound", `line 1 is "func a() {" where`},
		{"a later line", "code", "func b() {\n\treturn 3\n}", "x", false, "MatchNotFound", `most like line 5 on, but line 6 is "\treturn 2" where old_string has "\treturn 3"`},
		{"the best of two", "code", "{\n\treturn 2\n\t}", "x", false, "MatchNotFound", `The text is there at line 5 with other white space: line 7 is "}", old_string has "\t}".`},
		{"blank lines around", "code", "\n\nfunc a() {\n\treturn 1\n}", "x", false, "MatchNotFound", "at line 1, but not with the line breaks around it"},
		{"no final newline", "nonl", "text\n", "x", false, "MatchNotFound", "at line 1, but not with the line breaks around it"},
		{"beyond the end", "code", "\treturn 2\n}\nmore", "x", false, "MatchNotFound", "first 2 lines are at line 6, where the file ends"},
		{"only white space", "code", "  \n \n", "x", false, "MatchNotFound", "nothing but white space"},
		{"done already", "code", "return one", "return 1\n}", false, "MatchNotFound", "new_string is there already, at line 2"},
		{"mixed line endings", "mixed", "one\ntwo", "x", false, "MatchNotFound", "at line 1 with other line endings: the file mixes LF and CRLF"},
		{"crlf for lf", "lf", "one\r\ntwo", "x", false, "MatchNotFound", "the file has LF, old_string has CRLF"},
		{"invalid bytes", "invalid", "gr\uFFFDn", "x", false, "MatchNotFound", "U+FFFD"},
		{"a long line", "long", "long  long", "x", false, "MatchNotFound", `line 1 is "long long`},
		{"large file", "full", "y", "x", false, "MatchNotFound", "too large to look"},
		{"nul", "nul", "a", "x", false, "BinaryFile", "NUL"},
		{"utf-16", "utf16", "a", "x", false, "BinaryFile", "UTF-16"},
		{"read-only", "readonly", "text", "x", false, "PermissionDenied", "read-only (mode 0444)"},
		{"too large", "large", "x", "y", false, "FileTooLarge", fmt.Sprintf("has %d bytes", maxFile+1)},
		{"grows too large", "full", "x", "yy", false, "FileTooLarge", fmt.Sprintf("would grow to %d bytes", maxFile+1)},
		{"grows much too large", "full", "\n", strings.Repeat("y", 1<<19), true, "FileTooLarge", "would grow to"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before, _ := os.ReadFile(f.path(test.path))
			e := f.fails(t, test.want, "replace", args{"path": test.path, "old_string": test.old, "new_string": test.new, "replace_all": test.all})
			contains(t, e.Message, test.message)
			if e.Suggestion == "" || len(e.Message) > 900 {
				t.Errorf("message of %d bytes, suggestion %q", len(e.Message), e.Suggestion)
			}
			if before != nil {
				f.holds(t, test.path, string(before))
			}
		})
	}
}

func TestNotFoundTellsTheLine(t *testing.T) {
	f := start(t, "code", "a\nb\n\tfoo()\n")
	e := f.fails(t, "MatchNotFound", "replace", args{"path": "code", "old_string": "  foo()", "new_string": "x"})
	contains(t, string(e.Details), `{"closest_line":3}`)
	contains(t, e.Suggestion, "from line 3 on")
}

// The work of finding what comes closest is bounded, also when everything is alike.
func TestClosestInAFileOfEqualLines(t *testing.T) {
	text := strings.Repeat("a\n", maxCompared/2)
	m := match{path: "file", text: []byte(text), old: []byte(text[:len(text)/4] + "b\n")}
	e, ok := m.notFound().(*sdk.Error)
	if !ok {
		t.Fatal("no error for the model")
	}
	contains(t, e.Message, `is "a" where old_string has "b"`)
}

func TestEditOfALargeFile(t *testing.T) {
	content := "x" + strings.Repeat("\n", maxFile-1)
	f := start(t, "full", content)
	f.run(t, "replace", args{"path": "full", "old_string": "x", "new_string": "y"})
	f.holds(t, "full", "y"+content[1:])
	result := f.run(t, "replace", args{"path": "full", "old_string": "\n", "new_string": "\t", "replace_all": true})
	f.holds(t, "full", "y"+strings.Repeat("\t", maxFile-1))
	if size := len(result.Content[0].Text); size > 22<<10 {
		t.Errorf("the result has %d bytes", size)
	}
}

// Whatever the bytes: an edit is refused, or changes what it replaces and nothing else, and can be undone.
func FuzzReplace(f *testing.F) {
	f.Add([]byte("one\ntwo\nthree\n"), []byte("two"), []byte("2"), false)
	f.Add([]byte("one\r\ntwo\r\n"), []byte("one\ntwo"), []byte("1\n2"), false)
	f.Add([]byte("aaaa"), []byte("aa"), []byte("a"), true)
	f.Add([]byte("a\r\nb\n"), []byte("\n"), []byte(""), true)
	f.Add([]byte("\xEF\xBB\xBFa\xFF"), []byte("a"), []byte("a\n"), false)
	f.Add([]byte("x\r\n"), []byte("\r"), []byte("\n"), false)
	f.Fuzz(func(t *testing.T, content, old, with []byte, all bool) {
		m := match{path: "file", text: content, old: old, with: with}
		if len(old) == 0 {
			return
		}
		m.fitEndings()
		if err := m.find(all); err != nil {
			if e, ok := err.(*sdk.Error); !ok || e.Message == "" || e.Suggestion == "" {
				t.Fatalf("refused with %#v", err)
			}
			return
		}
		after := m.apply()
		if !all {
			undo(t, m, after)
		}
		e := &edit{place: &workspace.Place{Path: "file"}, before: &snapshot{data: content}, after: after, at: m.at, size: len(m.old), with: m.with, unlisted: m.count - len(m.at)}
		checkDiff(t, e)
	})
}

func undo(t *testing.T, m match, after []byte) {
	t.Helper()
	at := m.at[0]
	head, tail := string(m.text[:at]), string(m.text[at+len(m.old):])
	if len(m.at) != 1 || string(m.text[at:at+len(m.old)]) != string(m.old) || string(after) != head+string(m.with)+tail {
		t.Fatalf("%q with %q for %q at %v became %q", m.text, m.with, m.old, m.at, after)
	}
	back := match{path: "file", text: after, old: m.with, with: m.old}
	if len(m.with) > 0 && back.find(false) == nil && string(back.apply()) != string(m.text) {
		t.Fatalf("%q became %q, and that %q", m.text, after, back.apply())
	}
}
