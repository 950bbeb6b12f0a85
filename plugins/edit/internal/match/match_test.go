package match

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

// planned applies a change that must be accepted.
func planned(t *testing.T, name, data string, c Change) (*Plan, string) {
	t.Helper()
	p, err := NewText(name, []byte(data)).Plan(c)
	if err != nil {
		r, _ := errors.AsType[*Refusal](err)
		t.Fatalf("refused: %v\n%s\n%s", err, r.Hint, r.Diff)
	}
	return p, string(p.Apply([]byte(data)))
}

// written applies a change that must put new_string, as it is, in the place of old_string.
func written(t *testing.T, name, data, old, fresh string) {
	t.Helper()
	if _, got := planned(t, name, data, Change{Old: old, New: fresh}); got != replaced(data, old, fresh) {
		t.Errorf("%s: %q gives %q", name, fresh, got)
	}
}

// refused returns the refusal of a change.
func refused(t *testing.T, name, data string, c Change) *Refusal {
	t.Helper()
	p, err := NewText(name, []byte(data)).Plan(c)
	if err == nil {
		t.Fatalf("accepted by pass %d:\n%s", p.Pass, p.Apply([]byte(data)))
	}
	r, ok := errors.AsType[*Refusal](err)
	if !ok {
		t.Fatalf("the error is a %T", err)
	}
	return r
}

const goFile = `package shop

// Price is in cents.
type Price int

// total adds up what is in the basket.
func total(items []Item) Price {
	var sum Price
	for _, item := range items {
		// Free items count as well.
		sum += item.Price * Price(item.Count) // never negative
	}

	return sum
}

func average(items []Item) Price {
	if len(items) == 0 {
		return 0
	}
	return total(items) / Price(len(items))
}
`

