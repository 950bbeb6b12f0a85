package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Blank lines around a place are the file's, when old_string or new_string was trimmed.
func TestOuterBlankLines(t *testing.T) {
	const data = "first()\n\n\n\tif ready {\n\t\trun(all)\n\t}\n\n\nlast()\n"
	old, fresh := "    if ready {\n        run(all)\n    }", "    if ready {\n        run(some)\n    }"
	want := strings.Replace(data, "run(all)", "run(some)", 1)
	for before := range 4 {
		for after := range 4 {
			for newBefore := range 3 {
				for newAfter := range 3 {
					breaks := func(n int) string { return strings.Repeat("\n", n) }
					c := Change{Old: breaks(before) + old + breaks(after), New: breaks(newBefore) + fresh + breaks(newAfter)}
					p, err := NewText("a.go", []byte(data)).Plan(c)
					if err != nil {
						continue
					}
					got := string(p.Apply([]byte(data)))
					if newBefore <= before && newAfter <= after && got != want {
						t.Errorf("old has %d and %d, new %d and %d breaks: %q", before, after, newBefore, newAfter, got)
					}
					if strings.Count(got, "\n") < strings.Count(want, "\n") {
						t.Errorf("old has %d and %d, new %d and %d breaks: a line is gone: %q", before, after, newBefore, newAfter, got)
					}
				}
			}
		}
	}
}

// A comment at the end of a line that old_string does not quote stays at the end of that line.
func TestCommentsStayOnTheirLine(t *testing.T) {
	const data = "start()\nfirst(one)  // one is small\nsecond(two)  // two is not\nlast()\n"
	for _, c := range []struct{ name, old, fresh, want string }{
		{"a line comes behind the last", "start()\nfirst(one)", "start()\nfirst(one)\nmore(three)",
			"start()\nfirst(one)  // one is small\nmore(three)\nsecond(two)  // two is not\nlast()\n"},
		{"a line comes behind the only one", "first(one)", "first(one)\nmore(three)",
			"start()\nfirst(one)  // one is small\nmore(three)\nsecond(two)  // two is not\nlast()\n"},
		{"the last line changes, and one comes", "start()\nfirst(one)", "start()\nfirst(one, 1)\nmore(three)",
			"start()\nfirst(one, 1)  // one is small\nmore(three)\nsecond(two)  // two is not\nlast()\n"},
		{"the last line goes", "start()\nfirst(one)", "start()", ""},
		{"the lines change places", "first(one)\nsecond(two)", "second(two)\nfirst(one)",
			"start()\nsecond(two)  // two is not\nfirst(one)  // one is small\nlast()\n"},
		{"a comment is cut off, and a line comes", "first(one)  // one is", "first(one)  // one is\nmore(three)",
			"start()\nfirst(one)  // one is small\nmore(three)\nsecond(two)  // two is not\nlast()\n"},
		{"a comment is cut off, and is whole in new_string", "first(one)  // one is",
			"first(one)  // one is small\nmore(three)",
			"start()\nfirst(one)  // one is small\nmore(three)\nsecond(two)  // two is not\nlast()\n"},
		{"new_string has the comment", "start()\nfirst(one)", "start()\nfirst(one)  // one is small\nmore(three)",
			"start()\nfirst(one)  // one is small\nmore(three)\nsecond(two)  // two is not\nlast()\n"},
		{"a line comes before a part of a comment", "one is small", "more(three)\none is small", ""},
		{"a line comes before the rest of one", "one is small\nsecond(two)", "more(three)\none is small\nsecond(two)", ""},
		{"a line goes, where comments are left out", "start()\nfirst(one)\nsecond(two)\nlast()",
			"start()\nsecond(two)\nlast()", "start()\nsecond(two)  // two is not\nlast()\n"},
		{"a line changes and another comes, where comments are left out", "start()\nfirst(one)\nsecond(two)\nlast()",
			"start()\nfirst(two)\nmore(three)\nmore(four)\nsecond(two)\nlast()",
			"start()\nfirst(two)  // one is small\nmore(three)\nmore(four)\nsecond(two)  // two is not\nlast()\n"},
		{"a line comes, where comments are left out", "start()\nfirst(one)\nsecond(two)\nlast()",
			"start()\nfirst(one)\nmore(three)\nsecond(two)\nlast()",
			"start()\nfirst(one)  // one is small\nmore(three)\nsecond(two)  // two is not\nlast()\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := Change{Old: c.old, New: c.fresh}
			if c.want == "" {
				refused(t, "a.go", data, change)
			} else if p, got := planned(t, "a.go", data, change); got != c.want {
				t.Errorf("pass %d: %q", p.Pass, got)
			}
		})
	}
}

