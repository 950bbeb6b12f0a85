package toolcache

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/fsutil"
	"github.com/toolhost/toolhost/sdk"
)

// full has everything that a description can hold.
var full = &sdk.Description{Name: "n", Version: "v", SDK: "s", ConfigSchema: json.RawMessage(" {\"a\" :\n\"<&>\"}"),
	Notices: []sdk.Notice{{Kind: sdk.Problem, Text: "a\u2028b"}}, Tools: []sdk.Tool{
		{Name: "a", Description: "d", InputSchema: json.RawMessage(`{ "type": "object", "x": 1.00 }`),
			OutputSchema: json.RawMessage(`{"<":1}`),
			Hints:        sdk.Hints{ReadOnly: sdk.No, Idempotent: sdk.Yes}, Timeout: 90*time.Second + time.Nanosecond,
			MaxResultBytes: 7,
			Title:          "t", Category: "c", CostTier: sdk.Cheap, OriginalName: "A", Previews: true},
		{Name: "b", Description: "e"},
	}}

// What is wrong with an entry is written again by the next start, and is no error.
func TestBrokenEntries(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string, text []byte){
		"removed":     func(t *testing.T, path string, _ []byte) { check(t, os.Remove(path)) },
		"empty":       func(t *testing.T, path string, _ []byte) { rewrite(t, path, nil) },
		"truncated":   func(t *testing.T, path string, text []byte) { rewrite(t, path, text[:len(text)-1]) },
		"one bit":     func(t *testing.T, path string, text []byte) { text[len(text)/2] ^= 1; rewrite(t, path, text) },
		"no checksum": func(t *testing.T, path string, text []byte) { rewrite(t, path, text[65:]) },
		"not ours":    func(t *testing.T, path string, _ []byte) { check(t, os.Chmod(path, 0o644)) },
		"of another": func(t *testing.T, path string, text []byte) {
			text[65] ^= 1 // of a hash, in which each digit may be any
			rewrite(t, path, sealed(string(text[65:])))
		},
		"too short": func(t *testing.T, path string, text []byte) { rewrite(t, path, sealed(string(text[65:len(text)-1]))) },
		"too long":  func(t *testing.T, path string, text []byte) { rewrite(t, path, sealed(string(text[65:])+"x")) },
		"too large": func(t *testing.T, path string, _ []byte) { check(t, os.Truncate(path, maxFile+1)) },
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
			c, p := must(Open(filepath.Join(t.TempDir(), "cache"))), Key{Program: os.Args[0], Command: os.Args[:1]}
			c.Entry(t.Context(), p).Store(t.Context(), full)
			entries := must(filepath.Glob(filepath.Join(c.Dir(), descriptions+"*")))
			if got := c.Load(t.Context(), p); len(entries) != 1 || cmp.Diff(full, got) != "" {
				t.Fatalf("%q hold %+v", entries, got)
			}
			spoil(t, entries[0], must(os.ReadFile(entries[0])))
			if got := c.Load(t.Context(), p); got != nil {
				t.Errorf("damaged, it holds %+v", got)
			}
			c.Entry(t.Context(), p).Store(t.Context(), full)
			if diff := cmp.Diff(full, c.Load(t.Context(), p)); diff != "" {
				t.Errorf("written again, -want +got:\n%s", diff)
			}
		})
	}
}

// Everything that a description can hold comes back.
func TestDescriptionsComeBack(t *testing.T) {
	for _, d := range []*sdk.Description{full, {}, {Notices: []sdk.Notice{}, Tools: []sdk.Tool{}}} {
		if diff := cmp.Diff(d, decode(encode(d))); diff != "" {
			t.Errorf("-before +after:\n%s", diff)
		}
	}
}

