package document

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// Whatever the file is, a change is made as meant or not at all, a second time changes nothing, and comments stay.
func FuzzApply(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		if archive, err := txtar.ParseFile(file); err == nil {
			f.Add(int(filepath.Base(file)[0]), archive.Files[0].Data)
		}
	}
	f.Fuzz(func(t *testing.T, kind int, data []byte) {
		syntax := map[int]Syntax{'t': TOML, 'y': YAML}[kind]
		c := Change{Path: []string{map[int]string{'t': "mcp_servers", 'y': "extensions"}[kind]}, Name: "toolhost",
			Value: Map("command", "/x", "args", List("mcp", "a\nb"), "enabled", Flag(true))}
		if syntax == "" {
			syntax, c.Path[0] = JSON, "mcpServers"
		}
		start := time.Now()
		after, err := Apply(syntax, data, c)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%d bytes took %v", len(data), took)
		}
		if err != nil {
			return
		}
		again, err := Apply(syntax, after, c)
		if err != nil || !bytes.Equal(again, after) {
			t.Errorf("%q became %q, then %q, %v", data, after, again, err)
		}
		if removed, err := c.Remove(syntax, after); err == nil {
			if entry, err := c.Entry(syntax, removed); entry != nil || err != nil {
				t.Errorf("%q still has the entry, %v: %q", after, err, removed)
			}
		}
		for line := range strings.Lines(string(data)) {
			if comment := strings.TrimSpace(line); strings.HasPrefix(comment, "// ") && syntax == JSON &&
				!bytes.Contains(after, []byte(comment)) {
				t.Errorf("%q lost the comment %q: %q", data, comment, after)
			}
		}
	})
}

// Hostile files cost neither memory nor time nor the stack.
func TestHostileFiles(t *testing.T) {
	many := func(s string, n int) []byte { return []byte(strings.Repeat(s, n)) }
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i < 'n'; i++ {
		bomb += string(i) + ": &" + string(i) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(i-1)+",", 10), ",") + "]\n"
	}
	var keys strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&keys, "k%d=1\n", i)
	}
	for name, c := range map[string]struct {
		syntax Syntax
		data   []byte
	}{
		"deep JSON":        {JSON, many("[", 1<<20)},
		"deep objects":     {JSON, many(`{"a":`, 1<<18)},
		"deep TOML":        {TOML, append([]byte("a="), many("[", 1<<20)...)},
		"deep braces":      {TOML, append([]byte("a="), many("{a=", 1<<18)...)},
		"long key":         {TOML, append(many("a.", 1<<18), []byte("a=1")...)},
		"deep YAML":        {YAML, many("[", 1<<20)},
		"deep sequences":   {YAML, many("- ", 1<<18)},
		"aliases":          {YAML, []byte(bomb)},
		"alias to itself":  {YAML, []byte("a: &a [*a]")},
		"open string":      {JSON, append([]byte(`"`), many(`\`, 1<<20)...)},
		"open comment":     {JSON, []byte("/*")},
		"open long string": {TOML, []byte(`a = """`)},
		"not UTF-8":        {JSON, []byte("{\n\"\xff\": 1}")},
		"too large":        {JSON, many(" ", MaxSize+1)},
		"half an escape":   {TOML, []byte(`a = "\u12"`)},
		"many keys":        {TOML, []byte(keys.String() + "x")},
		"two documents":    {YAML, []byte("a: 1\n---\nb: 1\n")},
		"no closing quote": {TOML, []byte(`"`)},
		"backslash at end": {JSON, []byte(`{"a\`)},
	} {
		start := time.Now()
		n, err := Parse(c.syntax, c.data)
		if err == nil {
			t.Errorf("%s: it was read as %s", name, n.Kind)
		} else if len(err.Error()) > 300 {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}
