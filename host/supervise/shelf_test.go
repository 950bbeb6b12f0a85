package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// A folder that is not the user's alone is not used; plugins work all the same.
func TestUnusableCacheFolders(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"others may look": func(path string) error { return os.Mkdir(path, 0o755) },
		"a file":          func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a link":          func(path string) error { return os.Symlink(os.TempDir(), path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCaching(t)
			if err := spoil(c.folder); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				c.list(Options{}, c.playing("p", "noted"))
				c.wantStarts(1, "each time")
			}
		})
	}
}

// Several hosts that fill the same folder do not disturb each other.
func TestManyHostsAtOnce(t *testing.T) {
	t.Parallel()
	c := newCaching(t)
	var all sync.WaitGroup
	for range 4 {
		dir := shortDir(t)
		all.Go(func() {
			s := must(New(Options{RunDir: dir, CacheDir: c.folder}))
			defer func() { _ = s.Close() }()
			for i := range 5 {
				p := must(s.Add(c.playing(fmt.Sprintf("p%d", i), "noted")))
				if _, err := p.Tools(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	c.started()
	c.list(Options{}, c.playing("p0", "noted"), c.playing("p4", "noted"))
	c.wantStarts(0, "afterwards")
	if left := must(filepath.Glob(filepath.Join(c.folder, ".new-*"))); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}
