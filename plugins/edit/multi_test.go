package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// one is an edit of a call of multi.
func one(path, old, with string) args {
	return args{"path": path, "old_string": old, "new_string": with}
}

func edits(all ...args) args { return args{"edits": all} }

func TestMulti(t *testing.T) {
	tests := []struct {
		name   string
		before map[string]string
		args   args
		want   map[string]string
	}{
		{"one file", map[string]string{"a": "1\n2\n3\n"}, args{"path": "a",
			"edits": []args{{"old_string": "1", "new_string": "one"}, {"old_string": "3", "new_string": "three"}}},
			map[string]string{"a": "one\n2\nthree\n"}},
		{"several files", map[string]string{"a": "x\n", "d/b": "x\n"}, edits(one("a", "x", "y"), one("d/b", "x", "z")),
			map[string]string{"a": "y\n", "d/b": "z\n"}},
		{"a later one finds what an earlier one left", map[string]string{"a": "1\n"}, edits(one("a", "1", "2"),
			one("a", "2", "3")), map[string]string{"a": "3\n"}},
		{"one file by two names", map[string]string{"a": "1\n2\n"}, edits(one("a", "1", "one"), one("./a", "2", "two")),
			map[string]string{"a": "one\ntwo\n"}},
		{"in turns", map[string]string{"a": "1\n2\n", "b": "1\n"}, edits(one("a", "1", "x"), one("b", "1", "y"),
			one("a", "2", "z")), map[string]string{"a": "x\nz\n", "b": "y\n"}},
		{"a new file", map[string]string{"a": "x\n"}, edits(one("a", "x", "y"), one("new", "", "text\n")),
			map[string]string{"a": "y\n", "new": "text\n"}},
		{"a new file that is edited", nil, edits(one("new", "", "a\nb\n"), one("new", "b", "c")),
			map[string]string{"new": "a\nc\n"}},
		{"new files in a new folder", nil, args{"create_dirs": true, "edits": []args{one("d/e/f", "", "1"),
			one("d/e/g", "", "2")}}, map[string]string{"d/e/f": "1", "d/e/g": "2"}},
		{"all places", map[string]string{"a": "x x x\n"},
			edits(args{"path": "a", "old_string": "x", "new_string": "y", "replace_all": true, "expected_replacements": 3}),
			map[string]string{"a": "y y y\n"}},
		{"an etag each", map[string]string{"a": "1\n", "b": "2\n"},
			edits(args{"path": "a", "old_string": "1", "new_string": "x", "if_match": workspace.Etag([]byte("1\n"))},
				args{"path": "a", "old_string": "x", "new_string": "y", "if_match": workspace.Etag([]byte("1\n"))}),
			map[string]string{"a": "y\n", "b": "2\n"}},
		{"they cancel each other out", map[string]string{"a": "1\n"}, edits(one("a", "1", "2"), one("a", "2", "1")),
			map[string]string{"a": "1\n"}},
		{"utf-16 and others", map[string]string{"a": "\xFF\xFE1\x00", "b": "\xEF\xBB\xBF1\n"}, edits(one("a", "1", "2"),
			one("b", "1", "2")), map[string]string{"a": "\xFF\xFE2\x00", "b": "\xEF\xBB\xBF2\n"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := start(t)
			for path, content := range test.before {
				f.put(t, path, content)
			}
			shown := f.preview(t, "multi", test.args)
			test.args["dry_run"] = true
			dry := structured[multiOutput](t, f.run(t, "multi", test.args))
			for path := range test.want {
				if now, err := os.ReadFile(f.path(path)); string(now) != test.before[path] || (err == nil) != has(test.before,
					path) {
					t.Errorf("a dry run or a preview made %q of %s (%v)", now, path, err)
				}
			}
			delete(test.args, "dry_run")
			result := f.run(t, "multi", test.args)
			got := structured[multiOutput](t, result)
			for path, content := range test.want {
				f.holds(t, path, content)
			}
			for _, file := range got.Files {
				if want := test.want[strings.TrimPrefix(file.Path, "./")]; file.Etag != workspace.Etag([]byte(want)) ||
					file.Bytes != len(want) || file.Created != !has(test.before, file.Path) {
					t.Errorf("%+v, which holds %q", file, want)
				}
			}
			if _, diff, _ := strings.Cut(result.Content[0].Text, "\n\n"); diff != shown && diff != "" {
				t.Errorf("the preview shows\n%s\nthe result\n%s", shown, diff)
			}
			dry.Applied, dry.DryRun = true, false
			for i, file := range dry.Files {
				if was, there := test.before[file.Path]; there != (file.Etag != "") || there &&
					file.Etag != workspace.Etag([]byte(was)) {
					t.Errorf("the dry run gives the etag %q for %q", file.Etag, file.Path)
				}
				dry.Files[i].Etag = got.Files[i].Etag
			}
			if diff := cmp.Diff(dry, got); diff != "" {
				t.Errorf("the dry run tells something else (-dry +done):\n%s", diff)
			}
		})
	}
}

