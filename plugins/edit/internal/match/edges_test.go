package match

import (
	"strings"
	"testing"
)

// One of the two strings lost the indentation of its first line; the file keeps it.
func TestFirstLineKeepsItsIndentation(t *testing.T) {
	const py = "def f():\n    x = 1\n    if x:\n        y = 2\n    return x\n"
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"of old_string", "a.py", py, "x = 1", "    x = 5", "    x = 5"},
		{"of old_string, more lines", "a.py", py, "x = 1\n    if x:\n        y = 2", "    x = 5\n    if x:\n        y = 2",
			"    x = 5\n    if x:\n        y = 2"},
		{"of old_string, and its first line goes", "a.py", py, "x = 1\n    if x:\n", "    if x:\n", "    if x:\n"},
		{"a part of it", "a.py", py, "  x = 1", "    x = 5", "    x = 5"},
		{"of old_string, blanks for a tab", "a.go", "func f() {\n\tx := 1\n}\n", "x := 1", "    x := 5", "\tx := 5"},
		{"of new_string", "a.py", py, "    x = 1", "x = 5", "    x = 5"},
		{"of new_string, more lines", "a.py", py, "    x = 1\n    if x:", "x = 5\n    if x:", "    x = 5\n    if x:"},
		{"of new_string, a block", "a.py", py, "    x = 1\n", "if a:\n        x = 1\n", "    if a:\n        x = 1\n"},
		{"of new_string, found by a later pass", "a.py", py, "    x  = 1\n    if x:", "x = 5\n    if x:",
			"    x = 5\n    if x:"},
		{"YAML", "a.yaml", "a:\n  b: 1\n  c: 2\n", "  b: 1\n", "b: 3\n", "  b: 3\n"},
		{"of new_string, a line as another one", "a.lua", "if a then\n    if b then\n        c()\n    end\n    d()\nend\ne()\n",
			"    end\n    d()\nend\n", "end\n    f()\nend\n", "    end\n    f()\nend\n"},
		{"in a file of unknown kind", "a.unknown", "a:\n  b: 1\n  c: 2\n", "  b: 1\n  c: 2\n", "b: 1\n  c: 3\n",
			"  b: 1\n  c: 3\n"},
		{"in a text", "a.md", "- a\n  b\n  c\n", "  b\n  c\n", "b\n  more\n  c\n", "  b\n  more\n  c\n"},
		{"in a script without an extension", "run", "#!/usr/bin/env python3\nif a:\n    b()\n    c()\n", "    b()\n    c()\n",
			"x()\n    c()\n", "    x()\n    c()\n"},
		{"in a variant of a file", "Dockerfile.dev", "RUN a && \\\n    b && \\\n    c\n", "    b && \\\n    c\n",
			"x && \\\n    c\n", "    x && \\\n    c\n"},
		{"of all lines", "a.go", "func f() {\n\tx := 1\n\tif x {\n\t\ty()\n\t}\n}\n", "\tx := 1\n\tif x {\n\t\ty()\n",
			"x := 1\nif x {\n\tz()\n\ty()\n", "\tx := 1\n\tif x {\n\t\tz()\n\t\ty()\n"},
		{"of all lines, within a block", "a.py", py, "    if x:\n        y = 2\n", "if x:\n    y = 2\n    z = 3\n",
			"    if x:\n        y = 2\n        z = 3\n"},
		{"of the first line alone", "a.go", "func f() {\n\tx := 1\n\ty()\n}\n", "\tx := 1\n", "x := 1\n\tz := 2\n",
			"\tx := 1\n\tz := 2\n"},
		{"of all lines, where those behind keep it", "a.yml", "a:\n  - b: 1\n    c: 2\n    d: 3\n", "  - b: 1\n    c: 2\n",
			"- b: 1\n  e: 5\n  c: 2\n", "  - b: 1\n    e: 5\n    c: 2\n"},
		{"of all lines, a recipe", "Makefile", "all:\n\tone\n\ttwo\n", "\tone\n\ttwo\n", "one\ntwo\nmore\n",
			"\tone\n\ttwo\n\tmore\n"},
		{"of all lines, CRLF", "a.c", "{\r\n  a();\r\n  b();\r\n}\r\n", "  a();\r\n  b();\r\n", "a();\r\nc();\r\nb();\r\n",
			"  a();\r\n  c();\r\n  b();\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := strings.Replace(c.data, strings.TrimLeft(c.old, " \t"), strings.TrimLeft(c.want, " \t"), 1)
			if c.old == "    x  = 1\n    if x:" {
				want = strings.Replace(c.data, "x = 1", "x = 5", 1)
			}
			p, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh})
			if got != want || !strings.Contains(strings.Join(p.Warnings, " "), "indent") {
				t.Errorf("got %q, want %q, warnings %q", got, want, p.Warnings)
			}
		})
	}
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"indentation is the change", "a.py", py, "    x = 1", "x = 1"},
		{"indentation is the change, without that of the file", "a.py", py, "x = 1", "    x = 1"},
		{"a block moves to the left", "a.py", py, "    if x:\n        y = 2\n", "z = 1\ny = 2\n"},
		{"a block moves behind the end of its own", "a.c", "a();\n  b();\n  c();\n", "  b();\n  c();\n", "b();\nd();\nc();\n"},
		{"another line comes first", "a.go", "x := f(\n\ta)\ny()\n", "\ta)\ny()\n", "y()\nz()\n"},
		{"the blank within a line", "a.go", "x := a b\nc\n", " b\nc\n", "d\nc\n"},
		{"a directive", "a.c", "{\n    a();\n}\n", "    a();\n", "#if X\n    a();\n#endif\n"},
		{"a label", "a.go", "{\n\ta()\n}\n", "\ta()\n", "again:\n\ta()\n"},
		{"text", "a.md", "Text:\n\n    code\n", "    code\n", "No code.\n"},
		{"text that is no code any more", "a.md", "Text:\n\n    code\n\nMore.\n", "    code\n\nMore.\n",
			"code\n\nMore and more.\n"},
		{"a line that moves up", "a.swift", "    first(a)\n}\nimport B\n", "    first(a)\n}\nimport B\n",
			"import B\n    first(a)\n}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			written(t, c.file, c.data, c.old, c.fresh)
		})
	}
	if r := refused(t, "a.py", py, Change{Old: "    x = 1\n", New: "if a:\n    x = 1\n"}); r.Kind != Guard {
		t.Errorf("a block as deep as its head: %v", r)
	}
	if r := refused(t, "a.md", "- a\n  - b\n  - c\n", Change{Old: "  - b\n  - c\n", New: "- b\n  - more\n  - c\n"}); r.Kind != Guard {
		t.Errorf("an item that may be meant to move to the left: %v", r)
	}
	if r := refused(t, "a.py", "class A:\n    a = 1\n    def f(x):\n        return x\n", Change{
		Old: "    def f(x):\n        return x\n", New: "def f(x):\n    y = x\n    return x\n"}); r.Kind != Guard {
		t.Errorf("the last method of a class: %v", r)
	}
	for _, c := range []struct{ name, data, old, fresh string }{ // lines of several depths lost it
		{"a.toml", "[group]\ndev = [\n    \"tool>=1.23.1\",\n]\n", "dev = [\n    \"tool>=1.23.1\",\n]\n",
			"dev = [\n\"tool>=1.25.2\",\n]\n"},
		{"a.yml", "- a:\n  b: 1\n- c:\n  d: 2\n", "  b: 1\n- c:\n  d: 2\n", "b: 1\n- c:\nd: 2\n- e\n"},
		{"a.rb", "def a\n  one(x)\n  if y\n    two(x)\n  end\nend\n", "    two(x)\n  end\n", "two(x)\nend\nthree(x)\n"},
	} {
		if r := refused(t, c.name, c.data, Change{Old: c.old, New: c.fresh}); r.Kind != Guard ||
			!strings.Contains(r.Message, "lost the indentation") {
			t.Errorf("%s: %v", c.name, r)
		}
	}
	// Old_string alone is indented, the place is not.
	_, got := planned(t, "a.js", "a(one);\nb(two);\nc(three);\n", Change{Old: "a(one);\n  b(two);\nc(three);\n",
		New: "a(one);\nb(two);\nc(four);\n"})
	if got != "a(one);\nb(two);\nc(four);\n" {
		t.Errorf("a place at the left edge: %q", got)
	}
	written(t, "a.yml", "a:\n  b:\n    - c\nd: 1\n", "  b:\n    - c\nd: 1\n", "#  b:\n#    - c\nd: 1\n")
	for _, c := range []struct{ name, old, fresh string }{ // the block is gone, or what it is may be at the left edge
		{"a.py", "if holds(alpha, beta):\n    run(gamma)\n", "if holds(alpha, beta): start()\nrun(gamma)\n"},
		{"a.sh", "if command -v tool >/dev/null; then\n  tool --all\nfi\n",
			"if ! command -v tool >/dev/null; then exit; fi\ntool --all\n"},
		{"a.html", "<div class=\"outer\">\n  <p>One</p>\n</div>\n", "<div class=\"outer\"></div>\n<p>One</p>\n"},
		{"a.yml", "needs:\n  - alpha\n  - beta\n", "needs:\n- alpha\n- beta\n- gamma\n"},
		{"a.py", "USAGE = \"\"\"\n    tool --all\n\"\"\"\n", "USAGE = \"\"\"\ntool --all\ntool --one\n\"\"\"\n"},
		{"a.js", "const usage = `\n    tool --all\n`\n", "const usage = `\ntool --all\ntool --one\n`\n"},
		{"a.sh", "cat <<-EOF\n\ttool --all\n\tEOF\n", "cat <<EOF\ntool --all\ntool --one\nEOF\n"},
	} {
		written(t, c.name, "first\n"+c.old+"last\n", c.old, c.fresh)
	}
}

