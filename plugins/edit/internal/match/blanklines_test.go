package match

import (
	"strings"
	"testing"
)

// Blank lines that old_string leaves out set apart what new_string does not: each gap is there once.
func TestGapsAreThereOnce(t *testing.T) {
	const data = "func a() {}\n\nfunc b() {}\n\nfunc c() {}\n"
	const block = "case 1:\n\tx()\n\ncase 2:\n\ty()\n"
	const added = "func a() {}\n\n// New.\nfunc n() {}\n\nfunc b() {}\n\nfunc c() {}\n"
	for _, c := range []struct{ name, data, old, fresh, want string }{
		{"new lines with a gap behind them", data, "func a() {}\nfunc b() {}\n",
			"func a() {}\n// New.\nfunc n() {}\n\nfunc b() {}\n", added},
		{"new lines with a gap before them", data, "func a() {}\nfunc b() {}\n",
			"func a() {}\n\n// New.\nfunc n() {}\nfunc b() {}\n", added},
		{"lines that go, and a gap behind them", data, "func a() {}\nfunc b() {}\n\nfunc c() {}\n",
			"func a() {}\n\nfunc c() {}\n", "func a() {}\n\nfunc c() {}\n"},
		{"lines that go, and a gap before them", data, "func a() {}\n\nfunc b() {}\nfunc c() {}\n",
			"func a() {}\n\nfunc c() {}\n", "func a() {}\n\nfunc c() {}\n"},
		{"new lines with gaps around them", data, "func a() {}\nfunc b() {}\n",
			"func a() {}\n\n// New.\nfunc n() {}\n\nfunc b() {}\n", added},
		{"a gap that is there, before a line that changes", data, "func a() {}\nfunc b() {}\n",
			"func a() {}\n\nfunc b(x int) {}\n", "func a() {}\n\nfunc b(x int) {}\n\nfunc c() {}\n"},
		{"a comment on the line that follows", data, "func a() {}\nfunc b() {}\n",
			"func a() {}\n// b does more.\nfunc b() {}\n", "func a() {}\n\n// b does more.\nfunc b() {}\n\nfunc c() {}\n"},
		{"a line like the one that follows", "package a\n\nimport \"b\"\n", "package a\nimport \"b\"\n",
			"package a\nimport \"a\"\nimport \"b\"\n", "package a\n\nimport \"a\"\nimport \"b\"\n"},
		{"a line that becomes two", data, "func a() {}\nfunc b() {}\n", "func a() {}\n//go:noinline\nfunc b(x int) {}\n",
			"func a() {}\n\n//go:noinline\nfunc b(x int) {}\n\nfunc c() {}\n"},
		{"a line that is set apart from nothing", data, "func a() {}\nfunc b() {}\n", "func a() {}\nvar x int\nfunc b() {}\n",
			"func a() {}\nvar x int\n\nfunc b() {}\n\nfunc c() {}\n"},
		{"the last line of a block", block, "case 1:\n\tx()\ncase 2:\n", "case 1:\n\tx()\n\tz()\ncase 3:\n",
			"case 1:\n\tx()\n\tz()\n\ncase 3:\n\ty()\n"},
		{"a comment at the end of a block", block, "case 1:\n\tx()\ncase 2:\n", "case 1:\n\tx()\n\t// Done.\ncase 2:\n",
			"case 1:\n\tx()\n\t// Done.\n\ncase 2:\n\ty()\n"},
		{"lines that go, without any gap", data, "func a() {}\nfunc b() {}\nfunc c() {}\n",
			"func a() {}\nfunc c() {}\n", "func a() {}\n\nfunc c() {}\n"},
		{"the last lines go", data, "func b() {}\nfunc c() {}\n", "func b() {}\n", "func a() {}\n\nfunc b() {}\n"},
		{"a blank line more at the end of both", data, "func c() {}\n\n", "func c() {}\n\nfunc d() {}\n\n",
			data + "\nfunc d() {}\n"},
		{"two blank lines more at the end of both", data,
			" func a() {}\n\n\n", " func a() {}\n\n// New.\nfunc n() {}\n\n\n",
			added},
		{"a blank line more, and lines that go", data, "func b() {}\n\nfunc c() {}\n\n", "func b() {}\n\n",
			"func a() {}\n\nfunc b() {}\n"},
		{"the end of a directive", "#if X\nint a;\n\nint b;\n", "int a;\nint b;\n", "int a;\n#endif\nint b;\n",
			"#if X\nint a;\n#endif\n\nint b;\n"},
		{"the start of one", "int a;\n\nint b;\n#endif\n", "int a;\nint b;\n", "int a;\n#if X\nint b;\n",
			"int a;\n\n#if X\nint b;\n#endif\n"},
	} {
		if p, got := planned(t, "a.go", c.data, Change{Old: c.old, New: c.fresh}); got != c.want {
			t.Errorf("%s: pass %d gives\n%swant\n%s", c.name, p.Pass, got, c.want)
		}
	}
}

