package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrappings(t *testing.T) {
	const data = "func f() {\n\tif a < b && c {\n\t\tprintln(\"a\")\n\t}\n}\n"
	want := strings.Replace(data, "\t\tprintln(\"a\")\n", "\t\tprintln(\"a\")\n\t\tstop()\n", 1)
	for _, c := range []struct{ name, old, fresh string }{
		{"a code block", "```go\n\tif a < b && c {\n\t\tprintln(\"a\")\n```",
			"```go\n\tif a < b && c {\n\t\tprintln(\"a\")\n\t\tstop()\n```\n"},
		{"a code block, of old only", "```\n\tif a < b && c {\n\t\tprintln(\"a\")\n```",
			"\tif a < b && c {\n\t\tprintln(\"a\")\n\t\tstop()"},
		{"a code block, whose language old alone names", "```go\n\tif a < b && c {\n\t\tprintln(\"a\")\n```",
			"```\n\tif a < b && c {\n\t\tprintln(\"a\")\n\t\tstop()\n```"},
		{"a code block, whose language new alone names", "```\n\tif a < b && c {\n\t\tprintln(\"a\")\n```\n",
			"```go\n\tif a < b && c {\n\t\tprintln(\"a\")\n\t\tstop()\n```\n"},
		{"a quotation", "> \tif a < b && c {\n> \t\tprintln(\"a\")\n",
			"> \tif a < b && c {\n> \t\tprintln(\"a\")\n> \t\tstop()\n"},
		{"a quotation without blanks", ">\tif a < b && c {\n>\t\tprintln(\"a\")\n",
			">\tif a < b && c {\n>\t\tprintln(\"a\")\n>\t\tstop()\n"},
		{"the columns of a diff", " \tif a < b && c {\n \t\tprintln(\"a\")\n",
			" \tif a < b && c {\n \t\tprintln(\"a\")\n+\t\tstop()\n"},
		{"a diff of changed lines", " \tif a < b && c {\n-\t\tprintln(\"a\")\n",
			" \tif a < b && c {\n+\t\tprintln(\"a\")\n+\t\tstop()\n"},
		{"quotation marks", "\"\tif a < b && c {\n\t\tprintln(\"a\")\"",
			"\"\tif a < b && c {\n\t\tprintln(\"a\")\n\t\tstop()\""},
		{"single quotation marks", "'println(\"a\")'", "'println(\"a\")\n\t\tstop()'"},
		{"backticks", "`\t\tprintln(\"a\")\n`", "`\t\tprintln(\"a\")\n\t\tstop()\n`"},
		{"three marks", "'''\n\t\tprintln(\"a\")\n'''", "'''\n\t\tprintln(\"a\")\n\t\tstop()\n'''"},
		{"a string of JSON", `"\t\tprintln(\"a\")\n"`, `"\t\tprintln(\"a\")\n\t\tstop()\n"`},
		{"a quotation with entities", "> \tif a &lt; b &amp;&amp; c {\n> \t\tprintln(\"a\")\n",
			"> \tif a &lt; b &amp;&amp; c {\n> \t\tprintln(\"a\")\n> \t\tstop()\n"},
		{"numbers with escapes", "2\t\tif a < b && c {\n3\t\t\tprintln(\\\"a\\\")\n",
			"\tif a < b && c {\n\t\tprintln(\\\"a\\\")\n\t\tstop()\n"},
		{"entities", "\tif a &lt; b &amp;&amp; c {\n\t\tprintln(&quot;a&quot;)\n",
			"\tif a &lt; b &amp;&amp; c {\n\t\tprintln(&quot;a&quot;)\n\t\tstop()\n"},
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

// Where the block itself is fenced in the file, the fence of new_string alone may be that one.
func TestAFenceAroundAFence(t *testing.T) {
	const block = "```js\none(alpha)\ntwo(beta)\n```\n"
	refused(t, "a.md", "# Use\n\n"+block+"\nMore.\n", Change{Old: "```\n" + block + "```\n",
		New: strings.Replace(block, "two", "three", 1)})
}

// Only the changed lines have the marks of a diff, with or without a blank behind them.
func TestMarksOnChangedLinesAlone(t *testing.T) {
	lines := []string{"def run(all):", "    for one in all:", "        start(one)", "        wait(one)", "    return all"}
	data := strings.Join(lines, "\n") + "\n"
	for name, sign := range map[string][2]string{"without a blank": {"-", "+"}, "with a blank": {"- ", "+ "}} {
		check := func(first, last, at, more int) {
			var old, fresh, want []string
			for i := first; i <= last; i++ {
				if i != at {
					old, fresh, want = append(old, lines[i]), append(fresh, lines[i]), append(want, lines[i])
					continue
				}
				old = append(old, sign[0]+lines[i])
				for n := range more {
					l := strings.Replace(lines[i], "all", fmt.Sprint("each", n), 1) + " # changed"
					fresh, want = append(fresh, sign[1]+l), append(want, l)
				}
			}
			c := Change{Old: strings.Join(old, "\n") + "\n", New: strings.Join(append(fresh, ""), "\n")}
			text := strings.Join(slices.Concat(lines[:first], want, lines[last+1:]), "\n") + "\n"
			p, err := NewText("a.py", []byte(data)).Plan(c)
			switch {
			case err != nil && !strings.Contains(err.Error(), "deep"):
				t.Errorf("%s, lines %d to %d, line %d to %d: %v", name, first, last, at, more, err)
			case err == nil && string(p.Apply([]byte(data))) != text:
				t.Errorf("%s, lines %d to %d, line %d to %d: got\n%s", name, first, last, at, more, p.Apply([]byte(data)))
			}
		}
		for first := range lines {
			for last := first; last < len(lines); last++ {
				for at := first; at <= last; at++ {
					for more := range 3 {
						if more > 0 || first < last {
							check(first, last, at, more)
						}
					}
				}
			}
		}
	}
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"the start of a line", "a.py", data, " def run(all):\n     for one in all:\n-        start\n",
			" def run(all):\n     for one in all:\n+        begin\n"},
		{"a line without a mark goes", "a.py", data, "    for one in all:\n-        start(one)\n", "+        begin(one)\n"},
		{"a line without a mark comes", "a.py", data, "-        start(one)\n", "        log(one)\n+        begin(one)\n"},
		{"the text is there twice", "a.py", data + data, "-        start(one)\n", "+        begin(one)\n"},
		{"the file has such marks", "a.py", data + "'''\n+ one\n'''\n", "-        start(one)\n", "+        begin(one)\n"},
	} {
		if p, err := NewText(c.file, []byte(c.data)).Plan(Change{Old: c.old, New: c.fresh}); err == nil {
			t.Errorf("%s: got\n%s", c.name, p.Apply([]byte(c.data)))
		}
	}
}

