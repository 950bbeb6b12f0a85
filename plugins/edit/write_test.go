package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk/workspace"
)

func TestWrite(t *testing.T) {
	const mark = "\xEF\xBB\xBF"
	tests := []struct {
		name, before, content string // before is "-" where there is no file
		want                  string
		summary               string
		changed               bool
	}{
		{"new", "-", "a\nb\n", "a\nb\n", "Created dir/file, 4 bytes.", true},
		{"new and empty", "-", "", "", "Created dir/file, 0 bytes.", true},
		{"over a file", "old\n", "new\n", "new\n", "Overwrote dir/file: 4 bytes, before 4.", true},
		{"over an empty file", "", "new\n", "new\n", "Overwrote dir/file: 4 bytes, before 0.", true},
		{"empty over a file", "old\n", "", "", "Overwrote dir/file: 0 bytes, before 4.", true},
		{"the same again", "a\n", "a\n", "a\n", "dir/file holds exactly this already; nothing was written.", false},
		{"over a binary file", "a\x00b", "text\n", "text\n",
			"Overwrote dir/file: 5 bytes, before 3. It was not UTF-8 text before, and is now.", true},
		{"over other text than UTF-8", "gr\xFCn\n", "grün\n", "grün\n",
			"Overwrote dir/file: 6 bytes, before 5. It was not UTF-8 text before, and is now.", true},
		{"over broken utf-16", "\xFF\xFE\x00\xD8", "a", "a",
			"Overwrote dir/file: 1 byte, before 4. It was not UTF-8 text before, and is now.", true},
		{"crlf is kept", "a\r\nb\r\n", "1\n2\n", "1\r\n2\r\n",
			"Overwrote dir/file: 6 bytes, before 6. Kept its CRLF line endings.", true},
		{"crlf is kept, no change", "a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n",
			"dir/file holds exactly this already; nothing was written.", false},
		{"own crlf", "a\r\nb\r\n", "1\r\n2\n", "1\r\n2\n", "Overwrote dir/file: 5 bytes, before 6.", true},
		{"cr is kept", "a\rb\r", "1\n2\n", "1\r2\r", "Overwrote dir/file: 4 bytes, before 4. Kept its CR line endings.", true},
		{"cr is kept, with the newline at the end", "a\rb\r", "1\n2", "1\r2\r",
			"Overwrote dir/file: 4 bytes, before 4. Kept its CR line endings and the newline at its end.", true},
		{"newline at the end is kept, cr", "a\rb\r", "1", "1\r",
			"Overwrote dir/file: 2 bytes, before 4. Kept the newline at its end.", true},
		{"cr is kept, none at the end", "a\rb", "1\n2", "1\r2",
			"Overwrote dir/file: 3 bytes, before 3. Kept its CR line endings.", true},
		{"own cr", "a\rb\r", "1\r2\n", "1\r2\n", "Overwrote dir/file: 4 bytes, before 4.", true},
		{"cr in a line is no ending", "a\rb\n", "1\n2", "1\n2\n",
			"Overwrote dir/file: 4 bytes, before 4. Kept the newline at its end.", true},
		{"mixed endings are not kept", "a\r\nb\n", "1\n2\n", "1\n2\n", "Overwrote dir/file: 4 bytes, before 5.", true},
		{"mark is kept", mark + "a\n", "1\n", mark + "1\n",
			"Overwrote dir/file: 5 bytes, before 5. Kept its UTF-8 byte order mark.", true},
		{"own mark", mark + "a\n", mark + "1\n", mark + "1\n", "Overwrote dir/file: 5 bytes, before 5.", true},
		{"newline at the end is kept", "a\n", "1", "1\n",
			"Overwrote dir/file: 2 bytes, before 2. Kept the newline at its end.", true},
		{"newline at the end is kept, crlf", "a\r\n", "1", "1\r\n",
			"Overwrote dir/file: 3 bytes, before 3. Kept the newline at its end.", true},
		{"newline at the end, where none was", "a", "1\n", "1\n", "Overwrote dir/file: 2 bytes, before 1.", true},
		{"utf-16 is kept", "\xFF\xFEa\x00\n\x00", "ü\n", "\xFF\xFE\xFC\x00\n\x00",
			"Overwrote dir/file: 6 bytes, before 6. Kept its encoding, UTF-16LE with a byte order mark.", true},
		{"mark and crlf", mark + "a\r\n", "1\n", mark + "1\r\n",
			"Overwrote dir/file: 6 bytes, before 6. Kept its CRLF line endings and its UTF-8 byte order mark.", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, "dir/other", "")
			if test.before != "-" {
				f.put(t, "dir/file", test.before)
			}
			a := args{"path": "dir/file", "content": test.content, "overwrite": test.before != "-"}
			shown := f.preview(t, "write", a)
			result := f.run(t, "write", a)
			f.holds(t, "dir/file", test.want)
			want := writeOutput{Path: "dir/file", Created: test.before == "-", Changed: test.changed, Bytes: len(test.want),
				Etag: workspace.Etag([]byte(test.want))}
			if diff := cmp.Diff(want, structured[writeOutput](t, result)); diff != "" {
				t.Errorf("structured (-want +got):\n%s", diff)
			}
			summary, diff, _ := strings.Cut(result.Content[0].Text, "\n\n")
			if summary != test.summary+" [etag "+want.Etag+"]" {
				t.Errorf("says %q, want %q and the etag", summary, test.summary)
			}
			if !want.Created && test.changed && diff != shown || !test.changed && shown != summary {
				t.Errorf("the preview shows\n%s\nthe result\n%s", shown, diff)
			}
		})
	}
}

