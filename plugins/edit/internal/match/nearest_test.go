package match

import (
	"fmt"
	"strings"
	"testing"
)

// Whatever old_string has of a line, the nearest one is shown as it is, once in the file, and what differs is named.
func TestNearestLines(t *testing.T) {
	long := strings.Repeat("alpha=1;", 30) + "timeout=30;" + strings.Repeat("beta=2;", 30)
	minified := "var a=1;" + strings.Repeat("function f(x){return x}", 400) + "server.listen(8080,'localhost');" +
		strings.Repeat("function g(y){return y}", 400)
	for _, c := range []struct{ name, file, data, old, exact, say, diff string }{
		{"one number", "a.yaml", "name: web\ntimeout: 30\nretries: 2\n", "timeout: 60", "timeout: 30",
			`Line 2 has "30" where old_string has "60"`, "-timeout: 60\n+timeout: 30\n"},
		{"one name", "a.go", "\tx := f(a)\n\ty := compute(b)\n", "\ty := calculate(b)", "\ty := compute(b)",
			`Line 2 has "compute"; "calculate" is nowhere in the file.`, ""},
		{"two lines", "a.go", "a()\nb := one(1, 2)\nc := two(3)\nd()\n", "b := one(1, 5)\nc := two(9)\n",
			"b := one(1, 2)\nc := two(3)", "lines 2 to 3", "+c := two(3)"},
		{"a part of a line", "a.js", "f({ name: 'web', timeout: 30, retries: 2 });\ng();\n", "timeout: 60",
			"timeout: 30", `line 1 has "timeout: 30"`, "-timeout: 60\n+timeout: 30\n"},
		{"a misspelt part of a line", "a.go", goFile + "\tsum += it.Price * it.Quantity // in cents, before taxes\n",
			"it.Price * it.Quantiti", "it.Price * it.Quantity", `has "it.Price * it.Quantity" (95 % alike)`, ""},
		{"a misspelt start of a part", "a.go", "func computeTotal(items []Item) (int, error) {\n", "computTotal(items",
			"computeTotal(items", `line 1 has "computeTotal(items"`, ""},
		{"a part that lacks a blank", "a.go", "x()\nreturn foo(a, b)\n", "foo(a,c)", "foo(a, b)", `line 2 has "foo(a, b)"`, ""},
		{"letters of other scripts", "a.md", "첫째 줄입니다\n마감 시간은 서른 분\n",
			"마감 시간은 예순 분", "마감 시간은 서른 분", "line 2", ""},
		{"few letters", "a.c", "x = 1;\ny = 2;\n", "y = 3;", "y = 2;", `"2" where old_string has "3"`, ""},
		{"signs only", "a.c", "a\n){;}\nb\n", "){;;", "){;}", "line 2", ""},
		{"a part of a long line", "a.txt", "x\n" + long + "\ny\n", "alpha=1;timeout=60;beta=2;", "alpha=1;timeout=30;beta=2;",
			"line 2", ""},
		{"twice the same, so with its neighbor", "a.go", "func a() {\n\tlog(x, 30)\n}\n\nfunc b() {\n\tlog(x, 30)\n}\n",
			"\tlog(x, 60)", "func a() {\n\tlog(x, 30)", "line 2", ""},
		{"a part of a very long line", "a.js", minified + "\nlast\n", "server.listen(9090,'localhost');",
			"server.listen(8080,'localhost');", "the part shown", "-server.listen(9090"},
		{"few letters of a very long line", "a.js", minified + "\nlast\n", "(808;'", "(8080", "the part shown", "-(808;'"},
		{"with near_line", "a.yaml", "a:\n  timeout: 10\nb:\n  timeout: 20\nc:\n  timeout: 30\n", "  timeout: 60",
			"  timeout: 20", "line 4", ""},
		{"in quotation marks", "a.go", "a()\nb(\"x\", 1)\nc(2)\nd(3)\n", "\"b(\"x\", 1)\nc(5)\nd(3)\"",
			"b(\"x\", 1)\nc(2)\nd(3)",
			"old_string is in quotation marks, which the file does not have", "-c(5)\n"},
		{"a string in quotation marks", "a.go", "a()\nb(\"hello world\")\n", `"hello old world"`, `"hello world"`,
			`line 2 has`, ""},
		{"a diff", "a.go", "a()\nb(1)\nc(2)\nd(3)\n", " b(1)\n-c(5)\n d(3)\n", "b(1)\nc(2)\nd(3)",
			"old_string has the first column of a diff", "-c(5)\n"},
		{"in a fence", "a.go", "a()\nb(1)\nc(2)\nd(3)\n", "```go\nb(1)\nc(5)\nd(3)\n```", "b(1)\nc(2)\nd(3)",
			"old_string has the fence of a code block around it", "-c(5)\n"},
		{"nothing like it", "a.go", goFile, "def entirely_different():\n    pass\n", "", "Closest", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := Change{Old: c.old, New: "x"}
			if strings.Contains(c.name, "near_line") {
				change.NearLine = 4
			}
			r := refused(t, c.file, c.data, change)
			if r.Kind != NotFound || !strings.Contains(r.Message, c.say) || !strings.Contains(r.Diff, c.diff) {
				t.Errorf("%v, want %q\n%s", r, c.say, r.Diff)
			}
			if len(r.Candidates) == 0 || c.exact != "" && !strings.Contains(r.Exact, c.exact) ||
				len(r.Exact) > len(c.exact)+40 && c.exact != "" {
				t.Errorf("candidates %v, exact %q, want %q", r.Candidates, r.Exact, c.exact)
			}
			for l := range strings.SplitSeq(r.Exact, "\n") {
				if whole := r.Candidates[0].Why != "a part of the line"; !strings.Contains(r.Excerpt, l) ||
					whole && !strings.Contains(r.Excerpt, "\t"+l+"\n") {
					t.Errorf("the excerpt lacks %q:\n%s", l, r.Excerpt)
				}
			}
			planned(t, c.file, c.data, Change{Old: r.Exact, New: "something else"})
		})
	}
}

