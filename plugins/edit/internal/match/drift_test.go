package match

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const driftedFile = `package calc

// Add returns the sum of a and b.
func Add(a, b int) int {
	return a + b
}

func Div(a, b int) (int, error) {
	// division by zero is not defined
	if b == 0 {
		return 0, errDivision // see issue 12
	}
	return a / b, nil
}
`

// Comments that a model has in other words are no hindrance, wherever they stand, as long as they are about the same
// thing.
func TestDriftedComments(t *testing.T) {
	for _, c := range []struct{ name, old, fresh, was, is string }{
		{"above", "// Add adds two numbers.\nfunc Add(a, b int) int {\n\treturn a + b\n",
			"// Add adds two numbers.\nfunc Add(a, b int) int {\n\treturn b + a\n",
			"return a + b", "return b + a"},
		{"inside", "func Div(a, b int) (int, error) {\n    // guard\n    if b == 0 {\n",
			"func Div(a, b int) (int, error) {\n    // guard\n    if b <= 0 {\n", "b == 0", "b <= 0"},
		{"below", "\treturn a + b\n}\n\nfunc Div(a, b int) (int, error) {\n\t// zero is refused\n",
			"\treturn b + a\n}\n\nfunc Div(a, b int) (int, error) {\n\t// zero is refused\n",
			"return a + b", "return b + a"},
		{"behind code", "\tif b == 0 {\n\t\treturn 0, errDivision // an issue of ours\n\t}\n\treturn a / b, nil\n",
			"\tif b == 0 {\n\t\treturn 0, errDivision // an issue of ours\n\t}\n\treturn a / b, errNone\n",
			"a / b, nil", "a / b, errNone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, got := planned(t, "calc.go", driftedFile, Change{Old: c.old, New: c.fresh})
			want := replaced(driftedFile, c.was, c.is)
			if diff := cmp.Diff(want, got); diff != "" || p.Pass != 7 {
				t.Errorf("pass %d (-want +got):\n%s", p.Pass, diff)
			}
		})
	}
}

// A comment may also distinguish one place from another.
func TestCommentsAgainstAPlace(t *testing.T) {
	for _, c := range []struct{ name, old, fresh string }{
		{"above, about something else", "// Multiply two matrices.\nfunc Add(a, b int) int {\n\treturn a + b\n",
			"// Multiply two matrices.\nfunc Add(a, b int) int {\n\treturn b + a\n"},
		{"above, where the file has none", "// Div divides.\nfunc Div(a, b int) (int, error) {\n\t// division by zero is " +
			"not defined\n\tif b == 0 {\n", "// Div divides.\nfunc Div(a, b int) (int, error) {\n\t// division by zero is " +
			"not defined\n\tif b < 0 {\n"},
		{"above a single line of code", "// Add adds.\nfunc Add(a, b int) int {\n",
			"// Add adds.\nfunc Add(b, a int) int {\n"},
		{"another number", "\tif b == 0 {\n\t\treturn 0, errDivision // see issue 21\n\t}\n",
			"\tif b <= 0 {\n\t\treturn 0, errDivision // see issue 21\n\t}\n"},
		{"the comment that changes", "// Add adds two numbers.\nfunc Add(a, b int) int {\n\treturn a + b\n",
			"// Add gives a sum.\nfunc Add(a, b int) int {\n\treturn a + b\n"},
		{"the comment that goes", "// Add adds two numbers.\nfunc Add(a, b int) int {\n\treturn a + b\n",
			"func Add(a, b int) int {\n\treturn a + b\n"},
		{"one that stands elsewhere", "// Add returns the sum of a and b.\n\n\tif b == 0 {\n\t\treturn 0, errDivision // " +
			"see issue 12\n\t}\n", "// Add returns the sum of a and b.\n\n\tif b < 0 {\n\t\treturn 0, errDivision // see " +
			"issue 12\n\t}\n"},
		{"inside, about something else", "func Div(a, b int) (int, error) {\n\t// rounding is left to callers\n\tif b == 0 {\n",
			"func Div(a, b int) (int, error) {\n\t// rounding is left to callers\n\tif b <= 0 {\n"},
		{"behind code, about something else", "\tif b == 0 {\n\t\treturn 0, errDivision // rounded by callers\n\t}\n",
			"\tif b <= 0 {\n\t\treturn 0, errDivision // rounded by callers\n\t}\n"},
		{"inside, and a word is misspelt", "func Div(a, b int) (int, error) {\n\t// rounding is left to callers\n" +
			"\tif b == 0 {\n\t\treturn 0, errDivisoin // see issue 12\n\t}\n\treturn a / b, nil\n",
			"func Div(a, b int) (int, error) {\n\t// rounding is left to callers\n\tif b <= 0 {\n" +
				"\t\treturn 0, errDivisoin // see issue 12\n\t}\n\treturn a / b, nil\n"},
		{"inside, with another word of a twin", "func Div(a, b int) (int, error) {\n\t// division by zero is not supported\n" +
			"\tif b == 0 {\n", "func Div(a, b int) (int, error) {\n\t// division by zero is not supported\n\tif b <= 0 {\n"},
		{"inside, about something else with a word of it", "func Div(a, b int) (int, error) {\n\t// callers count each division\n" +
			"\tif b == 0 {\n", "func Div(a, b int) (int, error) {\n\t// callers count each division\n\tif b <= 0 {\n"},
		{"more of them than code", "}\n\n// one thing\n// and another\n// and a third\nfunc Div(a, b int) (int, error) {\n",
			"}\n\n// one thing\n// and another\n// and a third\nfunc Div(b, a int) (int, error) {\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := refused(t, "calc.go", driftedFile, Change{Old: c.old, New: c.fresh}); r.Hint == "" {
				t.Errorf("no hint: %+v", r)
			}
		})
	}
}