// Blank lines that both strings have behind each line are not those of the file.
func TestBlankLinesBetweenAllLines(t *testing.T) {
	const data = "one(alpha)\ntwo(beta)\n\nthree(gamma)\n"
	double := func(s string) string { return strings.ReplaceAll(s, "\n", "\n\n") }
	for _, old := range []string{"one(alpha)\ntwo(beta)\n", "one(alpha)\ntwo(beta)\n\nthree(gamma)"} {
		fresh := strings.Replace(old, "two(beta)", "more(alpha)\ntwo(beta, x)", 1)
		if _, got := planned(t, "a.go", data, Change{Old: double(old), New: double(fresh)}); got != replaced(data, old, fresh) {
			t.Errorf("%q gives %q", double(fresh), got)
		}
	}
	const tabs = "if a {\n\tb(\"x\")\n\tc(y, count)\n\td(z)\n}\n"
	for _, form := range []func(string) string{
		func(s string) string { return strings.ReplaceAll(s, "\t", "") },
		func(s string) string { return strings.ReplaceAll(s, "\t", "    ") },
		func(s string) string { return strings.ReplaceAll(s, `"`, `\"`) },
		func(s string) string { return strings.ReplaceAll(s, `"x"`, "“x”") },
	} {
		old := "\tb(\"x\")\n\tc(y, count)\n\td(z)\n"
		fresh := strings.Replace(old, "\td(z)", "\td(zero)\n\te(z)", 1)
		_, got := planned(t, "a.go", tabs, Change{Old: double(form(old)), New: double(form(fresh))})
		if got != replaced(tabs, old, fresh) {
			t.Errorf("%q gives %q", double(form(fresh)), got)
		}
	}
}

// Blanks that change in a line which old_string has as the file has it are the change, though a line beside it is found
// by a pass that ignores them.
func TestBlanksOfALineThatFits(t *testing.T) {
	const data = "type t struct {\n\tname string // Descriptive.\n\tsize int\n\tcount int\n}\n"
	for _, c := range []struct{ old, fresh, want string }{
		{"\tname  string // Descriptive.\n\tsize int\n\tcount int\n", "\tname  string // Descriptive.\n\tsize  int\n\tcount int\n",
			"type t struct {\n\tname string // Descriptive.\n\tsize  int\n\tcount int\n}\n"},
		{"\tname string // Descirptive.\n\tsize int\n\tcount int\n", "\tname string // Descriptive.\n\tsize  int\n\tn     int\n",
			"type t struct {\n\tname string // Descriptive.\n\tsize  int\n\tn     int\n}\n"},
	} {
		if p, got := planned(t, "a.go", data, Change{Old: c.old, New: c.fresh}); got != c.want {
			t.Errorf("pass %d gives\n%swant\n%s", p.Pass, got, c.want)
		}
	}
}