func TestPreviewOfANewFile(t *testing.T) {
	f := start(t)
	shown := f.preview(t, "write", args{"path": "a/b/c", "content": "one\ntwo", "create_dirs": true})
	if want := "--- /dev/null\n+++ b/a/b/c\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file"; shown != want {
		t.Errorf("shows\n%s", shown)
	}
	if names, err := os.ReadDir(f.dir); err != nil || len(names) > 0 {
		t.Errorf("the preview made %v (%v)", names, err)
	}
	if shown := f.preview(t, "write", args{"path": "empty", "content": ""}); shown != "--- /dev/null\n+++ b/empty" {
		t.Errorf("an empty file shows %q", shown)
	}
}

func TestWriteFailures(t *testing.T) {
	f := start(t, "file", "text", "d/y", "", "readonly", "text", "large", strings.Repeat("x", maxFile+1))
	check(t, os.Chmod(f.path("readonly"), 0o444))
	tests := []struct {
		name    string
		args    args
		want    string
		message string
	}{
		{"exists", args{"path": "file", "content": "x"}, "FileExists", "nothing was written"},
		{"exists, with the same content", args{"path": "file", "content": "text"}, "FileExists", "exists already"},
		{"no parent", args{"path": "a/b/c", "content": "x"}, "ParentNotFound", `the directory "a" does not exist`},
		{"read-only", args{"path": "readonly", "content": "x", "overwrite": true}, "PermissionDenied", "read-only"},
		{"large", args{"path": "large", "content": "x", "overwrite": true}, "FileTooLarge",
			"at most 10485760 bytes can be edited"},
		{"parent is a file", args{"path": "file/x", "content": "x", "create_dirs": true}, "NotADirectory",
			`"file" is a file`},
		{"outside", args{"path": "../x/y", "content": "x", "create_dirs": true}, "PathOutsideWorkspace", "outside"},
		{"a directory", args{"path": "new/", "content": ""}, "InvalidPath", "names a directory"},
		{"a directory to make", args{"path": "a/new/", "content": "", "create_dirs": true}, "InvalidPath",
			"names a directory"},
		{"home", args{"path": "~/x", "content": "x", "create_dirs": true}, "InvalidPath", `a directory of the name "~"`},
		{"home of someone", args{"path": "~me/x", "content": "x", "create_dirs": true}, "InvalidPath", "not expanded"},
		{"a variable", args{"path": "$HOME/x", "content": "x", "create_dirs": true}, "InvalidPath", "not expanded"},
		{"a URL", args{"path": "file:///x", "content": "x", "create_dirs": true}, "InvalidPath", "not expanded"},
		{"a blank behind it", args{"path": "file ", "content": "x"}, "InvalidPath", `meant as "file"`},
		{"a line break behind it", args{"path": "other\n", "content": "x"}, "InvalidPath", `meant as "other"`},
		{"a blank before it", args{"path": " file", "content": "x"}, "InvalidPath", `meant as "file"`},
		{"a line", args{"path": "file:12", "content": "x"}, "InvalidPath", `meant as "file"`},
		{"a line and a column", args{"path": "file:12:3", "content": "x"}, "InvalidPath", `meant as "file"`},
		{"lines", args{"path": "file:12-30", "content": "x"}, "InvalidPath", `meant as "file"`},
		{"separators of Windows", args{"path": `d\x`, "content": "x"}, "InvalidPath", `meant as "d/x"`},
		{"a drive", args{"path": `C:\x`, "content": "x"}, "InvalidPath", `meant as "C:/x"`},
		{"long name", args{"path": strings.Repeat("x", 300), "content": "x"}, "InvalidPath", "file name too long"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			contains(t, f.fails(t, test.want, "write", test.args).Message, test.message)
		})
	}
	f.fails(t, "InvalidPath", "multi", edits(one("file:3", "", "x")))
	f.fails(t, "InvalidPath", "multi", args{"path": "~/x", "create_dirs": true, "edits": []args{one("", "", "x")}})
	f.holds(t, "file", "text")
	f.holds(t, "readonly", "text")
	f.run(t, "write", args{"path": "./file:12", "content": "x"}) // which is meant then
	f.run(t, "write", args{"path": "12:30", "content": "x"})
}

