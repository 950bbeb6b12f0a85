package match

import (
	"strings"
	"testing"
)

func TestMarksInNewAlone(t *testing.T) {
	const code = "\tone(alpha)\n\ttwo(beta)\n\tthree(gamma)\n"
	const was = "\tone(alpha)\n\ttwo(beta)\n"
	for _, name := range []string{"a.go", "a.py", "a.js", "a.rb", "a.sql", "a.css", "a.yaml", "a.md", "a.unknown"} {
		for _, fresh := range []string{
			"\tone(first)\n\ttwo(beta)\n</code>\n", "\tone(first)\n\ttwo(beta)</REPLACE>", "\tone(first)\n<|im_end|>",
			"\tone(first)\n\ttwo(beta)\n</new_string>", "\tone(first)\n\ttwo(beta)</parameter>\n</invoke>\n",
			"\tone(first)\n\ttwo(beta)\n>>>>>>> REPLACE\n", "=======\n\tone(first)\n\ttwo(beta)\n>>>>>>> REPLACE",
			" \tone(alpha)\n-\ttwo(beta)\n+\ttwo(second)\n", "-\tone(alpha)\n-\ttwo(beta)\n+\tone(x)\n",
			"\tone(alpha)\n-\ttwo(beta)\n", "-\tone(alpha)\n-\ttwo(beta)\n", "@@ -1,3 +1,3 @@\n\tone(alpha)\n\ttwo(x)\n",
			"\tone(alpha)\n\ttwo(x)\n\\ No newline at end of file", "\tone(alpha)\n\ttwo(x)\n*** End Patch\n",
			"*** Begin Patch\n\tone(alpha)\n\ttwo(x)\n", "diff --git a/a b/a\n\tone(alpha)\n\ttwo(x)\n",
			" \tone(alpha)\n-\ttwo(beta)\n", "\tone(alpha)\n+\ttwo(beta, x)\n",
		} {
			c := Change{Old: was, New: fresh}
			if r := refused(t, name, code, c); r.Kind != Guard || !strings.Contains(r.Message, "written into the file") ||
				!strings.Contains(r.Excerpt, "two(beta)") {
				t.Errorf("%s: %q: %v\n%s", name, fresh, r, r.Excerpt)
			}
			c.Strictness = Exact
			planned(t, name, code, c)
		}
	}
	// Blanks at line ends, and an indentation that could be the first column of a diff.
	c := Change{Old: "  one(alpha)   \n    two(beta)\n", New: "+  one(alpha2)\n     two(beta)\n"}
	if r := refused(t, "a.rb", "module A\n  one(alpha)\n    two(beta)\n", c); r.Kind != Guard {
		t.Errorf("blanks at line ends: %v", r)
	}
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"in a comment", "a.c", "/*\n * One.\n * Two.\n */\n", " * One.\n * Two.\n", " * One.\n+ * More.\n * Two.\n"},
		{"in a comment from its start", "a.c", "/*\n * One.\n */\n", "/*\n * One.\n */\n", "/*\n * One.\n+ * More.\n */\n"},
		{"in an indented comment", "a.c", "  /*\n   * One.\n   */\n", "   * One.\n", "   * One.\n+ more\n"},
		{"a line that goes", "a.go", "one()\ntwo()\nthree()\n", "one()\ntwo()\nthree()\n", "one()\n-two()\nthree()\n"},
		{"lines that stay", "a.go", "one()\ntwo()\nthree()\n", "one()\ntwo()\nthree()\n", " one()\n three()\n"},
		{"lines that stay in a text", "a.md", "one\ntwo\nthree\n", "one\ntwo\nthree\n", " one\n three\n"},
		{"one line", "a.s", "\tmove a\n\tmove b\n", "\tmove a\n", "-\tmove a\n"},
		{"a place in a diff", "a.js", "one()\ntwo()\n", "two()\n", "@@ -2 +2 @@\ntwo(x)\n"},
		{"in a text", "a.md", "One sentence.\nAnother.\n", "One sentence.\n", "One sentence.\n+One more.\n"},
		{"blank lines come", "a.java", "\tone();\n}\n", "\tone();\n}\n", " \tone();\n+\n }\n"},
		{"blank lines go", "a.java", "}\n\n}\n", "}\n\n}", " }\n-\n }"},
		{"beside lines with a plus", "a.md", "One.\n\n+ two\n", "One.\n", " One.\n+More text.\n"},
		{"in code shown in a text", "a.rst", "::\n\n    a = 1\n    b = 2\n", "    a = 1\n    b = 2\n",
			"    a = 1\n+    c = 3\n    b = 2\n"},
		{"the name of the file", "src/a.go", "one()\ntwo()\n", "two()\n", "// a.go\ntwo(x)\n"},
		{"its path", "a.html", "<p>\n<b>\n", "<b>\n", "<!-- src/a.html -->\n<b>x\n"},
		{"its path, with a label", "x/Makefile", "a:\n\tone\n\ttwo\n", "\ttwo\n", "# File: x/Makefile\n\ttwo\n\tx\n"},
	} {
		if r := refused(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); r.Kind != Guard {
			t.Errorf("%s: %v", c.name, r)
		}
	}
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"a list", "a.md", "one\ntwo\n", "one\ntwo\n", "- one\n- two\n"},
		{"another list", "a.md", "one\n", "one\n", "+ one\n+ two\n"},
		{"a list of YAML", "a.yaml", "a:\n  one\n", "  one\n", "  - one\n"},
		{"a diff shown", "a.md", "Text.\n", "Text.\n", "Text.\n\n```diff\n-old\n+new\n```\n"},
		{"a shown diff that gets a line", "a.md", "```diff\n-old\n```\n", "```diff\n", "```diff\n@@ -1 +1 @@\n"},
		{"a list", "a.md", "one\ntwo\n", "one\ntwo\n", "one\n-two\n"},
		{"a step of one blank", "a.c", "/*\n* a\n* b\n*/\n", "* a\n* b\n", " * a\n * b\n"},
		{"another list, deeper", "a.md", "one\ntwo\n", "one\ntwo\n", " one\n two\n"},
		{"items that are no old lines", "a.md", "one\n", "one\n", "+ one\n+ two\n"},
		{"a list of indented items", "a.md", " one\n two\n", " one\n two\n", " one\n- two\n"},
		{"a patch", "a.patch", "-old\n+new\n", "+new\n", "+newer\n+newest\n"},
		{"a sign", "a.js", "x = 1\n", "= 1", "+= 1"},
		{"another sign", "a.js", "x = a\n", "a", "-a"},
		{"a negative number on its own line", "a.js", "x(\na)\n", "a", "-a"},
		{"an operand", "a.js", "x = a\n", "x = a\n", "x = a\n  + b\n"},
		{"a conflict in a text", "a.md", "Text.\n", "Text.\n", "Text.\n\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n"},
		{"an underlined title", "a.md", "Title\n", "Title\n", "Title\n=======\n"},
		{"tags that belong together", "a.xml", "<a/>\n", "<a/>\n", "<parameter name=\"x\">1</parameter>\n"},
		{"a tag that the file has", "a.xml", "<a>\n<parameter>1</parameter>\n</a>\n", "1</parameter>\n", "2</parameter>\n"},
		{"the start of a file", "a.go", "package a\n", "package a\n", "// a.go\npackage a\n"},
		{"another name", "a.go", "one()\ntwo()\n", "two()\n", "// b.go\ntwo()\n"},
		{"a tag that gets another name", "a.xml", "<a>\n</a>\n", "</a>\n", "</b>\n"},
		{"a tag that begins in the file", "a.xml", "<a x=\"1\">\n<b/>\n", "<b/>\n", "<b/>\n</a>\n"},
		{"in a string", "a.py", "x = \"\"\"\n\"\"\"\n", "x = \"\"\"\n", "x = \"\"\"\n+ 1 more\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			written(t, c.file, c.data, c.old, c.fresh)
		})
	}
}

