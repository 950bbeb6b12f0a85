package match

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const (
	station = "package station\n\nimport \"fmt\"\n\nfunc Open(name string) error {\n\tif name == \"\" {\n\t\t" +
		"return fmt.Errorf(\"no name\")\n\t}\n\treturn nil\n}\n\nfunc Close() {}\n"
	handbook = "# Handbook\n\nHow to start the pumps:\n\n- open the valve & wait\n- press the \"start\" key\n\nThen call the office.\n"
)

// disguises are forms in which tools and models show a text. Before is the text that the file has.
var disguises = map[string]func(before, text string) string{
	"diff": func(before, text string) string { return "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n" + columns(before, text) },
	"git diff": func(before, text string) string {
		return "diff --git a/f b/f\nindex 12ab..34cd 100644\n" + columns(before, text)
	},
	"hunk":        func(before, text string) string { return "@@ -1,4 +1,4 @@\n" + columns(before, text) },
	"columns":     columns,
	"fenced diff": func(before, text string) string { return "```diff\n" + columns(before, text) + "```\n" },
	"diff of CRLF": func(before, text string) string {
		return strings.ReplaceAll("@@ -1 +1 @@\n"+columns(before, text), "\n", "\r\n")
	},
	"diff without blanks": func(before, text string) string {
		return "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n" + strings.ReplaceAll(columns(before, text), "\n ", "\n")
	},
	"diff without its end": func(before, text string) string {
		return strings.TrimRight("@@ -1,4 +1,4 @@\n"+columns(before, text), "\n")
	},
	"patch": func(before, text string) string {
		return "*** Begin Patch\n*** Update File: f\n@@\n" + columns(before, text) + "*** End Patch\n"
	},
	"search and replace": func(before, text string) string {
		return "<<<<<<< SEARCH\n" + before + "=======\n" + text + ">>>>>>> REPLACE\n"
	},
	"conflict": func(before, text string) string {
		return text + "<<<<<<< HEAD\none = 1\n=======\ntwo = 2\n>>>>>>> theirs\n"
	},
	"cat -n": numberedBy("%6d\t%s\n"),
	"12:":    numberedBy("%d: %s\n"),
	"12|":    numberedBy("%d|%s\n"),
	"[12]":   numberedBy("[%d] %s\n"),
	"quote":  func(_, text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") },
	"plus":   func(_, text string) string { return "+" + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n+") },
	"tag":    func(_, text string) string { return text + "</content>\n" },
	"tags":   func(_, text string) string { return text + "</parameter>\n</invoke>\n" },
	"breaks": func(_, text string) string { return strings.ReplaceAll(text, "\n", `\n`) },
	"JSON": func(_, text string) string {
		out, _ := json.Marshal(text)
		return string(out)
	},
	"inside of JSON": func(_, text string) string {
		out, _ := json.Marshal(text)
		return strings.Trim(string(out), `"`)
	},
	"quotes": func(_, text string) string { return strings.ReplaceAll(text, `"`, `\"`) },
}

func numberedBy(format string) func(before, text string) string {
	return func(_, text string) string {
		var out strings.Builder
		for i, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			fmt.Fprintf(&out, format, i+1, l)
		}
		return out.String()
	}
}

// columns are the lines of a diff from one text to another, the whole of both.
func columns(before, text string) (out string) {
	a, b := strings.Split(strings.TrimSuffix(before, "\n"), "\n"), strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	at := 0
	for _, h := range diffLines(a, b) {
		for ; at < h.a; at++ {
			out += " " + a[at] + "\n"
		}
		for ; at < h.b; at++ {
			out += "-" + a[at] + "\n"
		}
		for _, l := range b[h.na:h.nb] {
			out += "+" + l + "\n"
		}
	}
	for ; at < len(a); at++ {
		out += " " + a[at] + "\n"
	}
	return out
}

// A file must not become a diff, a listing or a call of itself.
func TestContentInAnotherForm(t *testing.T) {
	for name, text := range map[string]string{"a.go": station, "a.md": handbook, "a.txt": handbook, "a": handbook} {
		before := strings.Replace(text, "the office", "the harbor", 1)
		before = strings.Replace(before, "return nil", "return open(name)", 1)
		for form, disguise := range disguises {
			content := disguise(before, text)
			if (form != "quotes" || name == "a.go") && Content(name, []byte(before), []byte(content)) == nil {
				t.Errorf("%s is overwritten with %s:\n%s", name, form, content)
			}
			if name == "a.go" && form != "quotes" && form != "columns" && Content(name, nil, []byte(content)) == nil {
				t.Errorf("%s is made with %s:\n%s", name, form, content)
			}
		}
		for _, from := range []string{before, text, "something else\n", ""} {
			if r := Content(name, []byte(from), []byte(text)); r != nil {
				t.Errorf("%s is refused: %v", name, r)
			}
		}
	}
}

// A long text, or a first line with an apostrophe, hides no escapes.
func TestLongContentThatIsEscaped(t *testing.T) {
	text := "// It is the office's own.\n" + strings.Repeat(station, 240)
	for form, before := range map[string][]byte{"JSON": nil, "inside of JSON": []byte(text), "quotes": []byte(text)} {
		content := disguises[form](text, text)
		if len(content) < 33<<10 || len(content) > maxEscaped {
			t.Fatalf("%s has %d bytes", form, len(content))
		}
		if Content("a.go", before, []byte(content)) == nil {
			t.Errorf("%s is written", form)
		}
		if r := Content("a.go", before, []byte(text)); r != nil {
			t.Errorf("the text is refused: %v", r)
		}
	}
}

// Quotes that are escaped once too often are so also where some of them are in a string.
func TestContentWithEscapedStrings(t *testing.T) {
	text := strings.Replace(station, `"no name"`, `"no \"name\"\n"`, 1)
	if Content("a.go", []byte(text), []byte(disguises["quotes"](text, text))) == nil {
		t.Error("it is written")
	}
}

// What looks like another form may be the text itself.
func TestContentThatOnlyLooksLikeAnotherForm(t *testing.T) {
	diff := "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one line\n+other line\n"
	list := "open the valve\nwait for the lamp\npress the key\n"
	for _, test := range []struct{ name, before, content string }{
		{"a.patch", "", diff},
		{"a.txt", "nothing of it\n", diff},
		{"a.go", diff, diff + "-more\n"},
		{"a.md", list, "1. open the valve\n2. wait for the lamp\n3. press the key\n"},
		{"a.md", list, "- open the valve\n- wait for the lamp\n- press the key\n"},
		{"a.md", "Text of ours.\n", "```\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> b\n```\n"},
		{"a.tsv", "1\tx\n", "1\tone\n2\ttwo\n3\tthree\n"},
		{"a.csv", "", "+4912345\n+4923456\n+4934567\n"},
		{"a.xml", "", "<feed>\n<content>text</content>\n</feed>\n"},
		{"a.html", "", "<content>\ntext\n</content>\n"},
		{"a.js", "", `log("one\ntwo\nthree\nfour")` + "\n"},
		{"a.json", "{}\n", `{"a":"one\ntwo\nthree"}` + "\n"},
		{"a.go", station, strings.ReplaceAll(station, `"no name"`, `"no \"name\"\nof it"`)},
		{"a.sh", "{\"a\": 1}\n{\"b\": 2}\n", "cat \"x\"\n{\\\"a\\\": 1}\n{\\\"b\\\": 2}\n"},
		{"a.sh", "x='{\"a\": 1}'\ny=2\n", "x=\"{\\\"a\\\": 1}\"\ny=2\n"},
	} {
		before := []byte(test.before)
		if test.before == "" {
			before = nil
		}
		if r := Content(test.name, before, []byte(test.content)); r != nil {
			t.Errorf("%s over %q is refused: %v\n%s", test.name, test.before, r, test.content)
		}
	}
}