// A list of Markdown may be quoted with another sign before its items.
func TestOtherBullets(t *testing.T) {
	for _, pair := range [][2]string{{"-", "*"}, {"*", "-"}, {"+", "•"}, {"-", "+"}} {
		signs := func(s string, n int) string { return strings.ReplaceAll(s, "#", pair[n]) }
		const data, old = "Some:\n\n# one item\n  # an inner one\n# two items\n", "# one item\n  # an inner one\n"
		for _, fresh := range []string{"# one item\n  # an outer one\n", "# one item\n# another\n  # an inner one\n", ""} {
			_, got := planned(t, "a.md", signs(data, 0), Change{Old: signs(old, 1), New: signs(fresh, 1)})
			if want := signs(replaced(data, old, fresh), 0); got != want {
				t.Errorf("%v: got\n%s", pair, got)
			}
		}
		refused(t, "a.md", signs(data+data, 0), Change{Old: signs(old, 1), New: signs("# one item\n", 1)})
	}
	const mixed = "- one item\n* two items\n"
	refused(t, "a.md", mixed, Change{Old: "* one item\n- two items\n", New: "* one item\n- more items\n"})
}

func TestWrappingsThatAreMeant(t *testing.T) {
	for _, c := range []struct{ name, file, data, old, fresh, want string }{
		{"a fence of the file", "a.md", "```sh\nmake it\n```\n", "```sh\nmake it \n```\n", "```sh\nmake all \n```\n",
			"```sh\nmake all\n```\n"},
		{"a quotation of the file", "a.md", "> said  he\n> and  she\n", "> said he\n> and she\n", "> said he\n> and they\n",
			"> said  he\n> and  they\n"},
		{"quotation marks of the file", "a.json", "\"a\":  \"b\"\n", `"a": "b"`, `"a": "c"`, "\"a\":  \"c\"\n"},
		{"entities of the file", "a.html", "<p>one &amp;  two</p>\n", "<p>one &amp; two</p>\n", "<p>one &lt; two</p>\n",
			"<p>one &lt;  two</p>\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, got := planned(t, c.file, c.data, Change{Old: c.old, New: c.fresh})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("pass %d (-want +got):\n%s", p.Pass, diff)
			}
		})
	}
}

