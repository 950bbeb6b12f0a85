package match

import (
	"strings"
	"testing"
)

// A hunk that only takes lines out has no line of new_string that shows what it is.
func TestHunkThatTakesLinesOut(t *testing.T) {
	const data = "func load() {\n\topen()\n\n\tread()\n\tclose()\n}\n"
	const old, fresh = " \topen()\n-\n-\tread()\n \tclose()\n }", " \topen()\n \tclose()\n }"
	for _, end := range []string{"", "\n", "\r\n"} {
		_, got := planned(t, "a.go", data, Change{Old: old + end, New: fresh + end})
		if want := replaced(data, "\n\n\tread()", ""); got != want {
			t.Errorf("%q gives %q", end, got)
		}
	}
	for _, c := range []Change{
		{Old: old, New: " \topen()\n }"},                                         // takes out more
		{Old: old, New: strings.TrimSpace(fresh)},                                // says nothing of a column
		{Old: " \topen()\n-\twrite()\n \tclose()", New: " \topen()\n \tclose()"}, // another line goes
	} {
		refused(t, "a.go", data, c)
	}
	const list = "steps:\n - one\n - two\n\nend\n"
	written(t, "a.md", list, " - one\n - two", " - one")
}

// A hunk in both strings says in itself what goes and what comes.
func TestHunkInBothStrings(t *testing.T) {
	const data = "func load(name string) error {\n\topen(name)\n\tread(name)\n\treturn nil\n}\n\n" +
		"func drop() {\n\treturn nil\n}\n"
	const want = "func load(name string) error {\n\topen(name)\n\treadAll(name)\n\tclose(name)\n\treturn nil\n}\n\n" +
		"func drop() {\n\treturn nil\n}\n"
	const hunk = " \topen(name)\n-\tread(name)\n+\treadAll(name)\n+\tclose(name)\n \treturn nil"
	bare := strings.ReplaceAll(strings.TrimPrefix(hunk, " "), "\n ", "\n")
	for name, text := range map[string]string{
		"with the blank before lines that stay": hunk, "without": bare,
		"with a head":       "--- a/a.go\n+++ b/a.go\n@@ -2,3 +2,4 @@ func load\n" + hunk,
		"with CRLF":         strings.ReplaceAll(hunk, "\n", "\r\n"),
		"without its edges": "-\tread(name)\n+\treadAll(name)\n+\tclose(name)",
	} {
		for _, fresh := range []string{text, text + "\n", "\n" + text} {
			if _, got := planned(t, "a.go", data, Change{Old: text, New: fresh}); got != want {
				t.Errorf("%s gives\n%s", name, got)
			}
		}
	}
	two := "--- a/a.go\n+++ b/a.go\n@@ -2 +2 @@\n-\topen(name)\n+\tlook(name)\n \tread(name)\n" +
		"@@ -7 +7 @@\n func drop() {\n-\treturn nil\n }\n"
	if _, got := planned(t, "a.go", data, Change{Old: two, New: two}); got != replaced(replaced(data, "open(name)",
		"look(name)"), "drop() {\n\treturn nil\n", "drop() {\n") {
		t.Errorf("two hunks: %q", got)
	}
	refused(t, "a.go", data, Change{Old: two + "@@\n-\tnone()\n", New: two + "@@\n-\tnone()\n"})
	gone := "func drop() {\n-\treturn nil\n }"
	if _, got := planned(t, "a.go", data, Change{Old: gone, New: gone + "\n"}); got != replaced(data, "drop() {\n\treturn nil\n",
		"drop() {\n") {
		t.Errorf("lines that only go: %q", got)
	}
	// Lines that are not there, or twice, cannot be changed, however close others come.
	for _, text := range []string{
		strings.ReplaceAll(hunk, "open", "opened"), " {\n-\treturn nil\n+\treturn err\n }", "+\tclose(name)",
		"-\treturn nil\n+\treturn err",
		"func load(name string) error {\n- one\n-\topen(name)\n\tread(name)\n\treturn nil\n}",
	} {
		for _, fresh := range []string{text, text + "\n"} {
			if r := refused(t, "a.go", data, Change{Old: text, New: fresh}); r.Kind != Guard {
				t.Errorf("%q: %v", text, r)
			}
		}
	}
	// What a file has itself is no diff.
	const list = "# Done\n\n- one\n- two\n+ three\n"
	written(t, "a.md", list, "- one\n- two\n+ three", "- one\n- two\n+ three\n")
	if r := refused(t, "a.md", list, Change{Old: "- one\n+ three", New: "- one\n+ three\n",
		Strictness: Exact}); r.Kind != NotFound {
		t.Errorf("exact: %v", r)
	}
}

// A diff is one also where the file has lines of its own that begin with a plus, when it says which lines stay.
func TestDiffBesideSuchLines(t *testing.T) {
	const data = "# Done\n\n+ three\n\nfirst(one)\nsecond(two)\nthird(three)\n"
	c := Change{Old: " first(one)\n-second(two)\n third(three)", New: " first(one)\n+second(2)\n third(three)"}
	if _, got := planned(t, "a.md", data, c); got != strings.Replace(data, "second(two)", "second(2)", 1) {
		t.Errorf("got\n%s", got)
	}
	c.New = " first(one)\n+second(2)\n third(4)" // not the same lines stay
	refused(t, "a.md", data, c)
}
