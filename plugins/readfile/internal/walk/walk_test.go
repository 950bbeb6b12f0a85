package walk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/internal/testutil"
	"github.com/toolhost/toolhost/sdk/workspace"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree makes a folder of files, given as path, content, path, content.
func tree(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		file := filepath.Join(dir, files[i])
		check(t, os.MkdirAll(filepath.Dir(file), 0o755))
		check(t, os.WriteFile(file, []byte(files[i+1]), 0o644))
	}
	return dir
}

func enterAt(t testing.TB, dir, at string, f Filter) *Folder {
	t.Helper()
	w, err := workspace.Open(dir)
	check(t, err)
	t.Cleanup(w.Close)
	p, err := w.Find(at)
	check(t, err)
	top, err := Enter(w, p, f)
	check(t, err)
	return top
}

// names walks through all files, and returns their paths in the order of Each.
func names(t testing.TB, top *Folder, more func(*Walk[[]string])) ([]string, LeftOut) {
	t.Helper()
	var out []string
	w := Walk[[]string]{
		Visit: func(_ context.Context, b Batch) (all []string) {
			for _, f := range b.Files {
				all = append(all, path.Join(b.Path, f.Name()))
			}
			return all
		},
		Each: func(batch []string) bool {
			out = append(out, batch...)
			return true
		},
	}
	if more != nil {
		more(&w)
	}
	left, err := w.Files(t.Context(), top)
	check(t, err)
	return out, left
}

func TestFilter(t *testing.T) {
	dir := tree(t, ".gitignore", "*.o\n/build/\n!.shown\n.dir/z\n", ".ignore", "notes\n!kept.o\n", ".git/info/exclude",
		"secret\n", "a.c", "", "a.o", "", "kept.o", "", "build/x", "", "notes", "", "secret", "",
		".hidden", "", ".shown", "", ".dir/y", "", ".dir/z", "", "sub/.gitignore", "!b.o\n", "sub/b.o", "", "sub/a.o", "",
		"sub/build/y", "", "other/.git/info/exclude", "z\n", "other/a.o", "", "other/secret", "", "other/z", "")
	check(t, os.Symlink("sub", filepath.Join(dir, "link")))
	tests := []struct {
		name, at string
		filter   Filter
		want     string
		left     LeftOut
	}{
		{"in plain sight", ".", Filter{}, ".shown a.c kept.o link other/a.o other/secret sub/b.o sub/build/y",
			LeftOut{Hidden: 7, Ignored: 6}},
		{"hidden", ".", Filter{Hidden: true},
			".dir/y .gitignore .hidden .ignore .shown a.c kept.o link other/a.o other/secret sub/.gitignore sub/b.o sub/build/y",
			LeftOut{Ignored: 7}},
		{"ignored", ".", Filter{Ignored: true},
			"a.c a.o build/x kept.o link notes other/a.o other/secret other/z secret sub/a.o sub/b.o sub/build/y",
			LeftOut{Hidden: 8}},
		{"all", ".", Filter{Hidden: true, Ignored: true},
			".dir/y .dir/z .gitignore .hidden .ignore .shown a.c a.o build/x kept.o link notes other/a.o other/secret other/z " +
				"secret sub/.gitignore sub/a.o sub/b.o sub/build/y", LeftOut{}},
		{"a folder below", "sub", Filter{}, "sub/b.o sub/build/y", LeftOut{Hidden: 1, Ignored: 1}},
		{"by a link", "link", Filter{}, "link/b.o link/build/y", LeftOut{Hidden: 1, Ignored: 1}},
		{"an ignored folder, by its name", "build", Filter{}, "build/x", LeftOut{}},
		{"another repository, with .ignore from above", "other", Filter{}, "other/a.o other/secret",
			LeftOut{Hidden: 1, Ignored: 1}},
		{"a hidden folder, by its name", ".dir", Filter{}, ".dir/y", LeftOut{Ignored: 1}},
		{"git's own folder, by its name", ".git", Filter{}, ".git/info/exclude", LeftOut{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, left := names(t, enterAt(t, dir, test.at, test.filter), nil)
			if diff := cmp.Diff(strings.Fields(test.want), got); diff != "" || left != test.left {
				t.Errorf("left out %+v, want %+v (-want +got):\n%s", left, test.left, diff)
			}
		})
	}
}

