package match

import (
	"strings"
	"testing"
)

// A name that is much like another one is no misspelling of it where a line changes or goes: the line that is meant may
// have gone before.
func TestNamesThatAreAlike(t *testing.T) {
	const file = "open(file)\nread(file, limit)\nlines = split(file)\n%s\nclose(file, lines)\nreport(lines)\n"
	const old = "open(file)\nread(file, limit)\nlines = split(file)\n%s\nclose(file, lines)\nreport(lines)\n"
	for _, names := range []string{"sync async", "item items", "https http", "ready already", "minCount maxCount",
		"enabled enable", "isValid isInvalid", "createdAt updatedAt", "readable unreadable", "prefix suffix", "input output"} {
		was, is, _ := strings.Cut(names, " ")
		for _, pair := range [][2]string{{was, is}, {is, was}} {
			line := func(name string) string { return "keep_" + name + "(lines, " + name + ")" }
			for _, fresh := range []string{"", strings.Replace(line(pair[0]), "lines", "none", 1) + "\n"} {
				data := strings.Replace(file, "%s", line(pair[1]), 1)
				c := Change{Old: strings.Replace(old, "%s", line(pair[0]), 1)}
				c.New = strings.Replace(c.Old, line(pair[0])+"\n", fresh, 1)
				if r := refused(t, "a.py", data, c); r.Excerpt == "" {
					t.Errorf("%s: no excerpt: %v", names, r)
				}
			}
		}
	}
}

// What old_string misspells is written as the file has it, also where new_string repeats the misspelt word.
func TestMisspeltWordsAreNotWritten(t *testing.T) {
	const data = "func load(path string) error {\n\tf, err := os.Open(path)\n\tif err != nil {\n\t\treturn err\n\t}\n" +
		"\tdefer receiver.Close()\n\treturn parseHeader(f, path)\n}\n"
	for _, c := range []struct{ name, old, fresh, want string }{
		{"in the line that changes", "parseHaeder(f, path)", "zip(parseHaeder, 1)", "zip(parseHeader, 1)"},
		{"in a line that takes its place", "return parseHaeder(f, path)", "x := 1\n\tgo log(parseHaeder)",
			"x := 1\n\tgo log(parseHeader)"},
		{"two words", "defer rceeiver.Close()\n\treturn parseHaeder(f, path)",
			"go rceeiver.Close()\n\treturn parseHaeder(rceeiver)", "go receiver.Close()\n\treturn parseHeader(receiver)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			right := strings.NewReplacer("parseHaeder", "parseHeader", "rceeiver", "receiver").Replace(c.old)
			p, got := planned(t, "a.go", data, Change{Old: strings.Replace(data, right, c.old, 1),
				New: strings.Replace(data, right, c.fresh, 1)})
			if want := strings.Replace(data, right, c.want, 1); got != want || p.Pass != similarPass {
				t.Errorf("pass %d, got %q, want %q", p.Pass, got, want)
			}
		})
	}
}

// A comment that old_string leaves out, or has in other words, is not written for a second time.
func TestCommentsAreNotDoubled(t *testing.T) {
	for _, c := range []struct{ name, file, data, old, fresh string }{
		{"within a comment that the place begins in", "a.swift",
			"/*\n * Copyright of the project.\n *\n * The license is in the file named so.\n * LICENSE in the root.\n */\n\n" +
				"import Package\nlet x = 1\n",
			" * Copyright of the project.\n *\n * LICENSE in the root.\n */\n\nimport Package\nlet x = 1\n",
			" * Copyright of the project.\n *\n * The license is in the file named so.\n * Written by nobody.\n" +
				" * LICENSE in the source.\n */\n\nimport Package\nlet x = 1\n"},
		{"in other words, and moved", "a.go",
			"start(now)\n// The list is sorted here.\nsort(list)\nsend(list)\nclose(list)\nfinish(now)\n",
			"start(now)\nsort(list)\nsend(list)\nclose(list)\nfinish(now)\n",
			"start(now)\nsort(list)\nsend(list)\n// The list is sorted there.\nclose(list)\nfinish(now)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := NewText(c.file, []byte(c.data)).Plan(Change{Old: c.old, New: c.fresh})
			if err != nil {
				return
			}
			got := string(p.Apply([]byte(c.data)))
			if strings.Count(got, "The license is") > 1 || strings.Count(got, "The list is sorted") > 1 {
				t.Errorf("twice:\n%s", got)
			}
		})
	}
}

// A line of old_string that stands for lines left out is not taken for one too many: where it is may be anywhere.
func TestLinesLeftOutOfOldString(t *testing.T) {
	const data = "def measure(all):\n    \"\"\"Measures all of them,\n    one after the other.\"\"\"\n    if all is None:\n" +
		"        all = self.all\n    for one in all:\n        start(one)\n\n    # Then they are read.\n    if all is None:\n" +
		"        all = self.all\n    return results\n"
	for _, line := range []string{"...", "# ...", "// ...", "/* ... */", "…", "# ... existing code ...", "# rest of the code"} {
		old := "    \"\"\"Measures all of them,\n    one after the other.\"\"\"\n    " + line + "\n    if all is None:\n" +
			"        all = self.all\n"
		c := Change{Old: old, New: strings.Replace(old, "    if all", "    limit(all)\n    if all", 1)}
		r := refused(t, "a.py", data, c)
		if !strings.Contains(r.Message, "stands for lines left out") || !strings.Contains(r.Hint, "multi") {
			t.Errorf("%s: %v %s", line, r, r.Hint)
		}
	}
}
