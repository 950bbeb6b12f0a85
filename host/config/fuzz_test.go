package config

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/toolhost/toolhost/host/policy"
)

// FuzzParse checks for any file that there is no panic, the same result twice, and either a valid config or a
// printable report.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := Parse("config.hcl", src)
		again, err2 := Parse("config.hcl", src)
		if err != nil {
			checkReport(t, err, err2)
			return
		}
		if diff := cmp.Diff(viewOf(c), viewOf(again)); diff != "" {
			t.Errorf("two readings differ: %s", diff)
		}
		checkConfig(t, c)
	})
}

func checkReport(t *testing.T, err, again error) {
	wrong, ok := errors.AsType[*Error](err)
	if !ok || len(wrong.Mistakes) == 0 {
		t.Fatalf("%v is no *Error with mistakes", err)
	}
	text := err.Error()
	if again == nil || again.Error() != text {
		t.Errorf("two readings differ:\n%v\n%v", err, again)
	}
	if !utf8.ValidString(text) {
		t.Errorf("the report is not UTF-8: %q", text)
	}
	for line := range strings.Lines(text) {
		if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl); i >= 0 {
			t.Errorf("control character in %q", line)
		}
	}
}

func checkConfig(t *testing.T, c *Config) {
	for _, p := range c.Plugins {
		if p.Command == nil {
			p.Command = []string{"any"}
		}
		if err := p.Check(); err != nil {
			t.Error(err)
		}
		if p.Config != nil && !json.Valid(p.Config) {
			t.Errorf("config of %s is no JSON: %s", p.Name, p.Config)
		}
		c.locate(p.Name, "a.b")
	}
	if _, err := policy.New(c.Policies...); err != nil {
		t.Error(err)
	}
	for _, l := range c.Policies {
		for _, r := range l.Rules {
			tryRule(t, &r, `{"command":"ls && $x > y","path":"a/../b"}`)
		}
	}
	for _, d := range c.Discovery {
		if len(d.Command) == 0 || d.Timeout <= 0 {
			t.Errorf("discovery %+v", d)
		}
	}
}
