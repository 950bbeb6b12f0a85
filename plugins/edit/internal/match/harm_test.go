package match

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestLineBreaksLost(t *testing.T) {
	const py = "def f():\n    x = 1\n    return x\n"
	for _, c := range []struct{ name, data, old, fresh, want string }{
		{"at the end", py, "    x = 1\n", "    x = 5", "def f():\n    x = 5\n    return x\n"},
		{"at the start", py, "\n    x = 1", "    x = 5", "def f():\n    x = 5\n    return x\n"},
		{"at the start, with the indentation", py, "\n    x = 1", "x = 5", "def f():\n    x = 5\n    return x\n"},
		{"at both ends", py, "\n    x = 1\n", "    x = 5", "def f():\n    x = 5\n    return x\n"},
		{"with the next line's indentation", py, "x = 1\n    ", "x = 5", "def f():\n    x = 5\n    return x\n"},
		{"two of them", "a\n\nb\n", "a\n\n", "c", "c\n\nb\n"},
		{"at the end of the file", py, "return x\n", "return 2", "def f():\n    x = 1\n    return 2\n"},
		{"CRLF", "a\r\nb\r\nc\r\n", "b\n", "B", "a\r\nB\r\nc\r\n"},
		{"CRLF at the start", "a\r\nb\r\nc\r\n", "\nb", "B", "a\r\nB\r\nc\r\n"},
		{"new lines", py, "    x = 1\n", "    x = 5\n    y = 6", "def f():\n    x = 5\n    y = 6\n    return x\n"},
		{"the rest of a line goes", py, " = 1\n", "", "def f():\n    x\n    return x\n"},
		{"a line and both its breaks go", "a\nb\nc\n", "\nb\n", "", "a\nc\n"},
		{"a line goes", py, "    x = 1\n", "", "def f():\n    return x\n"},
		{"a line goes, without its indentation", py, "x = 1\n", "", "def f():\n    return x\n"},
		{"a break that new has", "a\n\nb\n", "a\n\n", "c\n", "c\nb\n"},
		{"a blank line goes", "a\n\nb\n", "\nb", "b", "a\nb\n"},
		{"a line comes before a blank one", "a\n\nb\n", "\nb\n", "x\n\nb\n", "a\nx\n\nb\n"},
		{"lines are joined that are both quoted", "f(\n    a)\n", "f(\n    a)", "f(a)", "f(a)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, got := planned(t, "a.py", c.data, Change{Old: c.old, New: c.fresh})
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			literal := strings.Replace(c.data, c.old, c.fresh, 1)
			if said := strings.Contains(strings.Join(p.Warnings, " "), "line break"); said != (strings.Count(literal,
				"\n") < strings.Count(got, "\n") || strings.Contains(c.data, "\r")) {
				t.Errorf("warnings %q", p.Warnings)
			}
			if strings.Contains(c.data, "\r") {
				return
			}
			if _, got := planned(t, "a.py", c.data, Change{Old: c.old, New: c.fresh, Strictness: Exact}); got != literal {
				t.Errorf("exact gives %q", got)
			}
		})
	}
	r := refused(t, "a.py", py, Change{Old: "    x = 1\n", New: "    x = 1"})
	if r.Kind != Guard || !strings.Contains(r.Excerpt, "return x") {
		t.Errorf("only the break: %v\n%s", r, r.Excerpt)
	}
	if _, got := planned(t, "a.py", py, Change{Old: "x = 1\n", New: "x = 5",
		Strictness: Exact}); got != "def f():\n    x = 5    return x\n" {
		t.Errorf("exact is by the letter: %q", got)
	}
}