// A short comment with another word may be that of a twin, unless it stands in much code that is the same.
func TestCommentWithAnotherWord(t *testing.T) {
	for lines, accepted := range map[int]bool{muchCode - 2: false, muchCode: true} {
		data := "begin(x)\n// Close the reader first.\n"
		for i := range lines {
			data += fmt.Sprintf("step%d(x)\n", i)
		}
		old := strings.Replace(data, "reader", "writer", 1)
		c := Change{Old: old, New: strings.Replace(old, "step3(x)", "step3(y)", 1)}
		if !accepted {
			refused(t, "a.go", data, c)
		} else if _, got := planned(t, "a.go", data, c); got != strings.Replace(data, "step3(x)", "step3(y)", 1) {
			t.Error(got)
		}
	}
}

// Comments in two languages can say the same. A refusal for the comment behind a line shows it.
func TestCommentsInAnotherLanguage(t *testing.T) {
	const data = "func a(list []int) int {\n\t// 计算所有 元素的总和\n\tx := sum(list, items)\n" +
		"\treturn x + other // 总和\n}\n"
	old := "func a(list []int) int {\n\t// compute the total amount\n\tx := sum(list, items)\n\treturn x + other\n}\n"
	_, got := planned(t, "a.go", data, Change{Old: old, New: strings.Replace(old, "x +", "x -", 1)})
	if got != strings.Replace(data, "x +", "x -", 1) {
		t.Errorf("got %q", got)
	}
	const behind = "func a(list []int) int {\n\tx := sum(list, items) // adds every element\n\treturn x + other\n}\n"
	old = strings.Replace(behind, "adds every element", "compute total", 1)
	r := refused(t, "a.go", behind, Change{Old: old, New: strings.Replace(old, "x +", "x -", 1)})
	if !strings.Contains(r.Message, "Line 2 is") {
		t.Error(r.Message)
	}
}

// What is certain once the escapes are gone is not searched for with comments ignored.
func TestEscapesComeBeforeIgnoredComments(t *testing.T) {
	const data = "// the \"first\" of them\nfunc first(a int) {\n\tsecond(a)\n}\n"
	old := "// the \\\"first\\\" of them\nfunc first(a int) {\n\tsecond(a)\n"
	_, got := planned(t, "a.go", data, Change{Old: old, New: old + "\tthird(\\\"x\\\")\n"})
	if want := "// the \"first\" of them\nfunc first(a int) {\n\tsecond(a)\n\tthird(\"x\")\n}\n"; got != want {
		t.Errorf("%s", got)
	}
}

