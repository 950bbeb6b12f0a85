package match

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// A blank that old_string has too many or too few, beside the part that changes or anywhere else on the line, is
// neither written into the file nor taken from it.
func TestBlanksOfAChangedLine(t *testing.T) {
	lines := []struct{ file, text string }{
		{"a.go", "\treturn x"}, {"a.py", "    return value if ready else None"}, {"a.yaml", "  replicas: 5"}, {"a.sql",
			"SELECT name, age FROM people WHERE id = 7;"},
		{"Dockerfile", "RUN apt-get install -y curl"}, {"a.js", "  const total = first + second;"}, {"a.c",
			"\tunsigned long count = limit - 1;"}, {"a.toml", `name = "one two"`},
		{"a.md", "The quick brown fox jumps."}, {"a.sh", `if [ "$x" = 1 ]; then`}, {"a.json", `  "key": [1, 2, 3],`},
		{"a.css", "  margin: 0 auto 4px;"},
	}
	signs, runs := regexp.MustCompile(`\w+|[^\w\s]`), regexp.MustCompile(`\S( )\S`)
	for _, l := range lines {
		for _, block := range []bool{false, true} {
			var done, cases int
			start := len(l.text) - len(strings.TrimLeft(l.text, " \t"))
			for _, sign := range signs.FindAllStringIndex(l.text, -1) {
				fresh := l.text[:sign[0]] + "changed9" + l.text[sign[1]:]
				for at := start; at < len(l.text); {
					run := runs.FindStringSubmatchIndex(l.text[at:])
					if run == nil {
						break
					}
					at += run[2]
					for _, blanks := range []string{"", "  ", "    ", "\t"} {
						old := l.text[:at] + blanks + l.text[at+1:]
						ok := checkLine(t, l.file, l.text, old, fresh, block)
						if blanks != "" { // without, two words may be one
							cases++
						}
						if ok && blanks != "" {
							done++
						}
					}
				}
			}
			if done*100 < cases*95 {
				t.Errorf("%s: %d of %d are done (%q)", l.file, done, cases, l.text)
			}
		}
	}
}

// checkLine changes a line of a file, alone or with its neighbors. What comes out must be what new_string says.
func checkLine(t *testing.T, file, line, old, fresh string, block bool) bool {
	t.Helper()
	around := "first line here\n%s\nlast line here\n"
	c := Change{Old: old, New: fresh}
	if block {
		c.Old, c.New = fmt.Sprintf(around, old), fmt.Sprintf(around, fresh)
	}
	data, want := fmt.Sprintf(around, line), fmt.Sprintf(around, fresh)
	done := false
	for _, c.Strictness = range []Strictness{Full, Safe, Exact} {
		p, err := NewText(file, []byte(data)).Plan(c)
		if err != nil {
			continue
		}
		done = true
		if got := string(p.Apply([]byte(data))); got != want {
			t.Errorf("%s: old %q, new %q, pass %d gives %q", file, c.Old, c.New, p.Pass, got)
		}
	}
	return done
}

// A quote that comes may end a string in the quotes of the file.
// The columns of a table may be quoted wider than they are in the file.
func TestTablesOfAnotherWidth(t *testing.T) {
	const data = "# T\n\n| name | n |\n|---|:--:|\n| one | 1 |\n| two | 22 |\n\ntext\n"
	const wide = "| name | n  |\n| ---- | :-: |\n| one  | 1  |\n| two  | 22 |\n"
	for _, c := range [][2]string{{"| two  | 22 |", "| two | 23 |"}, {"| two  | 22 |\n", "| two  | 22 |\n| three | 3 |\n"},
		{"| one  | 1  |\n", ""}} {
		_, got := planned(t, "a.md", data, Change{Old: wide, New: strings.Replace(wide, c[0], c[1], 1)})
		squeezed := strings.NewReplacer("  ", " ").Replace
		if want := strings.Replace(data, squeezed(c[0]), squeezed(c[1]), 1); got != want {
			t.Errorf("%q: got\n%s", c[1], got)
		}
	}
}

// Blanks at the end of a line go with the change that leaves them out.
func TestBlanksAtTheEndOfAChangedLine(t *testing.T) {
	const data = "{\n\tone(a) \n\ttwo(b) \n}\n"
	_, got := planned(t, "a.go", data, Change{Old: "  one(a) \n  two(b) \n", New: "  one(c)\n  two(b) \n"})
	if got != replaced(data, "one(a) ", "one(c)") {
		t.Errorf("got %q", got)
	}
}