// A line break that new_string alone ends with is no blank line, unless it is all that changes, sets lines apart, or
// the file has none there.
func TestLineBreaksGained(t *testing.T) {
	const py = "def f():\n    x = 1\n    return x\n"
	for _, c := range []struct{ name, data, old, fresh, want string }{
		{"a line changes", py, "    x = 1", "    x = 5\n", "def f():\n    x = 5\n    return x\n"},
		{"CRLF in new_string", py, "    x = 1", "    x = 5\r\n", "def f():\n    x = 5\n    return x\n"},
		{"CRLF in the file", "a\r\nb\r\n", "a", "c\n", "c\r\nb\r\n"},
		{"in another form", py, "  x = 1", "  x = 5\n", "def f():\n    x = 5\n    return x\n"},
		{"escaped", "a(\"b\")\nc()\n", `a(\"b\")`, "a(\"d\")\n", "a(\"d\")\nc()\n"},
		{"a line is similar", "def total(items):\n    amount = prepare(items)\n    check(amount, items)\n    log(amount)\n    done()\n",
			"    amount = prepar(items)\n    check(amount, items)\n    log(amount)",
			"    amount = prepar(items)\n    check(amount, items)\n    log(items)\n",
			"def total(items):\n    amount = prepare(items)\n    check(amount, items)\n    log(items)\n    done()\n"},
		{"lines come before a blank one", "a()\n\nb()\n", "a()", "a()\n\nc()\n", "a()\n\nc()\n\nb()\n"},
		{"a blank line comes farther up", "a()\nb()\nc()\n", "a()\nb()", "a()\n\nb()\n", "a()\n\nb()\nc()\n"},
		{"a quoted blank line is the last", "a()\nb()\n\nc()\nd()\n", "b()\n\nc()", "c()\nb()\n", "a()\nc()\nb()\n\nd()\n"},
		{"a separator is not quoted", "a(1);\nb(2);\n", "a(1)", "a(3)\n", "a(3);\nb(2);\n"},
		{"a comma is not quoted", "[\n  one,\n  two,\n]\n", "  one", "  three\n", "[\n  three,\n  two,\n]\n"},
		{"it is all that changes", py, "    x = 1", "    x = 1\n", "def f():\n    x = 1\n\n    return x\n"},
		{"it is all that changes, behind blanks", "a  \nb\n", "a  ", "a  \n", "a  \n\nb\n"},
		{"so is one that it begins with", "a()\nb()\nc()\n", "b()", "\nd()\n", "a()\n\nd()\n\nc()\n"},
		{"lines come that it sets apart", "a()\nb()\n", "a()", "a()\n\nc()\n", "a()\n\nc()\n\nb()\n"},
		{"the file has none there", "a\nb", "b", "c\n", "a\nc\n"},
		{"a line is broken", "f(a, b)\n", "f(a,", "f(x,\n", "f(x,\n b)\n"},
		{"two of them", "a\nb\n", "a", "c\n\n", "c\n\n\nb\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := "a.py"
			if strings.Contains(c.data, ";") {
				file = "a.c"
			}
			if _, got := planned(t, file, c.data, Change{Old: c.old, New: c.fresh}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Each language's way to say that code was left out.
func TestPlaceholders(t *testing.T) {
	lines := []string{"...", "…", "    ...", "// ...", "//...", "# ...", "#…", "/* ... */", "<!-- ... -->", "-- ...",
		"; ...", "% ...", "{/* ... */}", "(* ... *)", "{- ... -}",
		"// unchanged lines omitted", "# (12 lines omitted)", "/* body omitted for brevity */", "// the rest is left as is",
		"// same imports", "# ... code not shown", "// 20 more lines", "// (unchanged)", "# (unchanged)", "/* rest of the code */", "-- existing code --", "-- existing code",
		"// existing code", "# rest of the file", "<!-- rest of the page unchanged -->",
		"// ... other methods ...", "# ... more cases ...", "/* ... existing code ... */", "[... rest of the file ...]",
		"<rest of the code unchanged>", "(rest of the code)", "{# ... #}",
		"\" ...", "' ...", "REM ...", "! ...", "// unchanged", "# same as before", "// rest of function remains the same",
		"// ... 기존 코드 ...", "# 기존 코드 ...", "<%# ... %>", "// [...]", "--[[ ... ]]", "* ...",
		"// ... lines 10 to 20 ...", "... unchanged ...", "...omitted...",
		"// existing code here", "// (same as above)", "// Keep the rest the same",
		"// Rest of the component remains the same", "{/* rest of JSX */}", "# (rest of the function is unchanged)",
		"// ---- unchanged ----",
		"# [lines 12 to 30 unchanged]", "// other imports", "# etc ...", "// and so on...", "/* ... rest of styles ... */",
		"// your code here", "// 나머지 코드는 동일", "# 이하 생략", "// 他のコードは変更なし",
		"// 其余代码不变"}
	const data = "one(alpha)\ntwo(beta)\nthree(gamma)\nfour(delta)\n"
	for _, name := range []string{"a.go", "a.py", "a.js", "a.rb", "a.sql", "a.html", "a.css", "a.yaml", "a.lua", "a.md",
		"a.unknown", "Makefile"} {
		for _, l := range lines {
			c := Change{Old: "one(alpha)\ntwo(beta)\nthree(gamma)\n", New: "one(first)\n" + l + "\nthree(gamma)\n"}
			if r := refused(t, name, data, c); r.Kind != Guard || !strings.Contains(r.Message, "left out") ||
				!strings.Contains(r.Excerpt, "two(beta)") {
				t.Errorf("%s: %s: %v\n%s", name, l, r, r.Excerpt)
			}
			c.Strictness = Exact
			planned(t, name, data, c)
			kept := strings.Replace(data, "two(beta)", l+"\ntwo(beta)", 1)
			c = Change{Old: "one(alpha)\n" + l + "\ntwo(beta)\nthree(gamma)\n", New: "one(first)\n" + l + "\ntwo(beta)\n"}
			planned(t, name, kept, c) // the file has the line, and old_string does
		}
	}
	inserted := []string{"a.go", "a.js", "a.rs", "a.java", "a.c"}
	for _, name := range inserted {
		r := refused(t, name, data, Change{Old: "two(beta)\n", New: "two(beta)\n// ...\nmore(all)\n"})
		if r.Kind != Guard {
			t.Errorf("%s: %v", name, r)
		}
	}
	for _, c := range []struct{ name, data, old, fresh string }{ // lines come in place of others that go
		{"a.rs", "one(alpha);\n});\n\n// Two.\ntwo(beta);\n", "one(alpha);\n});\n\n// Two.\n",
			"one(alpha);\n// ...\n\n// New.\nmore(all, |x| {\n    run(x);\n});\n\n// Two.\n"},
		{"a.md", "* One.\n\nMore:\n\n* Two.\n* Three.\n", "* One.\n\nMore:\n\n* Two.\n* Three.\n",
			"* One.\n* New:\n  It is new.\n\n...\n* Three.\n"},
		{"a.unknown", data, "two(beta)\n", "two(all)\n... existing code ...\nmore(all)\nlast(all)\n"},
	} {
		if r := refused(t, c.name, c.data, Change{Old: c.old, New: c.fresh}); r.Kind != Guard {
			t.Errorf("%s: %v", c.name, r)
		}
	}
}

func TestDotsThatAreMeant(t *testing.T) {
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"spread", "a.js", "one(a, b)\n", "one(a, b)", "one(\n  ...args,\n  ...existing,\n  ...rest\n)"},
		{"spread for more", "a.ts", "one(\n  a,\n  b,\n  c,\n)\n", "  a,\n  b,\n  c,\n", "  ...rest,\n"},
		{"a comment that goes on, with a word for the rest", "a.go", "a()\nb()\n", "b()\n",
			"// First one thing...\n// ...and the rest is unchanged.\nb()\n"},
		{"a long comment with dots", "a.go", "a()\nb()\n", "b()\n", "// ...and then, unchanged, the other one.\nb()\n"},
		{"a comment that goes on", "a.go", "a()\nb()\n", "a()\n", "// First one thing...\n// ...and then the other.\na()\n"},
		{"the rest of a sentence", "a.py", "one(a, b)\n", "one(a, b)",
			"// The rest of the world is unaffected by this function, as it says below.\none()"},
		{"a comment that stays", "a.py", "# ... rest of code\none(a, b)\n", "# ... rest of code\none(a, b)",
			"# ... rest of code\ntwo()"},
		{"a string", "a.go", "one(a, b)\n", "one(a, b)", "log(\"... existing code ...\")"},
		{"a protocol's body", "a.py", "class P(Protocol):\n    name: str\n", "    name: str\n",
			"    name: str\n\n    def run(self) -> int:\n        ...\n"},
		{"overloads", "a.pyi", "import x\n", "import x\n",
			"import x\n@overload\ndef f(a: int) -> int:\n    ...\n@overload\ndef f(a: str) -> str:\n    ...\n"},
		{"dots for pass", "a.py", "def f(a):\n    pass\n", "def f(a):\n    pass\n", "def f(a):\n    ...\n"},
		{"dots behind a docstring", "a.py", "x = 1\n", "x = 1\n", "x = 1\n\ndef f(a):\n    \"\"\"Runs.\"\"\"\n    ...\n"},
		{"an ellipsis among arguments", "a.py", "x = f(1)\n", "x = f(1)", "x: Callable[\n    ...,\n    int\n] = f(1)"},
		{"doctest", "a.py", "def f():\n    \"\"\"Says.\n    \"\"\"\n", "    \"\"\"Says.\n",
			"    \"\"\"Says.\n\n    >>> f()\n    ...\n"},
		{"the end of a YAML document", "a.yaml", "a: 1\nb: 2\n", "b: 2\n", "b: 2\n...\n---\nc: 3\n"},
		{"documents of YAML", "a.yaml", "a: 1\nb: 2\n", "b: 2\n", "b: 2\n---\nc: 3\n"},
		{"a variadic parameter", "a.h", "int log(const char *format);\n", "int log(const char *format);",
			"int log(\n    const char *format,\n    ...\n);"},
		{"yada", "a.pl", "sub one { 1 }\n", "sub one { 1 }\n", "sub one { 1 }\nsub two {\n    ...\n}\n"},
		{"code in a doc comment", "a.go", "package a\n", "package a\n",
			"// Package a does it:\n//\n//\tif ok {\n//\t...\n//\t}\npackage a\n"},
		{"code shown in Markdown", "a.md", "# Use\n\nText.\n", "Text.\n", "Text.\n\n```go\nfunc f() {\n\t// ...\n}\n```\n"},
		{"what stays, shown in Markdown", "a.md", "# Use\n\nText.\n", "Text.\n",
			"Text.\n\n```go\nfunc f() {\n// ... existing code ...\n}\n```\n"},
		{"what stays, shown in a block of the file", "a.md", "# Use\n\n```js\na();\nb();\n```\n", "b();\n",
			"b();\n// ... existing code ...\n"},
		{"output shown in Markdown", "a.md", "# Use\n\nText.\n", "Text.\n", "Text:\n\n```\nfirst\n...\nlast\n```\n"},
		{"a string of many lines", "a.py", "x = \"\"\"\nfirst\nlast\n\"\"\"\n", "first\n", "first\n...\n"},
		{"comments with such words", "a.go", "a()\nb()\n", "b()\n",
			"// Other methods of HTTP are refused.\nb()\n// the rest of the bytes\nc()\n// original code points\nd()\n# no " +
				"change in the total\n"},
		{"a comment of one word", "a.go", "a()\nb()\n", "b()\n", "// unchanged\nb()\nc()\n"},
		{"range and rest", "a.rs", "let a = b;\n", "let a = b;", "let Foo { x, .. } = b;\nlet r = 1..=2;"},
	} {
		t.Run(c.name, func(t *testing.T) {
			written(t, c.file, c.data, c.old, c.fresh)
		})
	}
}

func TestFencesInNewAlone(t *testing.T) {
	const code = "one(alpha)\ntwo(beta)\nthree(gamma)\n"
	const doc = "# Use\n\nRun it with make build in the root.\n\n```sh\nmake build\n```\n"
	for _, name := range []string{"a.go", "a.py", "a.js", "a.rb", "a.sql", "a.html", "a.css", "a.yaml", "a.rs",
		"a.unknown", "Dockerfile", "a.md"} {
		for _, f := range [][2]string{{"```\n", "\n```"}, {"```go\n", "\n```\n"}, {"~~~\n", "\n~~~"}, {"```python\n", ""},
			{"", "\n```"}, {"\n```js\n", "\n```\n\n"}, {"````\n", "\n````"}} {
			c := Change{Old: "two(beta)\nthree(gamma)", New: f[0] + "two(beta)\nthree(delta)" + f[1]}
			if r := refused(t, name, code, c); r.Kind != Guard || !strings.Contains(r.Message, "fence") ||
				!strings.Contains(r.Excerpt, "two(beta)") {
				t.Errorf("%s: %q: %v\n%s", name, c.New, r, r.Excerpt)
			}
			c.Strictness = Exact
			planned(t, name, code, c)
		}
	}
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"words around a block", "a.go", code, "two(beta)\n", "Here is the code:\n```go\ntwo(b)\n```\n"},
		{"the end of a block, in a file of unknown kind", "a.unknown", code, "two(beta)\n", "all(others)\n```\n"},
		{"within a block of the file", "a.md", doc, "make build\n", "```sh\nmake all test\n```\n"},
		{"Markdown as Markdown", "a.md", doc, "# Use\n", "```markdown\n## How to begin\n```\n"},
		{"reStructuredText", "a.rst", doc, "Run it with make build in the root.",
			"```rst\nRun it with make all in the root.\n```"},
		{"a paragraph with a change", "a.md", doc, "Run it with make build in the root.",
			"```\nRun it with make all in the root.\n```"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := refused(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); r.Kind != Guard {
				t.Errorf("%v", r)
			}
		})
	}
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"a block is added", "a.md", doc, "# Use\n", "# Use\n\n```sh\nmake\n```\n"},
		{"a block is added before", "a.md", doc, "# Use\n", "```sh\nmake\n```\n\n# Use\n"},
		{"a line becomes a block", "a.md", "Text.\n\nTODO: example\n\nMore.\n", "TODO: example\n", "```go\nx := f()\n```\n"},
		{"code gets its fence", "a.md", "Text:\n\nmake build\n\nMore.\n", "make build\n", "```sh\nmake build\n```\n"},
		{"a block with another word", "a.md", doc, "```sh\nmake build\n```", "```console\nmake build\n```"},
		{"a block becomes two", "a.md", doc, "```sh\nmake build\n", "```sh\nmake build\n```\n\nThen:\n\n```sh\nmake test\n"},
		{"a docstring", "a.py", "def f():\n    \"\"\"Does it.\n    \"\"\"\n", "    \"\"\"Does it.\n",
			"    \"\"\"Does it.\n\n    ```python\n    f()\n    ```\n"},
		{"a doc comment", "a.rs", "fn f() {}\n", "fn f() {}\n", "/// ```\n/// f();\n/// ```\nfn f() {}\n"},
		{"a block comment", "a.js", "/**\n Does it.\n*/\nf()\n", " Does it.\n", " Does it.\n\n```js\nf()\n```\n"},
		{"text in YAML", "a.yaml", "text: |\n  First.\n  Last.\n", "  First.\n", "  First.\n\n  ```sh\n  make\n  ```\n"},
		{"a title underlined", "a.rst", "Use\n===\n\nText\n", "Text\n", "New\n~~~\n\nText\n"},
		{"a line gets to be a title", "a.rst", "Año dos\n\nText\n", "Año dos\n", "Año uno\n~~~~~~~\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			written(t, c.file, c.data, c.old, c.fresh)
		})
	}
}

