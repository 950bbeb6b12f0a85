package match

import (
	"fmt"
	"strings"
	"testing"
)

// An old_string that begins within the indentation of one line, and so is found there byte for byte, means the same
// line with less indentation just as well.
func TestPartsOfIndentation(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		for _, body := range []string{"log(first);\n", "log(first);\n%log(second);\n"} {
			for _, unit := range []string{" ", "\t"} {
				for less := range 5 {
					for more := less + 1; more < 6; more++ {
						for own := 1; own < more; own++ {
							checkPartOfIndentation(t, body, unit, end, less, more, own)
						}
					}
				}
			}
		}
	}
}

func checkPartOfIndentation(t *testing.T, body, unit, end string, less, more, own int) {
	t.Helper()
	in := func(n int, text string) string {
		return strings.Repeat(unit, n) + strings.ReplaceAll(text, "%", strings.Repeat(unit, n))
	}
	file := func(text string) string {
		out := "head() {\n" + in(less, text) + "}\nmiddle() {\n" + in(more, text) + "}\n"
		return strings.ReplaceAll(out, "\n", end)
	}
	// Its first line has lost a part of the indentation, as when a model copies from the middle of a line.
	old := strings.Repeat(unit, own) + strings.ReplaceAll(body, "%", strings.Repeat(unit, more))
	name := fmt.Sprintf("%d and %d, own %d: %q", less, more, own, old)
	data, c := file(body), Change{Old: old, New: strings.Replace(old, "first", "other", 1)}
	if strings.Contains(body, "%") && less != own { // its second line says which place it is
		at := strings.LastIndex(data, "first")
		want := data[:at] + "other" + data[at+len("first"):]
		if p, got := planned(t, "a.js", data, c); got != want {
			t.Errorf("%s: pass %d gives %q", name, p.Pass, got)
		}
		return
	}
	if p, err := NewText("a.js", []byte(data)).Plan(c); err == nil {
		t.Errorf("%s: pass %d gives %q", name, p.Pass, p.Apply([]byte(data)))
	} else if r := err.(*Refusal); r.Kind != Ambiguous || r.Count != 2 {
		t.Errorf("%s: %v", name, err)
	}
	if strings.Contains(body, "%") {
		return
	}
	c.All = true
	if p, got := planned(t, "a.js", data, c); got != file(strings.Replace(body, "first", "other", 1)) {
		t.Errorf("%s: all: pass %d gives %q", name, p.Pass, got)
	}
	c.All, c.Strictness = false, Exact
	one := strings.ReplaceAll("head() {\n"+in(more, body)+"}\n", "\n", end)
	for _, c.Strictness = range []Strictness{Exact, Full} { // one place is no question
		if _, got := planned(t, "a.js", one, c); got != strings.Replace(one, "first", "other", 1) {
			t.Errorf("%s: alone: %q", name, got)
		}
	}
}
