package match

import (
	"strings"
	"testing"
)

// New lines are indented as the file is, whichever of the two strings has the other form.
func TestNewLinesHaveTheFormOfTheFile(t *testing.T) {
	const tabs = "func f() {\n\tif a {\n\t\tb()\n\t}\n}\n"
	const blank = "function f() {\n    if (a) {\n        b()\n    }\n}\n"
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"blanks in new_string", "a.go", tabs, "\t\tb()\n\t}\n", "        b(1)\n        c()\n    }\n",
			"\t\tb(1)\n\t\tc()\n\t}\n"},
		{"blanks in new lines alone", "a.go", tabs, "\t\tb()\n\t}\n", "\t\tb()\n        c()\n\t}\n",
			"\t\tb()\n\t\tc()\n\t}\n"},
		{"tabs in new_string", "a.js", blank, "        b()\n    }\n", "\t\tb(1)\n\t\tc()\n\t}\n",
			"        b(1)\n        c()\n    }\n"},
		{"blanks in old_string", "a.go", tabs, "        b()\n    }\n", "\t\tb(1)\n\t\tc()\n\t}\n",
			"\t\tb(1)\n\t\tc()\n\t}\n"},
		{"eight of them", "a.go", tabs, "\t\tb()\n", "                b(1)\n", "\t\tb(1)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := strings.Replace(c.data, c.old, c.want, 1)
			if c.name == "blanks in old_string" {
				want = strings.Replace(c.data, "\t\tb()\n\t}\n", c.want, 1)
			}
			if _, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"to blanks on purpose", "a.go", tabs, "\t\tb()\n", "        b()\n"},
		{"a string", "a.go", tabs, "\t\tb()\n", "\t\tb(`\n  c {\n    d\n`)\n"},
		{"a file with both", "a.c", "\ta();\n    b();\n\tc();\n", "\ta();\n", "    a(1);\n"},
		{"alignment behind tabs", "a.go", tabs, "\t\tb()\n", "\t\tb(\n\t\t  c)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			written(t, c.file, c.data, c.old, c.fresh)
		})
	}
}