func TestPasses(t *testing.T) {
	for _, c := range []struct {
		name, file, data, old, fresh, want string
		pass                               int
	}{
		{"exact within a line", "a.txt", "one two three\n", "two", "2", "one 2 three\n", 1},
		{"exact over lines", "a.txt", "a\nb\nc\n", "a\nb\n", "x\n", "x\nc\n", 1},
		{"exact with $ and backslashes in new", "a.txt", "a\nb\n", "b", `$& \1 $1`, "a\n$& \\1 $1\n", 1},
		{"LF finds CRLF, which stays", "a.txt", "a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\nb\n", "a\r\nx\r\nb\r\nc\r\n", 1},
		{"CRLF finds LF, which stays", "a.txt", "a\nb\nc\n", "a\r\nb\r\n", "a\r\nx\r\n", "a\nx\nc\n", 1},
		{"one line of a CRLF file becomes two", "a.txt", "a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n", 1},
		{"mixed endings stay where lines stay", "a.txt", "a\r\nb\nc\r\nd\n", "a\nb\nc\n", "a\nx\nb\nc\n",
			"a\r\nx\r\nb\nc\r\nd\n", 1},
		{"a change of line endings is made", "a.txt", "a\nb\n", "a\n", "a\r\n", "a\r\nb\n", 1},
		{"blank lines around old and new", "a.txt", "a\nbee\nc\n", "\n\nbee\n\n", "\n\nBEE\n\n", "a\nBEE\nc\n", 2},
		{"blank lines around old only", "a.txt", "a\nbee\nc\n", "\n\nbee\n\n", "BEE\n", "a\nBEE\nc\n", 2},
		{"the first line has lost its indentation", "a.go", "\tif ok {\n\t\trun()\n\t}\n", "\nif ok {\n\t\trun()\n",
			"\nif ok {\n\t\trun()\n\t\tstop()\n", "\tif ok {\n\t\trun()\n\t\tstop()\n\t}\n", 2},
		{"blanks at the end of lines of old", "a.txt", "alpha\nbeta\ngamma\n", "alpha  \nbeta \n", "alpha  \nBETA \n",
			"alpha\nBETA\ngamma\n", 3},
		{"blanks at the end of lines of the file stay", "a.md", "alpha  \nbeta\ngamma\n", "alpha\nbeta\ngamma",
			"alpha\nBETA\ngamma", "alpha  \nBETA\ngamma\n", 3},
		{"spaces for tabs", "a.go", "\tfor {\n\t\trun()\n\t}\n", "    for {\n        run()\n    }\n",
			"    for {\n        if x {\n            run()\n        }\n    }\n",
			"\tfor {\n\t\tif x {\n\t\t\trun()\n\t\t}\n\t}\n", 4},
		{"tabs for spaces", "a.js", "  for (;;) {\n    run()\n  }\n", "\tfor (;;) {\n\t\trun()\n\t}\n",
			"\tfor (;;) {\n\t\trun()\n\t\tstop()\n\t}\n",
			"  for (;;) {\n    run()\n    stop()\n  }\n", 4},
		{"a shifted block", "a.py", "class A:\n    def f(self):\n        return one\n", "def f(self):\n    return one\n",
			"def f(self):\n    if x:\n        return two\n    return one\n",
			"class A:\n    def f(self):\n        if x:\n            return two\n        return one\n", 4},
		{"a picture for a sign", "a.py", "one = '❤ a'\ntwo = '⚠️ b'\n", "one = '❤️ a'\ntwo = '⚠ b'\n",
			"one = '❤️ c'\ntwo = '⚠ b'\nthree = '✔️ d'\n", "one = '❤ c'\ntwo = '⚠️ b'\nthree = '✔️ d'\n", 5},
		{"curly quotes for straight ones", "a.go", "\tprintln(\"hi there\")\n\tx := 1\n",
			"\tprintln(“hi there”)\n\tx := 1\n", "\tprintln(“hi there”)\n\tprintln(“again”)\n\tx := 1\n",
			"\tprintln(\"hi there\")\n\tprintln(\"again\")\n\tx := 1\n", 5},
		{"other curly quotes in a new line", "a.py", "def f():\n    x = ['', 'cat']\n", "    x = [‘’, ‘cat’]\n",
			"    x = [‘’, ‘cat’]\n    note(“added”, ‘it’)\n", "def f():\n    x = ['', 'cat']\n    note(\"added\", 'it')\n", 5},
		{"other quotes throughout, also in a new line", "a.sh", "[ \"$one\" = \"-all\" ] || abort_all\n",
			"[ '$one' = '-all' ] || abort_all\n", "# don't\nrm '$two'\n[ '$one' = '-all' ] || abort_all\n",
			"# don't\nrm \"$two\"\n[ \"$one\" = \"-all\" ] || abort_all\n", 9},
		{"other quotes throughout, and what they do not mean alike", "a.sh", "[ \"one\" = \"-all\" ] || abort_all\n",
			"[ 'one' = '-all' ] || abort_all\n", "rm '$two'\n[ 'one' = '-all' ] || abort_all\n",
			"rm '$two'\n[ \"one\" = \"-all\" ] || abort_all\n", 9},
		{"other quotes throughout, and apostrophes", "a.yml", "one: \"first two\"\ntwo: \"two three\"\n",
			"one: 'first two'\ntwo: 'two three'\n", "# it's Tom's\none: 'first two'\ntwo: 'two three'\nsix: 'it''s'\n",
			"# it's Tom's\none: \"first two\"\ntwo: \"two three\"\nsix: 'it''s'\n", 9},
		{"other quotes throughout, and three of them", "a.py", "x = first(\"one\", \"two\")\n", "x = first('one', 'two')\n",
			"'''Some text.'''\nx = first('one', 'two')\n", "\"\"\"Some text.\"\"\"\nx = first(\"one\", \"two\")\n", 9},
		{"other quotes throughout, and lifetimes", "a.rs", "let x = first(\"one\", \"two\");\n", "let x = first('one', 'two');\n",
			"let x = first('one', 'two');\nfn g<'a>(s: &'a str) {}\n",
			"let x = first(\"one\", \"two\");\nfn g<'a>(s: &'a str) {}\n", 9},
		{"other quotes throughout, in SQL", "a.sql", "SELECT \"one\", \"two\" FROM t;\n", "SELECT 'one', 'two' FROM t;\n",
			"SELECT 'one', 'two' FROM t;\nUPDATE t SET a = 'x';\n",
			"SELECT \"one\", \"two\" FROM t;\nUPDATE t SET a = 'x';\n", 9},
		{"other quotes throughout, in a text", "a.md", "He said \"one thing\" here.\n", "He said 'one thing' here.\n",
			"He said 'one thing' here.\nIt is 'so'.\n", "He said \"one thing\" here.\nIt is 'so'.\n", 9},
		{"a long dash of a new line", "Dockerfile", "RUN a --b\nRUN first c-d\n", "RUN first c–d", "RUN first c–d\nRUN a —e",
			"RUN a --b\nRUN first c-d\nRUN a --e\n", 5},
		{"an apostrophe in a new line", "a.go", "\tf(\"hello\", x)\n\treturn\n", "\tf(“hello”, x)\n\treturn\n",
			"\tf(“it’s”, x)\n\treturn\n", "\tf(\"it's\", x)\n\treturn\n", 5},
		{"an apostrophe as the file has it", "a.go", "\tf(\"hello\", x)\n\treturn // it’s\n", "\tf(“hello”, x)\n",
			"\tf(“it’s”, x)\n", "\tf(\"it’s\", x)\n\treturn // it’s\n", 5},
		{"other full-width signs in a new line", "a.ts", "if (\n  a === 302\n) {\n", "  a === 302\n） {\n",
			"  a === 302\n） {\n  check（\"x\"， 1）\n", "if (\n  a === 302\n) {\n  check(\"x\", 1)\n", 5},
		{"full-width signs of a text", "a.ts", "if (\n  a === 302\n) {\n", "  a === 302\n） {\n",
			"  a === 302\n） {\n  log('你好，世界')\n", "if (\n  a === 302\n) {\n  log('你好，世界')\n", 5},
		{"straight quotes for curly ones stay curly", "a.md", "He said “never” and left.\nThen came “Bob”.\n",
			"He said \"never\" and left.\nThen came \"Bob\".\n", "He said \"never\" and went.\nThen came \"Bob\".\n",
			"He said “never” and went.\nThen came “Bob”.\n", 5},
		{"decomposed letters", "a.txt", "한국어 설명\n둘째 줄\n", norm.NFD.String("한국어 설명\n둘째 줄\n"),
			norm.NFD.String("한국어 설명\n셋째 줄\n"), "한국어 설명\n셋째 줄\n", 5},
		{"full-width blank and signs", "a.txt", "value = f(x)\nnext\n", "value = f（x）\nnext\n",
			"value = g（x）\nnext\n", "value = g(x)\nnext\n", 5},
		{"zero-width signs in the file stay", "a.txt", "zero\u200bwidth here\nnext line\n", "zerowidth here\nnext line\n",
			"zerowidth there\nnext line\n", "zero\u200bwidth there\nnext line\n", 5},
		{"alignment columns stay", "a.go", "\tname    string // who\n\tage     int\n\tcity    string\n",
			"\tname string // who\n\tage int\n\tcity string\n", "\tname string // who\n\tage int64\n\tcity string\n",
			"\tname    string // who\n\tage     int64\n\tcity    string\n", 6},
		{"blank lines that old lacks", "a.go", "first()\n\nsecond()\nthird()\n", "first()\nsecond()\nthird()\n",
			"first()\nsecond()\nTHIRD()\n", "first()\n\nsecond()\nTHIRD()\n", 6},
		{"blank lines that the file lacks", "a.go", "first()\nsecond()\nthird()\n", "first()\n\nsecond()\nthird()\n",
			"first()\n\nsecond()\nTHIRD()\n", "first()\nsecond()\nTHIRD()\n", 6},
		{"comments that old lacks stay", "a.go", goFile,
			"\tfor _, item := range items {\n\t\tsum += item.Price * Price(item.Count)\n\t}\n\treturn sum\n",
			"\tfor _, item := range items {\n\t\tsum += item.Cost * Price(item.Count)\n\t}\n\treturn sum\n",
			strings.Replace(goFile, "sum += item.Price", "sum += item.Cost", 1), 7},
		{"comments that old words in another way stay", "a.go", goFile,
			"\tfor _, item := range items {\n\t\t// Free ones count too.\n\t\tsum += item.Price * Price(item.Count) // not " +
				"negative\n\t}\n\n\treturn sum\n",
			"\tfor _, item := range items {\n\t\t// Free ones count too.\n\t\tsum += item.Price * Price(item.Count) // not " +
				"negative\n\t}\n\n\treturn sum + 1\n", strings.Replace(goFile, "return sum\n", "return sum + 1\n", 1), 7},
		{"misspelt words stay as the file has them", "a.go", goFile,
			"func averge(items []Item) Price {\n\tif len(items) == 0 {\n\t\treturn 0\n\t}\n\treturn total(items) / " +
				"Price(len(items))\n}\n",
			"func averge(items []Item) Price {\n\tif len(items) == 0 {\n\t\treturn 1\n\t}\n\treturn total(items) / " +
				"Price(len(items))\n}\n", strings.Replace(goFile, "return 0\n", "return 1\n", 1), 8},
		{"a misspelt word on the line that changes", "a.go", goFile,
			"func average(items []Item) Price {\n\tif len(items) == 0 {\n\t\treturn 0\n\t}\n\treturn totla(items) / " +
				"Price(len(items))\n}\n",
			"func average(items []Item) Price {\n\tif len(items) == 0 {\n\t\treturn 0\n\t}\n\treturn totla(items) / " +
				"Price(len(items)+1)\n}\n", strings.Replace(goFile, "len(items))\n}", "len(items)+1)\n}", 1), 8},
		{"new spells right what old misspells", "a.go", goFile,
			"func average(items []Item) Price {\n\tif len(items) == 0 {\n\t\treturn 0\n\t}\n\treturn totla(items) / " +
				"Price(len(items))\n}\n",
			"func average(items []Item) Price {\n\tif len(items) == 0 {\n\t\treturn 0\n\t}\n\treturn total(items) / " +
				"Price(len(items)+1)\n}\n", strings.Replace(goFile, "len(items))\n}", "len(items)+1)\n}", 1), 8},
		{"lines broken in other places", "a.js", "call(first,\n     second, third);\nnext();\n",
			"call(first, second, third);\nnext();\n", "call(first, second, third);\nnext(1);\n",
			"call(first,\n     second, third);\nnext(1);\n", 9},
		{"a change within broken lines", "a.js", "call(first,\n     second, third);\nnext();\n",
			"call(first, second, third);\nnext();\n", "call(first, second, fourth);\nnext();\n",
			"call(first,\n     second, fourth);\nnext();\n", 9},
		{"another formatter", "a.js", "const x = { a: 1, b: 'two', };\nrun(x)\n", "const x = {a: 1, b: \"two\"};\nrun(x);\n",
			"const x = {a: 1, b: \"two\"};\nrun(x, 2);\n", "const x = { a: 1, b: 'two', };\nrun(x, 2)\n", 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("pass %d (-want +got):\n%s", p.Pass, diff)
			}
			if p.Pass != c.pass || p.PassName != passNumbered(c.pass).name {
				t.Errorf("pass %d %q, want %d", p.Pass, p.PassName, c.pass)
			}
			if (len(p.Warnings) == 0) != (c.pass == 1) {
				t.Errorf("pass %d warns %q", p.Pass, p.Warnings)
			}
		})
	}
}

