package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/internal/fsutil"
)

// A start looks up the program of each other plugin once: as often as there are different ones, however many plugins
// share them.
func TestLookupsOfAStart(t *testing.T) {
	dir := t.TempDir()
	programs := func(different, plugins int) (paths []string) {
		for i := range plugins {
			path := filepath.Join(dir, fmt.Sprint("program", i%different))
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		return paths
	}
	for _, c := range []struct{ different, plugins int }{{1, 1}, {1, 100}, {10, 100}, {100, 100}} {
		l := &PathLookup{}
		found := l.resolve(Paths{Reserved: programs(c.different, c.plugins), Masked: []string{filepath.Join(dir, "record")}})
		if want := c.different + 1; l.begun != want || len(found) != want {
			t.Errorf("%d plugins with %d programs: %d lookups and %d paths, want %d", c.plugins, c.different, l.begun,
				len(found), want)
		}
	}
}

// A ".." behind a link is that of the link's target.
func TestLinksBeforeParentsAreFollowed(t *testing.T) {
	dir := fsutil.Resolved(t.TempDir())
	file := filepath.Join(dir, "lib", "x.py")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "lib", "deep"), 0o700), os.WriteFile(file, nil, 0o600),
		os.Symlink("lib/deep", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	found := new(PathLookup).resolve(Paths{ReadOnly: []string{dir + "/link/../x.py", dir + "/link/../deep/"}})
	if len(found) != 2 || found[0].path != file || !slices.Equal(found[0].links, []string{dir + "/link"}) ||
		found[1].path != filepath.Join(dir, "lib", "deep") || found[1].kind != reservedFolder {
		t.Errorf("found %+v", found)
	}
}

// The last element of a path is looked at alone, with the same result.
func TestResolvedBelow(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"a/b/c", "other/deep"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"a/link": "../other", "a/b/up": "..", "dangling": "nowhere/at/all", "loop": "loop",
		"other/deep/abs": filepath.Join(dir, "a")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"a/b/c/none/x", "a/link/deep/abs/b", "a/link/../b/c", "a/./b//c", "dangling/x/y", "loop/x",
		"a/b/up/up/x", "a/link/deep/../../a"} {
		path = dir + "/" + path
		at := ""
		for i := range len(path) + 1 {
			if i < len(path) && path[i] != '/' || i == 0 {
				continue
			}
			prefix := path[:i]
			if at = resolvedBelow(at, prefix); at != fsutil.Resolved(prefix) {
				t.Errorf("%s is %s, and %s from its folder", prefix, fsutil.Resolved(prefix), at)
			}
		}
	}
}