func TestQuotesOfAChangedString(t *testing.T) {
	r := refused(t, "a.js", "one();\n  a = find('side');\ntwo();\n", Change{Old: "one();\n  a = find(\"side\");\ntwo();",
		New: "one();\n  a = find(\"it's a side\");\ntwo();"})
	if r.Kind != Conflict {
		t.Error(r)
	}
	const text = "It’s a good word here.\nmore text here\n" // those are the ones of old_string
	_, got := planned(t, "a.md", text, Change{Old: "It's a good word here.\nmore",
		New: "It's a good word here, isn't it.\nmore"})
	if got != replaced(text, "here.", "here, isn't it.") {
		t.Errorf("typographic quotes: %q", got)
	}
	const js = "first(one);\nimport { second } from 'second';\nthird(three);\n" // new_string has the quotes of the file
	_, got = planned(t, "a.js", js, Change{Old: "first(one);\nimport { second } from \"second\";\n",
		New: "first(one);\nimport { second } from 'fourth';\n"})
	if got != replaced(js, "'second'", "'fourth'") {
		t.Errorf("quotes of old_string alone: %q", got)
	}
}

// Beside the part that changes the file has other blanks than old_string.
func TestGaps(t *testing.T) {
	for _, c := range []struct{ name, file, old, fresh, want string }{
		{"the model did not change it", "name    string // who is it", "name string // who is it",
			"name []byte // who is it", "name    []byte // who is it"},
		{"the model changed it", "name    string // who is it", "name string // who is it", "name  []byte // who is it",
			"name  []byte // who is it"},
		{"a part goes, its blank too", "alpha  beta gamma", "alpha beta gamma", "alpha gamma", "alpha  gamma"},
		{"a part goes, and one blank of two is the file's", "alpha\" -beta gamma", "alpha \" -beta gamma",
			"alpha -beta gamma", "alpha -beta gamma"},
		{"the last part goes, no blank is left", "alpha beta = gamma", "alpha beta =gamma", "alpha beta =", "alpha beta ="},
		{"a part comes between", "alpha  gamma delta", "alpha gamma delta", "alpha beta gamma delta",
			"alpha  beta gamma delta"},
		{"an element comes into a list", "call(alpha, gamma, delta)", "call(alpha,gamma,delta)",
			"call(alpha,beta,gamma,delta)", "call(alpha, beta, gamma, delta)"},
		{"an element comes with blanks", "call(alpha, gamma, delta)", "call(alpha,gamma,delta)",
			"call(alpha, beta, gamma,delta)", "call(alpha, beta, gamma, delta)"},
		{"an operator becomes longer", "alpha = gamma + delta", "alpha=gamma+delta", "alpha==gamma+delta",
			"alpha == gamma + delta"},
		{"an operator becomes a word", "alpha=gamma+delta", "alpha = gamma + delta", "alpha is gamma + delta",
			"alpha is gamma+delta"},
		{"two operators stay two", "total=alpha-gamma+delta", "total = alpha - gamma + delta",
			"total = alpha - -gamma + delta", "total=alpha- -gamma+delta"},
		{"a blank without break stays", "name\u00a0= alpha beta", "name = alpha beta", "name = gamma beta",
			"name\u00a0= gamma beta"},
		{"a blank without break before the change", "alpha name =\u00a0beta", "alpha name = beta", "alpha name = gamma",
			"alpha name =\u00a0gamma"},
		{"a sign without width stays", "// \u200bsave the old word", "// save the old word", "// save_the old word",
			"// \u200bsave_the old word"},
		{"two blanks that the file does not have", "alpha = beta.gamma", "alpha  = beta.gamma", "alpha  = beta.delta",
			"alpha = beta.delta"},
		{"two blanks, gone in new", "alpha = beta.gamma", "alpha  = beta.gamma", "omega = beta.gamma", "omega = beta.gamma"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, got := planned(t, "a.go", "\t"+c.file+"\n", Change{Old: c.old, New: c.fresh})
			if got != "\t"+c.want+"\n" {
				t.Errorf("pass %d gives %q, want %q", p.Pass, got, c.want)
			}
		})
	}
}

// Few lines are enough where old_string leaves out one and has all others to the letter, in one place.
func TestALineLeftOutOfFew(t *testing.T) {
	const data = "start(alpha)\nfirst = load(beta)\nsecond = parse(gamma)\nthird = check(delta)\nlast(epsilon)\nother()\n"
	const old = "start(alpha)\nfirst = load(beta)\nthird = check(delta)\nlast(epsilon)\n"
	fresh := strings.Replace(old, "epsilon", "omega", 1)
	want := strings.Replace(data, "epsilon", "omega", 1)
	for _, cut := range []string{"", "start(alpha)\n"} {
		c := Change{Old: strings.TrimPrefix(old, cut), New: strings.TrimPrefix(fresh, cut)}
		if p, got := planned(t, "a.py", data, c); got != want || p.Pass != similarPass {
			t.Errorf("pass %d: %q", p.Pass, got)
		}
		refused(t, "a.py", strings.Replace(data, "third", "more(zeta)\nthird", 1), c)                        // two lines
		refused(t, "a.py", strings.Replace(data, "last(epsilon)", "more(zeta)\nlast(epsilon)", 1), c)        // beside the change
		refused(t, "a.py", data+strings.Replace(data, "second = parse(gamma)", "second = parse(eta)", 1), c) // two places
		refused(t, "a.py", strings.Replace(data, "load(beta)", "load(theta)", 1), c)                         // another line
	}
}

