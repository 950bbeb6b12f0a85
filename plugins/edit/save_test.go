package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
)

// scene is a call that was begun.
func (f *fixture) toolCall(t *testing.T) *toolCall {
	t.Helper()
	s, err := new(editor).enter(&sdk.Request{Workdir: f.dir, Tool: "test"})
	check(t, err)
	t.Cleanup(s.root.Close)
	return s
}

// planned are changes that wait to be saved.
func (s *toolCall) planned(t *testing.T, in planner) []*change {
	t.Helper()
	o, err := in.plan(t.Context(), s)
	check(t, err)
	return o.changes
}

func named(t *testing.T, err error, name string) {
	t.Helper()
	if e, ok := errors.AsType[*sdk.Error](err); !ok || e.Name != name {
		t.Errorf("failed with %v, want %s", err, name)
	}
}

// What someone else does to a file between the reading and the writing is not lost.
func TestFileChangedMeanwhile(t *testing.T) {
	now := time.Now()
	tests := []struct {
		name   string
		change func(t *testing.T, path string)
		want   string // what the file holds at last
	}{
		{"written", func(t *testing.T, path string) { check(t, os.WriteFile(path, []byte("new old text"), 0)) },
			"new old text"},
		{"as long and as old as before", func(t *testing.T, path string) {
			check(t, os.WriteFile(path, []byte("new text"), 0))
			check(t, os.Chtimes(path, now, now))
		}, "new text"},
		{"replaced by a rename", func(t *testing.T, path string) {
			check(t, os.WriteFile(path+"2", []byte("old text"), 0o644))
			check(t, os.Rename(path+"2", path))
		}, "old text"},
		{"replaced by a link", func(t *testing.T, path string) {
			check(t, os.Rename(path, path+"2"))
			check(t, os.Symlink("file2", path))
		}, "old text"},
		{"removed", func(t *testing.T, path string) { check(t, os.Remove(path)) }, ""},
		{"made executable", func(t *testing.T, path string) { check(t, os.Chmod(path, 0o755)) }, "old text"},
		{"nothing but its time", func(t *testing.T, path string) { check(t, os.Chtimes(path, now, now.Add(time.Hour))) },
			"new old text!"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, "file", "old text")
			check(t, os.Chtimes(f.path("file"), now, now))
			s := f.toolCall(t)
			changes := s.planned(t, replaceInput{Path: "file", OldString: "old text", NewString: "new old text!"})
			test.change(t, f.path("file"))
			if err := s.save(changes); test.want == "new old text!" {
				check(t, err)
			} else {
				named(t, err, "FileChanged")
			}
			if got, _ := os.ReadFile(f.path("file")); string(got) != test.want {
				t.Errorf("the file holds %q, want %q", got, test.want)
			}
		})
	}
}

func TestFileMadeReadOnlyMeanwhile(t *testing.T) {
	f := start(t, "file", "old")
	s := f.toolCall(t)
	changes := s.planned(t, replaceInput{Path: "file", OldString: "old", NewString: "new"})
	check(t, os.Chmod(f.path("file"), 0o444))
	named(t, s.save(changes), "PermissionDenied")
	f.holds(t, "file", "old")
}

func TestFileCreatedMeanwhile(t *testing.T) {
	f := start(t)
	s := f.toolCall(t)
	changes := s.planned(t, writeInput{Path: "file", Content: "mine"})
	f.put(t, "file", "theirs")
	failed := s.save(changes)
	named(t, failed, "FileExists")
	if diff := cmp.Diff(fileExists("file"), failed); diff != "" {
		t.Errorf("says something else than when the file was there from the start:\n%s", diff)
	}
	f.holds(t, "file", "theirs")
}