func has(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}

func TestMultiReportsEachEdit(t *testing.T) {
	f := start(t, "a", "1\n2\n3\n4\n")
	got := f.run(t, "multi", edits(one("a", "1\n", ""), one("a", "4", "four\nfive"), one("new", "",
		"text\n"))).Content[0].Text
	want := fmt.Sprintf(`Made 3 edits in 2 files:
a: lines 1, 3 [etag %s]
new: created, 5 bytes [etag %s]

--- a/a
+++ b/a
@@ -1,4 +1,4 @@
-1
 2
 3
-4
+four
+five
--- /dev/null
+++ b/new
@@ -0,0 +1 @@
+text`, workspace.Etag([]byte("2\n3\nfour\nfive\n")), workspace.Etag([]byte("text\n")))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMultiFailures(t *testing.T) {
	f := start(t, "a", "1\n2\n2\n", "b", "1\n", "nul", "\x00", ".env", "A=1\n", "id_rsa", "x")
	check(t, os.Symlink("id_rsa", f.path("innocent")))
	var tooMany, manyFiles []args
	for i := range maxEdits + 1 {
		tooMany = append(tooMany, one("a", fmt.Sprint(i), "x"))
	}
	for i := range maxFiles + 1 {
		manyFiles = append(manyFiles, one(fmt.Sprintf("new%d", i), "", "x"))
	}
	f.Plugin = f.Unchecked()
	good := one("b", "1", "x")
	tests := []struct {
		name    string
		args    args
		want    string
		message string
		index   int // -1 for none
	}{
		{"no edits", edits(), "NoEdits", "nothing to do", -1},
		{"too many edits", edits(tooMany...), "TooManyEdits", "101 edits, at most 100", -1},
		{"too many files", edits(manyFiles...), "TooManyFiles",
			"edit 51 of 51 (edits[50]): the edits are in more than 50 files", 50},
		{"no path", edits(good, args{"old_string": "1", "new_string": "2"}), "InvalidPath",
			"edit 2 of 2 (edits[1]) has no path", -1},
		{"not found", edits(good, one("a", "3", "x")), "MatchNotFound", `edit 2 of 2 (edits[1]): Nothing was changed in "a"`,
			1},
		{"ambiguous", edits(good, one("a", "2", "x")), "AmbiguousMatch", "edit 2 of 2", 1},
		{"no file", edits(good, one("c", "2", "x")), "FileNotFound", "edit 2 of 2 (edits[1]): there is no file", 1},
		{"empty for a file that is there", edits(good, one("a", "", "x")), "EmptyOldString", "edit 2", 1},
		{"empty twice", edits(good, one("c", "", "x"), one("c", "", "y")), "EmptyOldString", "edit 3", 2},
		{"no folder", edits(good, one("d/c", "", "x")), "ParentNotFound", "edit 2", 1},
		{"same", edits(good, one("a", "1", "1")), "NoChange", "edit 2", 1},
		{"binary", edits(good, one("nul", "1", "2")), "BinaryFile", "edit 2", 1},
		{"etag", edits(good, args{"path": "a", "old_string": "1", "new_string": "x", "if_match": "0123456789ab"}),
			"FileChanged", "edit 2", 1},
		{"etag of a file that is not there", edits(good, args{"path": "c", "old_string": "", "new_string": "x",
			"if_match": "0123456789ab"}), "FileChanged", "does not exist, so it cannot be", 1},
		{"secret", edits(good, one(".env", "1", "2")), "SecretFile", ".env", -1},
		{"secret to be made", edits(good, one("b.pem", "", "2")), "SecretFile", "b.pem", -1},
		{"secret behind a link", edits(good, one("innocent", "x", "2")), "SecretFile", "innocent", -1},
		{"outside", edits(good, one("../x", "1", "2")), "PathOutsideWorkspace", "../x", -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := f.fails(t, test.want, "multi", test.args)
			contains(t, e.Message, test.message)
			var d struct{ Index *int }
			_ = json.Unmarshal(e.Details, &d)
			if (d.Index == nil) != (test.index < 0) || d.Index != nil && *d.Index != test.index {
				t.Errorf("details: %s", e.Details)
			}
			if e.Suggestion == "" || len([]rune(e.Message)) > 1000 {
				t.Errorf("message %q, suggestion %q", e.Message, e.Suggestion)
			}
			f.holds(t, "a", "1\n2\n2\n")
			f.holds(t, "b", "1\n")
		})
	}
	if names, err := os.ReadDir(f.dir); err != nil || len(names) != 6 {
		t.Errorf("the folder holds %v (%v)", names, err)
	}
}