func TestReadings(t *testing.T) {
	const data = "func f() {\n\tprintln(\"a\")\n\tprintln(\"b\")\n}\n"
	want := strings.Replace(data, `"b"`, `"c"`, 1)
	for _, c := range []struct{ name, old, fresh string }{
		{"cat -n", "     2\t\tprintln(\"a\")\n     3\t\tprintln(\"b\")\n",
			"     2\t\tprintln(\"a\")\n     3\t\tprintln(\"c\")\n"},
		{"arrows", "2→\tprintln(\"a\")\n3→\tprintln(\"b\")", "2→\tprintln(\"a\")\n3→\tprintln(\"c\")"},
		{"bars and blanks", " 2 | \tprintln(\"a\")\n 3 | \tprintln(\"b\")", " 2 | \tprintln(\"a\")\n 3 | \tprintln(\"c\")"},
		{"colons, on old only", "2: \tprintln(\"a\")\n3: \tprintln(\"b\")", "\tprintln(\"a\")\n\tprintln(\"c\")"},
		{"escaped quotes", "\tprintln(\\\"a\\\")\n\tprintln(\\\"b\\\")", "\tprintln(\\\"a\\\")\n\tprintln(\\\"c\\\")"},
		{"escaped tabs", "\\tprintln(\"a\")\n\\tprintln(\"b\")", "\\tprintln(\"a\")\n\\tprintln(\"c\")"},
		{"breaks that are escaped as well", "\tprintln(\"a\")\\n\n\tprintln(\"b\")\\n", "\tprintln(\"a\")\\n\n\tprintln(\"c\")\\n"},
		{"all escaped", `\tprintln(\"a\")\n\tprintln(\"b\")`, `\tprintln(\"a\")\n\tprintln(\"c\")`},
		{"the name of the file", "lib/a.go\n\tprintln(\"a\")\n\tprintln(\"b\")", "lib/a.go\n\tprintln(\"a\")\n\tprintln(\"c\")"},
		{"old escaped, new not", `\tprintln(\"a\")\n\tprintln(\"b\")`, "\tprintln(\"a\")\n\tprintln(\"c\")"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, got := planned(t, "a.go", data, Change{Old: c.old, New: c.fresh})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(p.Warnings) == 0 {
				t.Error("no warning")
			}
		})
	}
}

