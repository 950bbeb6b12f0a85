package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

func (f *fixture) gone(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Lstat(f.path(name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there: %v", name, err)
	}
}

func TestUndo(t *testing.T) {
	f := start(t, "a", "one\n", "b", "x\n")
	check(t, os.Chmod(f.path("a"), 0o751))
	f.run(t, "replace", args{"path": "a", "old_string": "one", "new_string": "two"})
	f.run(t, "write", args{"path": "d/new", "content": "text", "create_dirs": true})
	f.run(t, "multi", edits(one("a", "two", "three"), one("b", "x", "y"), one("c", "", "c\n")))
	f.run(t, "replace", args{"path": "d/new", "old_string": "text", "new_string": "more"})

	shown := f.preview(t, "undo", args{})
	contains(t, shown, "--- a/d/new", "-more", "+text")
	list := f.run(t, "undo", args{"dry_run": true}).Content[0].Text
	contains(t, list, "Would take back 1 edit in 1 file: d/new", "3 older edits can be taken back",
		"\n1. replace of d/new, 0s ago", "\n2. multi of a, b, c, ", "\n3. write of d/new", "\n4. replace of a", shown)
	f.holds(t, "d/new", "more")

	result := f.run(t, "undo", args{})
	f.holds(t, "d/new", "text")
	want := undoOutput{Applied: true, Files: []undoFile{{Path: "d/new", Etag: workspace.Etag([]byte("text"))}}, Left: 3}
	if diff := cmp.Diff(want, structured[undoOutput](t, result)); diff != "" {
		t.Errorf("structured (-want +got):\n%s", diff)
	}
	result = f.run(t, "undo", args{"count": 2})
	f.holds(t, "a", "two\n")
	f.holds(t, "b", "x\n")
	f.gone(t, "c")
	f.gone(t, "d/new")
	contains(t, result.Content[0].Text, "Took back 2 edits in 4 files", "c (removed)", "d/new (removed)", "+++ /dev/null",
		"1 older edit can be taken back")
	f.run(t, "undo", args{})
	f.holds(t, "a", "one\n")
	if info, err := os.Stat(f.path("a")); err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("the mode is %v (%v)", info.Mode(), err)
	}
	contains(t, f.fails(t, "NothingToUndo", "undo", args{}).Message, "no edits of this session are kept")
}

func TestUndoFailures(t *testing.T) {
	f := start(t, "a", "one\n", "b", "x\n")
	f.run(t, "multi", edits(one("a", "one", "two"), one("b", "x", "y"), one("new", "", "text\n")))
	contains(t, f.fails(t, "NothingToUndo", "undo", args{"count": 2}).Message,
		"only 1 edit of this session can be taken back, not 2")

	f.put(t, "b", "theirs\ny\n")
	result := f.RunIn(t, f.dir, "undo", "{}")
	if result.Error == nil || result.Error.Name != "FileChanged" {
		t.Fatalf("undone: %+v", result)
	}
	contains(t, result.Content[0].Text, "--- a/b", "+theirs")
	contains(t, string(result.Error.Details), workspace.Etag([]byte("y\n")), workspace.Etag([]byte("theirs\ny\n")))
	f.holds(t, "a", "two\n") // all or nothing
	f.holds(t, "new", "text\n")

	check(t, os.Remove(f.path("b")))
	contains(t, f.fails(t, "FileChanged", "undo", args{}).Message, `"b" is not there any more`)
	f.put(t, "b", "y\n")
	f.run(t, "undo", args{})
	f.holds(t, "a", "one\n")
}

// A file that the session has made, and that was removed since, stands in the way of no older edit.
func TestUndoOfFilesThatAreGone(t *testing.T) {
	f := start(t, "a", "one\n", "b", "x\n")
	f.run(t, "replace", args{"path": "b", "old_string": "x", "new_string": "y"})
	f.run(t, "multi", edits(one("a", "one", "two"), one("new", "", "text\n")))
	f.run(t, "replace", args{"path": "new", "old_string": "text", "new_string": "words"})
	check(t, os.Remove(f.path("new")))
	const gone = "new (which was removed already)"
	contains(t, f.run(t, "undo", args{}).Content[0].Text, "1 edit in 1 file: "+gone)
	contains(t, f.run(t, "undo", args{}).Content[0].Text, gone, "a [etag")
	f.run(t, "undo", args{})
	f.holds(t, "a", "one\n")
	f.holds(t, "b", "x\n")
	if _, err := os.Stat(f.path("new")); err == nil {
		t.Error("the file is made again")
	}
}

