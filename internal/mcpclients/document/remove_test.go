package document

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// What was added is taken out again: the file is as before but for the object that had it, which may stay.
func TestRemoveWhatWasAdded(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			words := strings.Fields(string(archive.Comment))
			syntax := Syntax(strings.ToUpper(words[0]))
			name, listed := strings.CutSuffix(words[1], "[]")
			c := Change{Path: []string{name}, Name: "toolhost", Listed: listed,
				Value: Map("name", "toolhost", "command", "/opt/bin/toolhost", "args", List("mcp", "--config", "/a b"))}
			for _, newline := range []string{"\n", "\r\n"} {
				before := bytes.ReplaceAll(archive.Files[0].Data, []byte("\n"), []byte(newline))
				if entry, err := c.Entry(syntax, before); entry != nil || err != nil {
					return
				}
				after, err := Apply(syntax, before, c)
				if err != nil {
					return
				}
				got, err := c.Remove(syntax, after)
				if err != nil {
					t.Fatalf("%v:\n%s", err, after)
				}
				if bytes.Equal(bytes.TrimRight(before, "\r\n"), bytes.TrimRight(got, "\r\n")) {
					continue
				}
				was, _ := Parse(syntax, before)
				is, err := Parse(syntax, got)
				left := is.Get(name)
				if err == nil && left != nil && len(left.Members)+len(left.Items) == 0 {
					was.set(name, left)
				}
				if left == nil || len(left.Members)+len(left.Items) > 0 || !Equal(was, is) {
					t.Errorf("%q became\n%q", before, got)
				}
			}
		})
	}
}

// An entry is taken out wherever it is, with all that is below it. One that shares its place with others stays.
func TestRemove(t *testing.T) {
	c := Change{Path: []string{"servers"}, Name: "toolhost"}
	listed := Change{Path: []string{"servers"}, Name: "toolhost", Listed: true}
	for _, test := range []struct {
		syntax       Syntax
		change       Change
		before, want string
	}{
		{JSON, c, `{"servers": {"toolhost": {"command": "x"}, "b": {}}}`, `{"servers": {"b": {}}}`},
		{JSON, c, `{"servers": {"a": 1, "toolhost": {}}}`, `{"servers": {"a": 1}}`},
		{JSON, c, `{"servers": {"a": 1, /* b */ "toolhost": {}, // c` + "\n}}", `{"servers": {"a": 1, /* b */ // c` + "\n}}"},
		{JSON, c, "{\"servers\": {\n  \"a\": 1, // a\n  // b\n  \"toolhost\": {\n  }\n  // c\n}}",
			"{\"servers\": {\n  \"a\": 1 // a\n  // b\n  // c\n}}"},
		{JSON, c, "{\"servers\": {\n  \"a\": 1,\n  \"toolhost\": {},\n}}", "{\"servers\": {\n  \"a\": 1,\n}}"},
		{TOML, c, "a = 1\n\n[servers.toolhost]\ncommand = \"x\"\n[servers.toolhost.env]\nA = [\n  1,\n] # a\n\n# b\n[b]\n",
			"a = 1\n\n# b\n[b]\n"},
		{TOML, c, "[servers]\ntoolhost = { command = \"x\" }\na = {}\n", "[servers]\na = {}\n"},
		{TOML, c, "servers = { toolhost = {}, a = {} }\n", ""},
		{TOML, c, "[servers.toolhost]\na = 1\n[b]\n[servers.toolhost.env]\nb = 1\n", ""},
		{YAML, listed, "servers:\n  - name: toolhost\n    args:\n      - x\n  # a\n  - name: a\n", "servers:\n  # a\n  - name: a\n"},
		{YAML, listed, "servers: # a\n  - args: [x]\n    name: toolhost\nb: 1\n", "servers: [] # a\nb: 1\n"},
		{YAML, c, "servers:\n  toolhost:\n    cmd: x\n    args:\n    - y\n\n  a: {}\n", "servers:\n\n  a: {}\n"},
		{YAML, c, "servers: {toolhost: {cmd: x}, a: {}}\n", ""},
		{YAML, c, "a: 1\rservers:\r  toolhost:\r    cmd: x\r", ""},
		{YAML, c, "x: &x {cmd: y}\nservers:\n  toolhost: *x\n", ""},
		{YAML, c, "x: &x {toolhost: {cmd: y}}\nservers:\n  <<: *x\n  a: {}\n", ""},
		{YAML, c, "x: &x\n  toolhost:\n    cmd: y\n  b: {}\nservers:\n  <<: *x\n  a: {}\n", ""},
	} {
		got, err := test.change.Remove(test.syntax, []byte(test.before))
		if _, byHand := errors.AsType[*ByHandError](err); string(got) != test.want || byHand != (test.want == "") {
			t.Errorf("%s became\n%s, %v; want\n%s", test.before, got, err, test.want)
		}
	}
}

// The key << of YAML adds the members of other mappings that a mapping has not itself.
func TestMergedMappings(t *testing.T) {
	n, err := Parse(YAML, []byte("a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc:\n  <<: [*a, *b]\n  x: 5\nd: {<<: *b}\n"+
		"e: {\"<<\": {f: 1}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"c": "x5 y2 z4", "d": "y3 z4", "e": "<<"} {
		var got []string
		for _, m := range n.Get(name).Members {
			got = append(got, m.Name+m.Value.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is %q, want %s", name, got, want)
		}
	}
	if _, err := Parse(YAML, []byte("a: &a\n  <<: *a\n")); err == nil {
		t.Error("a mapping in itself is read")
	}
}
