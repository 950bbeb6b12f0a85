package match

import (
	"fmt"
	"strings"
	"testing"
)

// An endedLine is a line of the plain model: an edit changes its text, and its ending stays.
type endedLine struct{ text, end string }

func joined(lines []endedLine) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text + l.end)
	}
	return b.String()
}

// In a file with endings of both kinds each line keeps its own, whichever lines are quoted, change, come or go, and
// however old_string was found.
func TestMixedEndingsStay(t *testing.T) {
	names := []string{"alpha", "bravo", "charlie", "delta"}
	for mix := range 1 << len(names) {
		if testing.Short() && mix%3 != 0 {
			continue
		}
		var file []endedLine
		for i, n := range names {
			file = append(file, endedLine{"\t" + n + "(x)", []string{"\n", "\r\n"}[mix>>i&1]})
		}
		for from := range file {
			for to := from + 1; to <= len(file); to++ {
				for what := range 1 << (2 * (to - from)) { // what happens to each line of old_string
					for _, noise := range []string{"", "indentation", "no last break", "CRLF", "within a line"} {
						checkEndings(t, file, from, to, what, noise)
					}
				}
			}
		}
	}
}

func checkEndings(t *testing.T, file []endedLine, from, to, what int, noise string) {
	t.Helper()
	var want, fresh []endedLine
	gone := 0
	for i, l := range file {
		if i < from || i >= to {
			want = append(want, l)
			continue
		}
		var now []endedLine
		switch what >> (2 * (i - from)) & 3 {
		case 0:
			now = []endedLine{l}
		case 1:
			now = []endedLine{{l.text + " + 2", l.end}}
		case 2: // and a line comes after it, with the same ending
			now = []endedLine{l, {fmt.Sprintf("\tnew%d()", i), l.end}}
		case 3:
			gone++
			if i > from && what>>(2*(i-1-from))&3 == 2 { // the line that came before takes the place of this one
				want[len(want)-1].end, fresh[len(fresh)-1].end = l.end, l.end
			}
		}
		want, fresh = append(want, now...), append(fresh, now...)
	}
	if gone == to-from || what == 0 || noise == "no last break" && what>>(2*(to-1-from))&3 > 1 {
		return // that is a deletion, or nothing, or another line becomes the last
	}
	lf := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	data, c := joined(file), Change{Old: lf(joined(file[from:to])), New: lf(joined(fresh))}
	switch noise {
	case "indentation":
		c.Old, c.New = strings.ReplaceAll(c.Old, "\t", "  "), strings.ReplaceAll(c.New, "\t", "  ")
	case "no last break":
		c.Old, c.New = strings.TrimSuffix(c.Old, "\n"), strings.TrimSuffix(c.New, "\n")
	case "within a line":
		if what&3 == 3 {
			return
		}
		c.Old, c.New = c.Old[3:], c.New[3:]
	case "CRLF":
		c.Old, c.New = strings.ReplaceAll(c.Old, "\n", "\r\n"), strings.ReplaceAll(c.New, "\n", "\r\n")
	}
	p, err := NewText("a.go", []byte(data)).Plan(c)
	if err != nil {
		if noise == "indentation" { // whose doubts are refusals
			return
		}
		t.Errorf("%q: %q to %q: %v", data, c.Old, c.New, err)
		return
	}
	if got := string(p.Apply([]byte(data))); got != joined(want) {
		t.Errorf("%q: %q to %q, pass %d:\ngot  %q\nwant %q", data, c.Old, c.New, p.Pass, got, joined(want))
	}
}

// The result says so when the file gets a final line break or loses it.
func TestFinalLineBreak(t *testing.T) {
	for _, c := range []struct{ data, old, fresh, want string }{
		{"a\nb", "b", "c\n", "ends with a line break now"},
		{"a\r\nb", "b", "c\n", "ends with a line break now"},
		{"a\nb\nc\n", "c\n", "", ""},
		{"a\nb\n", "\nb\n", "", "no longer ends"},
		{"a\nb", "b", "c", ""},
		{"a\nb\n", "b\n", "c", ""},
		{"a\nb", "a\n", "c\n", ""},
		{"a\n", "a\n", "", ""},
	} {
		p, _ := planned(t, "a.txt", c.data, Change{Old: c.old, New: c.fresh})
		notes := strings.Join(p.Warnings, " ")
		said := strings.Contains(notes, "line break now") || strings.Contains(notes, "no longer")
		if !strings.Contains(notes, c.want) || said != (c.want != "") {
			t.Errorf("%q, %q to %q: %q", c.data, c.old, c.fresh, notes)
		}
	}
}

// Lines that old_string joins and new_string does not have the endings of the file.
func TestJoinedLinesHaveTheEndingsOfTheFile(t *testing.T) {
	const data = "a(1)\r\n\tname(x, 100)\r\n\tother(y)\r\nb(2)\r\n"
	for _, end := range []string{"\n", "\r\n"} {
		c := Change{Old: "\tname(x, 100) other(y)" + end + "b(2)", New: "\tname(x, 200)" + end + "\tother(y)" + end + "b(2)"}
		if _, got := planned(t, "a.go", data, c); got != strings.Replace(data, "100", "200", 1) {
			t.Errorf("%q", got)
		}
	}
}