func TestTheSameInsertionTwice(t *testing.T) {
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"a line after", "a.go", "a()\nb()\n", "a()\n", "a()\nlog(x)\n"},
		{"a line before", "a.go", "a()\nb()\n", "b()\n", "log(x)\nb()\n"},
		{"without line breaks", "a.py", "a()\nb()\n", "a()", "a()\nlog(x)"},
		{"an argument", "a.js", "run(first, second)\n", "run(first", "run(first, other"},
		{"a digit", "a.yaml", "timeout: 3\n", "timeout: 3", "timeout: 30"},
		{"both sides", "a.go", "a()\nb()\nc()\n", "b()\n", "before(x)\nb()\nafter(y)\n"},
		{"at the end", "a.md", "One.\n\nTwo.\n", "Two.\n", "Two.\n\nThree.\n"},
		{"with a break lost", "a.go", "a()\nb()\n", "a()\n", "log(x)\na()"},
		{"CRLF", "a.go", "a()\r\nb()\r\n", "a()\n", "a()\nlog(x)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := Change{Old: c.old, New: c.fresh}
			_, once := planned(t, c.file, c.data, change)
			if r := refused(t, c.file, once, change); r.Kind != AlreadyApplied || r.Excerpt == "" {
				t.Errorf("twice: %v", r)
			}
			change.Strictness = Exact
			planned(t, c.file, once, change)
		})
	}
	for _, c := range []struct{ name, data, old, fresh string }{
		{"a line that is doubled", "a()\nb()\n", "a()\n", "a()\na()\n"},
		{"one more of the same, with more quoted", "a()\nlog(x)\nb()\n", "a()\nlog(x)\n", "a()\nlog(x)\nlog(x)\n"},
		{"a bracket more", "{\n x()\n }\n}\n", " x()\n }\n", " x()\n }\n}\n"},
		{"a closing tag more", "<p>x()\n</p>\n</p>\n", "<p>x()\n</p>\n", "<p>x()\n</p>\n</p>\n"},
		{"the same text elsewhere", "log(x)\na()\nb()\n", "b()\n", "b()\nlog(x)\n"},
		{"a longer word", "log(x)\nlogs(x)\n", "log(x)", "log(x) // y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			written(t, "a.html", c.data, c.old, c.fresh)
		})
	}
	p, got := planned(t, "a.go", "foo(1)\nfoo_bar(2)\nfoo(3)\n", Change{Old: "foo", New: "foo_bar", All: true})
	if got != "foo_bar(1)\nfoo_bar(2)\nfoo_bar(3)\n" || len(p.Places) != 2 ||
		!strings.Contains(strings.Join(p.Warnings, " "), "1 place had new_string already") {
		t.Errorf("all places: %q %q", got, p.Warnings)
	}
	if r := refused(t, "a.go", got, Change{Old: "foo", New: "foo_bar", All: true}); r.Kind != AlreadyApplied {
		t.Errorf("all places twice: %v", r)
	}
}

