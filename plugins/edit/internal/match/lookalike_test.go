package match

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// The marks of letters may be written with them or after them, in the file and in old_string, wherever in a word.
func TestMarksWrittenInAnyForm(t *testing.T) {
	for _, w := range []string{"café", "naïve", "Ångström", "élan", "rôle", "señor", "fiancée", "déjà", "façade",
		"Zoë", "Čapek", "İstanbul", "phở", "Việt", "abc_é", "x1é", "Ωmega", "한국어", "がぎぐ"} {
		for _, context := range []string{"%", "name = '% au lait'", "call(%)", "%_total = 1", "the_%", "// %"} {
			line := strings.ReplaceAll(context, "%", w)
			for _, forms := range [][2]norm.Form{{norm.NFC, norm.NFD}, {norm.NFD, norm.NFC}, {norm.NFD, norm.NFD}} {
				data, old := forms[0].String("first\n"+line+"\nlast\n"), forms[1].String(line)
				want := "first\nother(1)\nlast\n"
				for _, c := range []Change{{Old: old, New: "other(1)"}, {Old: old, New: "other(1)", All: true},
					{Old: old + "\nlast\n", New: "other(1)\nlast\n"}} {
					if p, got := planned(t, "a.go", data, c); got != want {
						t.Errorf("%q for %q: pass %d gives %q", old, data, p.Pass, got)
					}
				}
			}
		}
		bare := strings.Map(func(r rune) rune { // without its marks it is another word
			if r >= 0x300 && r < 0x370 {
				return -1
			}
			return r
		}, norm.NFD.String(w))
		if bare != norm.NFD.String(w) {
			refused(t, "a.go", "first\n"+w+"(x)\nlast\n", Change{Old: bare + "(x)", New: "other"})
			refused(t, "a.go", "first\n"+bare+"(x)\nlast\n", Change{Old: norm.NFD.String(w) + "(x)", New: "other"})
		}
	}
}

// A sign that stands for one of a run of them is not found within the run.
func TestSignsWithinRuns(t *testing.T) {
	for _, c := range []struct{ name, data, old string }{
		{"a.sql", "---- first part\nselect 1;\n", "\u2014 first part"}, {"a.py", `x = """all of it"""` + "\n", "\u201call of it\u201d"},
		{"a.py", `x = """all of it"""` + "\n", "  \"all of it\""}, {"a.md", "wait....now\n", "wait\u2026"},
		{"a.sh", "run ----all here\n", " \u2013all  here"}, {"a.js", "a ===  b(c)\n", "== b(c)"},
	} {
		refused(t, c.name, c.data, Change{Old: c.old, New: "other: 1\n" + c.old})
	}
}

// Odd blanks before lines are indentation: new lines have spaces there, and elsewhere.
func TestOddBlanksBeforeLines(t *testing.T) {
	for _, blank := range []string{"\u00a0", "\u2003", "\u3000", "\u202f"} {
		const data = "jobs:\n    build: one\n    test: two\n"
		odd := strings.NewReplacer(" ", blank)
		for _, c := range []Change{{Old: "    build: one", New: "    more: five\n    build: one"},
			{Old: "    build: one\n    test: two\n", New: "    more: five\n    build: one\n    test: two\n"}} {
			want := strings.Replace(data, "    build", "    more: five\n    build", 1)
			c.Old, c.New = odd.Replace(c.Old), odd.Replace(c.New)
			if _, got := planned(t, "a.yaml", data, c); got != want {
				t.Errorf("%q: got %q", c.Old, got)
			}
		}
	}
}

// Of lines that look the same a refusal names the code points that differ.
func TestLinesThatLookTheSame(t *testing.T) {
	for _, c := range []struct{ a, b, inA, inB string }{
		{"\fclass A:", "class A:", "U+000C (form feed)", "nothing"},
		{"a = 'x\u2028y zz'", "a = 'x y zz'", "U+2028 (line separator)", "U+0020 (a blank)"},
		{"a\vb = 'xy zz'", "a b = 'xy zz'", "U+000B (vertical tab)", "U+0020 (a blank)"},
		{"a = 'x\u0007y zz'", "a = 'xy zz'", "U+0007", "nothing"},
		{"p\u0430ypal = open(x)", "paypal = open(x)", "U+0430 '\u0430'", "U+0061 'a'"},
		{"a = '\ufb01ne zz'", "a = 'fine zz'", "U+FB01 '\ufb01'", "U+0066 'f' U+0069 'i'"},
	} {
		for _, s := range [][4]string{{c.a, c.b, c.inA, c.inB}, {c.b, c.a, c.inB, c.inA}} {
			data := "one(first)\n" + s[0] + "\nlast(one)\n"
			if strings.Contains(data, s[1]) {
				continue
			}
			r := refused(t, "a.py", data, Change{Old: s[1], New: "zzz"})
			want := "Line 2 looks the same, but has " + s[2] + " where old_string has " + s[3] + "."
			if !strings.Contains(r.Message, want) {
				t.Errorf("%q for %q: %s\nwant %s", s[1], s[0], r.Message, want)
			}
		}
	}
	for _, pair := range [][2]string{{"a  b", "a\tb"}, {"\ta", "  a"}, {"a b", "a c"}, {"a", "a"}, {"\xff", "\xfe"}} {
		if got := hiddenDifference([]byte(pair[0]), []byte(pair[1])); got != "" {
			t.Errorf("%q: %s", pair, got)
		}
	}
}

