package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/plugins/readfile/internal/walk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

func TestList(t *testing.T) {
	f := start(t, "a.txt", "12345", "b/c/d/e/f/g.txt", "", "b.txt", "", "b/x.txt", "1", "empty/.keep", "", ".hidden", "",
		".git/config", "", "sub/.git/HEAD", "", "new\nline", "", "tab\t", "")
	check(t, os.Symlink("a.txt", filepath.Join(f.dir, "link")))
	check(t, os.Symlink("/etc/passwd", filepath.Join(f.dir, "out")))
	check(t, os.Symlink("b", filepath.Join(f.dir, "folder-link")))
	top := "a.txt 5\nb/\nb.txt 0\nempty/\nfolder-link -> b\nlink -> a.txt\n\"new\\nline\" 0\nout -> " +
		"/etc/passwd\nsub/\n\"tab\\t\" 0"
	tests := []struct{ name, arguments, want string }{
		{"the workspace", `{}`, top + "\n[2 hidden; hidden=true shows them]"},
		{"by its path", fmt.Sprintf(`{"path":%q,"depth":1}`, f.dir), top + "\n[2 hidden; hidden=true shows them]"},
		{"hidden", `{"hidden":true}`, ".git/\n.hidden 0\n" + top},
		{"a directory", `{"path":"b"}`, "b/c/\nb/x.txt 1"},
		{"through a link", `{"path":"folder-link/"}`, "folder-link/c/\nfolder-link/x.txt 1"},
		{"two levels", `{"path":"b","depth":2}`, "b/c/\nb/c/d/\nb/x.txt 1"},
		{"all levels", `{"path":"b","depth":5}`, "b/c/\nb/c/d/\nb/c/d/e/\nb/c/d/e/f/\nb/c/d/e/f/g.txt 0\nb/x.txt 1"},
		{"only hidden", `{"path":"empty"}`, "[1 hidden; hidden=true shows them]"},
		{"git is not looked into", `{"path":"sub","depth":5,"hidden":true}`, "sub/.git/"},
		{"but when asked for", `{"path":"sub/.git"}`, "sub/.git/HEAD 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result := f.run(t, "list", "%s", test.arguments)
			if diff := cmp.Diff(test.want, result.Content[0].Text); diff != "" || result.Truncated {
				t.Errorf("(-want +got), truncated %v:\n%s", result.Truncated, diff)
			}
		})
	}
}