func TestDoubtsAreRefused(t *testing.T) {
	const mixed = "one() {\n\ttwo()\n\tif three {\n\t\tfour()\n\t}\n}\nfive() {\n    six()\n    if seven {\n        " +
		"eight()\n    }\n}\nnine()\nten()  \n"
	const shell = "cat <<END\nit's a text\nEND\nrun 'a # b'\nstop everything now\nrun again 'and again'\n"
	const swapped = "<div id=\"download\" class=\"item\">\n  <div class=\"name\">\n    <a " +
		"href=\"./download\">Download</a>\n  </div>\n</div>\n"
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"no line shows the step of a file that mixes", "a.sh", mixed, "nine() \nten()\n",
			"nine() \nif x {\n  more()\n}\nten()\n"},
		{"lines above and below disagree", "a.txt", "zero\n  first line\n\tsecond line\n",
			"zero\n first line\n second line\n", "zero\n first line\n new line\n second line\n"},
		{"a line that the file has once, old_string twice", "a.js", "prepare(account, 1)\njournal(account, rest)\n" +
			"notify(listeners)\nfinish(account)\n", "prepare(account, 1)\njournal(account, rest)\n\n" +
			"journal(account, rest)\nnotify(listeners)\nfinish(account)\n", "prepare(account, 1)\n" +
			"journal(account, other)\n\njournal(account, rest)\nnotify(listeners)\nfinish(account)\n"},
		{"quotation marks around a part of a line", "a.yaml", "timeout: 30\nretries: 2\n", `"timeout"`, `"delay"`},
		{"quotation marks around old_string only", "a.txt", "timeout\nretries\n", `"timeout"`, `delay`},
		{"a string of JSON, or not", "a.c", "f(1);\n", `"f(1);"`, `"f('\n');"`},
		{"a diff in a file that has such lines", "a.go", "\tone()\n+two\n\tthree()\n", "   one()\n", "   one()\n+  more()\n"},
		{"half of new_string is escaped", "a.txt", "first < second\nthird\n", "first &lt; second\n",
			"first < second &amp; third\n"},
		{"another fence in new_string", "a.md", "run it now\nand again\n", "```sh\nrun it now\n```\n",
			"```bash\nrun it later\n```\n"},
		{"a new line next to one in another order", "a.html", swapped,
			"  <div class=\"name\">\n<div id=\"download\" class=\"item\">\n\n    <a href=\"./download\">Download</a>\n  " +
				"</div>\n</div>\n",
			"  <div class=\"name\">\n  <p>new</p>\n<div id=\"download\" class=\"item\">\n\n    <a " +
				"href=\"./download\">Download</a>\n  </div>\n</div>\n"},
		{"a new line next to a bracket that the file has not", "a.js",
			"if (rows == null) return;\n\nstore.initial(index, entries);\nfor (let i = 0; i < 9; i++) {\n  entries[i].Id = " +
				"'node' + i;\n}\n",
			"}\n\nstore.initial(index, entries);\nfor (let i = 0; i < 9; i++) {\n  entries[i].Id = 'node' + i;\n}\n",
			"}\n\nadded()\nstore.initial(index, entries);\nfor (let i = 0; i < 9; i++) {\n  entries[i].Id = 'node' + i;\n}\n"},
		{"a bracket at the end that the file has not", "a.js",
			"export interface Job {\n  identifier: string;\n  running: AbortSignal;\n  state: JobState;\n  tries: number;\n}\n",
			"  identifier: string;\n  running: AbortSignal;\n  state: JobState;\n  }\n",
			"  identifier: string;\n  state: JobState;\n  }\n"},
		{"a step in a file that mixes them", "a.py", "if x:\n    one()\nelse:\n\ttwo()\nthree()\nfour() \n",
			"three() \nfour()\n", "three() \nif y:\n  five()\nfour()\n"},
		{"what only looks like a comment", "a.sh", shell, "run 'a # c'\nstop everything now\nrun again 'and again'\n",
			"run 'a # c'\nstop everything\nrun again 'and again'\n"},
		{"a comment mark in a regular expression", "a.js", "first.match(/['\"]/.test(\"//one\"))\nsecond.call(everything)\n",
			"first.match(/['\"]/.test(\"//two\"))\nsecond.call(everything)\n",
			"first.match(/['\"]/.test(\"//two\"))\nsecond.call(nothing)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := refused(t, c.file, c.data, Change{Old: c.old, New: c.fresh}); r.Hint == "" || r.Message == "" {
				t.Errorf("it does not say why: %+v", r)
			}
		})
	}
}

// Two blocks differ in what is a comment for one of them only, as a quote of the first is open.
func TestBlocksThatDifferInAComment(t *testing.T) {
	const block = "' >/usr/local/bin/first\necho '#!/bin/sh\nexec everything \"$@\"\n' >/usr/local/bin/second\nchmod " +
		"+x /usr/local/bin/second\n\n# %s\nexport EVERYTHING=0\n"
	data := "echo '\n" + strings.Replace(block, "%s", "One says this.", 1) + "\n" + strings.Replace(block, "%s",
		"The other that.", 1)
	old := strings.Replace(block, "%s", "A third one.", 1)
	refused(t, "a.sh", data, Change{Old: old, New: strings.Replace(old, "bin/second\nchmod", "bin/last\nchmod", 1)})
}
