package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/plugins/edit/internal/match"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// A hunk of a diff that both strings are, or a block to search and replace, says in itself what changes.
func TestReplaceByADiff(t *testing.T) {
	for _, text := range []string{"@@ -1,2 +1,2 @@\n one\n-two\n+2", "<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n"} {
		f := start(t, "a.go", "one\ntwo\nthree\n")
		f.run(t, "replace", args{"path": "a.go", "old_string": text, "new_string": text})
		f.holds(t, "a.go", "one\n2\nthree\n")
	}
}

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
		{"crlf file, lf strings", "one\r\ntwo\r\nthree\r\n", "one\ntwo\n", "1\n2\n2b\n", false, "1\r\n2\r\n2b\r\nthree\r\n",
			1, 1},
		{"crlf file, crlf strings", "one\r\ntwo\r\n", "one\r\ntwo", "1\r\n2", false, "1\r\n2\r\n", 1, 1},
		{"crlf file, mixed strings", "one\r\ntwo\r\n", "one\r\ntwo\n", "1\n2\r\n", false, "1\r\n2\r\n", 1, 1},
		{"crlf file, part of a line", "one\r\ntwo three\r\n", "two", "two\nx", false, "one\r\ntwo\r\nx three\r\n", 1, 2},
		{"crlf file, all", "a\r\nb\r\na\r\nb\r\n", "a\nb\n", "c\n", true, "c\r\nc\r\n", 2, 1},
		{"mixed file, no conversion", "one\r\ntwo\n", "two\n", "2\n3\n", false, "one\r\n2\n3\n", 1, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, "dir/file", test.content)
			a := args{"path": "dir/file", "old_string": test.old, "new_string": test.new, "replace_all": test.all}
			shown := f.preview(t, "replace", a)
			a["dry_run"] = true
			dry := f.run(t, "replace", a)
			f.holds(t, "dir/file", test.content)
			a["dry_run"] = false
			result := f.run(t, "replace", a)
			f.holds(t, "dir/file", test.want)
			got := structured[replaceOutput](t, result)
			want := replaceOutput{Path: "dir/file", Applied: true, Replacements: test.count, Pass: 1, PassName: got.PassName,
				Ranges: got.Ranges, Etag: workspace.Etag([]byte(test.want)), Bytes: len(test.want), Warnings: []string{}}
			notes := "" // what changes at the end of the file is said
			is := strings.HasSuffix(test.want, "\n")
			if is != strings.HasSuffix(test.content, "\n") && test.want != "" {
				want.Warnings = []string{"The file no longer ends with a line break."}
				if is {
					want.Warnings = []string{"The file ends with a line break now, which it did not before."}
				}
				notes = "Note: " + want.Warnings[0] + "\n\n"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("structured (-want +got):\n%s", diff)
			}
			if len(got.Ranges) != test.count || got.Ranges[0].Start != test.line {
				t.Errorf("the ranges are %v, want %d from line %d on", got.Ranges, test.count, test.line)
			}
			summary, diff, _ := strings.Cut(result.Content[0].Text, "\n\n")
			contains(t, summary, "Replaced ", "dir/file, at line", got.Etag)
			if notes+diff != shown {
				t.Errorf("the preview shows\n%s\nthe result\n%s", shown, diff)
			}
			want.Applied, want.DryRun, want.Etag = false, true, workspace.Etag([]byte(test.content))
			if diff := cmp.Diff(want, structured[replaceOutput](t, dry)); diff != "" {
				t.Errorf("structured of the dry run (-want +got):\n%s", diff)
			}
			contains(t, dry.Content[0].Text, "Would replace ", diff)
		})
	}
}