// A start that does not find its tools changes what is known of them in nothing but the problem, until another start
// finds them. Only offline are they listed without a start where they never were found.
func TestToolsThatAreNotFound(t *testing.T) {
	found := func(notices ...sdk.Notice) *sdk.Description {
		return &sdk.Description{Dynamic: true, Cacheable: true, Tools: full.Tools, Notices: notices}
	}
	missing := func(why string) *sdk.Description {
		return &sdk.Description{Dynamic: true, Missing: why, Notices: []sdk.Notice{problem("none: " + why)}}
	}
	pending := &sdk.Description{Dynamic: true, Cacheable: true, Missing: "it starts", Pending: true}
	because := func(why string) sdk.Notice {
		return problem("its tools are those of an earlier start; the last one did not find them: " + why +
			". `toolhost discover --refresh` looks for them again")
	}
	remark := sdk.Remarks("r")[0]
	for name, c := range map[string]struct {
		stored        []*sdk.Description
		want, offline *sdk.Description // offline is want if it is nil
		asked         bool             // the next start finds the tools itself
	}{
		"nothing is known": {stored: []*sdk.Description{pending}, asked: true},
		"never found": {stored: []*sdk.Description{missing("a"), pending}, offline: &sdk.Description{Dynamic: true,
			Notices: []sdk.Notice{problem("none: a"), {Kind: sdk.Remark, Text: staleNotice}}}, asked: true},
		"found": {stored: []*sdk.Description{missing("a"), found(remark)}, want: found(remark)},
		"not found": {stored: []*sdk.Description{found(remark), missing("a")}, want: found(remark, because("a")),
			asked: true},
		"not found for long": {stored: []*sdk.Description{found(remark), missing("a"), pending, missing("b")},
			want: found(remark, because("b")), asked: true},
		"found again": {stored: []*sdk.Description{found(), missing("a"), found(remark)}, want: found(remark)},
		"failed otherwise": {stored: []*sdk.Description{found(remark), {Dynamic: true, Notices: []sdk.Notice{problem("p")}}},
			want: found(remark)},
		"none any more": {stored: []*sdk.Description{found(), {Dynamic: true, Notices: []sdk.Notice{remark}}},
			offline: &sdk.Description{Dynamic: true, Notices: []sdk.Notice{remark, {Kind: sdk.Remark, Text: staleNotice}}},
			asked:   true},
		"still starting": {stored: []*sdk.Description{found(remark), pending}, want: found(remark)},
		"trouble later": {stored: []*sdk.Description{found(), found(problem("p"))}, want: found(problem("p")),
			asked: true},
	} {
		t.Run(name, func(t *testing.T) {
			cache, k := must(Open(filepath.Join(t.TempDir(), "cache"))), Key{Program: os.Args[0], Command: os.Args[:1]}
			for _, d := range c.stored {
				cache.Entry(t.Context(), k).Store(t.Context(), d)
			}
			if diff := cmp.Diff(c.want, cache.Load(t.Context(), k)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if known := cache.Entry(t.Context(), k).Cacheable(); (known == nil) != c.asked {
				t.Errorf("the next start is given %+v", known)
			}
			cache.Offline = true
			if c.offline == nil {
				c.offline = c.want
			}
			if diff := cmp.Diff(c.offline, cache.Load(t.Context(), k)); diff != "" {
				t.Errorf("offline, -want +got:\n%s", diff)
			}
		})
	}
}

func problem(text string) sdk.Notice { return sdk.Notice{Kind: sdk.Problem, Text: text} }

// A field that is added to a definition is kept too, and is part of what was checked.
func TestEachFieldIsKept(t *testing.T) {
	c := must(Open(filepath.Join(t.TempDir(), "cache")))
	c.SetChecked([]sdk.Tool{{}})
	eachField(t, reflect.TypeFor[sdk.Tool](), func(name string, set func(reflect.Value)) {
		var tool sdk.Tool
		set(reflect.ValueOf(&tool).Elem())
		if encode(&sdk.Description{Tools: []sdk.Tool{tool}}) == nil {
			t.Errorf("%s of a tool does not come back", name)
		}
		if c.Checked([]sdk.Tool{tool}) {
			t.Errorf("a tool counts as checked although its %s has changed", name)
		}
	})
	eachField(t, reflect.TypeFor[sdk.Description](), func(name string, set func(reflect.Value)) {
		var d sdk.Description
		set(reflect.ValueOf(&d).Elem())
		if encode(&d) == nil {
			t.Errorf("%s of a description does not come back", name)
		}
	})
}

// eachField calls back for each field of a struct, and of those in it, with a function that sets it.
func eachField(t *testing.T, of reflect.Type, back func(name string, set func(reflect.Value))) {
	t.Helper()
	for i := range of.NumField() {
		f := of.Field(i)
		set := func(v reflect.Value, to any) { v.Field(i).Set(reflect.ValueOf(to).Convert(f.Type)) }
		switch f.Type.Kind() {
		case reflect.Struct:
			eachField(t, f.Type, func(name string, inner func(reflect.Value)) {
				back(f.Name+"."+name, func(v reflect.Value) { inner(v.Field(i)) })
			})
		case reflect.String:
			back(f.Name, func(v reflect.Value) { set(v, "x") })
		case reflect.Bool:
			back(f.Name, func(v reflect.Value) { set(v, true) })
		case reflect.Int64:
			back(f.Name, func(v reflect.Value) { set(v, 7) })
		case reflect.Pointer:
			back(f.Name, func(v reflect.Value) { set(v, new(false)) })
		case reflect.Slice:
			back(f.Name, func(v reflect.Value) { v.Field(i).Set(reflect.MakeSlice(f.Type, 1, 1)) })
		default:
			t.Fatalf("no value for the field %s", f.Name)
		}
	}
}

func sealed(text string) []byte { return []byte(hexSum([]byte(text)) + "\n" + text) }

// A program that is overwritten by one of its size and time is read again: its state has another change time.
func TestIdentitiesCannotBeForged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	chtimes := func() { chtimes(t, path, time.Now().Add(-time.Hour)) }
	if err := os.WriteFile(path, []byte("one"), 0o700); err != nil {
		t.Fatal(err)
	}
	chtimes()
	c := must(Open(filepath.Join(t.TempDir(), "cache")))
	one := c.identify(t.Context(), path)
	if kept := must(filepath.Glob(filepath.Join(c.Dir(), programs+"*"))); len(kept) > 0 {
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
		if got := c.identify(t.Context(), path); got != (fingerprint{}) {
			t.Errorf("%s is taken for %+v", path, got)
		}
	}
}

