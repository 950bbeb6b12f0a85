package supervise

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What may make a plugin say something else makes it be asked again.
func TestWhatIsListedAnew(t *testing.T) {
	copied := func(t *testing.T, s Spec) Spec {
		s.Command = []string{filepath.Join(t.TempDir(), "plugin")}
		copyFile(t, os.Args[0], s.Command[0])
		return s
	}
	sh := func(t *testing.T, s Spec) Spec {
		s.Command = []string{script(t, t.TempDir(), "plugin", "exec '"+must(filepath.Abs(os.Args[0]))+"'")}
		return s
	}
	for name, c := range map[string]struct {
		role   string
		make   func(*testing.T, Spec) Spec
		change func(*testing.T, *Spec)
		starts int
	}{
		"nothing":                {change: func(*testing.T, *Spec) {}},
		"arguments":              {change: func(_ *testing.T, s *Spec) { s.Command = append(s.Command, "-x") }, starts: 1},
		"environment":            {change: func(_ *testing.T, s *Spec) { s.Env["X"] = "1" }, starts: 1},
		"the host's environment": {change: func(t *testing.T, _ *Spec) { t.Setenv("LC_TEST", "1") }, starts: 1},
		"the terminal":           {change: func(t *testing.T, _ *Spec) { t.Setenv("TERM", "other") }},
		"configuration":          {role: "dynamic", change: func(_ *testing.T, s *Spec) { s.Config = json.RawMessage(`{"tools":["a"]}`) }, starts: 1},
		"dynamic":                {role: "dynamic", change: func(*testing.T, *Spec) {}, starts: 1},
		"times":                  {make: copied, change: func(t *testing.T, s *Spec) { chtimes(t, s.Command[0], time.Now()) }},
		"the same, copied":       {make: copied, change: func(t *testing.T, s *Spec) { replace(t, s.Command[0], os.Args[0]) }},
		"another program":        {make: copied, change: func(t *testing.T, s *Spec) { replace(t, s.Command[0], os.Args[0]); appendTo(t, s.Command[0]) }, starts: 1},
		"a program in place":     {make: copied, change: func(t *testing.T, s *Spec) { appendTo(t, s.Command[0]) }, starts: 1},
		"another folder":         {make: copied, change: func(t *testing.T, s *Spec) { *s = copied(t, *s) }, starts: 1},
		"a script":               {make: sh, change: func(*testing.T, *Spec) {}, starts: 1},
		"a program that runs it": {make: func(_ *testing.T, s Spec) Spec {
			s.Command = []string{"sh", "-c", "exec '" + must(filepath.Abs(os.Args[0])) + "'"}
			return s
		}, change: func(*testing.T, *Spec) {}, starts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCaching(t)
			spec := k.playing("p", cmp.Or(c.role, "noted"))
			if c.role == "dynamic" {
				spec.Config = json.RawMessage(`{"tools":["b"]}`)
			}
			if c.make != nil {
				spec = c.make(t, spec)
			}
			k.list(Options{}, spec)
			k.wantStarts(1, "at first")
			c.change(t, &spec)
			k.list(Options{}, spec)
			k.wantStarts(c.starts, "after the change")
		})
	}
}

// A program that is overwritten by one of its size and time is read again: its stamp has another change time.
func TestStampsAreNotFooled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	chtimes := func() { chtimes(t, path, time.Now().Add(-time.Hour)) }
	if err := os.WriteFile(path, []byte("one"), 0o700); err != nil {
		t.Fatal(err)
	}
	chtimes()
	c := &cache{shelf: must(openShelf(filepath.Join(t.TempDir(), "cache")))}
	one := c.identify(t.Context(), path)
	if kept := must(filepath.Glob(filepath.Join(c.shelf.dir, programs+"*"))); len(kept) > 0 {
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
	settleProgram(t)
	c := &cache{shelf: must(openShelf(filepath.Join(t.TempDir(), "cache")))}
	first := c.identify(t.Context(), os.Args[0])
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

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	in := must(os.Open(from))
	defer in.Close()
	out := must(os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755))
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// replace puts a copy in the place of a program, as builders do.
func replace(t testing.TB, path, by string) {
	t.Helper()
	copyFile(t, by, path+".new")
	check(t, os.Rename(path+".new", path))
}

// appendTo makes a program another that does the same.
func appendTo(t testing.TB, path string) {
	t.Helper()
	f := must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))
	if _, err := f.WriteString("more"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
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
	t.Setenv("LC_A", "1")
	base := func() slot {
		return slot{cache: &cache{workdir: "/w"}, path: "/p", image: image{content: "c"}, spec: Spec{Command: []string{"p", "a"}, Env: map[string]string{"A": "1", "B": "2"}}}
	}
	keys := map[string]string{base().key(steady): "nothing"}
	if again := base(); keys[again.key(steady)] == "" {
		t.Error("a key changes by itself")
	}
	for name, change := range map[string]func(*slot){
		"path":               func(s *slot) { s.path = "/q" },
		"content":            func(s *slot) { s.content = "d" },
		"words":              func(s *slot) { s.spec.Command = []string{"p a"} },
		"bytes":              func(s *slot) { s.spec.Command = []string{"p", "\xff"} },
		"other bytes":        func(s *slot) { s.spec.Command = []string{"p", "\xfe"} },
		"a replacement":      func(s *slot) { s.spec.Command = []string{"p", "\ufffd"} },
		"environment":        func(s *slot) { s.spec.Env = map[string]string{"A": "12", "B": ""} },
		"no environment":     func(s *slot) { s.spec.Env = nil },
		"configuration":      func(s *slot) { s.spec.Config = json.RawMessage(`{}`) },
		"more configuration": func(s *slot) { s.spec.Config = json.RawMessage(`{"a":1}`) },
	} {
		s := base()
		change(&s)
		if other, taken := keys[s.key(steady)]; taken {
			t.Errorf("%s and %s have one key", name, other)
		}
		keys[s.key(steady)] = name
	}
	elsewhere := base()
	elsewhere.cache.workdir = "/x"
	if base().key(unsteady) == elsewhere.key(unsteady) || base().key(steady) != elsewhere.key(steady) || base().key(steady) == base().key(unsteady) {
		t.Error("the work folder counts where it should not, or does not where it should")
	}
}
