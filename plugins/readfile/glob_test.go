package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
)

// aged gives files times of their last change, the first the newest.
func (f *fixture) aged(t testing.TB, names ...string) {
	t.Helper()
	for i, name := range names {
		at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Duration(i) * time.Hour)
		check(t, os.Chtimes(filepath.Join(f.dir, name), at, at))
	}
}

func TestGlob(t *testing.T) {
	f := start(t, ".gitignore", "build/\n*.log\n", "main.go", "1", "src/a.go", "12", "src/a.ts", "", "src/deep/er/b.go",
		"", "src/deep/B.TSX", "", "build/x.go", "", "x.log", "", ".hidden.go", "", "[a].md", "", "new\nline.go", "", "é.txt",
		"")
	check(t, os.Symlink("src/a.go", filepath.Join(f.dir, "link.go")))
	check(t, os.Symlink("src", filepath.Join(f.dir, "folder-link")))
	const left = "\n[2 hidden; hidden=true shows them]\n[2 ignored by .gitignore or .ignore; ignored=true shows them]"
	tests := []struct{ name, arguments, want string }{
		{"a name at any depth", `"pattern":"*.go"`, "link.go\nmain.go\n\"new\\nline.go\"\nsrc/a.go\nsrc/deep/er/b.go" + left},
		{"a whole name", `"pattern":"a.go"`, "src/a.go" + left},
		{"only here", `"pattern":"./*.go"`, "link.go\nmain.go\n\"new\\nline.go\"" + left},
		{"a path", `"pattern":"src/*.go"`, "src/a.go"},
		{"any directories", `"pattern":"src/**/*.go"`, "src/a.go\nsrc/deep/er/b.go"},
		{"any directories first", `"pattern":"**/b.go"`, "src/deep/er/b.go" + left},
		{"all in a directory", `"pattern":"src/**"`, "src/a.go\nsrc/a.ts\nsrc/deep/B.TSX\nsrc/deep/er/b.go"},
		{"a directory", `"pattern":"src/"`, "src/a.go\nsrc/a.ts\nsrc/deep/B.TSX\nsrc/deep/er/b.go"},
		{"alternatives", `"pattern":"src/**/*.{go,ts}"`, "src/a.go\nsrc/a.ts\nsrc/deep/er/b.go"},
		{"alternatives of names", `"pattern":"{main,b}.go"`, "main.go\nsrc/deep/er/b.go" + left},
		{"ignoring case", `"pattern":"SRC/**/*.tsx","ignore_case":true`, "src/deep/B.TSX" + left},
		{"in a folder that is ignored, by its name", `"pattern":"build/*.go"`, "build/x.go"},
		{"in a folder by a link", `"pattern":"folder-link/*.ts"`, "folder-link/a.ts"},
		{"in a folder that is not there", `"pattern":"none/*.ts"`, "[no file matches none/*.ts]"},
		{"in a file", `"pattern":"main.go/*.ts"`, "[no file matches main.go/*.ts]"},
		{"a path without wildcards", `"pattern":"src/a.go"`, "src/a.go"},
		{"case counts", `"pattern":"src/**/*.tsx"`, "[no file matches src/**/*.tsx]"},
		{"below a path", `"pattern":"*.go","path":"src/deep"`, "src/deep/er/b.go"},
		{"a path below a path", `"pattern":"deep/**/*.go","path":"src"`, "src/deep/er/b.go"},
		{"by a link", `"pattern":"*.ts","path":"folder-link"`, "folder-link/a.ts"},
		{"absolute", fmt.Sprintf(`"pattern":"%s/src/*.go"`, f.dir), "src/a.go"},
		{"absolute below a path", fmt.Sprintf(`"pattern":"%s/src/*.ts","path":"src"`, f.dir), "src/a.ts"},
		{"with hidden ones", `"pattern":"*.go","hidden":true,"path":"."`,
			".hidden.go\nlink.go\nmain.go\n\"new\\nline.go\"\nsrc/a.go\nsrc/deep/er/b.go\n[2 ignored by .gitignore or " +
				".ignore; ignored=true shows them]"},
		{"with ignored ones", `"pattern":"{x.*,main.go}","ignored":true`,
			"build/x.go\nmain.go\nx.log\n[2 hidden; hidden=true shows them]"},
		{"escaped", `"pattern":"\\[a\\].md"`, "[a].md" + left},
		{"one character", `"pattern":"?.txt"`, "é.txt" + left},
		{"sets", `"pattern":"[!b-z].ts"`, "src/a.ts" + left},
		{"nothing", `"pattern":"*.rs"`, "[no file matches *.rs]" + left},
		{"directories are not files", `"pattern":"deep"`, "[no file matches deep]" + left},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result := f.run(t, "glob", `{"sort":"name",%s}`, test.arguments)
			if diff := cmp.Diff(test.want, result.Content[0].Text); diff != "" || result.Truncated {
				t.Errorf("(-want +got), truncated %v:\n%s", result.Truncated, diff)
			}
		})
	}
}

