package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	f := start(t, "dir/old", "old text", "empty", "")
	f.link(t, map[string]string{"link": "dir/old", "chain": "link", "absolute": f.path("empty"), "dangling": "dir/made"})
	tests := []struct{ path, file, content string }{
		{"dir/old", "dir/old", "new"}, {"dir/old", "dir/old", ""}, {"new", "new", "text"}, {"a/b/c", "a/b/c", "text"},
		{"chain", "dir/old", "by a link"}, {"absolute", "empty", "by a link"}, {"dangling", "dir/made", "by a link"},
		{strings.Repeat("n", 255), strings.Repeat("n", 255), "leaves no room for a longer name"},
	}
	for _, test := range tests {
		check(t, f.find(t, test.path).Write([]byte(test.content), nil))
		f.holds(t, test.file, test.content)
	}
	for _, link := range []string{"link", "chain", "absolute", "dangling"} {
		if info, err := os.Lstat(f.path(link)); err != nil || info.Mode().Type() != os.ModeSymlink {
			t.Errorf("%s is no link any more: %v", link, err)
		}
	}
}

func TestWriteFailures(t *testing.T) {
	f := start(t, "readonly", "text", "dir/x", "")
	check(t, os.Chmod(f.path("readonly"), 0o444))
	for path, want := range map[string]string{"readonly": "PermissionDenied", "dir": "IsADirectory", ".": "IsADirectory"} {
		fails(t, f.find(t, path).Write([]byte("x"), nil), want)
	}
	f.holds(t, "readonly", "text")
}

func TestFileCreatedMeanwhile(t *testing.T) {
	f := start(t)
	p := f.find(t, "file")
	f.put(t, "file", "theirs")
	contains(t, fails(t, p.Write([]byte("mine"), nil), "FileExists").Message, `"file" exists already; nothing was written`)
	f.holds(t, "file", "theirs")
	late := f.find(t, "late")
	err := late.Write([]byte("mine"), func() error {
		f.put(t, "late", "theirs")
		return nil
	})
	fails(t, err, "FileExists")
	f.holds(t, "late", "theirs")
}

// The check comes last: all is ready, and nothing has changed.
func TestWriteChecks(t *testing.T) {
	f := start(t, "old", "old text")
	refused := errors.New("refused")
	for path, want := range map[string]string{"old": "old text", "new": ""} {
		p, called := f.find(t, path), 0
		refuse := func() error {
			called++
			if got, _ := os.ReadFile(f.path(path)); string(got) != want {
				t.Errorf("%s holds %q already", path, got)
			}
			if temp, _ := filepath.Glob(f.path(".toolhost-*")); len(temp) != 1 {
				t.Errorf("the new file is not ready: %v", temp)
			}
			return refused
		}
		if err := p.Write([]byte("new text"), refuse); !errors.Is(err, refused) || called != 1 {
			t.Errorf("%s: failed with %v after %d checks", path, err, called)
		}
		check(t, p.Write([]byte("new text"), func() error { called++; return nil }))
		if f.holds(t, path, "new text"); called != 2 {
			t.Errorf("%s: checked %d times", path, called)
		}
	}
}

func TestFolderRemovedMeanwhile(t *testing.T) {
	f := start(t, "dir/file", "old")
	p := f.find(t, "dir/file")
	check(t, os.RemoveAll(f.path("dir")))
	fails(t, p.Write([]byte("new"), nil), "FileNotFound")
}

// A folder on the way that becomes a link out of the workspace leads nothing out.
func TestFolderBecomesALinkMeanwhile(t *testing.T) {
	f := start(t, "dir/secret", "inside", "dir/sub/x", "")
	dir := f.find(t, "dir")
	places := []*Place{f.find(t, "dir/secret"), f.find(t, "dir/new"), f.find(t, "dir/a/b")}
	check(t, os.RemoveAll(f.path("dir")))
	f.link(t, map[string]string{"dir": outside(t)})
	for _, p := range places {
		if err := p.Write([]byte("x"), nil); err == nil {
			t.Errorf("%s was written", p.Path)
		}
		if file, err := p.Open(); err == nil {
			t.Errorf("opened %s outside, as %s", p.Path, file.Name())
		}
	}
	if names, err := dir.Names(0); err == nil {
		t.Errorf("the names outside are %v", names)
	}
	if c, err := dir.Child("secret"); err == nil {
		t.Errorf("found %s outside", c.Path)
	}
}

// Drafts are ready, and change nothing until they are published.
func TestDrafts(t *testing.T) {
	f := start(t, "a", "old a")
	var drafts []*Draft
	for _, path := range []string{"a", "dir/b", "c"} {
		d, err := f.find(t, path).Prepare([]byte("new " + path))
		check(t, err)
		drafts = append(drafts, d)
	}
	f.holds(t, "a", "old a")
	check(t, drafts[0].Publish(nil))
	check(t, drafts[1].Publish(nil))
	drafts[2].Discard()
	f.holds(t, "a", "new a")
	f.holds(t, "dir/b", "new dir/b")
	if names, err := filepath.Glob(f.path("*")); err != nil || len(names) != 2 {
		t.Errorf("the folder holds %v (%v)", names, err)
	}
	if temp, _ := filepath.Glob(f.path(".toolhost-*")); len(temp) > 0 {
		t.Errorf("left over: %v", temp)
	}
}

func TestRemove(t *testing.T) {
	f := start(t, "file", "text", "dir/x", "")
	f.link(t, map[string]string{"link": "file"})
	refused := errors.New("refused")
	if err := f.find(t, "file").Remove(func() error { return refused }); !errors.Is(err, refused) {
		t.Errorf("removed: %v", err)
	}
	fails(t, f.find(t, "dir").Remove(nil), "IsADirectory")
	fails(t, f.find(t, "nothing").Remove(nil), "FileNotFound")
	f.holds(t, "file", "text")
	check(t, f.find(t, "link").Remove(nil))
	if _, err := os.Lstat(f.path("file")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

func TestResolved(t *testing.T) {
	f := start(t, "dir/file", "text")
	f.link(t, map[string]string{"link": "dir/file", "absolute": f.path("dir")})
	for path, want := range map[string]string{"dir/file": "dir/file", "link": "dir/file", "absolute/file": "dir/file",
		"absolute/new": "dir/new", ".": "."} {
		if got := f.find(t, path).Resolved(); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func TestEtag(t *testing.T) {
	for data, want := range map[string]string{"": "e3b0c44298fc", "abc": "ba7816bf8f01", "abc\n": "edeaaff3f177",
		"\xEF\xBB\xBFabc": "1c28dc3f1f80"} {
		if got := Etag([]byte(data)); got != want {
			t.Errorf("the etag of %q is %s, want %s", data, got, want)
		}
	}
}
