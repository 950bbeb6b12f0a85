package match

import (
	"strings"
	"testing"
)

var jsonEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`)

// overEscaped are the ways in which models escape once too often.
var overEscaped = map[string]func(string) string{
	"quotes":         strings.NewReplacer(`"`, `\"`).Replace,
	"single quotes":  strings.NewReplacer(`'`, `\'`).Replace,
	"tabs":           strings.NewReplacer("\t", `\t`).Replace,
	"backslashes":    strings.NewReplacer(`\`, `\\`).Replace,
	"JSON":           jsonEscapes.Replace,
	"JSON, one line": func(s string) string { return strings.ReplaceAll(jsonEscapes.Replace(s), "\n", `\n`) },
	"letters":        strings.NewReplacer("é", `\u00e9`, "한", `\ud55c`, "😀", `\ud83d\ude00`).Replace,
	"entities":       strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace,
	"hex entities":   strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#x27;").Replace,
	"one entity":     strings.NewReplacer("'", "&#x27;").Replace,
}

const escapable = "func f() {\n\tif a < b && c > 'd' {\n\t\tprint(\"café\", 'x') // 한 😀\n\t\tlog(\"a\\tb " +
	"\\\"q\\\"\", '\\n', \"it's\")\n\t}\n\tfirst(\"one\", 'y')\n}\n"

// new_string is read the way old_string was, and a line that the edit does not change never gets an escape.
func TestEscapes(t *testing.T) {
	old := escapable[strings.Index(escapable, "\tif") : strings.Index(escapable, "\tfirst")-1]
	edits := map[string]string{
		"a word changes": strings.Replace(old, "print(", "show(", 1), "a string changes": strings.Replace(old, "café",
			"thé", 1),
		"a line comes": strings.Replace(old, "\t\tlog", "\t\tmore(\"two\", 'z')\n\t\tlog", 1),
		"a line goes":  strings.Replace(old, "\t\tprint(\"café\", 'x') // 한 😀\n", "", 1),
	}
	for way, escape := range overEscaped {
		for name, fresh := range edits {
			want := strings.Replace(escapable, old, fresh, 1)
			check := func(where, from, to string, due bool) {
				t.Helper()
				if from == to || from == old && to == fresh {
					return
				}
				p, err := NewText("a.go", []byte(escapable)).Plan(Change{Old: from, New: to})
				if err != nil {
					if due {
						t.Errorf("%s, %s, %s: refused: %v\n%s\n---\n%s", way, name, where, err, from, to)
					}
					return
				}
				if got := string(p.Apply([]byte(escapable))); got != want {
					t.Errorf("%s, %s, %s: pass %d\n%s\n---\n%s\n--- gives\n%s", way, name, where, p.Pass, from, to, got)
				}
				if len(p.Warnings) == 0 {
					t.Errorf("%s, %s, %s: no warning", way, name, where)
				}
			}
			check("in both", escape(old), escape(fresh), true)
			check("in old", escape(old), fresh, true)
			if way != "letters" { // which a string may well have
				check("in new", old, escape(fresh), false)
			}
			lines, news := strings.Split(old, "\n"), strings.Split(fresh, "\n")
			for i := range lines { // one line of the two is escaped, or all but one are
				for _, but := range []bool{false, true} {
					check("in lines of old", someLines(lines, i, but, escape), fresh, true)
					check("in lines of both", someLines(lines, i, but, escape), someLines(news, i, but, escape), false)
					check("in lines of new, old escaped", escape(old), someLines(news, i, but, escape), false)
				}
			}
		}
	}
}

func someLines(lines []string, i int, but bool, escape func(string) string) string {
	var out []string
	for j, l := range lines {
		if (i == j) != but {
			l = escape(l)
		}
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}

// Escapes of old_string show how those are meant that only new lines have.
func TestEscapesOfNewLines(t *testing.T) {
	const (
		prints = "package a\n\nfunc f() {\n\tfmt.Print(\"a\")\n\tg()\n}\n"
		cases  = "\tcase math.IsNaN(im):\n\t\treturn x\n\tdefault:\n"
		perl   = "use strict;\n\nour $V = '1.3';\nuse Base qw{ -pass };\n\n1;\n"
	)
	for _, c := range []struct{ name, file, data, old, fresh, from, to string }{
		{"one line of JSON", "a.go", prints, `\tfmt.Print(\"a\")\n\tg()\n`,
			`\tfmt.Print(\"a\")\n\tfmt.Printf(\"x\\n\")\n\tg()\n`, "\tg()", "\tfmt.Printf(\"x\\n\")\n\tg()"},
		{"a tab in a string", "a.go", prints, `\tfmt.Print(\"a\")\n\tg()\n`,
			`\tfmt.Print(\"a\")\n\tfmt.Print(\"x\\ty\")\n\tg()\n`, "\tg()", "\tfmt.Print(\"x\\ty\")\n\tg()"},
		{"lines of JSON", "a.go", prints, "\\tfmt.Print(\\\"a\\\")\n\\tg()\n",
			"\\tfmt.Print(\\\"a\\\")\n\\tfmt.Print(\\\"x\\\\n\\\")\n\\tg()\n", "\tg()", "\tfmt.Print(\"x\\n\")\n\tg()"},
		{"old_string has no quotes", "a.go", prints, `\tg()\n}\n`, `\tfmt.Print(\"x\\n\")\n\tg()\n}\n`, "\tg()",
			"\tfmt.Print(\"x\\n\")\n\tg()"},
		{"a changed line", "a.go", prints, `\tfmt.Print(\"a\")\n\tg()\n`, `\tfmt.Print(\"a\\n\")\n\tg()\n`, `"a"`, `"a\n"`},
		{"a regular expression", "a.py", "import re\nx = f(\"a\")\ny = 2\n", `x = f(\"a\")\ny = 2\n`,
			`x = f(\"a\")\nz = re.compile(r\"\\d+\")\ny = 2\n`, "y =", "z = re.compile(r\"\\d+\")\ny ="},
		{"only quotes and tabs are escaped", "a.go", prints, "\\tfmt.Print(\\\"a\\\")\n",
			"\\tfmt.Print(\\\"a\\n\\\", \\\"\\\\d\\\")\n", `"a"`, `"a\n", "\\d"`},
		{"a kept line has its backslashes", "a.go", "a(\"\\d\")\nb()\n", `a(\"\d\")` + "\nb()",
			`a(\"\d\")` + "\n" + `c(\"\\d\")` + "\nb()",
			"b()", "c(\"\\\\d\")\nb()"},
		{"quotes of a new line", "a.go", cases, strings.ReplaceAll(cases, "\t", `\t`),
			"\\tcase math.IsNaN(im):\n\\t\\tlog(\\\"it's set\\\")\n\\t\\treturn x\n\\tdefault:\n", "\t\treturn",
			"\t\tlog(\"it's set\")\n\t\treturn"},
		{"other entities", "a.pm", perl, strings.ReplaceAll(perl, "'", "&#39;"),
			strings.ReplaceAll(strings.Replace(perl, "\n\n1",
				"\nlog('it', '&lt;ready&gt; &amp; set');\n\n1", 1), "'", "&#39;"), "\n\n1", "\nlog('it', '<ready> & set');\n\n1"},
		{"an entity of old_string and another one", "a.js", "f('x');\n", "f(&#39;x&#39;);\n",
			"if (a &lt; b) f(&#39;x&#39;);\n",
			"f(", "if (a < b) f("},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := strings.Replace(c.data, c.from, c.to, 1)
			if p, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); got != want {
				t.Errorf("pass %d: %q", p.Pass, got)
			}
		})
	}
}