func TestNumbersThatAreText(t *testing.T) {
	_, got := planned(t, "a.txt", "1: one\n2: two\n3: three\n", Change{Old: "1: one\n2: two\n", New: "1: one\n2: TWO\n"})
	if want := "1: one\n2: TWO\n3: three\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestProjection(t *testing.T) {
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"delete whole lines, without a line break at the end", "a.go", "\tone()\n\ttwo()\n\tthree()\n", "  one()\n  two()",
			"", "\tthree()\n"},
		{"delete at the end of a file without a line break", "a.go", "\tone()\n\ttwo()\n\tthree()", "  two()\n  three()",
			"  two()", "\tone()\n\ttwo()"},
		{"insert at the end of a file without a line break", "a.go", "\tone()\n\ttwo()", "  one()\n  two()",
			"  one()\n  two()\n  three()", "\tone()\n\ttwo()\n\tthree()"},
		{"insert before the first line", "a.go", "\tone()\n\ttwo()\n", "  one()\n  two()\n", "  zero()\n  one()\n  two()\n",
			"\tzero()\n\tone()\n\ttwo()\n"},
		{"insert after the last line", "a.go", "\tone()\n\ttwo()\n}\n", "  one()\n  two()\n",
			"  one()\n  two()\n  three()\n", "\tone()\n\ttwo()\n\tthree()\n}\n"},
		{"a line changes and others come behind it", "a.tf",
			"rule {\n  protocol  = \"tcp\"\n  ports     = [80, 443]\n  source    = 1\n}\n",
			"rule {\n  protocol = \"tcp\"\n  ports = [80, 443]\n  source = 1\n",
			"rule {\n  protocol = \"pending\"\n  protocol_limit = 30\n  protocol_path = \"/tmp\"\n  source = 1\n",
			"rule {\n  protocol  = \"pending\"\n  protocol_limit = 30\n  protocol_path = \"/tmp\"\n  source    = 1\n}\n"},
		{"a blank too few beside the change in both strings", "a.sql",
			"-- What is late, and for how long.\nSELECT loan_id,\n       reader_id,\n       title\n",
			"-- What is late,and for how long.\nSELECT loan_id,\n       reader_id,\n       title\n",
			"-- What is late,old_and for how long.\nSELECT loan_id,\n       reader_id,\n       title\n",
			"-- What is late, old_and for how long.\nSELECT loan_id,\n       reader_id,\n       title\n"},
		{"several hunks", "a.go", "\tone()\n\ttwo()\n\tthree()\n\tfour()\n", "  one()\n  two()\n  three()\n  four()\n",
			"  ONE()\n  two()\n  four()\n  five()\n", "\tONE()\n\ttwo()\n\tfour()\n\tfive()\n"},
		{"parts of lines", "a.go", "\tx := first(a,\n\t\tb) + 1\n", "first(a,\n    b)", "second(a,\n    c)",
			"\tx := second(a,\n\t\tc) + 1\n"},
		{"a part of one line becomes two", "a.go", "if first  &&  second {\n", "first && second {",
			"first && second ||\n\tthird {", "if first  &&  second ||\n\tthird {\n"},
		{"new ends with a line break, old does not", "a.go", "\tone()\n\ttwo()\n", "  one()", "  uno()\n",
			"\tuno()\n\ttwo()\n"},
		{"old ends with a line break, new does not", "a.go", "\tone()\n\ttwo()\n", "  one()\n", "  uno()",
			"\tuno()\n\ttwo()\n"},
		{"the end of a line gets a brace before its comment", "a.go", "\tif  allowed  // fine\n\trunEverything()\n",
			"\tif allowed\n\trunEverything()\n", "\tif allowed {\n\trunEverything()\n",
			"\tif  allowed {  // fine\n\trunEverything()\n"},
		{"CRLF with other indentation", "a.go", "\tone()\r\n\ttwo()\r\n", "    one()\n    two()\n",
			"    one()\n    new()\n    two()\n", "\tone()\r\n\tnew()\r\n\ttwo()\r\n"},
		{"Korean comments", "a.py", "def 합계(값):\n    # 모두 더한다\n    return sum(값)\n",
			"def 합계(값):\n  # 모두 더한다\n  return sum(값)\n",
			"def 합계(값):\n  # 모두 더한다\n  return sum(값) + 1\n",
			"def 합계(값):\n    # 모두 더한다\n    return sum(값) + 1\n"},
		{"quotes of the other kind", "a.js", "one();\n  alt = find('side alt', 1);\ntwo();\n",
			"one();\n  alt = find(\"side alt\", 1);\ntwo();", "one();\n  x = find(\"side x\", 1);\ntwo();",
			"one();\n  x = find('side x', 1);\ntwo();\n"},
		{"bytes that are not UTF-8 stay", "a.go", "\tone() // \xe9\xff\n\ttwo()\n", "  two()\n", "  three()\n",
			"\tone() // \xe9\xff\n\tthree()\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("pass %d (-want +got):\n%s", p.Pass, diff)
			}
		})
	}
}