func TestWriteMakesDirectories(t *testing.T) {
	f := start(t, "a/x", "")
	f.run(t, "write", args{"path": "a/b/c/d", "content": "x", "create_dirs": true})
	f.holds(t, "a/b/c/d", "x")
	f.run(t, "write", args{"path": "a/e", "content": "y", "create_dirs": true})
	f.holds(t, "a/e", "y")
	f.run(t, "write", args{"path": "./$v/x", "content": "y", "create_dirs": true})
	f.run(t, "write", args{"path": "$v/y", "content": "y"}) // which is there
	f.holds(t, "$v/y", "y")
	check(t, os.Symlink("b/new", f.path("a/link")))
	f.run(t, "write", args{"path": "a/link", "content": "z"})
	f.holds(t, "a/b/new", "z")
}

// What models write around or in place of code is no content.
func TestWriteRefusesWhatIsNotMeant(t *testing.T) {
	const code = "package a\n\nfunc one() {\n\trun()\n}\n\nfunc two() {\n\tstop()\n}\n"
	f := start(t)
	f.put(t, "a.go", code)
	for name, content := range map[string]string{
		"code left out": "package a\n\nfunc one() {\n\trun(1)\n}\n\n// ... rest of the file unchanged ...\n",
		"dots":          "package a\n\nfunc one() {\n\trun(1)\n}\n\n// ...\n",
		"a fence":       "```go\n" + code + "```\n",
		"a diff":        "@@ -3,3 +3,3 @@\n func one() {\n-\trun()\n+\trun(1)\n }\n",
		"numbers":       "1\tpackage a\n2\t\n3\tfunc one() {\n4\t\trun(1)\n5\t}\n",
	} {
		e := f.fails(t, "EditRefused", "write", args{"path": "a.go", "content": content, "overwrite": true})
		contains(t, e.Message, "content ", `"a.go"`)
		if e.Suggestion == "" {
			t.Errorf("%s: no suggestion", name)
		}
	}
	f.holds(t, "a.go", code)
	f.fails(t, "EditRefused", "write", args{"path": "b.go", "content": "```go\n" + code + "```\n"})
	f.fails(t, "EditRefused", "write", args{"path": "b.md", "content": "```markdown\n# Title\n\nText.\n```\n"})
	f.fails(t, "EditRefused", "multi", edits(one("b.go", "", "```go\n"+code+"```\n")))
	f.fails(t, "EditRefused", "multi", edits(one("a.go", "\trun()\n", "\trun(1)\n"), one("a.go",
		"func two() {\n\tstop()\n}\n", "func two() {\n\t// ...\n}\n")))
	f.fails(t, "AlreadyApplied", "multi", edits(one("a.go", "\trun()\n", "\trun()\n\tlog(x)\n"), one("a.go", "\trun()\n",
		"\trun()\n\tlog(x)\n")))
	f.holds(t, "a.go", code)

	f.run(t, "write", args{"path": "c.md", "content": "```sh\nmake\n```\n"})
	f.run(t, "write", args{"path": "c.pyi", "content": "class A:\n    def f(self) -> int:\n        ...\n"})
	f.run(t, "write", args{"path": "a.go", "content": code + "\n// Three...\nfunc three(all ...int) {}\n",
		"overwrite": true})
	f.run(t, "multi", edits(one("a.go", "\trun()\n", "\trun()\n\tlog(x)\n"), one("a.go", "\tstop()\n",
		"\tlog(x)\n\tstop()\n")))
}

func TestLineBreaksThatNewStringLost(t *testing.T) {
	f := start(t)
	f.put(t, "a.py", "x = 1\nreturn x\n")
	result := f.run(t, "replace", args{"path": "a.py", "old_string": "x = 1\n", "new_string": "x = 5"})
	f.holds(t, "a.py", "x = 5\nreturn x\n")
	contains(t, result.Content[0].Text, "Note: new_string lost the line break that old_string ends with; it was kept")
	if w := structured[replaceOutput](t, result).Warnings; len(w) != 1 {
		t.Errorf("warnings %q", w)
	}
	f.run(t, "multi", edits(one("a.py", "x = 5\n", "x = 6"), one("a.py", "\nreturn x", "return y")))
	f.holds(t, "a.py", "x = 6\nreturn y\n")
}