// Lines that go are there still, though all that new_string has is in the file, with a comment that old_string left out.
func TestLinesGoBehindACommentLeftOut(t *testing.T) {
	const data = "import all\n\n# One thing.\n# And more of it.\nfirst = all.first\n\n# Old.\nsecond = 2\n"
	const fresh = "import all\n\n# One thing.\n# And more of it.\nfirst = all.first\n"
	if _, got := planned(t, "a.py", data, Change{Old: strings.Replace(data, "# One thing.\n", "", 1), New: fresh}); got != fresh {
		t.Errorf("%q", got)
	}
}

// Lines of this kind are in real files.
func TestDotsOfRealFiles(t *testing.T) {
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"steps in a comment", "a.go", "// f does:\n//\nfunc f() {}\n", "//\nfunc f() {}\n",
			"//\n//\t... set up y ...\n//\t... use x ...\nfunc f() {}\n"},
		{"a row", "a.go", "a()\n", "a()\n", "//......................................................................\n" +
			"a()\n"},
		{"a row of tildes", "a.py", "'''\nTitle\n'''\n", "Title\n", "Title\n~~~~~~~~~~~~~~~~~~~~~~~~\n"},
		{"preformatted text", "a.html", "<pre>\none\ntwo\n</pre>\n", "one\n", "one\n...\n"},
		{"a text in YAML", "a.yaml", "body:\n  value: |\n    first\n    last\n", "    first\n", "    first\n    ...\n"},
		{"documentation in Perl", "a.pm", "use strict;\n\n=head1 USE\n\n    f();\n\n=cut\n", "    f();\n",
			"    f();\n    ...\n"},
		{"formals of Nix", "a.nix", "{\n  pkgs,\n}:\npkgs.x\n", "  pkgs,\n", "  pkgs,\n  ...\n"},
		{"a fence that was missing", "a.md", "```sh\nmake\n\nText.\n", "make\n", "make\n```\n"},
		{"a remark on the rest of a file", "a.go", "a()\n", "a()\n",
			"// Rest of file is in the format\n// Existing lines are moved down.\n// previous line\na()\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			written(t, c.file, c.data, c.old, c.fresh)
		})
	}
}

