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
		{"tabs, and a line moves deeper", "a.js", blank, "        b()\n    }\n", "\t\tif (c) {\n\t\t\tb()\n\t\t}\n\t}\n",
			"        if (c) {\n            b()\n        }\n    }\n"},
		{"blanks, and a line moves deeper", "a.go", tabs, "\tif a {\n\t\tb()\n",
			"    if a {\n        if c {\n            b()\n        }\n", "\tif a {\n\t\tif c {\n\t\t\tb()\n\t\t}\n"},
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

// New lines that are indented as the file already are not indented once more because old_string lost its indentation.
func TestNewStringIndentedAsTheFile(t *testing.T) {
	const py = "class A:\n    def f():\n        x = 1\n        if x:\n            y = 2\n"
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"YAML", "a.yml", "a:\n  b:\n    image: one\n    port: 80\n", "image: one\nport: 80\n",
			"    image: two\n    port: 80\n", "a:\n  b:\n    image: two\n    port: 80\n"},
		{"Python", "a.py", py, "x = 1\nif x:\n    y = 2\n", "        x = 5\n        if x:\n            y = 2\n",
			strings.Replace(py, "x = 1", "x = 5", 1)},
		{"Python, dedented in part", "a.py", py, "    x = 1\n    if x:\n", "        x = 5\n        z = 3\n        if x:\n",
			strings.Replace(py, "x = 1\n", "x = 5\n        z = 3\n", 1)},
		{"Go", "a.go", "func f() {\n\tif a {\n\t\tb()\n\t\tc()\n\t}\n}\n", "b()\nc()\n", "\t\tb(1)\n\t\tc()\n",
			"func f() {\n\tif a {\n\t\tb(1)\n\t\tc()\n\t}\n}\n"},
		{"a block around a line", "a.py", "def f():\n    b()\n    c()\n", "b()\nc()\n", "    b()\n    if a:\n        c()\n",
			"def f():\n    b()\n    if a:\n        c()\n"},
		{"a block around it, indented as old_string", "a.py", "def f():\n    b()\n    c()\n", "b()\nc()\n",
			"if a:\n    b()\n    c()\n", "def f():\n    if a:\n        b()\n        c()\n"},
		{"a line of the file", "a.js", "if (user.isActive && user.age > 18) {\n  grant(user);\n}",
			"if(user.isActive&&user.age>18){\ngrant(user)\n}", "if (user.isActive) {\n  grant(user);\n}",
			"if (user.isActive) {\n  grant(user);\n}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