func TestCanceledCallsChangeNothing(t *testing.T) {
	f := start(t, "file", "old")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := &sdk.Request{Workdir: f.dir}
	if _, err := new(editor).perform(ctx, r, replaceInput{Path: "file", OldString: "old",
		NewString: "new"}, true); !errors.Is(err, context.Canceled) {
		t.Errorf("performed: %v", err)
	}
	f.holds(t, "file", "old")
}

// A call that waited looks again where its path leads.
func TestLinkChangedWhileWaiting(t *testing.T) {
	f := start(t, "a", "old", "b", "old")
	check(t, os.Symlink("a", f.path("link")))
	e := new(editor)
	a, err := f.toolCall(t).find("a")
	check(t, err)
	key := a.Real()
	release, err := e.files.acquire(t.Context(), key)
	check(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := e.perform(t.Context(), &sdk.Request{Workdir: f.dir}, replaceInput{Path: "link", OldString: "old",
			NewString: "new"}, true)
		done <- err
	}()
	for deadline, waiting := time.Now().Add(time.Minute), false; !waiting; runtime.Gosched() {
		e.files.mu.Lock()
		waiting = e.files.held[key].users == 2
		e.files.mu.Unlock()
		if time.Now().After(deadline) {
			t.Fatal("the call does not wait for the file")
		}
	}
	check(t, os.Remove(f.path("link")))
	check(t, os.Symlink("b", f.path("link")))
	release()
	named(t, <-done, "FileChanged")
	f.holds(t, "a", "old")
	f.holds(t, "b", "old")
}

// Of many edits of one file at once, by whatever name, none is lost.
func TestConcurrentEdits(t *testing.T) {
	const n = 20
	var content, want strings.Builder
	for i := range n {
		fmt.Fprintf(&content, "marker-%02d\n", i)
		fmt.Fprintf(&want, "done-%02d\n", i)
	}
	f := start(t, "dir/file", content.String())
	check(t, os.Symlink("dir/file", f.path("link")))
	check(t, os.Symlink("dir", f.path("dirlink")))
	names := []string{"dir/file", "link", "dirlink/file", f.path("dir/file")}
	var calls sync.WaitGroup
	failures := make([]error, n)
	for i := range n {
		calls.Go(func() {
			a := args{"path": names[i%len(names)], "old_string": fmt.Sprintf("marker-%02d", i),
				"new_string": fmt.Sprintf("done-%02d", i)}
			result, err := f.Call(t.Context(), &sdk.Request{CallID: fmt.Sprint(i), Tool: "replace", Arguments: a.json(),
				Workdir: f.dir})
			if err == nil && result.Error != nil {
				err = result.Error
			}
			failures[i] = err
		})
	}
	calls.Wait()
	check(t, errors.Join(failures...))
	f.holds(t, "dir/file", want.String())
}

// Of many calls that create one file, one does, and the others get an error.
func TestConcurrentCreation(t *testing.T) {
	f := start(t)
	var calls sync.WaitGroup
	results := make([]*sdk.Result, 10)
	for i := range results {
		calls.Go(func() {
			a := args{"path": "file", "content": fmt.Sprint(i)}
			results[i], _ = f.Call(t.Context(), &sdk.Request{CallID: fmt.Sprint(i), Tool: "write", Arguments: a.json(),
				Workdir: f.dir})
		})
	}
	calls.Wait()
	created := 0
	for i, r := range results {
		switch {
		case r == nil:
			t.Errorf("call %d broke", i)
		case r.Error == nil:
			created++
			f.holds(t, "file", fmt.Sprint(i))
		default:
			named(t, r.Error, "FileExists")
		}
	}
	if created != 1 {
		t.Errorf("%d calls created the file", created)
	}
}

