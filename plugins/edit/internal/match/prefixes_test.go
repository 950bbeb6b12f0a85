package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// shownAs are the ways in which tools show a line with its number.
var shownAs = []string{"%6d\t%s", "%d\t%s", "%6d→%s", "%d:%s", "%d: %s", "%d|%s", "%4d | %s", "%4d │ %s",
	"main.py:%d:%s", "src/a-b.py:%d: %s", "src/a-b.py-%d-%s", "src/a-b.py:%d-%s",
	"%d-%s", "L%d:%s", "L%d: %s", "line %d: %s", "[%d] %s", "[%d]%s", "%d. %s", "%d) %s", "%6d  %s",
	"<%d> %s", "%d - %s", "// %d: %s", "# %d: %s"}

// numberLines shows lines from a number on. The blanks of empty lines may be trimmed, and the number be left alone.
func numberLines(form string, from int, lines []string, trim string) string {
	var out []string
	for i, l := range lines {
		s := fmt.Sprintf(form, from+i, l)
		switch {
		case l == "" && trim == "blanks":
			s = strings.TrimRight(s, " \t")
		case l == "" && trim == "all":
			s = fmt.Sprint(from + i)
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

func TestLineNumbers(t *testing.T) {
	file := []string{"import sys", "", "class Reader:", "    def read(self, v):", "        if v:", "",
		"            return 1", "        return 2", "", "def main():", "    pass"}
	data := strings.Join(file, "\n") + "\n"
	edits := map[string]func([]string) []string{
		"a line changes": func(l []string) []string {
			return append([]string{strings.Replace(l[0], "v", "value", 1)},
				l[1:]...)
		},
		"a line comes": func(l []string) []string {
			return slices.Insert(slices.Clone(l), 1, leading([]byte(l[0]))+"    log(v)")
		},
		"a line goes": func(l []string) []string { return l[1:] },
	}
	for _, form := range shownAs {
		for from := 3; from <= 4; from++ {
			for size := 2; size <= 4; size++ {
				for name, change := range edits {
					for _, shift := range []int{0, 4} {
						for _, trim := range []string{"", "blanks", "all"} {
							old := file[from : from+size]
							fresh := change(old)
							if len(fresh) == 1 && fresh[0] == "" {
								continue // a number alone says nothing
							}
							at := from + 1 + shift
							want := strings.Replace(data, strings.Join(old, "\n"), strings.Join(fresh, "\n"), 1)
							check := func(where string, c Change) {
								t.Helper()
								p, err := NewText("main.py", []byte(data)).Plan(c)
								if err != nil {
									t.Errorf("%q, %s, %s: refused: %v\n%q\n%q", form, name, where, err, c.Old, c.New)
								} else if got := string(p.Apply([]byte(data))); got != want {
									t.Errorf("%q, %s, %s: pass %d\n%s\n%s\ngives\n%s", form, name, where, p.Pass, c.Old, c.New, got)
								} else if len(p.Warnings) == 0 {
									t.Errorf("%q, %s, %s: no warning", form, name, where)
								}
							}
							numbers := numberLines(form, at, old, trim)
							check("in both", Change{Old: numbers, New: numberLines(form, at, fresh, trim)})
							check("in old", Change{Old: numbers, New: strings.Join(fresh, "\n")})
							if form == "%6d\t%s" || form == "%6d→%s" || shift == 0 && from+1 > 1 && name == "a line comes" {
								check("in new", Change{Old: strings.Join(old, "\n"), New: numberLines(form, at, fresh, trim)})
							}
						}
					}
				}
			}
		}
	}
}

// Where only the text behind the numbers is known, and not how far it is indented, new_string is not shifted in
// silence.
func TestIndentationBehindNumbers(t *testing.T) {
	const data = "def f(v):\n    if v:\n        return 1\n    return 2\n"
	for _, c := range []struct{ name, old, fresh, want string }{
		{"a single line, in old only", "2:    if v:", "    if v > 1:", "    if v:→    if v > 1:"},
		{"a blank behind the colon, in old only", "2:     if v:", "    if v > 1:", "    if v:→    if v > 1:"},
		{"a block, in old only", "2:    if v:\n3:        return 1", "    if v:\n        log()\n        return 1",
			"    if v:→    if v:\n        log()"},
		{"the text is trimmed, new is as the file", "2:if v:\n3:return 1", "    if v:\n        log()\n        return 1",
			"    if v:→    if v:\n        log()"},
		{"one blank is lost, new is as the file", "2:   if v:\n3:       return 1",
			"    if v:\n        log()\n        return 1", "    if v:→    if v:\n        log()"},
		{"one blank is lost everywhere", "2:   if v:\n3:       return 1", "2:   if v:\n3:       log()\n4:       return 1",
			"    if v:→    if v:\n        log()"},
		{"the text is trimmed, and goes", "2:if v:\n3:return 1\n", "", "    if v:\n        return 1\n→"},
		{"all is shifted", "     2\t    if v:\n     3\t        return 1", " if v:\n     log()\n     return 1", ""},
		{"a block is indented further", "     1\tdef f(v):\n     2\t    if v:\n     3\t        return 1",
			"def f(v):\n    if v:\n        if w:\n            return 1",
			"        return 1→        if w:\n            return 1"},
		{"two frames", "2:   if v:\n3:       return 1", "      if v:\n          log()\n          return 1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := Change{Old: c.old, New: c.fresh}
			if c.want == "" {
				if r := refused(t, "a.py", data, change); r.Hint == "" {
					t.Error("no hint")
				}
				return
			}
			was, is, _ := strings.Cut(c.want, "→")
			if p, got := planned(t, "a.py", data, change); got != strings.Replace(data, was, is, 1) {
				t.Errorf("pass %d: %q", p.Pass, got)
			}
		})
	}
}

// Lines of new_string without a number may have the blanks of one. These are cut where only that makes sense, and the
// edit is refused where it is not clear.
func TestLinesWithoutTheirNumber(t *testing.T) {
	const py = "def f(v):\n    if v:\n        x = 1\n    y = 2\n    return x\n"
	for _, c := range []struct{ name, old, fresh, want string }{
		{"padded", "4|    y = 2\n5|    return x", "4|    y = 2\n      z = 5\n5|    return x", "    z = 5"},
		{"padded, in new only", "    y = 2\n    return x", "     4→    y = 2\n           z = 5\n     5→    return x", "    z = 5"},
		{"not padded", "4|    y = 2\n5|    return x", "4|    y = 2\n    z = 5\n5|    return x", "    z = 5"},
		{"a blank behind the sign", "  4 |     y = 2\n  5 |     return x",
			"  4 |     y = 2\n          z = 5\n  5 |     return x", "    z = 5"},
		{"a colon and a blank", "4:     y = 2\n5:     return x", "4:     y = 2\n       z = 5\n5:     return x", "    z = 5"},
		{"a tab behind blanks", "     4\t    y = 2\n     5\t    return x",
			"     4\t    y = 2\n      \t    z = 5\n     5\t    return x", "    z = 5"},
		{"a step deeper", "4|    y = 2\n5|    return x", "4|    y = 2\n      if y:\n          z = 5\n5|    return x",
			"    if y:\n        z = 5"},
		{"neither fits", "4|    y = 2\n5|    return x", "4|    y = 2\n       z = 5\n5|    return x", ""},
		{"both fit, four wide", "<4>     y = 2\n<5>     return x", "<4>     y = 2\n        z = 5\n<5>     return x", ""},
		{"both fit, the sign is a part of the text", "  4 |     y = 2\n  5 |     return x",
			"  4 |     y = 2\n    |     z = 5\n  5 |     return x", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := Change{Old: c.old, New: c.fresh}
			if c.want == "" {
				if r := refused(t, "a.py", py, change); r.Hint == "" || !strings.Contains(r.Message, "line numbers") {
					t.Errorf("%v", r)
				}
			} else if p, got := planned(t, "a.py", py, change); got != strings.Replace(py, "y = 2\n", "y = 2\n"+c.want+"\n", 1) {
				t.Errorf("pass %d: %q", p.Pass, got)
			}
		})
	}
}

// A number that is text is none of a line. What is left when it is taken off is no whole line of the file, or far
// from there.
func TestNumbersThatAreKeys(t *testing.T) {
	ports := "ports:\n  80: {name: http}\n  443: {name: https}\n  9000: {name: admin}\n"
	rows := "7\talpha\n8\tbeta\n9\tgamma\n"
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"a row of YAML", "a.yaml", ports, "  8443: {name: https}", "  8443: {name: tls}"},
		{"two rows of YAML", "a.yaml", ports, "  80: {name: http}\n  8443: {name: https}",
			"  80: {name: http}\n  8443: {name: tls}"},
		{"a row of a table", "a.tsv", rows, "5\tbeta", "5\tdelta"},
		{"a line of a log", "a.log", "10: start\n20: error: disk full\n", "30: error: disk full", "30: error: disk empty"},
		{"a key of JSON", "a.json", "{\n  \"443\": \"https\"\n}\n", "  8443: \"https\"", "  8443: \"tls\""},
		{"an item of a list", "a.md", "1. first thing\n2. second thing\n", "7. second thing", "7. other thing"},
		{"a number far from the line", "a.yaml", "a: 1\n{name: https}\n", "8443: {name: https}", "8443: {name: tls}"},
		{"a row of CSV", "a.csv", "id,name\n12,first\n13,second\n", "99-second", "99-third"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, c.file, c.data, Change{Old: c.old, New: c.fresh}) })
	}
}