func TestGlobNewestFirst(t *testing.T) {
	f := start(t, "a", "", "b", "1", "c/d", "", "c/e", "")
	f.aged(t, "c/d", "b", "a", "c/e")
	tests := []struct {
		arguments, want string
		truncated       bool
	}{
		{`{"pattern":"*"}`, "c/d\nb\na\nc/e", false},
		{`{"pattern":"*","limit":4}`, "c/d\nb\na\nc/e", false},
		{`{"pattern":"*","limit":2}`,
			"c/d\nb\n[the 2 last changed of 4 that match; raise limit (up to 2000), or narrow the pattern or path]", true},
		{`{"pattern":"*","limit":2,"sort":"name"}`,
			"a\nb\n[the 2 first by path of 4 that match; raise limit (up to 2000), or narrow the pattern or path]", true},
	}
	for _, test := range tests {
		result := f.run(t, "glob", "%s", test.arguments)
		if diff := cmp.Diff(test.want, result.Content[0].Text); diff != "" || result.Truncated != test.truncated {
			t.Errorf("%s: truncated %v (-want +got):\n%s", test.arguments, result.Truncated, diff)
		}
	}
	want := globOutput{Files: []foundFile{{Path: "b", Size: 1, Modified: time.Date(2023, 12, 31, 23, 0, 0, 0, time.UTC)}},
		Total: 1}
	if diff := cmp.Diff(want, structured[globOutput](t, f.run(t, "glob", `{"pattern":"b"}`))); diff != "" {
		t.Errorf("structured (-want +got):\n%s", diff)
	}
	if got := string(f.run(t, "glob",
		`{"pattern":"zz"}`).Structured); got != `{"files":[],"total":0,"hidden_entries":0,"ignored_entries":0,`+
		`"truncated":false}` {
		t.Errorf("nothing is %s", got)
	}
}