func TestAllPlaces(t *testing.T) {
	const data = "\tlog(a)\n\trun()\n\tlog(a)\n"
	for _, c := range []struct {
		name     string
		change   Change
		want     string
		places   int
		lastPass int
	}{
		{"exact", Change{Old: "log(a)", New: "log(b)", All: true}, "\tlog(b)\n\trun()\n\tlog(b)\n", 2, 1},
		{"expected says as much", Change{Old: "log(a)", New: "log(b)", Expected: 2}, "\tlog(b)\n\trun()\n\tlog(b)\n", 2, 1},
		{"but for indentation", Change{Old: "  log(a)\n", New: "  log(a)\n  log(c)\n", All: true},
			"\tlog(a)\n\tlog(c)\n\trun()\n\tlog(a)\n\tlog(c)\n", 2, 2},
		{"one place will do", Change{Old: "run()", New: "go()", All: true}, "\tlog(a)\n\tgo()\n\tlog(a)\n", 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, got := planned(t, "a.go", data, c.change)
			if got != c.want || len(p.Places) != c.places || p.Pass != c.lastPass {
				t.Errorf("pass %d, %d places, got %q", p.Pass, len(p.Places), got)
			}
		})
	}
}

func TestNearLine(t *testing.T) {
	data := strings.Repeat("x\n", 9) + "hit\n" + strings.Repeat("x\n", 29) + "hit\n"
	for _, c := range []struct {
		near, line int
	}{{8, 10}, {10, 10}, {38, 40}, {25, 0}, {90, 0}} {
		p, err := NewText("a.txt", []byte(data)).Plan(Change{Old: "hit", New: "HIT", NearLine: c.near})
		if err != nil {
			if c.line != 0 {
				t.Errorf("near %d: %v", c.near, err)
			}
			continue
		}
		if got := strings.Count(data[:p.Places[0].Start], "\n") + 1; got != c.line {
			t.Errorf("near %d: line %d, want %d", c.near, got, c.line)
		}
	}
}