// Between two edits of ours someone else changed the file: that is not taken back with them.
func TestUndoRefusesAfterChangesOfOthers(t *testing.T) {
	f := start(t, "a", "1\n")
	f.run(t, "replace", args{"path": "a", "old_string": "1", "new_string": "2"})
	f.put(t, "a", "2\nformatted\n")
	f.run(t, "replace", args{"path": "a", "old_string": "2", "new_string": "3"})
	f.fails(t, "FileChanged", "undo", args{"count": 2})
	f.run(t, "undo", args{})
	f.holds(t, "a", "2\nformatted\n")
	f.fails(t, "FileChanged", "undo", args{})
}

func (f *fixture) inSession(t *testing.T, session, tool string, a args) *sdk.Result {
	t.Helper()
	result, err := f.Call(t.Context(), &sdk.Request{CallID: session, RunID: rand.Text(), SessionID: session, Tool: tool,
		Arguments: a.json(), Workdir: f.dir, Attempt: 1})
	check(t, err)
	return result
}

func TestSessionsAreApart(t *testing.T) {
	f := start(t, "a", "1\n", "b", "1\n")
	f.inSession(t, "first", "replace", args{"path": "a", "old_string": "1", "new_string": "2"})
	f.inSession(t, "second", "replace", args{"path": "b", "old_string": "1", "new_string": "2"})
	contains(t, f.inSession(t, "first", "diff", args{}).Content[0].Text, "b/a")
	shown, err := f.Preview(t.Context(), &sdk.Request{CallID: "1", SessionID: "second", Tool: "undo",
		Arguments: args{}.json(), Workdir: f.dir})
	check(t, err)
	contains(t, shown.Content[0].Text, "--- a/b")
	if r := f.inSession(t, "first", "undo", args{"count": 2}); r.Error == nil || r.Error.Name != "NothingToUndo" {
		t.Errorf("took back the edit of another session: %+v", r)
	}
	f.inSession(t, "first", "undo", args{})
	f.holds(t, "a", "1\n")
	f.holds(t, "b", "2\n")
}