// settled waits until the test's own program is no longer so young that it would be read each time.
func settled(t *testing.T, c *Cache) fingerprint {
	t.Helper()
	for end := time.After(time.Minute); ; {
		first := c.identify(t.Context(), os.Args[0])
		if kept := must(filepath.Glob(filepath.Join(c.Dir(), programs+"*"))); len(kept) > 0 {
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

// No two settings share a key, and the same have the same, whatever the order of the environment.
func TestKeys(t *testing.T) {
	base := func() Entry {
		return Entry{fingerprint: fingerprint{content: "c"},
			key: Key{Program: "/p", Workdir: "/w", Command: []string{"p", "a"}, Env: map[string]string{"A": "1", "B": "2"},
				Inherited: []string{"LC_A=1"}}}
	}
	keys := map[string]string{base().hash(steady): "nothing"}
	if again := base(); keys[again.hash(steady)] == "" {
		t.Error("a key changes by itself")
	}
	for name, change := range map[string]func(*Entry){
		"path":               func(s *Entry) { s.key.Program = "/q" },
		"content":            func(s *Entry) { s.content = "d" },
		"words":              func(s *Entry) { s.key.Command = []string{"p a"} },
		"bytes":              func(s *Entry) { s.key.Command = []string{"p", "\xff"} },
		"other bytes":        func(s *Entry) { s.key.Command = []string{"p", "\xfe"} },
		"a replacement":      func(s *Entry) { s.key.Command = []string{"p", "\ufffd"} },
		"environment":        func(s *Entry) { s.key.Env = map[string]string{"A": "12", "B": ""} },
		"inherited":          func(s *Entry) { s.key.Inherited = []string{"LC_A=2"} },
		"no environment":     func(s *Entry) { s.key.Env = nil },
		"configuration":      func(s *Entry) { s.key.Config = json.RawMessage(`{}`) },
		"more configuration": func(s *Entry) { s.key.Config = json.RawMessage(`{"a":1}`) },
	} {
		s := base()
		change(&s)
		if other, taken := keys[s.hash(steady)]; taken {
			t.Errorf("%s and %s have one key", name, other)
		}
		keys[s.hash(steady)] = name
	}
	elsewhere := base()
	elsewhere.key.Workdir = "/x"
	if base().hash(unsteady) == elsewhere.hash(unsteady) || base().hash(steady) != elsewhere.hash(steady) ||
		base().hash(steady) == base().hash(unsteady) {
		t.Error("the work folder counts where it should not, or does not where it should")
	}
	started := base() // by a desktop application
	started.key.Inherited = []string{"PATH=/usr/bin:/bin", "LC_B=1", "LANG=C", "_=/p"}
	user := base()
	user.key.Inherited = []string{"LC_A=1", "HOME=/x"}
	if started.hash(unsteady) != base().hash(unsteady) || started.hash(steady) == base().hash(steady) ||
		user.hash(unsteady) == base().hash(unsteady) {
		t.Error("the environment counts where it should not, or does not where it should")
	}
}

// A folder does not grow without bounds, and keeps files that it has not written.
func TestPrune(t *testing.T) {
	s := must(openFolder(filepath.Join(t.TempDir(), "cache")))
	file := func(name string, age time.Duration, size int64) {
		path := filepath.Join(s.dir, name)
		rewrite(t, path, nil)
		check(t, os.Truncate(path, size))
		chtimes(t, path, time.Now().Add(-age))
	}
	for i := range maxFiles + 50 {
		file(fmt.Sprintf("%s%d", programs, i), time.Duration(i)*time.Second, 1)
	}
	file(descriptions+"old", maxUnused+time.Hour, 1)
	file(fsutil.TempPrefix+"dead", 2*maxIncomplete, 1)
	file(fsutil.TempPrefix+"alive", time.Second, 1)
	file("README", 10*maxUnused, 1)
	s.prune()
	for name, want := range map[string]bool{
		programs + "0": true, programs + "100": true, fmt.Sprintf("%s%d", programs, maxFiles+20): false,
		descriptions + "old": false, fsutil.TempPrefix + "dead": false, fsutil.TempPrefix + "alive": true, "README": true,
	} {
		if _, err := os.Stat(filepath.Join(s.dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	file(descriptions+"large", time.Millisecond, maxBytes)
	s.prune()
	if left := s.files(); len(left) > 2 {
		t.Errorf("%d files are left with %d bytes", len(left), left[0].Size())
	}
}

// An entry that is used is kept, however old it is.
func TestUseKeepsAnEntry(t *testing.T) {
	s := must(openFolder(filepath.Join(t.TempDir(), "cache")))
	s.write(descriptions, "x", []byte("text"))
	chtimes(t, s.path(descriptions, "x"), time.Now().Add(-maxUnused-time.Hour))
	if text, ok := s.read(descriptions, "x"); !ok || string(text) != "text" {
		t.Fatalf("it holds %q", text)
	}
	s.prune()
	if _, ok := s.read(descriptions, "x"); !ok {
		t.Error("it is gone")
	}
	s.write(descriptions, "large", make([]byte, maxFile))
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