// Lines that start with numbers keep them, if old_string has such numbers before them or none.
func TestNumbersThatStay(t *testing.T) {
	const ports = "ports:\n  80: http\n  443: https\nlist:\n  2: two\n  5: five\n"
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"numbered rows", "a.yaml", ports, "     2\t  80: http\n     3\t  443: https",
			"     2\t  80: http\n     3\t  443: tls", "443: https→443: tls"},
		{"numbered rows, in old only", "a.yaml", ports, "2:  80: http\n3:  443: https", "  80: http\n  443: tls",
			"443: https→443: tls"},
		{"a row like its number", "a.yaml", ports, "5:  2: two\n6:  5: five", "5:  2: zwei\n6:  5: five", "2: two→2: zwei"},
		{"a row like its number, in old only", "a.yaml", ports, "5:  2: two\n6:  5: five", "  2: zwei\n  5: five",
			"2: two→2: zwei"},
		{"a list is made", "a.md", "first thing\nsecond thing\n", "first thing\nsecond thing",
			"1. first thing\n2. second thing\n3. third thing",
			"first thing\nsecond thing→1. first thing\n2. second thing\n3. third thing"},
		{"a list goes on", "a.md", "1. zero\n2. one\n\nfirst thing\nsecond thing\n", "first thing\nsecond thing",
			"3. first thing\n4. second thing\n5. third thing",
			"first thing\nsecond thing→3. first thing\n4. second thing\n5. third thing"},
		{"a number alone is text", "a.txt", "start\nnext line\nend\n", "     2\tnext line", "42", "next line→42"},
	} {
		t.Run(c.name, func(t *testing.T) {
			was, is, _ := strings.Cut(c.want, "→")
			if p, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); got != strings.Replace(c.data, was, is,
				1) {
				t.Errorf("pass %d: %q", p.Pass, got)
			}
		})
	}
}