// Escapes that the file has, or that are the change, stay.
func TestEscapesThatAreMeant(t *testing.T) {
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"of a string", "a.go", "x := 1\n", "x := 1", `x := "say \"hi\"\n"`, `x := "say \"hi\"\n"` + "\n"},
		{"of a string in single quotes", "a.py", "x = 1\n", "x = 1", `x = 'say \"hi\"'`, `x = 'say \"hi\"'` + "\n"},
		{"of a regular expression", "a.js", "x = 1\n", "x = 1", `x = y.replace(/\"/g, z)`, `x = y.replace(/\"/g, z)` + "\n"},
		{"the change escapes", "a.sh", "echo \"hi\"\nrun \"it\"\n", "echo \"hi\"\nrun \"it\"",
			"echo \\\"hi\\\"\nrun \\\"it\\\"", "echo \\\"hi\\\"\nrun \\\"it\\\"\n"},
		{"the change escapes, and white space is lost", "a.sh", "do\n  one=\"$x\"\n  two=\"${two//^\\.//}\"\ndone\n",
			"  one=\"$x\"\n  two=\"${two//^\\.//}\"\n", "one=\"$x\"\n  two=\"${two//^\\.\\//}\"",
			"do\n  one=\"$x\"\n  two=\"${two//^\\.\\//}\"\ndone\n"},
		{"a part of a string", "a.go", "x := \"hello world\"\n", "hello world", `hello world\nsecond`,
			"x := \"hello world\\nsecond\"\n"},
		{"entities of a page", "a.html", "<p>one</p>\n", "<p>one</p>", "<p>one &lt; two &amp; &quot;three&quot;</p>",
			"<p>one &lt; two &amp; &quot;three&quot;</p>\n"},
		{"entities of a program", "a.go", "x := 1\n", "x := 1", `x := "&lt;"`, `x := "&lt;"` + "\n"},
		{"a string gets entities", "a.go", "x := \"<a>\"\ny()\n", "x := \"<a>\"\ny()", "x := \"&lt;a&gt;\"\ny()",
			"x := \"&lt;a&gt;\"\ny()\n"},
		{"a string gets entities and other escapes", "a.yaml", "x: \"one <a>. Two\"\n", "x: \"one <a>. Two\"",
			"x: \"one &lt;a&gt;.\\nTwo\"", "x: \"one &lt;a&gt;.\\nTwo\"\n"},
		{"a string gets entities, as the file has", "a.go", "x := \"<a>\"\ny := \"&lt;b&gt;\"\n", "x := \"<a>\"",
			"x := f(\"&lt;a&gt;\")", "x := f(\"&lt;a&gt;\")\ny := \"&lt;b&gt;\"\n"},
		{"a string gets entities, beside one that has none", "a.go", "x := f(\"<a>\")\n", "x := f(\"<a>\")",
			"if a < b {\nx := f(\"&lt;a&gt;\", 1)", "if a < b {\nx := f(\"&lt;a&gt;\", 1)\n"},
		{"text in JSX", "a.jsx", "<p>\n  one & two\n</p>\n", "  one & two", "  one &amp; three -&gt; four",
			"<p>\n  one &amp; three -&gt; four\n</p>\n"},
		{"code shown in JSX", "a.jsx", "<p>\n</p>\n", "<p>", "<p>\n  <code>a-&gt;b &amp;&amp; c</code>",
			"<p>\n  <code>a-&gt;b &amp;&amp; c</code>\n</p>\n"},
		{"operators in a string of PHP", "a.php", "<?php\n$a = 1;\n", "$a = 1;", "$a = '$this-&gt;first()';",
			"<?php\n$a = '$this-&gt;first()';\n"},
		{"new_string has them in a string", "a.go", "print(\"a\")\nnext(1)\n", `print(\"a\")`, `print("a \"b\"")`,
			"print(\"a \\\"b\\\"\")\nnext(1)\n"},
		{"a part of a line", "a.sh", "c=\"echo \"hi\" there\"\n", `echo "hi" there`, `echo \"ho\" there`,
			"c=\"echo \\\"ho\\\" there\"\n"},
		{"lines that get other quotes around them", "a.sh", "send '{\n  \"name\": \"bob\"\n}'\n",
			"send '{\n  \"name\": \"bob\"\n}'",
			"send \"{\n  \\\"name\\\": \\\"$N\\\"\n}\"", "send \"{\n  \\\"name\\\": \\\"$N\\\"\n}\"\n"},
		{"tags within others", "a.html", "<pre>\n<p id=\"a\">\n</pre>\n", "<pre>\n<p id=\"a\">\n</pre>",
			"<pre>\n&lt;p id=\"b\"&gt;\n</pre>", "<pre>\n&lt;p id=\"b\"&gt;\n</pre>\n"},
		{"tags of a page that has escaped ones", "a.html", "<pre>\n<p id=\"a\">\n&lt;br&gt;</pre>\n", "<p id=\"a\">",
			"&lt;p id=\"b\"&gt;", "<pre>\n&lt;p id=\"b\"&gt;\n&lt;br&gt;</pre>\n"},
		{"words in angle brackets", "a.md", "Run it with <name> here.\n", "Run it with <name> here.",
			"Run it with &lt;name&gt; there.", "Run it with &lt;name&gt; there.\n"},
		{"within curly quotes", "a.c", "print(\"\\n\\t\");\n", "print(“\\n\\t”);", "log(“\\n\\t”);", "log(\"\\n\\t\");\n"},
		{"commands of TeX", "a.tex", "\\textbf{one}\n\\newline\n", "\\textbf{one} \n\\newline", "\\textbf{two} \n\\newline",
			"\\textbf{two}\n\\newline\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if p, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); got != c.want {
				t.Errorf("pass %d: %q", p.Pass, got)
			}
		})
	}
}