// A bracket that old_string left out and new_string has is not written for a second time.
func TestABracketLeftOut(t *testing.T) {
	const data = "first {\n\tload(alpha, beta)\n\tparse(gamma)\n}\n\nsecond {\n\tcheck(delta)\n\tend(epsilon)\n}\n"
	refused(t, "a.js", data, Change{Old: strings.Replace(data, "}\n\nsecond", "\nsecond", 1),
		New: strings.Replace(data, "parse(gamma)", "parse(omega)", 1)})
}

// The separator at the end of a line says little about the line.
func TestLastSeparatorLeftOut(t *testing.T) {
	const data = "x = {\n  \"first\": alpha(1),\n  \"second\": beta(2),\n  \"third\": gamma(3)\n}\n"
	for _, c := range [][2]string{{"alpha(1),", "alpha(1)"}, {"gamma(3)", "gamma(3),"}} {
		old := strings.Replace(data, c[0], c[1], 1)
		p, got := planned(t, "a.py", data, Change{Old: old, New: strings.Replace(old, "beta(2)", "delta(4)", 1)})
		if want := strings.Replace(data, "beta(2)", "delta(4)", 1); got != want {
			t.Errorf("%s: pass %d gives %q", c[1], p.Pass, got)
		}
	}
	// A change that takes in the separator at the end of a line, or comes behind it.
	const call = "x = first(one, two),\ny = second(three),\nz = third(four, five),\n"
	for _, c := range [][2]string{{"first(one, two),", "first(one,\n  six),"}, {"second(three),\nz =", "second(three), z ="},
		{"second(three),", "second(three)"}, {"second(three),", "second(three), six(seven),"}} {
		old := strings.TrimSuffix(strings.Replace(call, "four, five", "four,five", 1), ",\n")
		p, got := planned(t, "a.py", call, Change{Old: old, New: strings.Replace(old, c[0], c[1], 1)})
		if want := strings.Replace(call, c[0], c[1], 1); got != want {
			t.Errorf("%s: pass %d gives %q", c[1], p.Pass, got)
		}
	}
	// A line that moves has the form of the file.
	const js = "a = f('x', one);\nb = g('y', two); // both\nc = h('z', three);\n"
	moved := strings.ReplaceAll(strings.ReplaceAll(js, " // both", ""), "'", `"`)
	_, got := planned(t, "a.js", js, Change{Old: strings.TrimSuffix(moved, ";\n"),
		New: "b = g(\"y\", two);\na = f(\"x\", one);\nc = h(\"z\", three)"})
	if want := "b = g('y', two); // both\na = f('x', one);\nc = h('z', three);\n"; got != want {
		t.Errorf("a line that moves: %q", got)
	}
	const c, old = "\tfirst = load(x);\n\tsecond = y;\n\tthird = check(z);\n", "\tfirst = load(x);\n\tsecond = y;\n\tthird = check(z)\n"
	if r := refused(t, "a.c", c, Change{Old: old, New: old + "\tfourth = w\n"}); r.Kind != Conflict {
		t.Error(r)
	}
}