// A separator that old_string does not quote stays on its line, and goes with it. A line that comes gets one where it
// needs one.
func TestSeparatorsStayOnTheirLine(t *testing.T) {
	const c = "a(one);\nb(left, two);\nb(right, two);\nif (x) {\n\ty(three);\n\tz(four);\n}\n"
	const js = "{\n  \"a\": {\n    \"first\": 1,\n    \"second\": 2,\n    \"third\": 3\n  }\n}\n"
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"the last line goes", "a.c", c, "if (x) {\n\ty(three)", "if (x) {", "if (x) {\n\tz(four);"},
		{"the last line goes, with a break", "a.c", c, "a(one);\nb(left, two)", "a(one);\n", "a(one);\nb(right"},
		{"all goes", "a.c", c, "a(one)", "", "\nb(left, two);"},
		{"a line comes", "a.c", c, "\ty(three)", "\ty(three)\n\tw(six)", "\ty(three);\n\tw(six);\n"},
		{"a line comes, with its sign", "a.c", c, "\ty(three)", "\ty(three)\n\tw(six);", "\ty(three);\n\tw(six);\n"},
		{"a comment comes", "a.c", c, "\ty(three)", "\ty(three)\n\t// six!", "\ty(three);\n\t// six!\n"},
		{"both have their sign", "a.c", c, "\ty(three)", "\ty(three);\n\tw(six)", "\ty(three);\n\tw(six);\n"},
		{"both have their sign, of which one is another", "a.c", c, "\ty(three)", "\ty(three);\n\tif (w) {",
			"\ty(three);\n\tif (w) {\n"},
		{"a short line", "a.js", "a(\n  b,\n)\nc(\n  d,\n);\n", "  d,\n)", "  d,\n);\ne({", "  d,\n);\ne({\n"},
		{"a sign, and a comment comes", "a.c", c, "\ty(three)", "\ty(three);\n\t// six", "\ty(three);\n\t// six\n"},
		{"the line before it is like it", "a.c", c, "b(left, two);\nb(right, two)", "b(left, two);\nb(right, ten)",
			"b(left, two);\nb(right, ten);\n"},
		{"a member goes", "a.json", js, "\"a\": {\n    \"first\": 1", "\"a\": {", "\"a\": {\n    \"second\""},
		{"a member goes, and the one before it loses its comma", "a.json", js, "\"first\": 1,\n    \"second\": 2",
			"\"first\": 1", "\"first\": 1,\n    \"third\""},
		{"a member comes", "a.json", js, "\"second\": 2", "\"second\": 2\n    \"more\": 5",
			"\"second\": 2,\n    \"more\": 5,\n    \"third\""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh})
			if !strings.Contains(got, c.want) || strings.Contains(got, ";;") || strings.Contains(got, ",,") {
				t.Errorf("got\n%s\nwant in it %q", got, c.want)
			}
		})
	}
	const same = "f(a, left)\nf(a, right) // the other\ng()\n"
	if _, got := planned(t, "a.go", same, Change{Old: "f(a, left)\nf(a, right)", New: "f(a, left)\nf(b, right)"}); got !=
		strings.Replace(same, "a, right", "b, right", 1) {
		t.Errorf("a comment: got %q", got)
	}
}

// Comments that old_string leaves out and new_string has are in the file once. One in other words is refused.
func TestCommentsOnlyInNew(t *testing.T) {
	code := []string{"\tfirst := prepare(one)", "\tsecond := collect(first, two)", "\treport(second, three)"}
	const head, tail = "func run() {\n", "\n\tclose(all)\n}\n"
	for _, comments := range []string{"\t// explain how it works", "\t// explain how it works\n\t// and why it does",
		"\n\t// explain how it works", "\t// explain how it works\n"} {
		join := func(at int, comments string, lines []string) string {
			lines = slices.Clone(lines)
			if comments != "" {
				lines = slices.Insert(lines, at, comments)
			}
			return strings.Join(lines, "\n")
		}
		for at := range len(code) + 1 {
			data := head + join(at, comments, code) + tail
			for i := range code {
				changed := slices.Clone(code)
				changed[i] = strings.Replace(code[i], "(", "(more, ", 1)
				for indent, s := range map[string]*strings.Replacer{"tabs": strings.NewReplacer(),
					"blanks": strings.NewReplacer("\t", "    ")} {
					name := fmt.Sprintf("%q before line %d, line %d changes, %s", comments, at, i, indent)
					c := Change{Old: s.Replace(join(at, "", code)), New: s.Replace(join(at, comments, changed))}
					want := head + join(at, comments, changed) + tail
					p, err := NewText("a.go", []byte(data)).Plan(c)
					if inside := at > 0 && at < len(code); inside && err != nil {
						t.Errorf("%s: %v", name, err)
					} else if err == nil && string(p.Apply([]byte(data))) != want {
						t.Errorf("%s: got\n%s", name, p.Apply([]byte(data)))
					}
					c.New = strings.Replace(c.New, "explain how", "describe how", 1)
					if p, err := NewText("a.go", []byte(data)).Plan(c); err == nil {
						t.Errorf("%s, in other words: got\n%s", name, p.Apply([]byte(data)))
					}
				}
			}
		}
	}
	// New lines of a comment that the file goes on with are none that it has in other words.
	const header = "# name    - the name of the tool.\n# size    - the size of the tool,\n#           in bytes.\ncode()\n"
	const size = "# size    - the size of the tool,\n"
	written(t, "a.py", header, size, size+"# weight  - the weight of the tool,\n# name_of - the name of a tool,\n")
	refused(t, "a.go", "a(first)\n// Explains it.\nb(second)\nc(third)\n", Change{Old: "a(first)\nb(second)\nc(third)",
		New: "a(first)\nb(second)\n// Explains it.\nc(third)"})
}