// Where it is not clear whether an escape is meant nothing is written.
func TestEscapesInDoubt(t *testing.T) {
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"quotes of a program", "a.go", "x := f(1)\ny := 2\n", "x := f(1)", `x := f(\"a\")`},
		{"entities of a program", "a.sass", ".a\n  top: 0\n", "  top: 0\n", "  top: 0\n  &amp;:hover\n    top: 1\n"},
		{"the only line, escaped", "a.yaml", "run: echo \"a\" now\n", "run: echo \"a\" now", `run: echo \"a\" later`},
		{"backslashes behind escaped quotes", "a.go", "x := f(\"a\")\n", `x := f(\"a\")`, `x := f(\"a\\n\")`},
		{"a break within a string", "a.go", "\tx(\"a\")\n\ty()\n", `\tx(\"a\")\n\ty()\n`,
			`\tx(\"a\")\n\tx(\"b\n\")\n\ty()\n`},
		{"a break within a string, in a program whose strings may go over lines", "a.sh", "x \"a\"\n  y\n", `x \"a\"\n  y\n`,
			`x \"a\"\nx \"b\n\"\n  y\n`},
		{"some breaks that are there as well", "a.txt", "one a\n\ntwo b\nthree c\n", "one a\\n\n\ntwo b\\n\nthree c",
			"one a\\n\n\ntwo d\\n\nfour e\\n\nthree c"},
		{"a tab within a string", "a.go", "\tx(\"a\")\n\ty()\n", `\tx(\"a\")\n\ty()\n`,
			`\tx(\"a\")\n\tx(\"b\tc\")\n\ty()\n`},
		{"a tab before a line and one within a string", "a.go", "\tx(\"a\")\n", `x(\"a\")\n`,
			`x(\"a\")\n\tx(\"b\tc\")\n`},
		{"a backslash before a letter that is no escape", "a.go", "\tx(\"a\")\n\ty()\n", `\tx(\"a\")\n\ty()\n`,
			`\tx(\"a\")\n\tx(\"C:\\dir\")\n\ty()\n`},
		{"a backslash in a text", "a.txt", "x(\"a\")\n  y()\n", `x(\"a\")\n  y()\n`, `x(\"a\")\nx C:\\dir\n  y()\n`},
		{"breaks that are escaped, and bare quotes", "a.toml", "a = \"x\"\nb = 2\n", `a = \"x\"\nb = 2`,
			`a = \"x\"\nc = \"\\"q\\"\"\nb = 2`},
		{"backslashes of a line without quotes", "a.js", "x = f(\"a\")\n", `x = f(\"a\")`,
			`x = f(\"a\")` + "\n" + `y = '\\n'`},
		{"tabs are escaped, quotes only in new_string", "a.go", "\tf(\"a\")\n\tg()\n", "\\tf(\"a\")\n\\tg()\n",
			"\\tf(\"a\")\n\\th(\\\"it's\\\")\n\\tg()\n"},
		{"entities that a page may have", "a.html", "<p>\nit's\n</p>\n", "it&#39;s", "it&#39;s 1 &lt; 2"},
		{"entities in strings of a line that changes", "a.c", "p(\"<a> %d\", n);\nq(1);\n", "p(\"<a> %d\", n);\nq(1);",
			"p(\"&lt;a&gt; %d\", n + 1);\nq(1);"},
		{"entities of a command", "a.yaml", "run: \"make all && make check\"\n", "run: \"make all && make check\"",
			"run: \"make all &amp;&amp; make checks\""},
		{"tags of a line that changes", "a.html", "<p>One of many</p>\n<p>two\n", "<p>One of many</p>",
			"&lt;p&gt;One of all&lt;/p&gt;"},
		{"quotes of a line that changes", "a.bat", "if \"%1\" == \"text\" (\n", "if \"%1\" == \"text\" (",
			`if \"%1\" == \"html\" (`},
		{"operators of PHP", "a.php", "<?php\n$a = 1;\n", "$a = 1;", "$a = $this-&gt;first();"},
		{"operators of JavaScript", "a.js", "x = 1\n", "x = 1", "x = list.map((y) =&gt; y.z &amp;&amp; 1)"},
		{"entities of a program", "a.py", "x = f(1)\n", "x = f(1)", "x = f(&quot;a&quot;)"},
		{"the text may have been put into a string", "a.sh", "echo \"a\"\necho \"b\"\n", "echo \"a\"\necho \"b\"\n",
			"sh -c \"\necho \\\"a\\\"\necho \\\"b\\\"\n\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := refused(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); r.Hint == "" {
				t.Error("no hint")
			}
			if !strings.Contains(c.data, c.old) {
				return
			}
			if _, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh,
				Strictness: Exact}); got != strings.Replace(c.data, c.old, c.fresh, 1) {
				t.Errorf("exact: %q", got)
			}
		})
	}
}

