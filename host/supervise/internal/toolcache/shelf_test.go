package toolcache

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A shelf does not grow without bounds, and leaves alone what it has not written.
func TestPrune(t *testing.T) {
	s := must(openShelf(filepath.Join(t.TempDir(), "cache")))
	file := func(name string, age time.Duration, size int64) {
		path := filepath.Join(s.dir, name)
		rewrite(t, path, nil)
		check(t, os.Truncate(path, size))
		chtimes(t, path, time.Now().Add(-age))
	}
	for i := range maxEntries + 50 {
		file(fmt.Sprintf("%s%d", images, i), time.Duration(i)*time.Second, 1)
	}
	file(descriptions+"old", keptUnused+time.Hour, 1)
	file(unfinished+"dead", 2*keptNew, 1)
	file(unfinished+"alive", time.Second, 1)
	file("README", 10*keptUnused, 1)
	s.prune()
	for name, want := range map[string]bool{
		images + "0": true, images + "100": true, fmt.Sprintf("%s%d", images, maxEntries+20): false,
		descriptions + "old": false, unfinished + "dead": false, unfinished + "alive": true, "README": true,
	} {
		if _, err := os.Stat(filepath.Join(s.dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	file(descriptions+"large", time.Millisecond, maxShelf)
	s.prune()
	if left := s.files(); len(left) > 2 {
		t.Errorf("%d files are left with %d bytes", len(left), left[0].Size())
	}
}

// An entry that is used is kept, however old it is.
func TestUseKeepsAnEntry(t *testing.T) {
	s := must(openShelf(filepath.Join(t.TempDir(), "cache")))
	s.write(descriptions, "x", []byte(`"text"`))
	chtimes(t, s.path(descriptions, "x"), time.Now().Add(-keptUnused-time.Hour))
	var text string
	if !s.read(descriptions, "x", &text) || text != "text" {
		t.Fatalf("it holds %q", text)
	}
	s.prune()
	if !s.read(descriptions, "x", &text) {
		t.Error("it is gone")
	}
	s.write(descriptions, "large", make([]byte, maxEntry))
	if files := s.files(); len(files) != 1 {
		t.Errorf("there are %d files", len(files))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func rewrite(t testing.TB, path string, text []byte) {
	t.Helper()
	check(t, os.WriteFile(path, text, 0o600))
}

func chtimes(t testing.TB, path string, at time.Time) {
	t.Helper()
	check(t, os.Chtimes(path, at, at))
}
