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
		{"behind a line that begins a block", "a.go", tabs, "if a {", "if a {\n        c()", "if a {\n\t\tc()"},
		{"in a block around lines of all depths", "a.go", tabs, "func f() {\n\tif a {\n\t\tb()\n\t}\n}",
			"if x {\n    func f() {\n        if a {\n            b()\n        }\n    }\n}",
			"if x {\n\tfunc f() {\n\t\tif a {\n\t\t\tb()\n\t\t}\n\t}\n}"},
		{"beside a line that moves", "Makefile", "a:\n\tb\n\nc:\n\td\n", "a:\n\tb\n\nc:", "a:\n    b\n\nif x\n    c:\nendif",
			"a:\n\tb\n\nif x\n\tc:\nendif"},
		{"tabs of a here-document", "a.sh", "f() {\n    a\n}\ncat <<E\nb\nE\n", "cat <<E\nb\nE\n",
			"cat <<-E\n\tb c\n\tE\n", "cat <<-E\n\tb c\n\tE\n"},
		{"lines of a string, as old_string has them", "a.sh", "c='\n\tif (a) {\n\t\tb(1);\n\t}\n'\n", "\tif (a) {\n\t\tb(1);\n\t}\n",
			"    if (a) {\n        b(2);\n    }\n", "\tif (a) {\n\t\tb(2);\n\t}\n"},
		{"a file with both, and a line that stays", "a.mk", "ifdef A\n  b = 1\nendif\nc = \\\n\td \\\n\te\n", "\td \\\n\te",
			"    d \\\n    e f", "\td \\\n\te f"},
		{"counted from that line", "a.go", tabs, "if a {", "if a {\n    c()", "if a {\n\t\tc()"},
		{"a block in it", "a.go", tabs, "if a {", "if a {\n    if c {\n        d()\n    }",
			"if a {\n\t\tif c {\n\t\t\td()\n\t\t}"},
		{"and behind it", "a.go", tabs, "if a {", "if a {\n    c()\n}\nif d {", "if a {\n\t\tc()\n\t}\n\tif d {"},
		{"behind one at the edge", "a.go", tabs, "func f() {", "func f() {\n    c()", "func f() {\n\tc()"},
		{"behind a later one", "a.go", "// F is it.\n" + tabs, "F is it.\nfunc f() {", "F is it.\nfunc f() {\n    c()",
			"F is it.\nfunc f() {\n\tc()"},
		{"beside lines of another form", "a.go", tabs + "\nvar a = 1\nvar b = 2\n\nconst text = `\n  one\n  two\n" +
			"  three\n  four\n`\n", "\t\tb()\n", "        b(1)\n", "\t\tb(1)\n"},
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
		{"far from what is indented", "a.py", "# One.\n# Two.\n\nx = 1\ny = 2\nz = 3\n\ndef f():\n\treturn x\n", "# One.\n# Two.",
			"# One.\ndef g():\n    return 1\n# Two."},
		{"alignment behind tabs", "a.go", tabs, "\t\tb()\n", "\t\tb(\n\t\t  c)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			written(t, c.file, c.data, c.old, c.fresh)
		})
	}
}

