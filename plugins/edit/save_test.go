package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

func (f *fixture) workspace(t *testing.T) *workspace.Root {
	t.Helper()
	w, err := workspace.Open(f.dir)
	check(t, err)
	t.Cleanup(w.Close)
	return w
}

// planned is an edit that waits to be saved.
func (f *fixture) planned(t *testing.T, w *workspace.Root, path string, plan planner) *edit {
	t.Helper()
	p, err := w.Find(path)
	check(t, err)
	e, err := plan(p)
	check(t, err)
	return e
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
		{"written", func(t *testing.T, path string) { check(t, os.WriteFile(path, []byte("new old text"), 0)) }, "new old text"},
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
		{"nothing but its time", func(t *testing.T, path string) { check(t, os.Chtimes(path, now, now.Add(time.Hour))) }, "new old text!"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, "file", "old text")
			check(t, os.Chtimes(f.path("file"), now, now))
			w := f.workspace(t)
			e := f.planned(t, w, "file", replaceInput{OldString: "old text", NewString: "new old text!"}.plan)
			test.change(t, f.path("file"))
			if err := e.save(w); test.want == "new old text!" {
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
	w := f.workspace(t)
	e := f.planned(t, w, "file", replaceInput{OldString: "old", NewString: "new"}.plan)
	check(t, os.Chmod(f.path("file"), 0o444))
	named(t, e.save(w), "PermissionDenied")
	f.holds(t, "file", "old")
}

func TestFileCreatedMeanwhile(t *testing.T) {
	f := start(t)
	w := f.workspace(t)
	e := f.planned(t, w, "file", writeInput{Content: "mine"}.plan)
	f.put(t, "file", "theirs")
	failed := e.save(w)
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
	if _, err := perform(ctx, r, new(locks), "file", replaceInput{OldString: "old", NewString: "new"}.plan); !errors.Is(err, context.Canceled) {
		t.Errorf("performed: %v", err)
	}
	f.holds(t, "file", "old")
}

// A call that waited looks again where its path leads.
func TestLinkChangedWhileWaiting(t *testing.T) {
	f := start(t, "a", "old", "b", "old")
	check(t, os.Symlink("a", f.path("link")))
	files := new(locks)
	a, err := f.workspace(t).Find("a")
	check(t, err)
	key := a.Real()
	release, err := files.acquire(t.Context(), key)
	check(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := perform(t.Context(), &sdk.Request{Workdir: f.dir}, files, "link", replaceInput{OldString: "old", NewString: "new"}.plan)
		done <- err
	}()
	for deadline, waiting := time.Now().Add(10*time.Second), false; !waiting; runtime.Gosched() {
		files.mu.Lock()
		waiting = files.held[key].users == 2
		files.mu.Unlock()
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
			a := args{"path": names[i%len(names)], "old_string": fmt.Sprintf("marker-%02d", i), "new_string": fmt.Sprintf("done-%02d", i)}
			result, err := f.Call(t.Context(), &sdk.Request{CallID: fmt.Sprint(i), Tool: "replace", Arguments: a.json(), Workdir: f.dir})
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

// Of many calls that create one file, one does, and the others are told.
func TestConcurrentCreation(t *testing.T) {
	f := start(t)
	var calls sync.WaitGroup
	results := make([]*sdk.Result, 10)
	for i := range results {
		calls.Go(func() {
			a := args{"path": "file", "content": fmt.Sprint(i)}
			results[i], _ = f.Call(t.Context(), &sdk.Request{CallID: fmt.Sprint(i), Tool: "write", Arguments: a.json(), Workdir: f.dir})
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