// A letter and the mark behind it are one character: a place does not end between them, or the mark would come on
// another letter.
func TestPlacesEndWithCharacters(t *testing.T) {
	for _, data := range []string{"call(alphae\u0301)\n", "alphae\u0301\n", "x = alphae\u0301 + 1\n", "n\u0303alphae\u0301\n",
		"\u1112\u1161\u11ab(alphae\u0301)\n"} {
		for _, c := range []Change{{Old: "alphae", New: "omega"}, {Old: "alphae", New: "omega", All: true},
			{Old: "e", New: "a", All: true}, {Old: "\u0301", New: "x"}, {Old: "hae", New: "x"}} {
			if p, err := NewText("a.go", []byte(data)).Plan(c); err == nil {
				t.Errorf("%q in %q: pass %d gives %q", c.Old, data, p.Pass, p.Apply([]byte(data)))
			}
			c.Strictness = Exact // is by the letter
			planned(t, "a.go", data, c)
		}
		planned(t, "a.go", data, Change{Old: "alpha", New: "omega"})
		planned(t, "a.go", data, Change{Old: "alphae\u0301", New: "omega"})
	}
	_, got := planned(t, "a.go", "cafe\u0301 cafe cafe\n", Change{Old: "cafe", New: "tea", All: true})
	if want := "cafe\u0301 tea tea\n"; got != want {
		t.Errorf("all: %q", got)
	}
}

