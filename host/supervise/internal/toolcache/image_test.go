package toolcache

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A program that is overwritten by one of its size and time is read again: its stamp has another change time.
func TestStampsAreNotFooled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	chtimes := func() { chtimes(t, path, time.Now().Add(-time.Hour)) }
	if err := os.WriteFile(path, []byte("one"), 0o700); err != nil {
		t.Fatal(err)
	}
	chtimes()
	c := must(Open(filepath.Join(t.TempDir(), "cache")))
	one := c.identify(t.Context(), path)
	if kept := must(filepath.Glob(filepath.Join(c.shelf.dir, images+"*"))); len(kept) > 0 {
		t.Errorf("a file that was changed just now is believed to stay: %v", kept)
	}
	if err := os.WriteFile(path, []byte("two"), 0o700); err != nil {
		t.Fatal(err)
	}
	chtimes()
	if two := c.identify(t.Context(), path); one.content == "" || two.content == "" || one == two {
		t.Errorf("%v and %v", one, two)
	}
}

// A file that has been left alone is not read again.
func TestProgramsAreRecognized(t *testing.T) {
	c := must(Open(filepath.Join(t.TempDir(), "cache")))
	first := settled(t, c)
	if !first.native || !first.self || len(first.content) != 64 {
		t.Errorf("the test is taken for %+v", first)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if again := c.identify(ended, os.Args[0]); again != first { // which cannot read
		t.Errorf("first %+v, then %+v", first, again)
	}
	if other := c.identify(t.Context(), "/bin/sh"); !other.native || other.self {
		t.Errorf("the shell is taken for %+v", other)
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "gone"), t.TempDir(), os.DevNull, fifo(t)} {
		if got := c.identify(t.Context(), path); got != (image{}) {
			t.Errorf("%s is taken for %+v", path, got)
		}
	}
}

// settled waits until the test's own program is no longer so young that it would be read each time.
func settled(t *testing.T, c *Cache) image {
	t.Helper()
	for end := time.After(30 * time.Second); ; {
		first := c.identify(t.Context(), os.Args[0])
		if kept := must(filepath.Glob(filepath.Join(c.Dir(), images+"*"))); len(kept) > 0 {
			return first
		}
		select {
		case <-end:
			t.Fatal("the test's program is not recorded")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func fifo(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	check(t, unix.Mkfifo(path, 0o600))
	return path
}