func TestReplaceShowsADiff(t *testing.T) {
	f := start(t, "file", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n")
	got := f.run(t, "replace", args{"path": "file", "old_string": "five", "new_string": "5\n5b"}).Content[0].Text
	want := `Replaced 1 place in file, at lines 5-6. [etag 4c8b6d8f4d8f]

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
	want = strings.Replace(want, "4c8b6d8f4d8f", workspace.Etag([]byte("1\n2\n3\n4\n5\n5b\n6\n7\n8\n9\n")), 1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The message about an inexact match is for the model, so that it quotes exactly the next time.
func TestReplaceReportsHowItMatched(t *testing.T) {
	f := start(t, "code.go", "func a() {\n\tif x {\n\t\treturn 1\n\t}\n}\n")
	a := args{"path": "code.go", "old_string": "    if x {\n        return 1\n    }",
		"new_string": "    if x {\n        return 2\n    }"}
	contains(t, f.preview(t, "replace", a), "Note: ", "\n\n--- a/code.go")
	result := f.run(t, "replace", a)
	f.holds(t, "code.go", "func a() {\n\tif x {\n\t\treturn 2\n\t}\n}\n")
	got := structured[replaceOutput](t, result)
	if got.Pass != 4 || got.PassName == "" || len(got.Warnings) == 0 {
		t.Errorf("structured: %+v", got)
	}
	contains(t, result.Content[0].Text, "pass 4", "\nNote: "+got.Warnings[0])
}

func TestReplaceFailures(t *testing.T) {
	f := start(t, "code", "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n", "many", strings.Repeat("x\n", 30),
		"readonly", "text", "large", "x"+strings.Repeat("\n", maxFile),
		"full", "x"+strings.Repeat("\n", maxFile-1), "nul", "a\x00b", "utf32", "\xFF\xFE\x00\x00a\x00\x00\x00", ".env",
		"A=1\n", "latin", "gr\xFCn\n")
	check(t, os.Chmod(f.path("readonly"), 0o444))
	tests := []struct {
		name    string
		args    args
		want    string
		message string
	}{
		{"empty", args{"path": "code", "old_string": "", "new_string": "x"}, "EmptyOldString", "old_string is empty"},
		{"empty, in a new file", args{"path": "new", "old_string": "", "new_string": "x"}, "EmptyOldString",
			"old_string is empty"},
		{"no file", args{"path": "new", "old_string": "x", "new_string": "y"}, "FileNotFound", `there is no file "new"`},
		{"equal", args{"path": "code", "old_string": "return 1", "new_string": "return 1"}, "NoChange", "the same"},
		{"twice", args{"path": "code", "old_string": "return", "new_string": "yield"}, "AmbiguousMatch",
			`Nothing was changed in "code": `},
		{"other count", args{"path": "many", "old_string": "x", "new_string": "y", "replace_all": true,
			"expected_replacements": 29}, "AmbiguousMatch", "30"},
		{"nowhere", args{"path": "code", "old_string": "class C:", "new_string": "x"}, "MatchNotFound",
			`Nothing was changed in "code": `},
		{"nowhere, all", args{"path": "code", "old_string": "class C:", "new_string": "x", "replace_all": true},
			"MatchNotFound", "in \"code\": "},
		{"nul", args{"path": "nul", "old_string": "a", "new_string": "x"}, "BinaryFile", "NUL"},
		{"nul in new", args{"path": "code", "old_string": "return 1", "new_string": "\x00"}, "BinaryFile",
			"new_string has a NUL"},
		{"utf-32", args{"path": "utf32", "old_string": "a", "new_string": "x"}, "BinaryFile", "NUL"},
		{"read-only", args{"path": "readonly", "old_string": "text", "new_string": "x"}, "PermissionDenied",
			"read-only (mode 0444)"},
		{"too large", args{"path": "large", "old_string": "x", "new_string": "y"}, "FileTooLarge",
			fmt.Sprintf("has %d bytes", maxFile+1)},
		{"grows too large", args{"path": "full", "old_string": "x", "new_string": "yy"}, "FileTooLarge",
			fmt.Sprintf("would grow to %d bytes", maxFile+1)},
		{"other etag", args{"path": "code", "old_string": "return 1", "new_string": "x", "if_match": "0123456789ab"},
			"FileChanged", `was changed since it was read: its etag is `},
		{"secret", args{"path": ".env", "old_string": "A", "new_string": "x"}, "SecretFile", "holds secrets"},
		{"unknown encoding, old string", args{"path": "latin", "old_string": "ü", "new_string": "u"}, "EncodingUnknown",
			"which bytes in it are the 'ü' of old_string"},
		{"unknown encoding", args{"path": "latin", "old_string": "n", "new_string": "ü"}, "EncodingUnknown", "not UTF-8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := f.path(test.args["path"].(string))
			before, _ := os.ReadFile(path)
			e := f.fails(t, test.want, "replace", test.args)
			contains(t, e.Message, test.message)
			if e.Suggestion == "" || len([]rune(e.Message)) > 1000 || len([]rune(e.Suggestion)) > 1000 {
				t.Errorf("message of %d bytes, suggestion %q", len(e.Message), e.Suggestion)
			}
			if after, _ := os.ReadFile(path); string(before) != string(after) {
				t.Errorf("the file holds %.100q now", after)
			}
		})
	}
}

// What is too long for a message is in the result that comes with the error.
func TestRefusalsAreReadable(t *testing.T) {
	f := start(t, "code.go", "func a() {\n\treturn firstOfAll(1)\n}\n\nfunc b() {\n\treturn secondOfAll(2)\n}\n")
	a := args{"path": "code.go", "old_string": "func b() {\n\treturn secondOfAll(3)\n}\n", "new_string": "x"}
	result := f.RunIn(t, f.dir, "replace", string(a.json()))
	if result.Error == nil || result.Error.Name != "MatchNotFound" {
		t.Fatalf("gave %+v", result)
	}
	var d refusalDetails
	check(t, json.Unmarshal(result.Error.Details, &d))
	if d.Kind != match.NotFound || d.Path != "code.go" || len(d.Candidates) == 0 || d.Candidates[0].StartLine != 5 {
		t.Errorf("details: %+v", d)
	}
	contains(t, result.Content[0].Text, "code.go has, with line numbers:\n", "     5\tfunc b() {",
		"old_string (-) against the file (+):\n", "-\treturn secondOfAll(3)\n")
	shown, err := f.Preview(t.Context(), &sdk.Request{CallID: "1", Tool: "replace", Arguments: a.json(), Workdir: f.dir})
	named(t, err, "MatchNotFound") // and the preview returns the same
	if diff := cmp.Diff(result.Content, shown.Content); diff != "" {
		t.Errorf("the preview gives something else to read (-call +preview):\n%s", diff)
	}
}

func TestBytesThatAreNotTextAreExplained(t *testing.T) {
	f := start(t, "latin", "gr\xFCn, blau\n")
	e := f.fails(t, "MatchNotFound", "replace", args{"path": "latin", "old_string": "gr\uFFFDn", "new_string": "x"})
	contains(t, e.Suggestion, "U+FFFD, which stands for bytes")
}

func TestFitted(t *testing.T) {
	long := strings.Repeat("größer ", 1000)
	err := shorten(&sdk.Error{Name: "X", Message: long, Suggestion: "Do."}, "- a\n+ b")
	r, ok := errors.AsType[*refusal](err)
	if !ok || utf8.RuneCountInString(r.failure.Message) > 950 || !utf8.ValidString(r.failure.Message) ||
		r.text != long+"\n\n- a\n+ b" || r.failure.Suggestion != "Do." {
		t.Errorf("fitted as %+v", err)
	}
	contains(t, r.failure.Message, "größer ... (all of it is in the result)")
	if r := shorten(&sdk.Error{Message: "short"}, "").(*refusal); r.text != "" || r.failure.Message != "short" {
		t.Errorf("a short one became %+v", r)
	}
}

func TestIfMatch(t *testing.T) {
	f := start(t, "file", "old\n")
	etag := workspace.Etag([]byte("old\n"))
	result := f.run(t, "replace", args{"path": "file", "old_string": "old", "new_string": "new", "if_match": etag})
	next := structured[replaceOutput](t, result).Etag
	e := f.fails(t, "FileChanged", "replace", args{"path": "file", "old_string": "new", "new_string": "newer",
		"if_match": etag})
	var d map[string]string
	check(t, json.Unmarshal(e.Details, &d))
	if d["if_match"] != etag || d["etag"] != next {
		t.Errorf("details: %s", e.Details)
	}
	contains(t, e.Suggestion, "Read the file again")
	f.fails(t, "FileChanged", "write", args{"path": "file", "content": "x", "overwrite": true, "if_match": etag})
	contains(t, f.fails(t, "FileChanged", "write", args{"path": "gone", "content": "x", "overwrite": true,
		"if_match": etag}).Message, "does not exist, so it cannot be the file that was read")
	f.holds(t, "file", "new\n")
	f.run(t, "write", args{"path": "file", "content": "newer\n", "overwrite": true, "if_match": `"` + next + `"`})
	f.holds(t, "file", "newer\n")
	for _, no := range []string{" ", `""`, "*", "0123", etag + "0", `W/"` + etag + `"`} {
		contains(t, f.fails(t, "InvalidEtag", "write", args{"path": "file", "content": "x", "overwrite": true,
			"if_match": no}).Message, "12 hexadecimal digits")
	}
	f.run(t, "write", args{"path": "file", "content": "last\n", "overwrite": true,
		"if_match": strings.ToUpper(workspace.Etag([]byte("newer\n")))})
}

func TestEditOfALargeFile(t *testing.T) {
	content := "x" + strings.Repeat("\n", maxFile-1)
	f := start(t, "full", content)
	f.run(t, "replace", args{"path": "full", "old_string": "x", "new_string": "y"})
	f.holds(t, "full", "y"+content[1:])
	result := f.run(t, "replace", args{"path": "full", "old_string": "y", "new_string": "\t", "replace_all": true})
	if size := len(result.Content[0].Text); size > 22<<10 {
		t.Errorf("the result has %d bytes", size)
	}
}

func TestLongDiffsSayWhereTheRestIs(t *testing.T) {
	f := start(t, "file", strings.Repeat("a\nb\n", 300))
	a := args{"path": "file", "old_string": "a", "new_string": "x", "replace_all": true, "dry_run": true}
	dry := f.run(t, "replace", a)
	contains(t, dry.Content[0].Text, "left out; make fewer edits at once")
	a["dry_run"] = false
	done := f.run(t, "replace", a)
	contains(t, done.Content[0].Text, "left out; the diff tool shows more")
	if !dry.Truncated || !done.Truncated {
		t.Error("what is cut is not marked as such")
	}
	if all := f.run(t, "diff", args{"max_lines": 5000}); all.Truncated || strings.Count(all.Content[0].Text,
		"\n+x") != 300 {
		t.Errorf("the diff tool shows %.300s", all.Content[0].Text)
	}
	contains(t, f.run(t, "undo", args{}).Content[0].Text, "left out; read the files")
}

func TestHugeFilesAreRefused(t *testing.T) {
	f := start(t, "huge", "")
	check(t, os.Truncate(f.path("huge"), 100<<20))
	for tool, a := range map[string]args{
		"replace": {"path": "huge", "old_string": "x", "new_string": "y"},
		"write":   {"path": "huge", "content": "y", "overwrite": true},
		"multi":   {"path": "huge", "edits": []args{{"old_string": "x", "new_string": "y"}}},
	} {
		contains(t, f.fails(t, "FileTooLarge", tool, a).Message, "104857600 bytes")
	}
}

// Whatever the bytes: an edit is refused, or changes what it replaces, and undo brings back every byte.
func FuzzReplace(f *testing.F) {
	f.Add([]byte("one\ntwo\nthree\n"), "two", "2", false)
	f.Add([]byte("one\r\ntwo\r\n"), "one\ntwo", "1\n2", false)
	f.Add([]byte("aaaa"), "aa", "a", true)
	f.Add([]byte("\xEF\xBB\xBFa\xFF"), "a", "a\n", false)
	f.Add([]byte("\xFF\xFEa\x00b\x00"), "b", "ü", false)
	f.Add([]byte("\xB0\xA1a"), "a", "나", false)
	f.Fuzz(func(t *testing.T, content []byte, old, with string, all bool) {
		legacy, err := codePage("cp949")
		check(t, err)
		b := &buffer{place: &workspace.Place{Path: "file"}, before: &snapshot{data: content}, form: formOf(content, legacy)}
		if b.text, err = b.form.decode("file", content); err != nil {
			return
		}
		before := b.text
		plan, err := b.apply(match.Change{Old: old, New: with, All: all})
		if err == nil {
			var c *change
			if c, err = b.change(); err == nil {
				checkChange(t, c, plan, before, b.text)
				return
			}
		}
		if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Name == "" || e.Message == "" || e.Suggestion == "" {
			t.Fatalf("refused with %#v", err)
		}
	})
}

func checkChange(t *testing.T, c *change, plan *match.Plan, before, after []byte) {
	t.Helper()
	text, err := c.form.decode("file", c.after)
	if err != nil || string(text) != string(after) {
		t.Fatalf("%q reads back as %q (%v), want %q", c.after, text, err, after)
	}
	if ranges := rangesAfter(plan, after); len(ranges) != min(len(plan.Places), maxRanges) {
		t.Fatalf("%d places have the ranges %v", len(plan.Places), ranges)
	}
	checkDiff(t, string(before), string(after))
}

// Tools that read show CR as LF where a file has no LF, so an edit takes LF for it, and keeps CR.
func TestFilesWithCRAlone(t *testing.T) {
	for _, c := range []struct{ before, from, to, want string }{
		{"a\rb\rc\r", "b", "B", "a\rB\rc\r"},
		{"a\rb\rc\r", "a\nb", "x\ny\nz", "x\ry\rz\rc\r"},
		{"a\rb\rc\r", "a\r\nb\r\n", "x\r\n", "x\rc\r"},
		{"a\rb\rc\r", "b", "1\n2", "a\r1\r2\rc\r"},
		{"a\rb\rc\r", "a\rb", "x\ry", "x\ry\rc\r"},
		{"a\rb\rc\r", "a\rb", "a\nb", "a\nb\rc\r"}, // asked for as such
		{"\xFF\xFEa\x00\r\x00b\x00", "a\nb", "x\ny", "\xFF\xFEx\x00\r\x00y\x00"},
		{"a\rb\nc\n", "c", "1\n2", "a\rb\n1\n2\n"}, // CR is no line ending there
	} {
		f := start(t, "mac", c.before)
		result := f.run(t, "replace", args{"path": "mac", "old_string": c.from, "new_string": c.to})
		if result.Error != nil {
			t.Errorf("%q, %q: %v", c.before, c.from, result.Error)
		}
		f.holds(t, "mac", c.want)
	}
	f := start(t, "mac", "a\rb\rc\r")
	edits := []args{{"path": "mac", "old_string": "a\nb", "new_string": "1\n2"},
		{"path": "mac", "old_string": "2\nc\n", "new_string": "3\n"}}
	f.run(t, "multi", args{"edits": edits})
	f.holds(t, "mac", "1\r3\r")
}
