package match

import (
	"strings"
	"testing"
)

// Tabs among blanks that nothing in both strings explains are those of a uniform file, where they matter. Else the edit
// is refused.
func TestTabsThatMatter(t *testing.T) {
	const mk, py = "build:\n\tgo build\n\ntest:\n\tgo test\n", "def f():\n    x = 1\n\ndef g():\n    y = 2\n"
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"a rule", "Makefile", mk, "test:", "lint:\n    golint\n\ntest:", "lint:\n\tgolint\n\ntest:"},
		{"the first line of a recipe", "a.mk", mk, "build:", "build:\n        go vet", "build:\n\tgo vet"},
		{"a conditional", "Makefile", mk, "build:", "ifdef X\n  Y := 1\nendif\nbuild:", "ifdef X\n  Y := 1\nendif\nbuild:"},
		{"of which width is not clear", "Makefile", mk, "\tgo test\n", "\tgo test\n\nlint:\n     golint\n", ""},
		{"a first rule", "Makefile", "X = 1\n", "X = 1\n", "X = 1\n\nall:\n    echo\n", ""},
		{"a recipe that continues", "Makefile", mk, "\tgo test\n", "\tgo test \\\n    -v\n", "\tgo test \\\n\t-v\n"},
		{"Python", "a.py", py, "def f():", "def f():\n\tz = 2", "def f():\n    z = 2"},
		{"Python with tabs", "a.py", strings.ReplaceAll(py, "    ", "\t"), "def f():", "def f():\n    z = 2",
			"def f():\n\tz = 2"},
		{"nothing of both", "a.py", py, "    x = 1", "    x = 2\n    z = 3", "    x = 2\n    z = 3"},
		{"a file of both", "a.py", strings.Replace(py, "    y", "\ty", 1), "def f():", "def f():\n\tz = 2", ""},
		{"a flat file", "a.py", "x = 1\n", "x = 1", "if y:\n\tx = 1", "if y:\n\tx = 1"},
		{"a string", "a.py", "s = \"\"\"\n    a\n    b\"\"\"\ndef f():\n\tx()\n", "    a\n", "    a\n\tc\n", "    a\n\tc\n"},
		{"YAML", "a.yaml", "a:\n  b: 1\n", "a:", "a:\n\tc: 2", "a:\n  c: 2"},
		{"a flat file of YAML", "a.yaml", "a: 1\n", "a: 1", "a:\n\tc: 2", ""},
		{"a text in YAML", "a.yaml", "a: |\n  x:\n", "  x:\n", "  x:\n  \ty\n", "  x:\n  \ty\n"},
		{"another language", "a.txt", mk, "test:", "lint:\n    golint\n\ntest:", "lint:\n    golint\n\ntest:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := Change{Old: c.old, New: c.fresh}
			if c.want == "" {
				if r := refused(t, c.file, c.data, change); r.Kind != Guard || !strings.Contains(r.Message, "indented with") {
					t.Errorf("%v", r)
				}
			} else if p, got := planned(t, c.file, c.data, change); got != strings.Replace(c.data, c.old, c.want, 1) ||
				(len(p.Warnings) > 0) != (c.fresh != c.want) {
				t.Errorf("pass %d: %q, warnings %q", p.Pass, got, p.Warnings)
			}
		})
	}
}

