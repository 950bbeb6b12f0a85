package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
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