// A file that cannot be changed keeps all others from being changed, also when it is found late.
func TestSaveIsAllOrNothing(t *testing.T) {
	tests := []struct {
		name    string
		disturb func(t *testing.T, f *fixture)
		late    bool // after the last look at all files
		want    string
	}{
		{"changed before", func(t *testing.T, f *fixture) { f.put(t, "b", "theirs") }, false, "FileChanged"},
		{"changed late", func(t *testing.T, f *fixture) { f.put(t, "b", "theirs") }, true, "FileChanged"},
		{"created late", func(t *testing.T, f *fixture) { f.put(t, "new2", "theirs") }, true, "FileExists"},
		{"read-only", func(t *testing.T, f *fixture) { check(t, os.Chmod(f.path("b"), 0o444)) }, false, "PermissionDenied"},
		{"gone late", func(t *testing.T, f *fixture) { check(t, os.Remove(f.path("b"))) }, true, "FileChanged"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, "a", "old", "b", "old")
			s := f.toolCall(t)
			changes := s.planned(t, multiInput{Edits: []multiEdit{{Path: "a", OldString: "old", NewString: "new"},
				{Path: "new1", NewString: "x"},
				{Path: "b", OldString: "old", NewString: "new"}, {Path: "new2", NewString: "x"}}})
			var err error
			if test.late {
				err = s.saveDisturbed(t, changes, func() { test.disturb(t, f) })
			} else {
				test.disturb(t, f)
				err = s.save(changes)
			}
			named(t, err, test.want)
			f.holds(t, "a", "old")
			if _, err := os.Lstat(f.path("new1")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("new1 is there: %v", err)
			}
		})
	}
}

// saveDisturbed is save with something between the last look at all files and the first change.
func (s *toolCall) saveDisturbed(t *testing.T, changes []*change, disturb func()) error {
	drafts, err := prepare(changes)
	check(t, err)
	check(t, s.unchanged(changes))
	disturb()
	return s.publish(changes, drafts)
}

// A change by another process right after ours is kept, and reported.
func TestPutBackKeepsChangesOfOthers(t *testing.T) {
	f := start(t, "a", "old", "b", "old")
	s := f.toolCall(t)
	changes := s.planned(t, multiInput{Edits: []multiEdit{{Path: "a", OldString: "old", NewString: "new"}, {Path: "b",
		OldString: "old", NewString: "new"}}})
	check(t, s.save(changes))
	f.put(t, "a", "theirs")
	err := s.putBack(changes, errors.New("broken"))
	named(t, err, "PartlyWritten")
	contains(t, err.Error(), "broken", `"a" (`)
	f.holds(t, "a", "theirs")
	f.holds(t, "b", "old")

	f.put(t, "a", "new") // what a held is kept for undo
	undo := undoInput{}
	_, err = undo.targets(s)
	check(t, err)
	check(t, s.save(s.planned(t, undo)))
	f.holds(t, "a", "old")
}

// Calls over the same files in another order lose nothing, and wait for each other, not forever.
func TestConcurrentEditsOfSeveralFiles(t *testing.T) {
	const n = 20
	var content, want strings.Builder
	for i := range n {
		fmt.Fprintf(&content, "marker-%02d\n", i)
		fmt.Fprintf(&want, "done-%02d\n", i)
	}
	f := start(t, "a", content.String(), "b", content.String())
	var calls sync.WaitGroup
	failures := make([]error, n)
	for i := range n {
		calls.Go(func() {
			old, done := fmt.Sprintf("marker-%02d", i), fmt.Sprintf("done-%02d", i)
			all := []args{one("a", old, done), one("b", old, done)}
			if i%2 == 1 {
				slices.Reverse(all)
			}
			result, err := f.Call(t.Context(), &sdk.Request{CallID: fmt.Sprint(i), Tool: "multi",
				Arguments: edits(all...).json(), Workdir: f.dir})
			if err == nil && result.Error != nil {
				err = result.Error
			}
			failures[i] = err
		})
	}
	calls.Wait()
	check(t, errors.Join(failures...))
	f.holds(t, "a", want.String())
	f.holds(t, "b", want.String())
	f.run(t, "undo", args{"count": n})
	f.holds(t, "a", content.String())
	f.holds(t, "b", content.String())
}