func TestStrictness(t *testing.T) {
	const typo = "func averge(items []Item) Price {\n\tif len(items) == 0 {\n\t\treturn 0\n\t}\n\treturn total(items) " +
		"/ Price(len(items))\n}\n"
	for _, c := range []struct {
		name, old string
		passes    []Strictness // that accept it
	}{
		{"exact", "return sum\n", []Strictness{Exact, Safe, Full}},
		{"line endings", "var sum Price\r\n\tfor", []Strictness{Exact, Safe, Full}},
		{"indentation", "  var sum Price\n  for _, item := range items {\n", []Strictness{Safe, Full}},
		{"distance", typo, []Strictness{Full}},
		{"key tokens", "for _,item:=range items{\n", []Strictness{Full}},
	} {
		for _, s := range []Strictness{Exact, Safe, Full} {
			_, err := NewText("a.go", []byte(goFile)).Plan(Change{Old: c.old, New: strings.Replace(c.old, "r", "rr", 1),
				Strictness: s})
			if (err == nil) != slices.Contains(c.passes, s) {
				t.Errorf("%s with strictness %d: %v", c.name, s, err)
			}
		}
	}
}

// replaced is a text with one part of it changed.
func replaced(text, was, is string) string { return strings.Replace(text, was, is, 1) }

// All of many places are changed in a time of their number, wherever earlier changes inserted something: what is known
// of the file as a whole is looked for once.
func TestManyPlacesInAnotherForm(t *testing.T) {
	const n, line = 30_000, "\tcall(name, ctx)\n"
	data, c := strings.Repeat(line, n), Change{Old: "name,\u00a0ctx", New: "name", All: true}
	for i := range n {
		c.Inserted = append(c.Inserted, Range{i * len(line), i*len(line) + 5})
	}
	p, got := planned(t, "a.go", data, c)
	if len(p.Places) != n || got != strings.Repeat("\tcall(name)\n", n) {
		t.Errorf("%d places", len(p.Places))
	}
	c.Inserted[n-1].End = len(data)
	if r := refused(t, "a.go", data, c); r.Kind != Conflict {
		t.Error(r)
	}
}
