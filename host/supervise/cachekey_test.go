package supervise

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
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
