package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Near_line, or replace_all, says that a place is meant though the file has new_string at another depth.
func TestPlaceChosenWhereNewStringIsAtAnotherDepth(t *testing.T) {
	const css = "@media {\n  .a:hover {\n    color: darken(red, 5%);\n  }\n}\n.a:hover {\n  color: darken(red, 2%);\n}\n"
	const old = ".a:hover {\n  color: darken(red, 5%);\n}\n"
	for _, c := range []Change{{NearLine: 2}, {All: true}} {
		c.Old, c.New = old, replaced(old, "5", "2")
		if _, got := planned(t, "a.css", css, c); got != replaced(css, "5", "2") {
			t.Errorf("%+v gives\n%s", c, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	const twice = "func a() {\n\tprepare()\n\tlog(x)\n}\n\nfunc b() {\n\tfinish()\n\tlog(x)\n}\n"
	near := strings.Replace(goFile[strings.Index(goFile, "func average"):], "average", "median", 1)
	for _, c := range []struct {
		name, file, data string
		change           Change
		kind             Kind
		say              string // in the message
	}{
		{"empty old", "a.txt", "a\n", Change{New: "x"}, Guard, "is empty"},
		{"white space only", "a.txt", "a\n \n", Change{Old: " \n", New: "x"}, Guard, "white space"},
		{"no change", "a.txt", "a\n", Change{Old: "a", New: "a"}, Same, "the same"},
		{"longer than the file", "a.txt", strings.Repeat("abc def\n", 400), Change{Old: strings.Repeat("abc def ghi\n", 400),
			New: "x"}, Guard, "longer than the whole file"},
		{"longer than a small file", "a.go", "func f() {\n\tone()\n}\n",
			Change{Old: "// f does one thing.\nfunc f() {\n\tone()\n}\n", New: "x"}, NotFound,
			`has the comment "// f does one thing."`},
		{"code left out", "a.go", goFile, Change{Old: "\tvar sum Price\n",
			New: "\tvar sum int\n\t// ... existing code ...\n"}, Guard, "left out"},
		{"code left out, in other words", "a.py", "a = 1\nb = 2\n", Change{Old: "a = 1",
			New: "a = 2\n# rest of the function remains the same"}, Guard, "left out"},
		{"too many places", "a.txt", strings.Repeat("x,y\n", maxHits+1), Change{Old: ",", New: ";", All: true}, Guard,
			"too many for one edit"},
		{"as many as are looked for", "a.txt", strings.Repeat("x,y\n", maxHits+1),
			Change{Old: ",", New: ";", All: true, Expected: maxHits}, Guard, "too many for one edit"},
		{"two places", "a.go", twice, Change{Old: "log(x)", New: "log(y)"}, Ambiguous, "fits 2 places, at lines 3, 8"},
		{"places that overlap", "a.txt", "a\na\na\n", Change{Old: "a\na\n", New: "b\n"}, Ambiguous, "2 places"},
		{"two places but for indentation", "a.go", twice, Change{Old: "\n  log(x)\n}\n", New: "  log(y)\n}\n"}, Ambiguous,
			"2 places"},
		{"fewer than expected", "a.go", twice, Change{Old: "log(x)", New: "log(y)", Expected: 3}, Ambiguous,
			"2 places, not 3"},
		{"one expected of all", "a.go", twice, Change{Old: "log(x)", New: "log(y)", All: true, Expected: 1}, Ambiguous,
			"2 places, not 1"},
		{"all places by a loose pass", "a.go", "run(a,   b)\n", Change{Old: "run(a, b)", New: "run(b)", All: true}, NotFound,
			"but for runs of blanks"},
		{"nothing like it", "a.go", goFile, Change{Old: "def entirely_different():\n    pass\n", New: "x"}, NotFound,
			"is not in the file."},
		{"a number that differs", "a.go", goFile, Change{Old: "\tif len(items) == 5 {\n\t\treturn 0\n\t}\n\treturn " +
			"total(items) / Price(len(items))\n", New: "x"}, NotFound, `Line 18 has "0" where old_string has "5"`},
		{"a name that is nowhere", "a.go", goFile, Change{Old: "func average(items []Widget) Price {\n\tif len(items) == " +
			"0 {\n", New: "x"}, NotFound, `"Widget" is nowhere in the file`},
		{"a name swapped for another of the file", "a.go", goFile,
			Change{Old: "func average(items []Item) Price {\n\tif len(items) == 0 {\n\t\treturn 0\n\t}\n\treturn " +
				"average(items) / Price(len(items))\n}", New: "x"}, NotFound, `Line 21 has "total"`},
		{"the sibling of what is there", "a.go", goFile, Change{Old: near, New: "x"}, NotFound, "median"},
		{"an exact match is wanted", "a.go", goFile, Change{Old: "  var sum Price\n", New: "x", Strictness: Exact}, NotFound,
			"line 8 has it but for"},
		{"new is there already", "a.go", "\tone()\n\ttwo()\n", Change{Old: "  one()\n", New: "  one()\n  two()\n"},
			AlreadyApplied, ""},
		{"done before", "a.go", goFile, Change{Old: "\tvar total Price\n\tfor i := range items {\n",
			New: "\tvar sum Price\n\tfor _, item := range items {\n"}, AlreadyApplied, "lines 8 to 9"},
		{"done before, and another block is as it was, but deeper", "a.css",
			"@media {\n  .a:hover {\n    color: darken(red, 5%);\n  }\n}\n.a:hover {\n  color: darken(red, 2%);\n}\n",
			Change{Old: ".a:hover {\n  color: darken(red, 5%);\n}\n", New: ".a:hover {\n  color: darken(red, 2%);\n}\n"},
			AlreadyApplied, "lines 6 to 8"},
		{"a comment among lines that go", "a.go", goFile,
			Change{Old: "\tfor _, item := range items {\n\t\tsum += item.Price * Price(item.Count)\n\t}\n", New: ""}, Conflict,
			"a comment that old_string does not have"},
		{"a new line next to a comment not quoted", "a.go", goFile,
			Change{Old: "\tfor _, item := range items {\n\t\tsum += item.Price * Price(item.Count)\n\t}\n",
				New: "\tfor _, item := range items {\n\t\tcheck()\n\t\tsum += item.Price * Price(item.Count)\n\t}\n"}, Conflict,
			"line 10"},
		{"other nesting in Python", "a.py", "def f():\n    if one:\n        two()\n    three()\n",
			Change{Old: "if one:\n        two()\n        three()\n", New: "if one:\n        two()\n        four()\n"}, Conflict,
			"indented against each other"},
		{"a line that goes is not in the place", "a.go",
			"func f() {\n\tconst illegal = first\n\tfor _, r := range letters {\n\t\tif !unicode.IsGraphic(r) {\n" +
				"\t\t\treturn illegal, failure(r)\n\t\t}\n\t}\n\tprintEverything(letters)\n}\n",
			Change{Old: "func f() {\n\tconst illegal = first\n\tfor _, r := range letters {\n\t\tif !unicode.IsGraphic(r) {\n" +
				"\t\t\t}\n\t\t}\n\t}\n\t]\n\tprintEverything(letters)\n",
				New: "func f() {\n\tconst illegal = first\n\tfor _, r := range letters {\n\t\tif !unicode.IsGraphic(r) {\n" +
					"\t\t\t}\n\t\t}\n\t}\n\tprintEverything(letters)\n"}, Conflict,
			`another one in the file. old_string has "]".`},
		{"a line of old_string from another place", "a.json", "{\n  \"type\": \"module\",\n  \"scripts\": {\n    " +
			"\"dev\": \"node dev.js\",\n    \"build\": \"node build.js\"\n  },\n  \"lint\": {\n    \"*.ts?(x)\": true\n  }\n}\n",
			Change{Old: "  \"type\": \"module\",\n    \"*.ts?(x)\": true\n  \"scripts\": {\n    \"dev\": \"node dev.js\",\n    " +
				"\"build\": \"node build.js\"\n", New: "  \"type\": \"commonjs\",\n  \"scripts\": {\n    \"dev\": \"node dev.js\",\n    " +
				"\"build\": \"node build.js\"\n"}, Ambiguous, "(4 lines of old_string equal, 1 not)"},
		{"lines in another order", "a.php", "function a()\n{\n\treturn b();\n}\n", Change{Old: "{\nfunction a()\n\treturn b();\n}\n",
			New: "x"}, NotFound, "in another order"},
		{"a bracket is not the end of a line", "a.css", ".a { color: red; }\n/* Gap between boxes */\n.separator {\n  " +
			"position: absolute;\n", Change{Old: "}\n.separator {\n  position: absolute;\n",
			New: ".separator {\n  position: absolute;\n"}, NotFound, ""},
		{"text of an earlier edit, but for blanks", "a.go", "\tone()\n\ttwo()\n", Change{Old: "  two()  \n",
			New: "  three()\n", Inserted: []Range{{7, 15}}}, Conflict, "an earlier edit of this call"},
		{"a new line where lines are broken elsewhere", "a.js", "call(first,\n     second, third);\nnext();\n",
			Change{Old: "call(first, second,\n     third);\nnext();\n",
				New: "call(first, second,\n     other(),\n     third);\nnext();\n"}, Conflict, "breaks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := refused(t, c.file, c.data, c.change)
			if r.Kind != c.kind || !strings.Contains(r.Error(), c.say) {
				t.Errorf("got %v; want %s with %q\n%s", r, c.kind, c.say, r.Diff)
			}
			if r.Hint == "" {
				t.Error("no hint")
			}
			if diff := cmp.Diff(r, refused(t, c.file, c.data, c.change)); diff != "" {
				t.Errorf("refused twice, and not the same:\n%s", diff)
			}
		})
	}
}

func TestInsertedTextMatchesExactly(t *testing.T) {
	_, got := planned(t, "a.go", "\tone()\n\ttwo()\n", Change{Old: "two()", New: "three()", Inserted: []Range{{7, 15}}})
	if got != "\tone()\n\tthree()\n" {
		t.Errorf("got %q", got)
	}
}

func TestPlaceholdersThatAreMeant(t *testing.T) {
	for _, c := range []struct{ old, fresh string }{
		{"one(a, b)", "one(...args)"},
		{"one(a, b)", "// The rest of the world is unaffected by this function, as it says below.\none()"},
		{"# ... rest of code\none(a, b)", "# ... rest of code\ntwo()"},
		{"one(a, b)", "log(\"... existing code ...\")"},
	} {
		planned(t, "a.py", "# ... rest of code\none(a, b)\n", Change{Old: c.old, New: c.fresh})
	}
}

func TestAmbiguousShowsWhatDiffers(t *testing.T) {
	r := refused(t, "a.go", "func a() {\n\tprepare()\n\tlog(x)\n}\n\nfunc b() {\n\tfinish()\n\tlog(x)\n}\n",
		Change{Old: "log(x)", New: "y"})
	want := []Candidate{
		{StartLine: 3, EndLine: 3, Similarity: 1, Why: `line 2 above it is "prepare()"`},
		{StartLine: 8, EndLine: 8, Similarity: 1, Why: `line 7 above it is "finish()"`},
	}
	if diff := cmp.Diff(want, r.Candidates); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Count != 2 || !strings.Contains(r.Excerpt, "     7\t\tfinish()\n     8\t\tlog(x)\n") {
		t.Errorf("%d places:\n%s", r.Count, r.Excerpt)
	}
}

func TestNotFoundShowsTheClosest(t *testing.T) {
	r := refused(t, "a.go", goFile, Change{Old: "\tif len(items) == 5 {\n\t\treturn 0\n\t}\n\treturn total(items) / " +
		"Price(len(items))\n", New: "x"})
	const exact = "\tif len(items) == 0 {\n\t\treturn 0\n\t}\n\treturn total(items) / Price(len(items))"
	if r.Exact != exact {
		t.Errorf("exact text:\n%s", r.Exact)
	}
	if want := "-\tif len(items) == 5 {\n+\tif len(items) == 0 {\n"; !strings.HasPrefix(r.Diff, want) {
		t.Errorf("diff:\n%s", r.Diff)
	}
	if want := "    18\t\tif len(items) == 0 {\n    19\t"; !strings.HasPrefix(r.Excerpt, want) {
		t.Errorf("excerpt:\n%s", r.Excerpt)
	}
	if len(r.Candidates) == 0 || r.Candidates[0].StartLine != 18 || r.Candidates[0].EndLine != 21 ||
		r.Candidates[0].Similarity < 0.5 {
		t.Errorf("candidates: %+v", r.Candidates)
	}
	planned(t, "a.go", goFile, Change{Old: r.Exact, New: "x"})
	r = refused(t, "a.go", goFile, Change{Old: "total(items) / Price\n", New: "sum(items) / Price\n"})
	if !strings.Contains(r.Message, "in line 21, but with other text where") || r.Diff != "" {
		t.Errorf("%v\n%s", r, r.Diff)
	}
	const text = "run 'awk\n  one(alpha) # first thing of it\n  two(beta) # second thing of it\n  three(gamma)\n'\nlast\n"
	old := strings.Replace(text[9:], "second thing of", "second things in", 1)
	r = refused(t, "a.sh", text, Change{Old: old, New: strings.Replace(old, "three", "four", 1)})
	if strings.Contains(r.Message, "one(alpha)") { // which is the same
		t.Error(r)
	}
}

// The texts are for a model's context: however large the file is, they stay small.
func TestRefusalsAreShort(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "\tvalue%d := compute(%d, %s)\n\tcall()\n", i, i, strings.Repeat("x", i%300))
	}
	data := b.String()
	for _, old := range []string{"\tcall()\n", strings.Replace(data[:20000], "value7 ", "other7 ", 1),
		strings.Repeat("never seen, ", 2000), "\tvalue299 := comptue(299, y)\n"} {
		r := refused(t, "a.go", data, Change{Old: old, New: "x"})
		if n := len(r.Message) + len(r.Hint) + len(r.Excerpt) + len(r.Diff) + len(r.Exact); n > 5000 || len(r.Message) > 900 {
			t.Errorf("%d bytes, %d of them the message", n, len(r.Message))
		}
	}
}