// One line of old_string is indented in another way than the others. How deep new lines are follows from the others,
// or the edit is refused.
func TestOneLineIsIndentedInAnotherWay(t *testing.T) {
	for name, unit := range map[string]string{"a.go": "\t", "a.js": "  ", "a.py": "    ", "a.yaml": "  "} {
		lines := []string{"start:", "U" + "one: 1", "U" + "two: 2", "U" + "three:", "UU" + "four: 4", "U" + "five: 5"}
		file := strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "U", unit)
		written := 0
		for odd := 1; odd < len(lines); odd++ {
			for at := 1; at < len(lines); at++ {
				for _, width := range []int{1, 2, 3, 5} {
					var old, fresh, want []string
					for i, l := range lines {
						is := strings.ReplaceAll(l, "U", unit)
						if i == at {
							more := []string{unit + "new:", unit + unit + "deeper: 7"}
							fresh, want = append(fresh, more...), append(want, more...)
						}
						want = append(want, is)
						if i == odd {
							is = strings.Repeat(" ", width) + is
						}
						old, fresh = append(old, is), append(fresh, is)
					}
					p, err := NewText(name, []byte(file)).Plan(Change{Old: strings.Join(old, "\n"),
						New: strings.Join(fresh, "\n")})
					if err != nil {
						continue
					}
					written++
					if got := string(p.Apply([]byte(file))); got != strings.Join(want, "\n")+"\n" {
						t.Errorf("%s, line %d by %d, new line %d: got\n%s", name, odd, width, at, got)
					}
				}
			}
		}
		if written == 0 && name != "a.py" && name != "a.yaml" {
			t.Errorf("%s: all is refused", name)
		}
	}
	for _, c := range []struct{ name, data, old, fresh string }{
		{"a.yml", "on:\n  dispatch:\n  schedule:\n", "on:\n   dispatch:\n   schedule:\n",
			" one: 1\n two: 2\n   dispatch:\n   schedule:\n"},
		{"a.py", "def f():\n    x = 1\n    y = 2\n", "def f():\n       x = 1\n       y = 2\n",
			"   z = 3\n       x = 1\n       y = 2\n"},
	} {
		refused(t, c.name, c.data, Change{Old: c.old, New: c.fresh})
	}
	const vim = "\t\t\t\\ 'one': 1,\n\t\t\t\\ 'two': 2,\n" // the place begins within a line
	const more = "\t\t\t\\ 'three': 3,\n"
	if _, got := planned(t, "a.vim", vim, Change{Old: "one': 1,\n\\ 'two': 2,\n", New: vim[6:] + more}); got != vim+more {
		t.Errorf("new_string alone is indented as the file: %q", got)
	}
	const block = "{\n\techo one\n\techo two\n\techo three\n}\n" // what the odd line shows is about another depth
	old := strings.Replace(block, "\techo two", "echo two", 1)
	_, got := planned(t, "a.sh", block, Change{Old: old, New: strings.Replace(old, "}", "\techo four\n}", 1)})
	if got != strings.Replace(block, "}", "\techo four\n}", 1) {
		t.Errorf("a line at the left edge by mistake:\n%s", got)
	}
	refused(t, "a.sh", block, Change{Old: old, New: strings.Replace(old, "echo two", "\techo four", 1)}) // it or its slip moves
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
		{"a comment block below", "a.php", "  switch ($x)\n  {\n    a();\n  }\n", "        switch ($x)\n        {\n",
			"        switch ($x)\n        {\n                /**\n                 * One.\n                 */\n",
			"  switch ($x)\n  {\n    /**\n     * One.\n     */\n    a();\n  }\n"},
		{"both deeper, in another way", "a.yml", "a:\n  - image: alpha\n    port: 80\n",
			"      - image: alpha\n        port: 80\n", "    - image: alpha2\n      port: 80\n      host: x\n",
			"a:\n  - image: alpha2\n    port: 80\n    host: x\n"},
		{"both less deep, in another way", "a.md", "1. One:\n\n        call(alpha)\n        call(beta)\n",
			"call(alpha)\ncall(beta)\n", "    call(alpha)\n    call(beta)\n    call(gamma)\n",
			"1. One:\n\n        call(alpha)\n        call(beta)\n        call(gamma)\n"},
		{"what follows is less deep", "a.sass", ".a\n  b\n    top: 0\n    left: 0\n", "top: 0\nleft: 0\n",
			"    top: 0\n    left: 0\n\n.c\n  top: 1\n", ".a\n  b\n    top: 0\n    left: 0\n\n.c\n  top: 1\n"},
		{"a directive comes first", "a.c", "{\n    {\n        first(a);\n        second(b);\n    }\n}\n",
			"            first(a);\n            second(b);\n",
			"#if X\n        first(a);\n        second(b, c);\n#endif\n",
			"{\n    {\n#if X\n        first(a);\n        second(b, c);\n#endif\n    }\n}\n"},
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

// Deeper by the other kind of blanks may be meant.
func TestShiftInOtherBlanks(t *testing.T) {
	const py = "def f():\n    one(alpha)\n    two(beta)\n    three(gamma)\n"
	refused(t, "a.py", py, Change{Old: "\tone(alpha)\n\ttwo(beta)\n", New: "\t\tone(alpha)\n\t\ttwo(delta)\n"})
	refused(t, "a.py", strings.ReplaceAll(py, "    ", "\t"), Change{Old: "    one(alpha)\n    two(beta)\n",
		New: "        one(alpha)\n        two(delta)\n"})
}

// One line that both strings have without its indentation says how deep it is in the file.
func TestNewLinesBelowATrimmedOne(t *testing.T) {
	const data = "func f() {\n\tif x {\n\t\tone()\n\t}\n\ttwo()\n}\n"
	for _, c := range []struct{ old, fresh, want string }{
		{"one()", "one()\n        more(1)\n        more(2)", "one()\n\t\tmore(1)\n\t\tmore(2)"},
		{"one()", "one()\n    more(1)", "one()\n\t\tmore(1)"},
		{"two()", "two()\n    more(1)\n    if y {\n        more(2)\n    }",
			"two()\n\tmore(1)\n\tif y {\n\t\tmore(2)\n\t}"},
	} {
		if _, got := planned(t, "a.go", data, Change{Old: c.old, New: c.fresh}); got != strings.Replace(data, c.old, c.want, 1) {
			t.Errorf("%q gives\n%s", c.fresh, got)
		}
	}
}

