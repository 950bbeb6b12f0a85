package toolcache

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
)

// listing is a folder with the descriptions of many plugins, whose files have been left alone for a while.
func listing(t *testing.T, plugins int) (dir string, keys []Key) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "cache")
	c := must(Open(dir))
	settled(t, c)
	for i := range plugins {
		k := Key{Program: os.Args[0], Command: os.Args[:1], Env: map[string]string{"N": fmt.Sprint(i)}}
		c.Entry(t.Context(), k).Store(t.Context(), named(i))
		keys = append(keys, k)
	}
	return dir, keys
}

func named(i int) *sdk.Description {
	return &sdk.Description{Name: fmt.Sprint(i), Tools: []sdk.Tool{{Name: "a", Description: "d"}}}
}

// aMinuteLater is when files that were written just now have settled.
func aMinuteLater() time.Time { return time.Now().Add(time.Minute) }

// listAll lists all plugins with a cache of its own, as another process does.
func listAll(t *testing.T, dir string, keys []Key) *Cache {
	t.Helper()
	c := must(Open(dir))
	c.folder.now = aMinuteLater
	for i, k := range keys {
		if diff := cmp.Diff(named(i), c.Load(t.Context(), k)); diff != "" {
			t.Fatalf("plugin %d, -want +got:\n%s", i, diff)
		}
	}
	c.Close()
	return c
}

// A listing of any number of plugins opens the same few files.
func TestListingOpensOneFile(t *testing.T) {
	for _, plugins := range []int{20, 40} {
		dir, keys := listing(t, plugins)
		listAll(t, dir, keys)
		before := must(os.Stat(filepath.Join(dir, indexName)))
		if c := listAll(t, dir, keys); c.folder.opened.Load() > indexAfter+1 {
			t.Errorf("%d plugins: %d files are opened", plugins, c.folder.opened.Load())
		}
		if !os.SameFile(before, must(os.Stat(filepath.Join(dir, indexName)))) {
			t.Errorf("%d plugins: the index is written although nothing has changed", plugins)
		}
	}
}

// What the index has does not count when the file has changed or is gone, and a bad index costs nothing but time.
func TestIndexIsNeverBelievedOverTheFiles(t *testing.T) {
	dir, keys := listing(t, 10)
	listAll(t, dir, keys)
	index := filepath.Join(dir, indexName)
	whole := must(os.ReadFile(index))
	for name, spoil := range map[string]func(){
		"removed":        func() { check(t, os.Remove(index)) },
		"empty":          func() { rewrite(t, index, nil) },
		"one bit":        func() { rewrite(t, index, append(whole[:len(whole)-2:len(whole)-2], 'x', 'y')) },
		"no index":       func() { rewrite(t, index, sealed("no index")) },
		"endless":        func() { rewrite(t, index, sealed("\xfe\xff\xff\xff\xff\xff\xff\xff\x01")) },
		"of other users": func() { check(t, os.Chmod(index, 0o644)) },
		"a folder":       func() { check(t, os.Remove(index)); check(t, os.Mkdir(index, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			spoil()
			listAll(t, dir, keys)
			check(t, os.RemoveAll(index))
			rewrite(t, index, whole)
		})
	}
	for i, path := range must(filepath.Glob(filepath.Join(dir, descriptions+"*"))) {
		switch i % 3 {
		case 0:
			check(t, os.Remove(path))
		case 1:
			rewrite(t, path, sealed("x"))
		case 2:
			check(t, os.Chmod(path, 0o644))
		}
	}
	c := must(Open(dir))
	for i, k := range keys {
		if d := c.Load(t.Context(), k); d != nil {
			t.Errorf("plugin %d is listed from the index alone: %+v", i, d)
		}
	}
}

// Two hosts that write the index at once lose at most what the other has added, and find it again.
func TestSeveralHostsShareAnIndex(t *testing.T) {
	dir, keys := listing(t, 20)
	one, two := must(Open(dir)), must(Open(dir))
	one.folder.now, two.folder.now = aMinuteLater, aMinuteLater
	for i, k := range keys {
		c := one
		if i%2 == 0 {
			c = two
		}
		if d := c.Load(t.Context(), k); d == nil {
			t.Fatalf("plugin %d is not listed", i)
		}
	}
	one.Close()
	two.Close()
	listAll(t, dir, keys)
	if c := listAll(t, dir, keys); c.folder.opened.Load() > indexAfter+1 {
		t.Errorf("%d files are opened", c.folder.opened.Load())
	}
}

// The index stays below its limit, and has what was used last.
func TestIndexIsBounded(t *testing.T) {
	f := must(openFolder(filepath.Join(t.TempDir(), "cache")))
	f.index.loaded = true
	for i := range 10 {
		name := fmt.Sprint(i)
		f.write(descriptions, name, make([]byte, maxIndex/4))
		chtimes(t, f.path(descriptions, name), time.Now().Add(-time.Duration(10-i)*time.Hour))
		text, state, ok := f.readFile(descriptions + name)
		if !ok {
			t.Fatal("the file cannot be read")
		}
		f.index.add(descriptions+name, state, text)
	}
	f.writeIndex()
	if info := must(os.Stat(f.path("", indexName))); info.Size() > maxIndex+1<<10 {
		t.Errorf("it has %d bytes", info.Size())
	}
	again := must(openFolder(f.dir))
	again.loadIndex()
	if _, newest := again.index.copies[descriptions+"9"]; !newest || len(again.index.copies) != 3 {
		t.Errorf("it has %d files, the newest: %t", len(again.index.copies), newest)
	}
}

// What one process has checked need not be checked by the next, unless that is another program.
func TestChecksAreRemembered(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	one := must(Open(dir))
	a, b := []sdk.Tool{{Name: "a"}}, []sdk.Tool{{Name: "b"}}
	if one.Checked(a) {
		t.Error("it was checked by no one")
	}
	one.SetChecked(a)
	other := must(Open(dir))
	other.SetChecked(b)
	one.Close()
	other.Close()
	next := must(Open(dir))
	if !next.Checked(a) || !next.Checked(b) || next.Checked(nil) {
		t.Error("the next process does not know what was checked")
	}
	rebuilt := must(Open(dir))
	rebuilt.checks.load()
	rebuilt.checks.checker.Written++
	if rebuilt.Checked(a) {
		t.Error("another program believes it")
	}
	for i := range maxChecks + 10 {
		next.SetChecked([]sdk.Tool{{Name: fmt.Sprint(i)}})
	}
	next.Close()
	if n := len(must(Open(dir)).checks.read()); n != maxChecks {
		t.Errorf("%d are remembered", n)
	}
}