func TestSessionDiff(t *testing.T) {
	f := start(t, "a", "1\n2\n3\n", "b", "x\n", "same", "x\n")
	contains(t, f.run(t, "diff", args{}).Content[0].Text, "No edits of this session are kept")
	f.run(t, "replace", args{"path": "a", "old_string": "1", "new_string": "one"})
	f.run(t, "replace", args{"path": "b", "old_string": "x", "new_string": "y"})
	f.run(t, "replace", args{"path": "a", "old_string": "3", "new_string": "three"})
	f.run(t, "write", args{"path": "new", "content": "text\n"})
	f.run(t, "replace", args{"path": "same", "old_string": "x", "new_string": "y"})
	f.run(t, "replace", args{"path": "same", "old_string": "y", "new_string": "x"})
	result := f.run(t, "diff", args{})
	want := "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n-1\n+one\n 2\n-3\n+three\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n--- " +
		"/dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+text"
	if diff := cmp.Diff(want, result.Content[0].Text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out := diffOutput{Files: []diffFile{{"a", false, true}, {"b", false, true}, {"new", true, true}, {"same", false,
		false}}, Warnings: []string{}}
	if diff := cmp.Diff(out, structured[diffOutput](t, result)); diff != "" {
		t.Errorf("structured (-want +got):\n%s", diff)
	}
	if got := f.run(t, "diff", args{"path": "b"}).Content[0].Text; got != "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y" {
		t.Errorf("of one file: %s", got)
	}
	cut := f.run(t, "diff", args{"max_lines": 3})
	contains(t, cut.Content[0].Text, "lines of this diff are left out; set path to one file, or a larger max_lines")
	if !cut.Truncated {
		t.Error("what is cut is not marked as such")
	}
	f.put(t, "b", "theirs\n")
	contains(t, f.run(t, "diff", args{"path": "b"}).Content[0].Text, "Note: b was changed or removed otherwise", "+y")
	f.run(t, "undo", args{"count": 2})
	contains(t, f.run(t, "diff", args{"path": "same"}).Content[0].Text, "No edit of this file")
}

func TestHistoryIsBounded(t *testing.T) {
	h := history{limit: 1000}
	place, err := start(t).toolCall(t).find("f")
	check(t, err)
	add := func(session string, before, after int) bool {
		return h.add(session, "t", []*change{{place: place, before: &snapshot{data: []byte(strings.Repeat("b", before))},
			after: []byte(strings.Repeat("a", after))}})
	}
	for i := range 50 {
		if !add("s", 100+i, 200+i) {
			t.Fatal("not kept")
		}
	}
	entries, dropped := h.of("s")
	if len(entries) == 0 || len(entries)+dropped != 50 || h.bytes > h.limit {
		t.Errorf("%d entries of %d bytes are kept, %d dropped", len(entries), h.bytes, dropped)
	}
	add("other", 10, 20)
	if add("s", 600, 600) {
		t.Error("an entry beyond the limit is kept")
	}
	if entries, dropped := h.of("s"); len(entries) != 0 || dropped != 51 || h.bytes != 30 || len(h.contents) != 2 {
		t.Errorf("%d entries, %d dropped, %d bytes", len(entries), dropped, h.bytes)
	}
	if entries, dropped := h.of("other"); len(entries) != 1 || dropped != 0 {
		t.Errorf("another session has %d entries left, %d dropped", len(entries), dropped)
	}
	contains(t, droppedNote(51), "older ones, 51 of them, were dropped")
}

// Where a file went, or what came in its place, is neither shown nor changed, and the diff does not say that all is
// well.
func TestMissingFiles(t *testing.T) {
	tests := map[string]struct {
		change     func(t *testing.T, f *fixture)
		undo, diff string
	}{
		"removed": {func(t *testing.T, f *fixture) { check(t, os.Remove(f.path("d/a"))) }, "FileChanged",
			"Note: d/a was changed or removed"},
		"a directory": {func(t *testing.T, f *fixture) {
			check(t, os.Remove(f.path("d/a")))
			f.put(t, "d/a/x", "")
		}, "FileChanged", "Note: d/a was changed or removed"},
		"a file on the way": {func(t *testing.T, f *fixture) {
			check(t, os.RemoveAll(f.path("d")))
			f.put(t, "d", "")
		}, "NotADirectory", "Note: d/a: \"d\" is a file"},
		"read-only": {func(t *testing.T, f *fixture) { check(t, os.Chmod(f.path("d/a"), 0o444)) }, "PermissionDenied",
			"--- a/d/a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t, "d/a", "old\n")
			f.run(t, "replace", args{"path": "d/a", "old_string": "old", "new_string": "new"})
			test.change(t, f)
			f.fails(t, test.undo, "undo", args{})
			shown := f.run(t, "diff", args{}).Content[0].Text
			if !strings.HasPrefix(shown, test.diff) || strings.Contains(shown, "cancel") {
				t.Errorf("diff shows %q", shown)
			}
		})
	}
}

// What several entries share is counted and kept once.
func TestHistoryKeepsContentsOnce(t *testing.T) {
	var h history
	place, err := start(t).toolCall(t).find("f")
	check(t, err)
	for i := range 3 {
		h.add("s", "t", []*change{{place: place, before: &snapshot{data: fmt.Appendf(nil, "%04d", i)},
			after: fmt.Appendf(nil, "%04d", i+1)}})
	}
	if h.bytes != 16 || len(h.contents) != 4 {
		t.Errorf("%d contents of %d bytes", len(h.contents), h.bytes)
	}
	entries, _ := h.of("s")
	h.forget(entries[:2])
	if left, _ := h.of("s"); len(left) != 1 || h.bytes != 8 {
		t.Errorf("%d entries of %d bytes", len(left), h.bytes)
	}
}
