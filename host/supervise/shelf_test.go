package supervise

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/sdk"
)

// What is wrong with an entry costs a start, mends it, and is no error.
func TestBrokenEntries(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string, text []byte){
		"removed":     func(t *testing.T, path string, _ []byte) { check(t, os.Remove(path)) },
		"empty":       func(t *testing.T, path string, _ []byte) { rewrite(t, path, nil) },
		"truncated":   func(t *testing.T, path string, text []byte) { rewrite(t, path, text[:len(text)-1]) },
		"one bit":     func(t *testing.T, path string, text []byte) { text[len(text)/2] ^= 1; rewrite(t, path, text) },
		"no checksum": func(t *testing.T, path string, text []byte) { rewrite(t, path, text[65:]) },
		"not ours":    func(t *testing.T, path string, _ []byte) { check(t, os.Chmod(path, 0o644)) },
		"of another": func(t *testing.T, path string, text []byte) {
			rewrite(t, path, sealed(strings.Replace(string(text[65:]), `"Key":"`, `"Key":"0`, 1)))
		},
		"no JSON":   func(t *testing.T, path string, _ []byte) { rewrite(t, path, sealed("{")) },
		"too large": func(t *testing.T, path string, _ []byte) { check(t, os.Truncate(path, maxEntry+1)) },
		"a link": func(t *testing.T, path string, _ []byte) {
			check(t, os.Rename(path, path+".moved"))
			check(t, os.Symlink(path+".moved", path))
		},
		"a pipe": func(t *testing.T, path string, _ []byte) {
			check(t, os.Remove(path))
			check(t, unix.Mkfifo(path, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCaching(t)
			spec := c.playing("p", "noted")
			first := c.list(Options{}, spec)
			c.wantStarts(1, "first")
			path := c.entries()[0]
			spoil(t, path, must(os.ReadFile(path)))
			if diff := cmp.Diff(first, c.list(Options{}, spec)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			c.wantStarts(1, "spoilt")
			c.list(Options{}, spec)
			c.wantStarts(0, "mended")
		})
	}
}

// A folder that is not the user's alone is not used; plugins work all the same.
func TestUnusableCacheFolders(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"others may look": func(path string) error { return os.Mkdir(path, 0o755) },
		"a file":          func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a link":          func(path string) error { return os.Symlink(os.TempDir(), path) },
	} {
		t.Run(name, func(t *testing.T) {
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
	if left := must(filepath.Glob(filepath.Join(c.folder, unfinished+"*"))); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

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
		file(fmt.Sprintf("%s%d", programs, i), time.Duration(i)*time.Second, 1)
	}
	file(descriptions+"old", keptUnused+time.Hour, 1)
	file(unfinished+"dead", 2*keptNew, 1)
	file(unfinished+"alive", time.Second, 1)
	file("README", 10*keptUnused, 1)
	s.prune()
	for name, want := range map[string]bool{
		programs + "0": true, programs + "100": true, fmt.Sprintf("%s%d", programs, maxEntries+20): false,
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

// Everything that a description can hold comes back.
func TestDescriptionsComeBack(t *testing.T) {
	d := &sdk.Description{Name: "n", Version: "v", SDK: "s", ConfigSchema: json.RawMessage(" {\"a\" :\n\"<&>\"}"), Notices: []string{"a\u2028b"}, Tools: []sdk.Tool{
		{Name: "a", Description: "d", InputSchema: json.RawMessage(`{ "type": "object", "x": 1.00 }`), OutputSchema: json.RawMessage(`{"<":1}`),
			Hints: sdk.Hints{ReadOnly: sdk.No, Idempotent: sdk.Yes}, Timeout: 90*time.Second + time.Nanosecond, MaxResultBytes: 7,
			Title: "t", Category: "c", CostTier: sdk.Cheap, OriginalName: "A", Previews: true},
		{Name: "b", Description: "e"},
	}}
	var back keptEntry
	if err := json.Unmarshal(must(json.Marshal(pack("k", d))), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, back.unpack()); diff != "" || back.Key != "k" {
		t.Errorf("-before +after:\n%s", diff)
	}
}

func sealed(text string) []byte { return []byte(hashed([]byte(text)) + "\n" + text) }