func TestBlankLinesAtTheEndsOfNoisyStrings(t *testing.T) {
	const data = "one(first)\n\ttwo(second)\n\n\tthree(third)\n"
	for _, c := range []struct{ name, old, fresh, want string }{
		{"a line goes, and the blank line behind it", "one(first)\n    two(second)\n\n", "one(first)\n",
			"one(first)\n\tthree(third)\n"},
		{"new_string is trimmed", "one(first)\n    two(second)\n\n", "one(first)\n    two(x)",
			"one(first)\n\ttwo(x)\n\n\tthree(third)\n"},
		{"new_string is trimmed at the start", "\n    three(third)\n", "three(x)\n",
			"one(first)\n\ttwo(second)\n\n\tthree(x)\n"},
		{"new_string begins before the blank line", "\n    three(third)\n", "    new(x)\n\n    three(third)\n",
			"one(first)\n\ttwo(second)\n\tnew(x)\n\n\tthree(third)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, got := planned(t, "a.go", data, Change{Old: c.old, New: c.fresh}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Lines that go with their indentation leave the comments beside them.
func TestLinesGoBesideComments(t *testing.T) {
	const data = "start()\n    // Keep this comment here.\n    one(a)\n    two(b)\n    // And keep this one.\nlast()\n"
	for _, old := range []string{"one(a)\ntwo(b)\n", "\tone(a)\n\ttwo(b)\n", "one(a) \n    two(b)\n"} {
		if _, got := planned(t, "a.go", data, Change{Old: old}); got != strings.Replace(data, "    one(a)\n    two(b)\n", "", 1) {
			t.Errorf("%q: %q", old, got)
		}
	}
}

// Each of many places may have a comment of its own beside it.
func TestManyPlacesBesideComments(t *testing.T) {
	var data strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&data, "// the topic of place %d\nfoo(bar)\n", i)
	}
	start := time.Now()
	_, got := planned(t, "a.go", data.String(), Change{Old: "foo(bar)", New: "foo(baz)", All: true})
	if took := time.Since(start); got != strings.ReplaceAll(data.String(), "bar", "baz") || took > 10*time.Second {
		t.Errorf("%v", took)
	}
}