// What is written under a line that begins a block is deeper than that line, unless all of the block goes.
func TestDedentUnderItsBlock(t *testing.T) {
	const py = "class A:\n    def f(self):\n        a(x)\n        b(x)\n\n    def g(self):\n        return 2\n"
	const yml = "a:\n  b: 1\n  c: 2\nd:\n  - e: 1\n    f: 2\n"
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"a body", "a.py", py, "        a(x)\n        b(x)\n", "a(x)\nc(x)\n"},
		{"a method", "a.py", py, "    def f(self):\n        a(x)\n        b(x)\n", "def f(self):\n    a(x)\n"},
		{"found by another pass", "a.py", py, "        a( x)\n        b(x)\n", "a( x)\nc(x)\n"},
		{"behind a comment", "a.py", strings.Replace(py, "self):\n", "self):  # it\n        # runs\n", 1),
			"        a(x)\n        b(x)\n", "a(x)\nc(x)\n"},
		{"YAML", "a.yaml", yml, "  b: 1\n  c: 2\n", "b: 3\nc: 2\n"},
		{"deeper", "a.py", py, "        a(x)\n        b(x)\n", "            a(x)\n            b(x)\n            c(x)\n"},
		{"less deep", "a.py", py, "        a(x)\n        b(x)\n", "      a(x)\n      b(x)\n      c(x)\n"},
		{"beside a line at the edge", "a.yaml", yml, "  c: 2\nd:\n  - e: 1\n", "    c: 2\nd:\n    - e: 1\n    - g: 2\n"},
		{"YAML, deeper", "a.yaml", yml, "  b: 1\n  c: 2\n", "    b: 1\n    c: 2\n    d: 3\n"},
		{"the head of a block of YAML", "a.yaml", "a:\n  b:\n    c: 1\n    d: 2\n", "  b:\n    c: 1\n", "    b:\n      c: 3\n"},
		{"a definition, in another way", "a.py", "a = 1\n\ndef f(x):\n    a(x)\n    b(x)\n\nc(x)\n", "def f(x):\n    a(x)\n    b(x)\n",
			"    def f(x):\n        a(x)\n        c(x)\n"},
		{"a branch that another follows", "a.py", "def f(x):\n    if x:\n        a(x)\n    else:\n        b(x)\n",
			"    if x:\n        a(x)\n", "        c(x)\n        if x:\n            a(x)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := refused(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); r.Kind != Guard || r.Excerpt == "" {
				t.Errorf("%v", r)
			}
		})
	}
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"the line above is quoted", "a.py", py, "    def f(self):\n        a(x)\n        b(x)\n", "    f = 1\n"},
		{"the line above is quoted and stays", "a.py", py, "    def f(self):\n        a(x)\n",
			"    def f(self):\n    a(x)\n"},
		{"a block around it", "a.py", py, "        a(x)\n        b(x)\n", "        if x:\n            a(x)\n            b(x)\n"},
		{"a block moves", "a.py", py, "        b(x)\n\n    def g(self):\n", "    b(x)\n\ndef g(self):\n"},
		{"a definition moves, and a line above it comes", "a.py", "def f(x):\n    a(x)\n    b(x)\n\nc(x)\n", "def f(x):\n    a(x)\n    b(x)\n",
			"    @cached\n    def f(x):\n        a(x)\n        b(x)\n"},
		{"a body goes", "a.py", py, "        a(x)\n        b(x)\n", ""},
		{"a line that begins a block comes", "a.py", py, "        a(x)\n", "        if x:\n        a(x)\n"},
		{"out of the block", "a.py", py + "        for y in x:\n            a(y)\n            b(y)\n            c(y)\n",
			"            b(y)\n            c(y)\n", "        b(y)\n        c(x)\n"},
		{"into the block above", "a.py", py + "        for y in x:\n            a(y)\n        b(y)\n        c(y)\n",
			"        b(y)\n        c(y)\n", "            b(y)\n            c(x)\n"},
		{"a block began before", "a.py", py + "        with x:  # it\n        b(y)\n        c(y)\n",
			"        b(y)\n        c(y)\n", "            b(y)\n            c(x)\n"},
		{"a block went before", "a.py", "def f():\n        b(y)\n        c(y)\n    return y\n",
			"        b(y)\n        c(y)\n", "    b(y)\n    c(x)\n"},
		{"in brackets", "a.py", "x = f(\n        b(y),\n        c(y),\n)\n", "        b(y),\n        c(y),\n",
			"    b(y),\n    c(x),\n"},
		{"comments", "a.py", "def f():\n    b(y)\n    # one of these\n    # two of these\n    c(y)\n",
			"    # one of these\n    # two of these\n", "        # one of these\n        # two of those\n"},
		{"an item comes", "a.yaml", "k: 1\nl: 2\nm: 3\n", "k: 1\nl: 2\nm: 3\n", "- k: 1\n  l: 2\n  m: 4\n"},
		{"prose", "a.rst", "Use::\n\n    one two\n    three four\n", "    one two\n    three four\n",
			"  one two\n  three fours\n"},
		{"text", "a.py", "x = \"\"\"\nUse:\n    one\n    two\n\"\"\"\n", "    one\n    two\n", "one\ntwo, three\n"},
		{"a list of YAML", "a.yaml", yml, "  - e: 1\n    f: 2\n", "- e: 1\n  f: 3\n"},
		{"another key of YAML", "a.yaml", yml, "  b: 1\n  c: 2\n", "other: 3\n\nmore: 2\n"},
		{"another language", "a.txt", py, "        a(x)\n        b(x)\n", "a(x)\nc(x)\n"},
	} {
		t.Run(c.name, func(t *testing.T) { written(t, c.file, c.data, c.old, c.fresh) })
	}
}