// A new_string that is indented as the file is, where old_string is not, has lines such as } that are as deep as other
// ones of old_string: each stays the one that it is.
func TestNewStringIsIndentedAsTheFile(t *testing.T) {
	const block = "\tfor {\n\t\tif a {\n\t\t\tone(alpha)\n\t\t}\n\t\tif b {\n\t\t\ttwo(beta)\n\t\t}\n" +
		"\t\tthree(gamma)\n\t}\n\treturn nil\n"
	for name, unit := range map[string]string{"a.go": "\t", "a.js": "  ", "a.rs": "    "} {
		was := strings.ReplaceAll(block, "\t", unit)
		data := "start {\n" + was + "}\n"
		for _, change := range [][2]string{
			{"one(alpha)", "one(alpha, x)"}, {"two(beta)", "two(x)\n\t\t\tmore(x)"}, {"\t\tif b {\n\t\t\ttwo(beta)\n\t\t}\n", ""},
			{"\t\tthree(gamma)\n", "\t\tif c {\n\t\t\tthree(gamma)\n\t\t}\n"}, {"\t\t}\n\t\tif b {\n", "\t\t} else {\n"},
			{"\t\tif b {\n\t\t\ttwo(beta)\n\t\t}\n", "\t\ttwo(beta)\n"},
			{"\t\tif a {\n\t\t\tone(alpha)\n\t\t}\n\t\tif b {\n\t\t\ttwo(beta)\n\t\t}\n", "\t\tone(alpha)\n\t\ttwo(beta)\n"},
		} {
			fresh := strings.ReplaceAll(strings.Replace(block, change[0], change[1], 1), "\t", unit)
			want := replaced(data, was, fresh)
			var flat []string
			for l := range strings.Lines(was) {
				flat = append(flat, strings.TrimLeft(l, blanks))
			}
			dedented := strings.ReplaceAll("\n"+was, "\n"+unit, "\n")[1:]
			for _, old := range []string{dedented, strings.Join(flat, "")} {
				p, err := NewText(name, []byte(data)).Plan(Change{Old: old, New: fresh})
				if err != nil {
					t.Errorf("%s: %q refused: %v", name, change, err)
				} else if got := string(p.Apply([]byte(data))); got != want {
					t.Errorf("%s: %q gives\n%s", name, old, got)
				}
			}
		}
	}
	// The line that goes leaves new_string deeper than the place.
	const python = "class A:\n    # Of the one above.\n\n    def f(self):\n        \"\"\"Says it.\"\"\"\n        return one\n"
	_, got := planned(t, "a.py", python, Change{Old: "def f(self):\n    \"\"\"Says it.\"\"\"\n    return one\n",
		New: "        \"\"\"Says it.\"\"\"\n        return one\n"})
	if got != replaced(python, "    def f(self):\n", "") {
		t.Errorf("got\n%s", got)
	}
	// Which of two lines goes that old_string has alike is not known.
	const ends = "list {\n\t\t\t},\n\t\t},\n\t},\n\tlast(one),\n}\n"
	if r := refused(t, "a.go", ends, Change{Old: "},\n},\n},\nlast(one),\n", New: "},\n},\nlast(one),\n"}); r.Kind != Conflict {
		t.Errorf("twins: %v", r)
	}
	const comment = "\t// Flags of the program,\n\t// with their names.\n\tfirst(one)\n\tsecond(two)\n\tthird(three)\n"
	for _, fresh := range []string{"", "\tto be read\n"} {
		refused(t, "a.go", comment, Change{Old: "\t// with their names.\n\t// with their names.\n\tfirst(one)\n\tsecond(two)\n",
			New: "\t// with their names.\n" + fresh + "\tfirst(one)\n\tsecond(two)\n"})
	}
}

// A bracket of new_string that is as deep as another one of old_string says nothing: here all else is as in the file.
func TestNewStringIndentedAsFile(t *testing.T) {
	const data = "int f() {\n  if (x) {\n    g();\n  }\n  return 0;\n}\n"
	const old = "    return 0;\n  }\n"
	const fresh = "  return 0;\n}\n\nint h() {\n  if (y) {\n    k();\n  }\n  return 1;\n}\n"
	_, got := planned(t, "a.c", data, Change{Old: old, New: fresh})
	if want := replaced(data, "  return 0;\n}\n", fresh); got != want {
		t.Errorf("%s", got)
	}
	// Deeper by as much in both strings, and by chance as deep as the file at its left edge.
	deeper := func(s string) string {
		return "  " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"
	}
	_, got = planned(t, "a.c", data, Change{Old: deeper("  return 0;\n"), New: deeper("  return 0;\n}\nint h() {\n  return 0;\n")})
	if want := replaced(data, "  return 0;\n", "  return 0;\n}\nint h() {\n  return 0;\n"); got != want {
		t.Errorf("%s", got)
	}
}

// Blanks behind the tabs of new lines are no tabs.
func TestTabsWithBlanksBehindThem(t *testing.T) {
	const yaml, js = "jobs:\n  - name: one\n    with:\n      version: latest\n", "f({\n      a: 1,\n      b: 2,\n})\n"
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"a line that changes", "a.yaml", yaml, "    with:\n      version: latest", "    with:\n\t  version: first",
			"    with:\n      version: first"},
		{"lines that come", "a.js", js, "      b: 2,\n", "      b: 2,\n\t  c: 3,\n\t  d: 4,\n", "      b: 2,\n      c: 3,\n      d: 4,\n"},
		{"more of them", "a.js", js, "      a: 1,\n", "\t  a: 3,\n", "      a: 3,\n"},
	} {
		if _, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); got != strings.Replace(c.data, c.old, c.want, 1) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