// Patterns of other programs find nothing here; what is meant is said.
func TestPatternsOfOtherPrograms(t *testing.T) {
	f := start(t, "dir/a.go", "x\n", "b.ts", "x\n", "a,b", "x\n", "two words.txt", "x\n")
	for pattern, want := range map[string]string{
		"*.rs,*.md":    "[no file matches *.rs,*.md; several patterns are written as one: {*.rs,*.md}]",
		"*.rs, *.md":   "[no file matches *.rs, *.md; several patterns are written as one: {*.rs,*.md}]",
		"*.rs *.{m,x}": "[no file matches *.rs *.{m,x}; several patterns are written as one: {*.rs,*.{m,x}}]",
		"!*.rs":        "[no file matches !*.rs; a ! in front leaves nothing out: grep has exclude for that]",
		"@(a|b).rs":    "[no file matches @(a|b).rs; ( and ) are plain characters: write alternatives as {a,b}]",
		"~/*.rs":       "[no file matches ~/*.rs; ~ is a plain character: give path for another directory]",
		`src\\*.rs`:    `[no file matches "src\\*.rs"; \ makes the character behind it plain: write / between directories]`,
		"dir":          "[no file matches dir; it is a directory: dir/** finds what is in it, and list shows it]",
		"./dir":        "[no file matches ./dir; it is a directory: ./dir/** finds what is in it, and list shows it]",
		"none":         "[no file matches none]", "no words": "[no file matches no words]", "{a,x}.rs": "[no file matches {a,x}.rs]",
		`a\\,x`: `[no file matches "a\\,x"]`, "[!a].rs": "[no file matches [!a].rs]", "a,b": "a,b", "*words*": "two words.txt",
	} {
		if got := text(f.run(t, "glob", `{"pattern":"%s"}`, pattern)); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	for arguments, want := range map[string]string{
		`"include":"*.rs,*.md"`:                          "none has a name that fits include and exclude; several patterns are written as one: {*.rs,*.md}]",
		`"exclude":"dir,b.ts"`:                           "dir/a.go:1:x\n[exclude is a single pattern; several patterns are written as one: {dir,b.ts}]",
		`"exclude":"{dir,b.ts}","include":"{*.go,*.ts}"`: "none has a name that fits include and exclude]",
	} {
		contains(t, text(f.run(t, "grep", `{"pattern":"x",%s}`, arguments)), strings.Split(want, "\n")...)
	}
	// A directory that rules leave out is not told of.
	r, err := f.Call(t.Context(), &sdk.Request{CallID: "1", Tool: "glob", Arguments: []byte(`{"pattern":"dir"}`),
		Workdir: f.dir, LeaveOut: []string{"dir"}, Attempt: 1})
	check(t, err)
	contains(t, text(r), "[no file matches dir]")
}

func TestGlobOfMany(t *testing.T) {
	f := globResults{limit: 3, files: []foundFile{}}
	for i := range 3 * maxFound {
		f.take([]foundFile{{Path: fmt.Sprint(i), Modified: time.Unix(int64(i), 0)}})
	}
	f.trim()
	if f.total != 3*maxFound || len(f.files) != 3 || f.files[0].Path != fmt.Sprint(3*maxFound-1) ||
		cap(f.files) > 5*maxFound {
		t.Errorf("of %d: %v", f.total, f.files)
	}
	contains(t, (&globResults{limit: maxFound, total: 9000, files: make([]foundFile, maxFound)}).cutNote(),
		"the 2000 last changed of 9000 that match; narrow the pattern")
}

func TestGlobFailures(t *testing.T) {
	f := start(t, "file", "", "a/b", "", "c/d", "")
	check(t, os.Symlink("../c", filepath.Join(f.dir, "a", "link")))
	f.Plugin = f.Unchecked()
	tests := []struct{ name, arguments, want, message string }{
		{"out by a link", `{"pattern":"link/**","path":"a"}`, "InvalidPattern", "follows a link out of the directory"},
		{"no pattern", `{"pattern":""}`, "InvalidPattern", "it is empty"},
		{"upwards", `{"pattern":"../*.go"}`, "InvalidPattern", "leads out of the directory"},
		{"upwards in the middle", `{"pattern":"src/../x"}`, "InvalidPattern", "leads out of the directory"},
		{"absolute", `{"pattern":"/etc/*"}`, "InvalidPattern", "leads out of the directory"},
		{"open class", `{"pattern":"[a"}`, "InvalidPattern", "a [ without its ]"},
		{"open braces", `{"pattern":"{a,b"}`, "InvalidPattern", "a { without its }"},
		{"too many alternatives", `{"pattern":"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"}`, "InvalidPattern",
			"more than 64 alternatives"},
		{"a file", `{"pattern":"*","path":"file"}`, "NotADirectory", "is a file"},
		{"nothing there", `{"pattern":"*","path":"none"}`, "FileNotFound", "none"},
		{"outside", `{"pattern":"*","path":".."}`, "PathOutsideWorkspace", ".."},
		{"limit", `{"pattern":"*","limit":2001}`, "InvalidArguments", "from 1 to 2000"},
		{"sort", `{"pattern":"*","sort":"size"}`, "InvalidArguments", "sort must be newest or name"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			contains(t, f.fails(t, test.want, "glob", "%s", test.arguments).Message, test.message)
		})
	}
}

func TestGlobEndsWithTheCall(t *testing.T) {
	f := start(t, "a/b", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newConfig().glob(ctx, &sdk.Request{Workdir: f.dir}, globInput{Pattern: "*"}); err != context.Canceled {
		t.Errorf("going on after the end of the call: %v", err)
	}
}