// Signs and blanks that only look like those of a program are no part of it, but may be of strings and comments.
func TestFormsOfNewAlone(t *testing.T) {
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"a line that stays, and one that changes", "a.js", "a = \"x\";\nb = 1;\n", "a = \"x\";\nb = 1;", "a = “x”;\nb = 2;",
			"a = \"x\";\nb = 2;\n"},
		{"a string of a line that stays", "a.js", "a = \"it's\";\nb(\"x\");\n", "a = \"it's\";\nb(\"x\");",
			"a = \"it’s\";\nb(“x”);\nc();", "a = \"it's\";\nb(\"x\");\nc();\n"},
		{"a line that stays, in a language with bare text", "a.sh", "echo \"a\"\nb\n", "echo \"a\"\nb",
			"echo “a”\nc 'it’s'", "echo \"a\"\nc 'it's'\n"},
		{"a line that changes there", "a.html", "<p id=\"one\" class=\"two\">\n", "<p id=\"one\" class=\"two\">",
			"<p id=“one” class=“three”>\n<b>", "<p id=\"one\" class=\"three\">\n<b>\n"},
		{"two lines that stay, with other quotes", "a.sh", "# don't\n\"$can't\"\nx\n", "# don't\n\"$can't\"\nx",
			"# don’t\n\"$can’t\"\ny", "# don't\n\"$can't\"\ny\n"},
		{"one line that stays, with other quotes", "a.sh", "\"$can't\"\nx\n", "\"$can't\"\nx", "\"$can’t\"\ny", "\"$can’t\"\ny\n"},
		{"a value", "a.conf", "x = 1\n", "x = 1", "x = 1\ny = “it’s”", "x = 1\ny = \"it's\"\n"},
		{"a value of a unit", "a.service", "X=1\n", "X=1", "X=‘y z’", "X='y z'\n"},
		{"words of a script", "a.sh", "a\n", "a", "a\nexport B=“c”\n  echo “d e”", "a\nexport B=\"c\"\n  echo \"d e\"\n"},
		{"a translation", "a.po", "msgid \"a\"\nmsgstr \"\"\n", "msgstr \"\"", "msgstr “b c”", "msgid \"a\"\nmsgstr \"b c\"\n"},
		{"a quotation in a translation", "a.po", "msgid \"a\"\nmsgstr \"\"\n", "msgstr \"\"", "msgstr \"“b” c\"",
			"msgid \"a\"\nmsgstr \"“b” c\"\n"},
		{"a text in YAML", "a.yml", "a: 1\n", "a: 1", "a: “b”", "a: “b”\n"},
		{"a new line", "a.go", "x := 1\n", "x := 1", "x := “it’s”", "x := \"it's\"\n"},
		{"indentation", "a.py", "def f():\n    y = 1\n", "    y = 1", "\u00a0\u00a0\u00a0\u00a0y = 2", "def f():\n    y = 2\n"},
		{"no width", "a.go", "\tx := 1\n", "\tx := 1\n", "\ufeff\tx := 1\u200b\n\tz := 3\n", "\tx := 1\n\tz := 3\n"},
		{"a byte order mark", "a.sh", "a\nb\n", "b", "\ufeffc", "a\nc\n"},
		{"a byte order mark for the file", "a.csv", "a,b\n1,2\n", "a,b\n", "\ufeffa,b\n", "\ufeffa,b\n1,2\n"},
		{"full width", "a.rs", "f(1);\n", "f(1);", "f（1， 2）;", "f(1, 2);\n"},
		{"in a string", "a.go", "x := 1\n", "x := 1", "x := \"“it’s”\" // it’s", "x := \"“it’s”\" // it’s\n"},
		{"in a string of lines", "a.py", "def f():\n    \"\"\"One.\n    Two.\n    \"\"\"\n", "Two.", "It’s “two”.",
			"def f():\n    \"\"\"One.\n    It’s “two”.\n    \"\"\"\n"},
		{"in a string of lines that is none elsewhere", "a.swift", "let x = \"\"\"\n  Two.\n  \"\"\"\n", "Two.", "It’s “two”.",
			"let x = \"\"\"\n  It’s “two”.\n  \"\"\"\n"},
		{"a character", "a.rs", "x => 1,\n", "x => 1,", "'“' => 1,", "'“' => 1,\n"},
		{"a regular expression", "a.js", "x = y\n", "x = y", "x = y.replace(/[“”]/g, '')", "x = y.replace(/[“”]/g, '')\n"},
		{"text of a component", "a.jsx", "x = <p>\n  one\n</p>\n", "  one", "  it’s", "x = <p>\n  it’s\n</p>\n"},
		{"the change", "a.go", "x(\"it's\")\ny()\n", "x(\"it's\")\ny()", "x(\"it’s\")\nz()", "x(\"it’s\")\nz()\n"},
		{"blanks of a line that stays", "a.md", "It is one.\nAnd two.\n", "It is one.\nAnd two.",
			"It\u00a0is\u00a0one.\nAnd\u00a0not two.", "It is one.\nAnd not two.\n"},
		{"no width in a line that stays", "a.yaml", "a: one\nb: two\n", "a: one\nb: two", "a: one\u200b\nb: three\u200b",
			"a: one\nb: three\n"},
		{"blanks of a new line", "a.md", "It is one.\n", "It is one.", "It is one.\nIt is 5\u00a0kg.",
			"It is one.\nIt is 5\u00a0kg.\n"},
		{"blanks alone", "a.md", "It is 5 kg.\nAnd so on.\n", "It is 5 kg.\nAnd so on.", "It is 5\u00a0kg.\nAnd so on.",
			"It is 5\u00a0kg.\nAnd so on.\n"},
		{"prose", "a.md", "It is \"x\".\n", "It is \"x\".", "It’s “x”.", "It’s “x”.\n"},
		{"as the file has it elsewhere", "a.go", "x := 1\n“”\n", "x := 1", "x := “a”", "x := “a”\n“”\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if p, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); got != c.want {
				t.Errorf("pass %d: %q", p.Pass, got)
			}
			if _, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh,
				Strictness: Exact}); got != strings.Replace(c.data, c.old, c.fresh, 1) {
				t.Errorf("exact: %q", got)
			}
		})
	}
	for _, fresh := range []string{"x := “say \"hi\"”", "x := ‘it’s’"} {
		if r := refused(t, "a.go", "x := 1\n", Change{Old: "x := 1", New: fresh}); r.Kind != Guard || r.Hint == "" {
			t.Error(r)
		}
	}
	if r := refused(t, "a.md", "It is \"x\".\nAnd \"y\".\n", Change{Old: "It is \"x\".\nAnd \"y\".",
		New: "It is “x”.\nAnd not \"y\"."}); r.Kind != Guard || r.Hint == "" {
		t.Error(r)
	}
}