// What is beside the place must not be there twice because new_string has it and old_string has not.
func TestWhatIsBesideThePlaceIsNotWrittenTwice(t *testing.T) {
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"the line before", "a.go", "first(a)\nsecond(b)\nthird(c)\n", "second(b)\n", "first(a)\nsecond(x)\n"},
		{"the line behind", "a.go", "first(a)\nsecond(b)\nthird(c)\n", "second(b)\n", "second(x)\nthird(c)\n"},
		{"both", "a.go", "first(a)\nsecond(b)\nthird(c)\n", "second(b)", "first(a)\nsecond(x)\nthird(c)"},
		{"a comment that changes", "a.go", "// Runs it once.\nfirst(a)\n", "first(a)\n", "// Runs it twice.\nfirst(a)\n"},
		{"the comment before, behind a new line", "a.go", "// Runs it.\n\nfirst(a)\n", "first(a)\n",
			"log(x)\n// Runs it.\nfirst(b)\n"},
		{"the comment behind, before a new line", "a.py", "first(a)\n# Runs it.\nlast(b)\n", "first(a)\n",
			"first(a)\n# Runs it.\nmore(c)\n"},
		{"all of a line, before its mark", "a.java", "a();\n/**\n * Returns it.\n *\n */\nb();\n", "a();\n/**\n *",
			"c();\n/**\n * Returns it.\n *"},
		{"all of two lines, before the mark of the first", "a.go", "a()\n\n// Runs it.\n// Twice.\n//\nb()\n",
			"a()\n\n//", "c()\n\n// Runs it.\n// Twice.\n//"},
		{"all of a line, behind its end", "a.go", "f(a, first)\nb()\n", "first)\nb()", "f(a, first)\nfirst)\nc()"},
		{"the comment before, before a new line", "a.go", "// Runs it.\nfirst(a)\n", "first(a)\n",
			"log(x)\n// Runs it.\nlog(y)\nfirst(b)\n"},
		{"the line before, and blank lines of old_string alone", "a.go", "first(a)\nsecond(b)\nthird(c)\n",
			"\n\nsecond(b)\nthird(c)", "\n\nfirst(a)\nsecond(x)\nthird(c)"},
		{"two lines", "a.go", "first(a) {\n}\nsecond(b)\n", "second(b)", "first(a) {\n}\nsecond(x)"},
		{"a bracket behind", "a.go", "if a {\n\tb()\n}\nc()\n", "if a {\n\tb()\n", "if a {\n\tb(1)\n}\n"},
		{"the end of a block of a template", "a.yaml", "{{- if .a }}\nx: 1\n{{- end }}\n", "{{- if .a }}\nx: 1\n",
			"{{- if .b }}\nx: 1\n{{- end }}\n"},
		{"a word behind", "a.sh", "if a; then\n  b\nfi\nc\n", "if a; then\n  b\n", "if a; then\n  d\nfi\n"},
		{"a word behind, not its start", "a.rb", "a do |x|\n  b\nend\nc\n", "  b\n", "  d\nend\n"},
		{"a word behind, flat", "Makefile", "ifdef A\nB = 1\nendif\nC = 2\n", "B = 1\n", "ifdef D\nB = 1\nendif\nendif\n"},
		{"a word behind a call", "CMakeLists.txt", "if(A)\n  b(1)\nendif()\nc()\n", "  b(1)\n", "  b(2)\nendif()\n"},
		{"the end of a case", "a.sh", "case $a in\n  b)\n    c\n    ;;\nesac\n", "  b)\n    c\n", "  b)\n    d\n    ;;\n"},
		{"the end of a comment", "a.js", "/*\n * One.\n */\na();\n", " * One.\n", " * Two.\n */\n"},
		{"the end of a string", "a.py", "def a():\n    \"\"\"\n    One.\n    \"\"\"\n", "    One.\n", "    Two.\n    \"\"\"\n"},
		{"a bracket behind, where others are not paired", "a.sh", "a() {\n  b\n}\ncase $c in d) e ;; esac\n", "  b\n", "  f\n}\n"},
		{"a word and a bracket behind", "a.sh", "a() {\n  for b in c; do\n    d\n  done\n}\ne\n", "    d\n", "    f\n  done\n}\n"},
		{"a bracket behind a word that others end with a word", "a.go", "\tfor {\n\t\ta()\n\t\tb()\n\t}\n", "\t\ta()\n\t\tb()\n",
			"\tfor {\n\t\ta()\n\t\tc()\n"},
		{"words behind that only start as one", "a.sql", "f(a int,\n  endblock bigint default null,\n  blkno int,\n  x int)\n",
			"  blkno int,\n", "  endblock bigint default null,\n  f(blkno int,\n"},
		{"another branch", "a.go", "if a {\n\tb()\n} else {\n\tc()\n}\n", "\tb()\n", "\td()\n} else {\n"},
		{"a bracket without its semicolon", "a.js", "a(() => {\n  b();\n});\nc();\n", "  b();\n", "  d();\n})\n"},
		{"the line before, behind a line break", "a.go", "first(a)\nsecond(b)\n", "\nsecond(b)\n", "\nfirst(a)\nsecond(x)\n"},
		{"in place of another", "a.go", "first(a)\nsecond(b)\nthird(c)\n", "second(b)\nthird(c)\n", "first(a)\n"},
		{"a tag behind", "a.xml", "<a>\n <b>x</b>\n</a>\n", " <b>x</b>\n", " <b>y</b>\n</a>\n"},
		{"the line behind, as another was", "a.py", "for n in a:\n  h.put(n)\n  h.end()\nif b:\n  for n in b:\n    h.put(n)\n    h.sep()\n",
			"for n in a:\n  h.put(n)\n  h.end()\nif b:\n  for n in b:\n",
			"for m in a:\n  h.put(m)\n  h.end()\nif b:\n  for m in b:\n    h.put(n)\n"},
		{"without indentation", "a.go", "{\n\tfirst(a)\n\tsecond(b)\n}\n", "second(b)\n", "first(a)\n\tsecond(x)\n"},
		{"blanks more", "a.go", "first(a)\nsecond(b, c)\nthird(c)\n", "second(b,  c)\n", "first(a)\nsecond(x)\n"},
		{"the rest of the line", "a.go", "\tx := foo(a) + b\n", "foo(a", "foo(z) + b"},
		{"a bracket", "a.go", "\tx := foo(a)\n", "foo(a", "foo(a, b)"},
		{"a quote", "a.go", "\tx = \"mors\",\n", "x = \"mors", "y = \"mors\","},
		{"the start of a line", "a.go", "\treturn foo(a)\n", "foo(a)", "return foo(z)"},
		{"the start, with its indentation", "a.go", "\treturn foo(a)\n", "foo(a)\n", "\treturn foo(z)\n"},
		{"start and end", "a.go", "\treturn foo(a)\n", "foo(a", "return foo(z)"},
		{"a mark of a list", "a.md", "- one\n- two\n", "two", "- two\n- three"},
		{"all of a line, changed", "a.py", "a, b, c, d = parts\nx = 1\n", "d = parts\nx = 1", "a, b, cc, d = parts\nx = 1"},
		{"a tag", "a.xml", "<a>\n <b>x</b>\n</a>\n", "<a>\n <b>x</b", "<a>\n <b>y</b>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := refused(t, c.file, c.data, Change{Old: c.old, New: c.fresh})
			if r.Kind != Guard || r.Excerpt == "" || !strings.Contains(r.Message, "twice") {
				t.Errorf("%v\n%s", r, r.Excerpt)
			}
		})
	}
	const tf, odd = "a {\n    timeout = 3\n    interval = 30\n}\n", "   \u200b timeout = 3\n    interval = 30\n"
	more := "    timeout = 3\n    owner = 5\n" // a line for a second time, and not the rest of one
	if _, got := planned(t, "a.tf", tf, Change{Old: odd, New: odd + more}); got != replaced(tf, "}\n", more+"}\n") {
		t.Errorf("a whole line for a second time: %q", got)
	}
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"a call around an argument", "a.go", "x := f(a)\n", "a)", "f(a))"},
		{"a call within the same call", "a.go", "x := f(a)\n", "(a)", "(f(a))"},
		{"an operand", "a.go", "x = a + b\n", "b", "a + b + c"},
		{"a line twice on purpose", "a.go", "first(a)\nsecond(b)\n", "first(a)\n", "first(a)\nfirst(a)\n"},
		{"lines go before two that are the same", "a.xml", "<a>\n <b>v</b>\n</a>\n<a>\n <c/>\n <b>v</b>\n</a>\n",
			"<a>\n <b>v</b>\n</a>\n<a>\n <c/>\n", "<a>\n <b>v</b>\n</a>\n"},
		{"what only looks like a comment beside the place", "a.cfg", "#define BYTES_PER_BYTE 1\n#define BYTES_PER_SHORT 2\n" +
			"#define BYTES_PER_INT 4\n", "#define BYTES_PER_SHORT 2\n", "#define BYTES_PER_SHORT 2\n#define BYTES_PER_SHORTS 2\n"},
		{"a comment like the next, behind code", "a.go", "a(b)\n\n// The first one is it.\nc(d)\n", "a(b)\n\n",
			"a(b)\n\n// The second one is it.\ne(f)\n\n"},
		{"a comment like the one above, behind code", "a.py", "# The first one is it.\nclass A:\n    x = 1\n", "class A:\n",
			"class A:\n    # The second one is it.\n"},
		{"a comment that comes often", "a.cs", "/// <inheritdoc/>\na()\n/// <inheritdoc/>\nb()\n", "b()\n",
			"c()\n/// <inheritdoc/>\nb()\n"},
		{"a comment like the one above it", "a.go", "// Runs it once.\n// Runs it twice.\nfirst(a)\n",
			"// Runs it twice.\nfirst(a)\n", "// Runs it three times.\nfirst(a)\n"},
		{"another comment", "a.go", "// Runs it.\nfirst(a)\n", "first(a)\n", "// Stops when there is no more.\nfirst(a)\n"},
		{"brackets", "a.go", "{\n\tx()\n}\n", "{\n\tx()\n", "{\n\tx()\n}\n{\n\ty()\n"},
		{"a block more", "a.go", "{\n\tx()\n}\n", "\tx()\n", "\tx()\n}\n\n{\n\ty()\n"},
		{"what closes a block", "a.rb", "if a\n  x\nend\n", "  x\n", "  if b\n    x\n  end\n"},
		{"what closes a flat block", "Makefile", "ifdef A\nB = 1\nendif\n", "B = 1\n", "B = 1\nifdef C\nD = 2\nendif\n"},
		{"an argument more", "a.go", "f(\n\tfirst,\n\tsecond)\n", "first", "first,\n\tother"},
		{"an empty field", "a.csv", "a,b,c\n", "b", "b,"},
		{"the same opening line", "a.html", "<div>\n<p>x</p>\n</div>\n", "<p>x</p>\n", "<div>\n<p>y</p>\n</div>\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			written(t, c.file, c.data, c.old, c.fresh)
		})
	}
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"a semicolon", "a.c", "x = f(a);\n", "x = f(a)", "x = f(b);", "x = f(b);\n"},
		{"a comma", "a.json", "{\n \"a\": 1,\n \"b\": 2\n}\n", "\"a\": 1", "\"a\": 3,", "{\n \"a\": 3,\n \"b\": 2\n}\n"},
		{"a line goes on", "a.sh", "run a \\\n  b\n", "run a", "run a\nx", "run a \\\nx\n  b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What follows a word that old_string has a part of stays with that word.
func TestMatchThatEndsWithinAWord(t *testing.T) {
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"code", "a.go", "\tresult := compute(first, second)\n", "\tresult := comp", "\tlog()\n\tresult := comp\n\tdone()",
			"\tlog()\n\tresult := compute(first, second)\n\tdone()\n"},
		{"text", "a.md", "A line of text that continues here.\n", "A line of text that cont", "A line of text that cont\nMore.",
			"A line of text that continues here.\nMore.\n"},
		{"its line is the last", "a.go", "\tresult := compute(a)\n", "\tresult := comp", "\tlog()\n\tresult := rec",
			"\tlog()\n\tresult := recute(a)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