// An ambiguous old_string names each line once, with how often it fits there, and shows no block twice.
func TestAmbiguousLinesAreNamedOnce(t *testing.T) {
	r := refused(t, "a.go", "x := a + a\nreturn f(a)\ndone()\n", Change{Old: "a", New: "b"})
	if want := "fits 3 places, at lines 1 (2 times), 2."; r.Count != 3 || !strings.Contains(r.Message, want) {
		t.Errorf("%d places: %s", r.Count, r.Message)
	}
	many := refused(t, "a.go", strings.Repeat("one()\n", 11), Change{Old: "one()\n", New: "b\n"})
	if want := "fits 11 places, at lines 1, 2, 3, 4, 5, 6, 7, 8 and 3 more places."; !strings.Contains(many.Message, want) {
		t.Error(many.Message)
	}
	blocks := strings.Split(r.Excerpt, "\n\n")
	if len(blocks) != len(slices.Compact(slices.Sorted(slices.Values(blocks)))) {
		t.Errorf("a block is shown twice:\n%s", r.Excerpt)
	}
}

// A line that the reason of a conflict names is not named once more.
func TestConflictNamesALineOnce(t *testing.T) {
	const data = "linters:\n    cyclo:\n      complexity: 20\n    words:\n      keywords:\n        - FIXME\n    vet:\n" +
		"      disable:\n        - alignment\n"
	const old = "    cyclo:\n      complexity: 20\n    words:\n      keywords:\n        - FIXME\n      disable:\n    vet:\n" +
		"        - alignment\n"
	r := refused(t, "a.yml", data, Change{Old: old, New: strings.Replace(strings.Replace(old, "words", "words2", 1),
		"      disable:\n    vet:\n", "    vet:\n      disable:\n", 1) + "        // One.\n        another 3\n"})
	if !strings.Contains(r.Message, "in another order") || strings.Contains(r.Message, "old_string has \"") {
		t.Errorf("%v", r)
	}
}
