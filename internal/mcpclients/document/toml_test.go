package document

import (
	"strings"
	"testing"
)

// What other programs refuse in TOML is refused here too, with its line: a change would not be read by them.
func TestInvalidTOML(t *testing.T) {
	for text, want := range map[string]string{
		"a = 1\nb = \"x\x01\"":           "line 2: the character U+0001 is not allowed",
		"# a\x1f":                        "line 1: the character U+001F",
		"a = \"b\\\n\"":                  "line 1: this string is not closed",
		"a = \"b\\\r\n\"":                "line 1: this string is not closed",
		"a = '''\n\x00'''":               "line 2: the character U+0000",
		"a = 1\rb = 2":                   "line 1: the character U+000D",
		"a = 1 # b\r":                    "line 1: the character U+000D",
		"a = 01":                         "not a value of TOML",
		"a = -00.5":                      "not a value of TOML",
		"a = 1__0":                       "not a value of TOML",
		"a = 1.5_":                       "not a value of TOML",
		"a = 0x_f":                       "not a value of TOML",
		"a = 0b1_":                       "not a value of TOML",
		"a = 2026-13-01":                 "not a value of TOML",
		"a = 2026-01-32":                 "not a value of TOML",
		"a = 24:00:00":                   "not a value of TOML",
		"a = 2026-01-01T00:00:61Z":       "not a value of TOML",
		"a = 2026-01-01T00:00:00+24:00":  "not a value of TOML",
		"a.b = 1\n[a]":                   "line 2: a is there already, on line 1",
		"[a]\nb.c.d = 1\n[a.b.c]":        "line 3: a.b.c is there already, on line 2",
		"[a.b]\nc = 1\n[a]\nb.d = 1":     "line 4: b is not a table that can be added to; it is on line 1",
		"[a.b.c]\nd = 1\n[a]\nb.c.e = 1": "line 4: c is not a table",
		"[[a.b]]\n[a]\nb.c = 1":          "line 3: b is not a table",
		"[mcp_servers]\na.b = 1\n[mcp_servers.a]": "line 3: mcp_servers.a is there already, on line 2",
	} {
		if _, err := Parse(TOML, []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// What is valid is changed, and all that was there stays.
func TestValidTOML(t *testing.T) {
	c := Change{Path: []string{"servers"}, Name: "toolhost", Value: Map("command", "/x")}
	for _, text := range []string{"a = 1e1_00\n", "a = [0, +0.0, -0, 0e0, 1_0, 0xf_f, 0b0, -inf, +nan]\n",
		"a = \"\t\" # \t\r\nb = 1\r\n",
		"servers.a.command = 1\nservers.b.c = 2\n", "[a]\nb.c = 1\nb.d = 2\n[a.b.e]\nf = 1\n", "a = {b.c = 1, b.d = 2}\n",
		"[a.b.c]\nd = 1\n[a]\nb.e = 1\n", "[[a.b.c]]\n[a]\nb.d.e = 1\n", "# a\x7f\n",
		"[[a]]\nb.c = 1\n[[a]]\nb.c = 1\n", "a = 2026-12-31 23:59:60.5-23:59\n", "a = [07:00:00, 2026-02-29]\n"} {
		if out, err := Apply(TOML, []byte(text), c); err != nil || !strings.HasPrefix(string(out), text) {
			t.Errorf("%q became %q, %v", text, out, err)
		}
	}
}