func TestListLeavesOutWhatIsIgnored(t *testing.T) {
	f := start(t, ".gitignore", "*.o\n/build/\n", "a.c", "", "a.o", "", "build/x", "", "sub/b.o", "", "sub/b.c", "",
		"sub/.gitignore", "!b.o\n")
	tests := []struct{ name, arguments, want string }{
		{"ignored", `{"depth":2}`,
			"a.c 0\nsub/\nsub/b.c 0\nsub/b.o 0\n[2 hidden; hidden=true shows them]\n[2 ignored by .gitignore or .ignore; " +
				"ignored=true shows them]"},
		{"shown", `{"depth":2,"ignored":true}`,
			"a.c 0\na.o 0\nbuild/\nbuild/x 0\nsub/\nsub/b.c 0\nsub/b.o 0\n[2 hidden; hidden=true shows them]"},
		{"by its name", `{"path":"build"}`, "build/x 0"},
		{"rules from above", `{"path":"sub"}`, "sub/b.c 0\nsub/b.o 0\n[1 hidden; hidden=true shows them]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, f.run(t, "list", "%s", test.arguments).Content[0].Text); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestListStructured(t *testing.T) {
	f := start(t, "a/b.txt", "123", "a/.c", "", "a/zero", "")
	check(t, os.Symlink("b.txt", filepath.Join(f.dir, "a/d")))
	want := listOutput{Path: "a", Hidden: 1, Entries: []entry{
		{Path: "a/b.txt", Type: "file", Size: new(int64(3))}, {Path: "a/d", Type: "symlink", Target: "b.txt"},
		{Path: "a/zero", Type: "file", Size: new(int64(0))},
	}}
	if diff := cmp.Diff(want, structured[listOutput](t, f.run(t, "list", `{"path":"./a/"}`))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f.put(t, "none/x", "")
	check(t, os.Remove(filepath.Join(f.dir, "none/x")))
	result := f.run(t, "list", `{"path":"none"}`)
	if got := string(result.Structured); got != `{"path":"none","entries":[],"hidden_entries":0,"ignored_entries":0,`+
		`"truncated":false}` {
		t.Errorf("an empty directory is %s", got)
	}
	contains(t, result.Content[0].Text, "[the directory is empty]")
}

func TestListFailures(t *testing.T) {
	f := start(t, "file", "")
	tests := []struct{ arguments, want string }{
		{`{"path":"file"}`, "NotADirectory"}, {`{"path":"nothing"}`, "FileNotFound"},
		{`{"path":".."}`, "PathOutsideWorkspace"},
		{`{"depth":11}`, "InvalidArguments"}, {`{"depth":-1}`, "InvalidArguments"},
	}
	for _, test := range tests {
		f.fails(t, test.want, "list", "%s", test.arguments)
	}
}

func TestListIsCut(t *testing.T) {
	f := start(t)
	for i := range maxEntries {
		f.put(t, fmt.Sprintf("%03d", i), "")
	}
	if r := f.run(t, "list", `{}`); r.Truncated || len(structured[listOutput](t, r).Entries) != maxEntries {
		t.Errorf("as many entries as fit: truncated %v", r.Truncated)
	}
	for i := range 3 {
		f.put(t, fmt.Sprintf("0/%d", i), "")
	}
	f.put(t, "zzz", "")
	r := f.run(t, "list", `{"depth":3}`)
	out := structured[listOutput](t, r)
	if !r.Truncated || !out.Truncated || len(out.Entries) != maxEntries || out.Entries[0].Path != "0" ||
		out.Entries[1].Path != "000" {
		t.Errorf("truncated %v, %d entries, the first %v", r.Truncated, len(out.Entries), out.Entries[:2])
	}
	contains(t, r.Content[0].Text,
		`[cut at 500 entries, with 2 more in "." alone; list a directory in it, or fewer levels]`)
}

// The upper levels come first, so a large directory does not hide its neighbors.
func TestListCutsTheDeepest(t *testing.T) {
	f := start(t, "z", "")
	for i := range maxEntries {
		f.put(t, fmt.Sprintf("a/%03d", i), "")
	}
	text := f.run(t, "list", `{"depth":2}`).Content[0].Text
	contains(t, text, "a/\na/000 0\n", "\nz 0\n", `with 2 more in "a" alone`)
	if strings.Contains(text, "a/498") {
		t.Error("the list is longer than it says")
	}
}

func TestListOfALargeDirectory(t *testing.T) {
	f := start(t, "a", "", "b", "", "c", "")
	for most, want := range map[int]string{3: "a 0\nb 0\nc 0",
		2: `["." has more than 2 entries; those beyond are not looked at]`} {
		l := listing{w: f.root(t), mostNames: most}
		check(t, l.walk(t.Context(), f.place(t, "."), 1))
		result := l.result(".")
		contains(t, result.Content[0].Text, want)
		if len(l.entries) != most || result.Truncated != (most == 2) {
			t.Errorf("%d entries, truncated %v", len(l.entries), result.Truncated)
		}
	}
}

func (f *fixture) root(t testing.TB) *workspace.Root {
	t.Helper()
	w, err := workspace.Open(f.dir)
	check(t, err)
	t.Cleanup(w.Close)
	return w
}

func (f *fixture) place(t testing.TB, path string) *workspace.Place {
	t.Helper()
	p, err := f.root(t).Find(path)
	check(t, err)
	return p
}

func TestListEndsWithTheCall(t *testing.T) {
	f := start(t, "a/b", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := listing{w: f.root(t), mostNames: maxNames}
	if err := l.walk(ctx, f.place(t, "."), 5); err != context.Canceled {
		t.Errorf("walking on after the end of the call: %v", err)
	}
}

// What cannot be looked into is said, and the rest is listed.
func TestListGoesOnBehindAFailure(t *testing.T) {
	f := start(t, "gone/x", "", "b/c", "")
	l := listing{w: f.root(t), mostNames: maxNames}
	top, err := walk.Enter(l.w, f.place(t, "."), l.filter)
	check(t, err)
	top.Close()
	level := []subfolder{{f.place(t, "gone"), top}, {f.place(t, "b"), top}}
	check(t, os.RemoveAll(level[0].Real()))
	level, err = l.descend(t.Context(), level)
	if err != nil || len(level) != 0 || len(l.entries) != 1 {
		t.Errorf("%v, entries %v", err, l.entries)
	}
	if text := l.result(".").Content[0].Text; text != "b/c 0\n[\"gone\": no such file or directory]" {
		t.Errorf("listed %q", text)
	}
}