// One of old_string and the file has a comma behind an element of a list, and the other, where it is the last one, has
// not.
func TestCommaOfTheLastElement(t *testing.T) {
	const first, second = "    \"first\": \"alpha 1\",\n", "    \"second\": \"beta and delta 2\""
	const other = "  \"other\": \"gamma and epsilon 3\""
	const data = "{\n  \"list\": {\n" + first + second + "\n  },\n" + other + ",\n  \"end\": 1\n}\n"
	for _, c := range []struct{ name, old, fresh, was, want string }{
		{"one comes", second + ",\n", second + ",\n    \"third\": [],\n", second, second + ",\n    \"third\": []"},
		{"one comes, without a comma", first + second + ",\n  },", first + second + ",\n    \"third\": []\n  },", second,
			second + ",\n    \"third\": []"},
		{"it moves up", first + second + ",\n", second + ",\n" + first, first + second,
			second + ",\n" + strings.TrimSuffix(first, ",\n")},
		{"it changes, and one comes", first + second + ",\n", first + replaced(second, "2", "5") + ",\n    \"third\": 3,\n",
			second, replaced(second, "2", "5") + ",\n    \"third\": 3"},
		{"it goes", first + second + ",\n", first, first + second, strings.TrimSuffix(first, ",\n")},
		{"it goes alone", second + ",\n", "", first + second + "\n", strings.TrimSuffix(first, ",\n") + "\n"},
		{"others take its place", first + second + ",\n", first + "    \"a\": {},\n    \"b\": [],\n", second,
			"    \"a\": {},\n    \"b\": []"},
		{"one comes behind one that is not the last", "},\n" + replaced(other, ": ", ":") + "\n",
			"},\n" + replaced(other, ": ", ":") + ",\n  \"more\": 4\n", other + ",\n", other + ",\n  \"more\": 4,\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, got := planned(t, "a.json", data, Change{Old: c.old, New: c.fresh})
			if want := replaced(data, c.was, c.want); got != want {
				t.Errorf("pass %d gives\n%s", p.Pass, got)
			}
		})
	}
	const calls = "\trunFirst(alpha, beta)\n\trunSecond(gamma, delta)"
	const text = " * The first line has alpha,\n * the second one has beta and gamma,\n * and delta.\n"
	const crops = "\tTOMATO(5),\n\tLETTUCE(3),\n\tROSEMARY(1),\n\tPUMPKIN(4),\n"
	const elements = "\t'first alpha element',\n\t'second beta element'"
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"the last two of a short one go", "a.py", "x = [\n\ta1,\n\tb1,\n\tc1\n]\n", "\tb1,\n\tc1,\n", "", "x = [\n\ta1\n]\n"},
		{"the list ends", "a.py", "x = f([\n" + elements + "\n])\n", elements + ",\n", elements + ",\n] + [\n\t'third',\n",
			"x = f([\n" + elements + "\n] + [\n\t'third'\n])\n"},
		{"the list ends, and more than that", "a.js", "x = f([\n" + elements + "\n])\n", elements + ",\n",
			elements + ",\n].map(a),\n", "x = f([\n" + elements + "\n].map(a),\n])\n"},
		{"lists of a list", "a.json", data, first + second + ",\n",
			first + second + ",\n  },\n  \"more\": {\n    \"third\": 3,\n",
			replaced(data, second, second+"\n  },\n  \"more\": {\n    \"third\": 3")},
		{"statements", "a.go", "{\n" + calls + "\n}\n", calls + ",\n", calls + ",\n\trunThird()\n",
			"{\n" + calls + "\n\trunThird()\n}\n"},
		{"a language whose lists have none", "a.sh", "x=(\n" + elements + "\n)\n", elements + ",\n", elements + ",\n\t'third'\n",
			"x=(\n" + elements + "\n\t'third'\n)\n"},
		{"a statement behind one that is not the last", "a.kt", "enum class Crop(val thirst: Int) {\n" + crops + "}\n",
			"enum class Crop(val thirst: Int) {\n" + replaced(crops, "(3),", "(3)"),
			"enum class Crop(val thirst: Int) {\n" + replaced(crops, "(3),", "(3)\n\tseen.add(crop)"),
			"enum class Crop(val thirst: Int) {\n" + replaced(crops, "(3),", "(3),\n\tseen.add(crop)") + "}\n"},
		{"of old_string alone", "a.json", data, first + second + ",\n  },\n",
			first + second + "\n  },\n  \"more\": {\n  },\n",
			replaced(data, second+"\n  },\n", second+"\n  },\n  \"more\": {\n  },\n")},
		{"a comment", "a.js", "/*\n" + text + " */\n", replaced(text, "alpha,", "alpha"),
			replaced(text, "alpha,", "alpha\n * more"), "/*\n" + replaced(text, "alpha,", "alpha,\n * more") + " */\n"},
	} {
		if _, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); got != c.want {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
	const list = "name: alpha of all\nversion: 1.2.13\nowner: the beta team\nrepository: gamma\n"
	_, got := planned(t, "a.yml", list, Change{Old: replaced(list, "13", "13,"), New: replaced(list, "13", "14")})
	if got != replaced(list, "13", "14") {
		t.Errorf("a comma of old_string alone: %q", got)
	}
	const java = "  int a = first(one);\n  return a;\n"
	_, got = planned(t, "A.java", java, Change{Old: "  int a = first(one)\n  return a;\n",
		New: "  int a = first(two);\n  return a;\n"})
	if got != replaced(java, "one", "two") {
		t.Errorf("a semicolon of new_string: %q", got)
	}
}