// Where the lines of the match are all of one depth, a deeper line gets whole steps or none.
func TestStepsThatTheMatchDoesNotShow(t *testing.T) {
	const tabs = "func f(a string) {\n\tif a {\n\t\tone(a)\n\t\ttwo(a)\n\t}\n}\n"
	_, got := planned(t, "a.go", tabs, Change{Old: "a {\n        one(a)\n        two(a)\n",
		New: "a {\n        if b {\n            return\n        }\n        one(a)\n        two(a)\n"})
	if want := "func f(a string) {\n\tif a {\n\t\tif b " +
		"{\n\t\t\treturn\n\t\t}\n\t\tone(a)\n\t\ttwo(a)\n\t}\n}\n"; got != want {
		t.Errorf("%q", got)
	}
	const aligned = "\t\tfor j {\n\t\t  if x &&\n\t\t     y {\n"
	refused(t, "a.c", aligned, Change{Old: "                for j {\n                  if x &&\n",
		New: "                for j {\n                if (v) {\n                        return;\n                }\n     " +
			"             if x &&\n"})
}

// One indentation of old_string stands for two of the file: the lines above and below a new one must agree on it.
func TestOneIndentationForTwo(t *testing.T) {
	const data = "ALTER ONE ADD\n\tFUNCTION 1 (one);\n\nALTER TWO ADD\n\tFUNCTION 2 (two);\n"
	old := strings.ReplaceAll(data, "\t", "")
	refused(t, "a.sql", data, Change{Old: old, New: strings.Replace(old, "\n\nALTER TWO",
		"\nFUNCTION 3 (three);\n\nALTER TWO", 1)})
}

// A line that moves deeper does so even if the indentation of another line was quoted wrong.
func TestALineMovesBesideAWrongIndentation(t *testing.T) {
	const data = "def f(x):\n    n = 1\n    m = x\n    return m\n"
	_, got := planned(t, "a.rb", data, Change{Old: "  n = 1\n  m = x\n    return m\n",
		New: "  n = 1\n  if x\n    m = x\n  end\n    return m\n"})
	if got != replaced(data, "    m = x", "    if x\n        m = x\n    end") {
		t.Errorf("got\n%s", got)
	}
}

// A bracket that is a part of a line says nothing of where old_string ends.
func TestBracketsAtTheEndMustEndTheirLine(t *testing.T) {
	const data = "  call(() => {\n    first(one);\n    second(two);\n  }, wait);\n}\n"
	refused(t, "a.ts", data, Change{Old: "  call(() => { \n    first(one);\n    second(two);\n}",
		New: "  call(() => { \n    first(one);\n    third(two);\n}"})
}

// An old_string without semicolons is found, but statements that come would have none in a file that has them.
func TestStatementsThatComeWithoutSemicolons(t *testing.T) {
	const data, old = "\tfirst = f(x);\n\tsecond = g(y);\n\thandle(a, b);\n", "\tfirst = f(x)\n\tsecond = g(y)\n\thandle(a, b)\n"
	for _, name := range []string{"a.c", "a.java", "a.js", "a.php", "a.rs"} {
		for _, more := range []string{"\tk(z)\n", "\tk = {1, 2}\n", "\treturn\n", "\tfor (i = 0; i < 9; i++) {\n\t\th(i)\n\t}\n", "\tk(z)\n\tl(z);\n"} {
			r := refused(t, name, data, Change{Old: old, New: strings.Replace(old, "\tsecond", more+"\tsecond", 1)})
			if r.Kind != Conflict || !strings.Contains(r.Message, "semicolon") {
				t.Errorf("%s: %q: %v", name, more, r)
			}
		}
		for _, pair := range [][2]string{{"g(y)", "g(z)"}, {"\tsecond", "\tk(z);\n\tsecond"}, {"\tsecond", "\t// Why.\n\tsecond"},
			{"\tsecond", "\tif (a) {\n\t\tk(z);\n\t}\n\tsecond"}, {"\tsecond = g(y)\n", ""}} {
			fresh := strings.Replace(old, pair[0], pair[1], 1)
			want := strings.Replace(strings.Replace(data, strings.TrimSuffix(pair[0], "\n"), pair[1], 1), "\n;\n", "\n", 1)
			if _, got := planned(t, name, data, Change{Old: old, New: fresh}); got != want {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
}