// wide is a tree of some thousand files, with names that tempt a plain comparison of paths.
func wide(t testing.TB) (dir string, want []string) {
	t.Helper()
	var files []string
	for i := range 12 {
		for j := range testutil.Rounds(12) {
			for k := range 20 {
				files = append(files, fmt.Sprintf("d%d/e%d/f%d", i, j, k), "")
			}
			files = append(files, fmt.Sprintf("d%d/e%d.txt", i, j), "", fmt.Sprintf("d%d/e%d-x", i, j), "")
		}
	}
	for i := 0; i < len(files); i += 2 {
		want = append(want, files[i])
	}
	slices.SortFunc(want, func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
	return tree(t, files...), want
}

func TestOrderIsThatOfPaths(t *testing.T) {
	dir, want := wide(t)
	for range 5 {
		if got, _ := names(t, enterAt(t, dir, ".", Filter{}), nil); !slices.Equal(got, want) {
			t.Fatal("the order is another one:", cmp.Diff(want, got))
		}
	}
}

func TestOrderWhenResultsMustWait(t *testing.T) {
	dir, want := wide(t)
	got, _ := names(t, enterAt(t, dir, ".", Filter{}), func(w *Walk[[]string]) { w.Full = func() bool { return true } })
	if !slices.Equal(got, want) {
		t.Fatal("the order is another one:", cmp.Diff(want, got))
	}
}

func TestDescend(t *testing.T) {
	dir := tree(t, "a/b/x", "", "a/c/x", "", "b/x", "")
	var asked atomic.Int32
	got, left := names(t, enterAt(t, dir, "a", Filter{}), func(w *Walk[[]string]) {
		w.Descend = func(below string) bool { asked.Add(1); return below != "b" }
	})
	if diff := cmp.Diff([]string{"a/c/x"}, got); diff != "" || asked.Load() != 2 || left != (LeftOut{}) {
		t.Errorf("asked %d times, left out %+v\n%s", asked.Load(), left, diff)
	}
}

// openFiles counts what this process has open.
func openFiles(t testing.TB) int {
	t.Helper()
	open, err := os.ReadDir("/dev/fd")
	check(t, err)
	return len(open)
}

func TestEachEndsTheWalk(t *testing.T) {
	dir, want := wide(t)
	before := openFiles(t)
	var got []string
	names(t, enterAt(t, dir, ".", Filter{}), func(w *Walk[[]string]) {
		w.Each = func(batch []string) bool {
			got = append(got, batch...)
			return len(got) < 50
		}
	})
	if !slices.Equal(got, want[:len(got)]) || len(got) > 50+batchSize {
		t.Errorf("got %d: %v", len(got), got)
	}
	if after := openFiles(t); after > before+1 { // the workspace itself
		t.Errorf("%d files are open, %d were", after, before)
	}
}

func TestWalkEndsWithItsContext(t *testing.T) {
	dir, _ := wide(t)
	ctx, cancel := context.WithCancel(t.Context())
	visits := atomic.Int32{}
	w := Walk[int]{Visit: func(context.Context, Batch) int { visits.Add(1); cancel(); return 0 },
		Each: func(int) bool { return true }}
	if _, err := w.Files(ctx, enterAt(t, dir, ".", Filter{})); err != context.Canceled || visits.Load() > 50 {
		t.Errorf("after %d visits: %v", visits.Load(), err)
	}
}

// What is gone or closed when its turn comes does not end the walk.
func TestUnreadableContent(t *testing.T) {
	dir := tree(t, "a/x", "", "b/x", "", "b/.gitignore", "*\n", "c/x", "", "d/x", "", "d/.gitignore",
		strings.Repeat("#\n", 600_000), "e/x", "", "e/.gitignore/x", "")
	check(t, os.Chmod(filepath.Join(dir, "b/.gitignore"), 0))
	got, left := names(t, enterAt(t, dir, ".", Filter{}), func(w *Walk[[]string]) {
		w.Descend = func(below string) bool {
			if below == "a" {
				check(t, os.RemoveAll(filepath.Join(dir, below)))
			}
			if below == "c" {
				check(t, os.RemoveAll(filepath.Join(dir, below)))
				check(t, os.Symlink("/etc", filepath.Join(dir, below)))
			}
			return true
		}
	})
	if diff := cmp.Diff([]string{"b/x", "d/x", "e/x"}, got); diff != "" || left != (LeftOut{Hidden: 3, Unreadable: 3}) {
		t.Errorf("left out %+v (-want +got):\n%s", left, diff)
	}
}

func TestTooDeep(t *testing.T) {
	dir := tree(t, strings.Repeat("d/", maxDepth)+"x", "", strings.Repeat("d/", maxDepth+1)+"y", "")
	got, left := names(t, enterAt(t, dir, ".", Filter{}), nil)
	if diff := cmp.Diff([]string{strings.Repeat("d/", maxDepth) + "x"}, got); diff != "" ||
		left != (LeftOut{Unreadable: 1}) {
		t.Errorf("left out %+v (-want +got):\n%s", left, diff)
	}
}

// A tree that changes all the time may give any part of its files, but never one outside, and never an end with an
// error.
func TestWalkWhileAllChanges(t *testing.T) {
	dir, out := tree(t, "keep/x", ""), tree(t, "outside", "")
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			at := filepath.Join(dir, fmt.Sprint("d", i%3))
			_ = os.RemoveAll(at)
			if i%2 == 0 {
				_ = os.Symlink(out, at)
			} else {
				_ = os.MkdirAll(filepath.Join(at, "sub"), 0o755)
				_ = os.WriteFile(filepath.Join(at, "sub", "inside"), nil, 0o644)
			}
		}
	}()
	for range 200 {
		got, _ := names(t, enterAt(t, dir, ".", Filter{}), nil)
		for _, name := range got {
			if path.Base(name) == "outside" {
				t.Fatal("the walk left the workspace: ", name)
			}
		}
	}
	close(stop)
	<-ended
}

// Rules may be so many that deciding about the entries of one directory takes minutes.
func TestLookEndsWithTheCall(t *testing.T) {
	top := enterAt(t, tree(t, "a", "", ".gitignore", "b\n"), ".", Filter{})
	defer top.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if entries, _, err := top.Look(ctx, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", entries, err)
	}
}

// Each ignore file may be small enough, and those of many folders in one another still more than there is memory.
func TestIgnoreFilesAreBoundedTogether(t *testing.T) {
	large := strings.Repeat("*a?\n", 150<<10)
	got, left := names(t, enterAt(t,
		tree(t, ".gitignore", large+"no\n", "no", "", "d/.gitignore", large+"yes\n", "d/yes", "", "d/no", "", "e/.gitignore",
			"yes\n", "e/yes", "", "e/x", ""), ".", Filter{}), nil)
	if diff := cmp.Diff([]string{"d/yes", "e/x"}, got); diff != "" || left.Unreadable != 1 {
		t.Errorf("%d unreadable, files (-want +got):\n%s", left.Unreadable, diff)
	}
}