// A line that old_string and new_string both have, escaped in one of them only, says that the other one is as it
// should be.
func TestBackslashesOfAPlainNew(t *testing.T) {
	const data = "a = '\\\\' + first\nb = '\\\\' + second\n"
	_, got := planned(t, "a.js", data, Change{Old: strings.ReplaceAll(strings.TrimSuffix(data, "\n"), `\`, `\\`),
		New: "a : '\\\\' + first\nb = '\\\\' + second"})
	if want := strings.Replace(data, "a =", "a :", 1); got != want {
		t.Errorf("%q", got)
	}
}

// Where a new_string has its line breaks escaped, and in its strings some that are meant, it is refused.
func TestBreaksThatAreMeant(t *testing.T) {
	const code = "\tif bad {\n\t\tprint(\"bad\\n\");\n\t\treturn 1;\n\t}\n\tprint(\"ready\\n\");\n"
	for _, fresh := range []string{
		strings.Replace(code, "return 1", "return 2", 1), strings.Replace(code, "return 1;", "print(\"end\\n\");", 1),
	} {
		escaped := strings.ReplaceAll(fresh, "\n", `\n`)
		for _, name := range []string{"a.c", "a.js", "a.java"} {
			if r := refused(t, name, code, Change{Old: code, New: escaped}); r.Kind != Guard {
				t.Errorf("%s: %v", name, r)
			}
			// Both escaped once too often are what they were.
			twice := strings.ReplaceAll(strings.ReplaceAll(fresh, `\`, `\\`), "\n", `\n`)
			if _, got := planned(t, name, code, Change{Old: code, New: twice}); got != fresh {
				t.Errorf("%s: %q gives\n%s", name, twice, got)
			}
		}
	}
	const plain = "\tif bad {\n\t\treturn 1;\n\t}\n"
	if _, got := planned(t, "a.c", plain, Change{Old: plain,
		New: `	if bad {\n		return 2;\n	}\n`}); got != replaced(plain, "1", "2") {
		t.Errorf("none that is meant: %q", got)
	}
}

// A new_string of one line may have all its line breaks escaped where old_string has none. No line needs to be in both.
func TestBreaksOfNewAlone(t *testing.T) {
	const code = "begin()\n\n\tif bad {\n\t\tstop();\n\t}\n\n\nend()\n"
	const old = "\tif bad {\n\t\tstop();\n\t}\n"
	onOneLine := func(s string) string { return strings.ReplaceAll(jsonEscapes.Replace(s), "\n", `\n`) }
	for _, name := range []string{"a.go", "a.c", "a.js", "a.java", "a.php", "a.css"} {
		for _, c := range [][2]string{
			{old, "\tif worse {\n\t\tgo_on();\n\t}\n"}, {"\n" + old, "\n\tif worse {\n\t\tgo_on();\n\t}\n"},
			{old, "\tif worse {\n\t\tprint(\"worse\\n\", \"C:\\\\dir\");\n\t}\n"},
			{old, "\tif bad {\n\t\tstop();\n\t\tprint(\"bad\\n\");\n\t}\n"},
			{"\t}\n\n\nend()", "\t}\n\nend()"},
		} {
			if _, got := planned(t, name, code, Change{Old: c[0], New: onOneLine(c[1])}); got != replaced(code, c[0], c[1]) {
				t.Errorf("%s: %q gives\n%s", name, onOneLine(c[1]), got)
			}
		}
	}
	for _, name := range []string{"a.go", "a.c", "a.js"} { // old_string does not end a line
		if _, got := planned(t, name, code, Change{Old: strings.TrimSpace(old),
			New: `while bad {\n\t\tgo_on();\n\t}`}); got != replaced(code, strings.TrimSpace(old), "while bad {\n\t\tgo_on();\n\t}") {
			t.Errorf("%s: no break at the end gives\n%s", name, got)
		}
		if r := refused(t, name, code, Change{Old: old, New: onOneLine(old)}); r.Hint == "" {
			t.Errorf("%s: nothing but escapes: %v", name, r)
		}
	}
	_, got := planned(t, "a.json", "{\n  \"a\": 1\n}\n", Change{Old: "{\n  \"a\": 1\n}\n", New: `{\n    \"b\": 2\n}\n`})
	if got != "{\n    \"b\": 2\n}\n" {
		t.Errorf("another text: %q", got)
	}
	_, got = planned(t, "a.json", "{\n  \"a\": 1\n}\n", Change{Old: "  \"a\": 1\n}", New: `  \"a\": {\n    \"b\": 2\n  }\n}`})
	if got != "{\n  \"a\": {\n    \"b\": 2\n  }\n}\n" {
		t.Errorf("no break at the end of a text of data: %q", got)
	}
	const sql = "CREATE f\nLANGUAGE C STRICT;\n\nCREATE TABLE a (\n\tb INT\n);\n"
	_, got = planned(t, "a.sql", sql, Change{Old: "STRICT;\n\nCREATE TABLE a (\n\tb INT\n);\n",
		New: `STRICT;\n\nCREATE TABLE a (\n\tb INT8\n);\n`})
	if got != strings.Replace(sql, "INT", "INT8", 1) {
		t.Errorf("the first line is a part: %q", got)
	}
}

// Line breaks that are escaped on purpose stay, in strings, in texts and in patterns, though old_string has lines.
func TestBreaksThatStay(t *testing.T) {
	const old = "one(1);\n\ttwo(2);\n"
	for _, name := range []string{"a.go", "a.c", "a.js", "a.java", "a.php", "a.py", "a.yaml", "a.sh", "a.rb", "a.md", "a.hs",
		"a.tex", "a.unknown"} {
		for _, fresh := range []string{
			`one("a\n  b\n");`, `one('a\n\tb');`, "one(`a\\n\\n}`);", `x = s.split(/\n\n/)`, `one(1) // ends with \n`,
			`one(1) # of \n\n`, `map (\n -> n + 1) xs`, `\newline\noindent`, `use \net\name;`, `print("\n  x", 'it\n}');`,
		} {
			for _, end := range []string{"", "\n"} {
				written(t, name, "\n"+old+"end\n", strings.TrimSuffix(old, "\n")+end, fresh+end)
			}
		}
	}
	// What stands in a text of the file that goes over lines.
	written(t, "a.js", "x = `\nSay:\n  one\n`;\n", "Say:\n", "Said:\\n\\n  all\n")
	for _, name := range []string{"a.php", "a.yaml", "a.hs", "a.md", "a.sh"} { // texts without quotes
		written(t, name, "\none\ntwo\nend\n", "one\ntwo\n", "split: ,\\n\\n\n")
	}
	// A line of the file ends with one as well.
	if _, got := planned(t, "a.txt", "x\\n\ny\nz\n", Change{Old: "y\nz\n", New: `y and z\n`}); got != "x\\n\ny and z\\n\n" {
		t.Errorf("%q", got)
	}
}

// Backslashes that a shell or Markdown has before signs, in texts of other kinds. In new_string other such signs have
// them, too, but those that old_string has bare are in doubt, and so are lines that both have bare.
func TestEscapedSigns(t *testing.T) {
	for _, c := range []struct{ name, data, old, fresh, want string }{
		{"variables", "echo $a `b`\nc=$d\n", "echo \\$a \\`b\\`\nc=\\$d", "echo \\$a \\`b\\`\nc=\\$e", "echo $a `b`\nc=$e\n"},
		{"another sign of a shell", "echo $a\nc\n", "echo \\$a\nc", "echo \\$a\nc \\`d\\`", "echo $a\nc `d`\n"},
		{"names", "my_a = 1\nmy_b = 2\n", "my\\_a = 1\nmy\\_b = 2", "my\\_a = 1\nmy\\_b = 3 \\* x", "my_a = 1\nmy_b = 3 * x\n"},
		{"a comment", " * Runs it.\n * Twice.\n", " \\* Runs it.\n \\* Twice.", " \\* Runs it.\n \\* By my\\_x.",
			" * Runs it.\n * By my_x.\n"},
		{"a sign that old_string has bare", "x = a_b $1\n", "x = a\\_b $1", "x = a\\_c \"\\$1\"\n", ""},
		{"a line that both have bare", "a_b()\nc_d()\n", "a_b()\nc\\_d()", "a_b()\nc\\_e()\nf\\_g()", ""},
		{"only beside what changes", "a_b()\nc_d()\n", "a_b()\nc\\_d()", "a_b()\nc\\_e()", "a_b()\nc_e()\n"},
		{"half of a string", "print(\"tank is empty, now\")\n", "print(\\\"tank is", "log(\\\"tank is",
			"log(\"tank is empty, now\")\n"},
	} {
		p, err := NewText("a.pl", []byte(c.data)).Plan(Change{Old: c.old, New: c.fresh})
		switch {
		case err != nil && c.want != "":
			t.Errorf("%s: %v", c.name, err)
		case err == nil && (string(p.Apply([]byte(c.data))) != c.want || len(p.Warnings) == 0):
			t.Errorf("%s: %q %q", c.name, p.Apply([]byte(c.data)), p.Warnings)
		}
	}
	const text = "Use `one`.\nthen more\n"
	if _, got := planned(t, "a.md", text, Change{Old: "Use \\`one\\`.\nthen more", New: "Use \\`one\\`.\nthen my\\_more \\<b\\>"}); got !=
		replaced(text, "then more", "then my_more <b>") {
		t.Errorf("Markdown: %q", got)
	}
	// The line breaks behind a line that is escaped as a whole.
	if _, got := planned(t, "a.yml", "a: 1\nb: 2\nc: 3\n\nd: 4\n", Change{Old: "a: 1\\nb: 2\\nc: 3\n\n",
		New: "a: 5\\nb: 2\\nc: 6\n\n"}); got != "a: 5\nb: 2\nc: 6\n\nd: 4\n" {
		t.Errorf("breaks within: %q", got)
	}
	// In Markdown they may be the change, as one of several.
	if r := refused(t, "a.md", "| a_b | one |\n| c_d | two |\n", Change{Old: "| a_b | one |\n| c_d | two |\n",
		New: "| a\\_b | one |\n| c\\_d | more |\n"}); r.Kind != Guard || !strings.Contains(r.Hint, "an edit of its own") {
		t.Errorf("Markdown, of new_string alone: %v", r)
	}
	if r := refused(t, "a.tex", "A [x] here.\nMore.\n", Change{Old: "A [x] here.\nMore.\n",
		New: "A \\[x\\] here.\nMore of it.\n"}); r.Kind != Guard || strings.Contains(r.Message, "\\_") {
		t.Errorf("The message names a sign that new_string does not have: %v", r)
	}
	// A quote behind an escaped backslash is bare only if backslashes are escaped as well: here another line has some that
	// are not.
	const data, last = "\"a\": \"\\\"b\\\"\",\n\"e\": \"i\\nt\",\n", "\n\\\"e\\\": \\\"i\\nt\\\","
	old, more := "\\\"a\\\": \\\"\\\\\"b\\\\\"\\\",", "\n\\\"c\\\": \\\"\\\\\"d\\\\\"\\\","
	if r := refused(t, "a.json", data, Change{Old: old + last, New: old + more + last}); r.Kind != Guard {
		t.Error(r)
	}
}