// What both strings are in is no part of the text, unless the file has it.
func TestWhatBothStringsAreIn(t *testing.T) {
	const data = "one(alpha)\n\ttwo(beta)\nthree(gamma)\n\ttwo(beta, x)\n"
	const old, fresh = "one(alpha)\n\ttwo(beta)\n", "one(first)\n\ttwo(beta)\nmore()\n"
	whole := "<<<<<<< SEARCH\n" + old + "=======\n" + fresh + ">>>>>>> REPLACE\n"
	patch := func(place string) [2]string {
		s := "*** Begin Patch\n*** Update File: a.go\n" + place +
			"-one(alpha)\n+one(first)\n \ttwo(beta)\n+more()\n three(gamma)\n*** End Patch"
		return [2]string{s, s}
	}
	both := func(head, end string) [2]string { return [2]string{head + old + end, head + fresh + end} }
	for name, c := range map[string][2]string{
		"a block to search and replace":  {whole, whole},
		"its halves":                     {"<<<<<<< SEARCH\n" + old + "=======\n", "=======\n" + fresh + ">>>>>>> REPLACE"},
		"its halves without a last line": {"<<<<<<<\n" + old + "=======", fresh + ">>>>>>>"},
		"a patch":                        patch("@@ func a()\n"),
		"a patch without a place":        patch(""),
		"a patch with a bare place":      patch("@@\n"),
		"tags": {"<old_string>\n" + old + "</old_string>",
			"<new_string>\n" + fresh + "</new_string>\n"},
		"the start of a fence":          both("```go\n", ""),
		"a fence":                       both("```\n", "```"),
		"the path of the file":          both("// src/a.go\n", ""),
		"tags, a fence and a path":      both("<code>\n```go\n// a.go\n", "```\n</code>"),
		"a section of literal text":     both("<![CDATA[", "]]>"),
		"colors of a terminal":          {"\x1b[32m" + old + "\x1b[0m", "\x1b[1;32m" + fresh + "\x1b[m"},
		"returns that end lines":        {strings.ReplaceAll(old, "\n", "\r"), strings.ReplaceAll(fresh, "\n", "\r")},
		"returns before escaped breaks": {strings.ReplaceAll(old, "\n", "\r\\n"), strings.ReplaceAll(fresh, "\n", "\r\\n")},
		"numbers in a fence": {"```\n1: one(alpha)\n2: \ttwo(beta)\n```",
			"```\n1: one(first)\n2: \ttwo(beta)\n3: more()\n```"},
		"escapes in tags": {`<a>one(alpha)\n\ttwo(beta)\n</a>`, `<b>one(first)\n\ttwo(beta)\nmore()\n</b>`},
	} {
		want := strings.Replace(data, old, fresh, 1)
		p, got := planned(t, "src/a.go", data, Change{Old: c[0], New: c[1]})
		if got != want || len(p.Warnings) == 0 {
			t.Errorf("%s: %q %q", name, got, p.Warnings)
		}
		if name == "tags" || strings.HasPrefix(name, "tags,") || strings.HasSuffix(name, "of the file") ||
			strings.HasSuffix(name, "text") || strings.HasSuffix(name, "terminal") || name == "a fence" {
			if _, got := planned(t, "src/a.go", data, Change{Old: c[0]}); got != replaced(data, old, "") {
				t.Errorf("%s, deleted: %q", name, got)
			}
		}
		refused(t, "src/a.go", data, Change{Old: c[0], New: c[1], Strictness: Exact})
	}
	for name, c := range map[string][3]string{
		"a block with another new_string": {data, whole, fresh},
		"marks that the file has":         {"<<<<<<< a\n=======\n>>>>>>> b\n" + data, whole, whole},
		"a tag that the file has":         {"<p>\n" + data, "<p>" + old + "</p>", "<p>" + fresh + "</p>"},
		"the path of another file":        {data, "// b.go\n" + old, "// b.go\n" + fresh},
		"a path of one string":            {data, "// a.go\n" + old, fresh},
		"colors that the file has":        {data + "\x1b[0m\n", "\x1b[32m" + old, "\x1b[32m" + fresh},
		"a section that the file has":     {"<![CDATA[\n]]>\n" + data, "<![CDATA[" + old + "]]>", "<![CDATA[" + fresh + "]]>"},
	} {
		if r, err := NewText("a.go", []byte(c[0])).Plan(Change{Old: c[1], New: c[2]}); err == nil {
			t.Errorf("%s: pass %d", name, r.Pass)
		}
	}
}

// An old_string that ends within a line ending of the file has no CR of its own.
func TestEndsWithinLineEnding(t *testing.T) {
	const data = "a()\r\nb()\r\n"
	if _, got := planned(t, "a.go", data, Change{Old: "a()\r", New: "a()\r\n"}); got != "a()\r\n\nb()\r\n" {
		t.Errorf("got %q", got)
	}
}

// In a file with CR LF a mark has a CR behind it, or before it.
func TestMarksBeforeCR(t *testing.T) {
	const data = "package a\r\n\r\nfunc one() {\r\n\tx()\r\n}\r\n"
	for _, fresh := range []string{"<<<<<<< HEAD\r\n\ta()\r\n=======\r\n\tb()\r\n>>>>>>> x\r\n", "\r```go\r\n\ty()\r\n",
		"@@ -1,2 +1,2 @@\r\n\ty()\r\n", "\ty()\r\n\\ No newline at end of file\r\n"} {
		if r := refused(t, "a.go", data, Change{Old: "\tx()\r\n", New: fresh}); r.Kind != Guard {
			t.Errorf("%q: %v", fresh, r)
		}
	}
	if r := Content("a.go", []byte(data), []byte("\r```go\nx()\n")); r == nil {
		t.Error("a fence is written")
	}
}