// A numbered first line that lost its indentation keeps it, as one without a number does.
func TestNumberedFirstLineKeepsItsIndentation(t *testing.T) {
	const data = "def f():\n    x = 1\n    return x\n"
	_, got := planned(t, "a.py", data, Change{Old: "L2:     x = 1\nL3:     return x\n", New: "L2: x = 2\nL3:     return x\n"})
	if want := strings.Replace(data, "x = 1", "x = 2", 1); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A line number at the end of new_string with nothing behind it is a blank line, and no line break too many.
func TestNumberOfABlankLineAtTheEnd(t *testing.T) {
	const head, tail = "one()\n\ntwo()\nconst log = a()\n", "\nfunction f() {}\n"
	_, got := planned(t, "a.js", head+"const path = b()\n"+tail, Change{
		Old: "const log = a()\nconst path = b()", New: "4\tconst log = a()\n5\t"})
	if got != head+"\n"+tail {
		t.Errorf("got %q", got)
	}
}

// Numbers from 1 before all lines of new_string are a list in a text, and line numbers at the start of a program.
func TestNumbersOfTheFirstLines(t *testing.T) {
	const code = "const a = first();\nconst b = second();\nconst c = third();\n"
	for _, mark := range []string{": ", ". ", ":"} {
		fresh := "1" + mark + "const a = first();\n2" + mark + "const b = other();\n3" + mark + "const c = third();"
		if r := refused(t, "a.js", code, Change{Old: code, New: fresh}); r.Kind != Guard {
			t.Errorf("%q: %v", mark, r)
		}
		written(t, "a.md", code, code, fresh+"\n")
	}
}