// What an ambiguous old_string fits is shown in blocks that fit once each.
func TestAmbiguousBlocksCanBeCopied(t *testing.T) {
	var b strings.Builder
	for i := range 6 {
		fmt.Fprintf(&b, "func f%d() {\n\tprepare()\n\tif err != nil {\n\t\treturn err\n\t}\n}\n\n", i)
	}
	r := refused(t, "a.go", b.String(), Change{Old: "\t\treturn err\n", New: "\t\treturn nil\n"})
	if r.Kind != Ambiguous || r.Count != 6 {
		t.Fatal(r)
	}
	for block := range strings.SplitSeq(strings.TrimSuffix(r.Excerpt, "\n"), "\n\n") {
		var lines []string
		for l := range strings.SplitSeq(block, "\n") {
			_, text, _ := strings.Cut(l, "\t")
			lines = append(lines, text)
		}
		planned(t, "a.go", b.String(), Change{Old: strings.Join(lines, "\n"), New: "x"})
	}
}

func TestLongRefusalsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 600 {
		fmt.Fprintf(&b, "\tvalue%d := compute(%d, %s)\n", i, i, strings.Repeat("x", 60))
	}
	data := b.String()
	r := refused(t, "a.go", data, Change{Old: strings.ReplaceAll(data[200:30000], "value1", "other"), New: "x"})
	if n := len(r.Message) + len(r.Hint) + len(r.Excerpt) + len(r.Diff) + len(r.Exact); n > 16_000 {
		t.Errorf("%d bytes", n)
	}
	if r.Exact == "" {
		t.Error("nothing to copy")
	}
	planned(t, "a.go", data, Change{Old: r.Exact, New: "x"})
}