// An edit that no longer matches because of an earlier one has another error than one that never did.
func TestMultiNamesTheCulprit(t *testing.T) {
	f := start(t, "a", "alpha = 1\nbeta = 2\ngamma = 3\n")
	e := f.fails(t, "MatchNotFound", "multi", edits(one("a", "alpha = 1", "alpha = 10"), one("a", "beta = 2", "delta(7)"),
		one("a", "gamma = 3", "gamma = 30"), one("a", "beta = 2", "beta = 20")))
	contains(t, e.Message, "edit 4 of 4 (edits[3]) was invalidated by edit 2: it matches the file before this call")
	contains(t, e.Suggestion, "the text as edit 2 leaves it")
	contains(t, string(e.Details), `"index":3`, `"invalidated_by":1`)
}

// In a large file too, and soon: only for an exact fit.
func TestMultiNamesTheCulpritInALargeFile(t *testing.T) {
	testutil.Long(t)
	f := start(t, "a", "alpha = 1\nbeta = 2\n"+strings.Repeat("filler\n", maxJudged/7))
	e := f.fails(t, "MatchNotFound", "multi", edits(one("a", "alpha = 1", "alpha = 10"), one("a", "beta = 2", "delta(7)"),
		one("a", "beta = 2", "beta = 20")))
	contains(t, e.Message, "was invalidated by edit 2")
	e = f.fails(t, "MatchNotFound", "multi", edits(one("a", "alpha = 1", "alpha = 10"), one("a", "omega = 2", "delta(7)")))
	contains(t, e.Message, "edit 2 of 2 (edits[1]): Nothing was changed")
}

// 64 MiB of files are not read at once.
func TestMultiOfTooMuch(t *testing.T) {
	testutil.Long(t)
	f := start(t)
	var all []args
	for i := range 7 {
		name := fmt.Sprintf("f%d", i)
		f.put(t, name, "x"+strings.Repeat(strings.Repeat("y", 1<<16-1)+"\n", maxFile>>16-1)+strings.Repeat("y", 1<<16-1))
		all = append(all, one(name, "x", "y"))
	}
	contains(t, f.fails(t, "FilesTooLarge", "multi", edits(all...)).Message, `the files up to "f6"`)
}

// What is to be said of many edits is said once.
func TestMultiWarnsOnce(t *testing.T) {
	var content strings.Builder
	var all []args
	for i := range 12 {
		fmt.Fprintf(&content, "\tfirst%d()\n\tsecond%d()\n", i, i)
		all = append(all, one("a.go", fmt.Sprintf("    first%d()\n    second%d()\n", i, i), fmt.Sprintf("    third%d()\n",
			i)))
	}
	f := start(t, "a.go", content.String(), "b.go", "\tfirst()\n\tsecond()\n")
	got := structured[multiOutput](t, f.run(t, "multi", edits(all...))).Warnings
	if len(got) != 1 || !strings.HasPrefix(got[0], "edits 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more: ") {
		t.Errorf("warnings: %q", got)
	}
	single := structured[multiOutput](t, f.run(t, "multi",
		edits(one("b.go", "    first()\n    second()\n", "    x()\n")))).Warnings
	if len(single) != 1 || !strings.HasPrefix(single[0], "edit 1: ") {
		t.Errorf("warnings: %q", single)
	}
}

// Edits that are written as if all were made at once, such as a swap of two names, lose nothing.
func TestMultiRefusesChains(t *testing.T) {
	all := func(old, with string) args {
		return args{"path": "a", "old_string": old, "new_string": with, "replace_all": true}
	}
	const text = "one := two(three)\nthree := one(two)\n"
	f := start(t, "a", text)
	for name, chain := range map[string][]args{
		"a swap":           {all("one", "two"), all("two", "one")},
		"a shift":          {all("one", "two"), all("two", "three"), all("three", "four")},
		"a longer text":    {all("one", "x.two"), all("two", "three")},
		"one place first":  {one("a", "one :=", "two"), all("two", "three")},
		"behind other one": {all("three", "3"), all("one", "two"), all("two", "one")},
	} {
		e := f.fails(t, "EditRefused", "multi", edits(chain...))
		if !strings.Contains(e.Message, "could not be told apart") || !strings.Contains(e.Suggestion, "before edit") {
			t.Errorf("%s: %s %s", name, e.Message, e.Suggestion)
		}
		f.holds(t, "a", text)
	}
	f.run(t, "multi", edits(all("three", "four"), all("two", "three"), all("one", "two")))
	f.holds(t, "a", "two := three(four)\nfour := two(three)\n")
	f.run(t, "multi", edits(all("two", "x"), all("three", "two"), all("x", "three"))) // a swap by a third name
	f.holds(t, "a", "three := two(four)\nfour := three(two)\n")
	f.run(t, "multi", edits(one("a", "three := two(four)", "three := two(five) + four"), all("four", "six")))
	f.holds(t, "a", "three := two(five) + six\nsix := three(two)\n")
}