// A line that is short, but unique, may differ in blanks.
func TestShortLines(t *testing.T) {
	for _, c := range []struct{ file, line, old, fresh, want string }{
		{"a.c", "\tfoo( a, b );", "foo(a,b);", "foo(a,c);", "\tfoo( a, c );"},
		{"a.js", "  x = 1;", "  x=1;", "  x=2;", "  x = 2;"},
		{"a.go", "\ti++", "\ti ++", "\ti --", "\ti--"},
		{"a.yaml", "  a: 1", "  a:  1", "  a:  2", "  a: 2"},
		{"a.py", "    f( )", "    f()", "    f(1)", "    f(1 )"},
		{"a.sql", "SET x=1;", "SET x = 1;", "SET x = 3;", "SET x=3;"},
		{"a.go", "\tx := 1", "  x := 1 ", "  x := 2 ", "\tx := 2"},
	} {
		data := "first line of it\n" + c.line + "\nlast line of it\n"
		if p, got := planned(t, c.file, data, Change{Old: c.old,
			New: c.fresh}); got != "first line of it\n"+c.want+"\nlast line of it\n" {
			t.Errorf("%q: pass %d gives %q", c.old, p.Pass, got)
		}
		refused(t, c.file, data+c.line+"\n", Change{Old: c.old + "\n", New: c.fresh + "\n"})
	}
	for _, c := range []struct{ data, old string }{
		{"x = 12\ny = 3\n", "x=1"}, {"a(b c)\n", "a(bc)"}, {"call(x = 1)\n", "x=1"}, {"'a'\n", `"a"`}, {"if (x) {\n}\n",
			"{ \n}"},
	} {
		refused(t, "a.js", c.data, Change{Old: c.old, New: c.old + "0"})
	}
}

// An ellipsis is three dots, an arrow a minus and a greater-than.
func TestEllipsis(t *testing.T) {
	for _, c := range []struct{ data, old, fresh, want string }{
		{"print(\"wait...\")\nrun()\n", "print(\"wait…\")", "print(\"wait longer…\")",
			"print(\"wait longer...\")\nrun()\n"},
		{"print(\"wait…\")\nrun()\n", "print(\"wait...\")", "show(\"wait...\")", "show(\"wait…\")\nrun()\n"},
		{"func f(args ...any) {\n\trun(args...)\n}\n", "func f(args …any) {\n\trun(args…)\n",
			"func f(args …any) {\n\tlog(args…)\n\trun(args…)\n",
			"func f(args ...any) {\n\tlog(args...)\n\trun(args...)\n}\n"},
		{"if (p->a != 1 && p->b >= 2) {\n\tgo(p);\n}\n", "if (p→a ≠ 1 && p→b ≥ 2) {\n\tgo(p);",
			"if (p→a ≠ 1 && p→b ≥ 3) {\n\tgo(p→c ≤ 4);", "if (p->a != 1 && p->b >= 3) {\n\tgo(p->c <= 4);\n}\n"},
		{"// a → b\ngo(a, b)\n", "// a -> b\ngo(a, b)", "// a -> b\ngo(b, a)", "// a → b\ngo(b, a)\n"},
	} {
		if p, got := planned(t, "a.go", c.data, Change{Old: c.old, New: c.fresh}); got != c.want {
			t.Errorf("pass %d: %q, want %q", p.Pass, got, c.want)
		}
	}
}

// The indentation of a first line that old_string quotes without it goes with that line.
func TestIndentationGoesWithItsLine(t *testing.T) {
	const data = "if ready {\n    first(one,\n        two)\n    second()\n}\n"
	_, got := planned(t, "a.go", data, Change{Old: "first(one,\n        two)\n    second()", New: "    second()"})
	if want := "if ready {\n    second()\n}\n"; got != want {
		t.Errorf("%q", got)
	}
}

// A class of Apex is no TeX, in which % would begin a comment.
func TestPercentOfAClass(t *testing.T) {
	refused(t, "A.cls", "public class A {\n  Integer a = b % c;\n  Integer d = 1;\n}\n",
		Change{Old: "  Integer a = b % d;\n  Integer d = 1;\n", New: "  Integer a = b % d;\n  Integer d = 2;\n"})
}
