package match

import "testing"

// An old_string that is one line without its indentation is the model's left edge: the lines of new_string are indented
// from there, unless something in them shows that they have the file's own indentation.
func TestLinesAreIndentedAsOldStringIs(t *testing.T) {
	const py = "class A:\n    def f(self):\n        x = 1\n\n        if x:\n            y = 2\n        return x\n"
	const xml = "<a>\n  <deps>\n    <dep>\n    </dep>\n  </deps>\n</a>\n"
	const rb = "class A\n  def f(x)\n    if x\n      g\n    end\n  end\n  h = 1\n  i = 2\nend\n"
	const steps = "jobs:\n  steps:\n    - name: one\n    - name: two\n"
	const code = "func f() {\n\tx := 1\n\tif x > 0 {\n\t\tg(x)\n\t}\n}\n"
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"a line more", "a.py", py, "x = 1\n", "x = 1\nz = 2\n", "        x = 1\n        z = 2\n"},
		{"without a line break", "a.py", py, "x = 1", "x = 1\nz = 2", "        x = 1\n        z = 2"},
		{"a part of its indentation", "a.py", py, "  x = 1\n", "  x = 1\n  z = 2\n", "        x = 1\n        z = 2\n"},
		{"a part, and lines behind", "a.py", py, "  x = 1\n\n        if x:\n", "  x = 1\n  z = 2\n\n        if x:\n",
			"        x = 1\n        z = 2\n\n        if x:\n"},
		{"a part, and a block around it", "a.py", py, "  x = 1", "  if a:\n      x = 1\n  z = 2",
			"        if a:\n            x = 1\n        z = 2"},
		{"a line before it", "a.py", py, "x = 1\n", "z = 2\nx = 1\n", "        z = 2\n        x = 1\n"},
		{"a blank line before it", "a.py", py, "return x", "\nreturn x", "\n        return x"},
		{"the last line of a block", "a.py", py, "y = 2\n", "y = 2\nz = 3\n", "            y = 2\n            z = 3\n"},
		{"the last line of the file", "a.py", py, "return x\n", "z(x)\nreturn x\n", "        z(x)\n        return x\n"},
		{"a block around it", "a.py", py, "x = 1", "if a:\n    x = 1\nelse:\n    x = 2",
			"        if a:\n            x = 1\n        else:\n            x = 2"},
		{"the first lines of its block", "a.py", py, "if x:\n", "if x:\n    z = 3\n", "        if x:\n            z = 3\n"},
		{"a line that goes on", "a.py", py, "x = 1", "x = f(1,\n      2)\nz = 2", "        x = f(1,\n              2)\n        z = 2"},
		{"a key within a mapping", "a.yaml", "a:\n  b: 2\n  d: 4\n", "b: 2\n", "b: 2\nc: 3\n", "  b: 2\n  c: 3\n"},
		{"tabs", "a.go", code, "x := 1\n", "x := 1\ny := 2\n", "\tx := 1\n\ty := 2\n"},
		{"before a bracket", "a.go", code, "g(x)\n", "g(x)\n\nh(x)\n", "\t\tg(x)\n\n\t\th(x)\n"},
		{"the first lines of an element", "a.xml", xml, "<deps>\n", "<deps>\n  <one>\n    two\n  </one>\n",
			"  <deps>\n    <one>\n      two\n    </one>\n"},
		{"the last lines of an element", "a.xml", xml, "</deps>", "  <one>\n    two\n  </one>\n</deps>",
			"    <one>\n      two\n    </one>\n  </deps>"},
		{"the first lines of a method", "a.rb", rb, "def f(x)\n", "def f(x)\n  return unless x\n",
			"  def f(x)\n    return unless x\n"},
		{"the first lines of a branch", "a.rb", rb, "if x\n", "if x\n  # Why.\n  y\n", "    if x\n      # Why.\n      y\n"},
		{"a method behind it", "a.rb", rb, "h = 1\n", "h = 1\n\ndef g\n  2\nend\nk = 3\n",
			"  h = 1\n\n  def g\n    2\n  end\n  k = 3\n"},
		{"an item of a list", "a.yaml", steps, "- name: one\n", "- name: one\n  run: it\n", "    - name: one\n      run: it\n"},
		{"a line that ends in blanks", "a.java", "class A {\n  void f() { \n  }\n}\n", "void f() { \n", "@Test\nvoid f() { \n",
			"  @Test\n  void f() { \n"},
		{"a file of no known kind", "a.y", "x:\n    one = 1;\n", "one = 1;", "if (y) {\n  z();\n}\none = 1;",
			"    if (y) {\n      z();\n    }\n    one = 1;"},
		{"a block as deep as the file's", "a.go", code, "if x > 0 {\n", "if x > 0 {\n\tk()\n", "\tif x > 0 {\n\t\tk()\n"},
	} {
		p, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh})
		if want := replaced(c.data, trimmedLine(c.data, c.old), c.want); got != want || len(p.Warnings) == 0 {
			t.Errorf("%s: pass %d gives\n%swant\n%s%q", c.name, p.Pass, got, want, p.Warnings)
		}
	}
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"lines that are indented", "a.py", py, "x = 1\n", "x = 1\n        z = 2\n"},
		{"a block that is indented", "a.py", py, "if x:\n", "if x:\n            z = 3\n"},
		{"a definition behind the block", "a.py", py, "return x\n", "return x\n\n\ndef g():\n    pass\n"},
		{"the end of a block", "a.go", code, "g(x)\n", "g(x)\n}\n\nfunc h() {\n"},
		{"another branch", "a.py", py, "y = 2\n", "y = 2\n        else:\n            y = 3\n"},
		{"an element without content", "a.html", "<p>\n  <b>\n  a\n</p>\n<body>\n</body>\n", "<b>\n", "<b>\n  b\n"},
		{"an element behind it", "a.xml", xml, "<dep>\n", "<dep/>\n    <dep>\n"},
		{"the end of an element", "a.xml", xml, "</dep>\n", "</dep>\n  </deps>\n  <deps>\n"},
		{"a branch on one line", "a.rb", rb, "h = 1\n", "if a then b end\n  h = 1\n"},
		{"the key of an item as deep as the item", "a.yaml", steps, "- name: one\n", "- name: one\n    - name: three\n"},
		{"a directive", "a.c", "int f() {\n  a();\n}\n", "a();\n", "a();\n#ifdef X\n"},
		{"a label", "a.go", code, "x := 1\n", "x := 1\nagain:\n"},
		{"a key behind a mapping", "a.yaml", "a:\n  b: 2\n", "b: 2\n", "b: 2\nc: 3\n"},
		{"a list behind a mapping", "a.yaml", "- a: 1\n  b: 2\n", "b: 2\n", "b: 2\n- a: 3\n"},
		{"text", "a.md", "* a\n  * b\n\nEnd.\n", "* b\n", "* b\n* c\n"},
		{"a string", "a.py", "s = \"\"\"\n  a\nb\n\"\"\"\n", "a\n", "a\nc\n"},
	} {
		written(t, c.file, c.data, c.old, c.fresh)
	}
}

// trimmedLine is old with the blanks that are before it in its line.
func trimmedLine(data, old string) string {
	for at := len(data) - len(old); at >= 0; at-- {
		if data[at:at+len(old)] == old {
			start := at
			for start > 0 && blankByte(data[start-1]) {
				start--
			}
			return data[start : at+len(old)]
		}
	}
	return old
}
