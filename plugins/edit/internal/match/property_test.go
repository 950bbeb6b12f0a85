package match

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// lines that collide often, so that ambiguous and near places turn up.
var vocabulary = []string{"", "}", "\tif ready {", "\t\treturn nil", "    value = compute(a, b)",
	"\tvalue := compute(a,  b) // twice", "// A comment of some length.", "def run(self):",
	"\tvalue := compute(a, c)", "  - name: 값을 더한다", "\tcall(“quoted”, 'it')", "end",
	"\tfor i := range items {", "\u200bhidden\u00a0blank", "\u200b", "x\r", "\xff\xfe bytes"}

func genText(t *rapid.T, label string, most int) string {
	lines := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, most).Draw(t, label)
	ends := rapid.SampledFrom([]string{"\n", "\r\n"})
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l)
		b.WriteString(ends.Draw(t, "end"))
	}
	return "x" + strings.TrimSuffix(b.String(), rapid.SampledFrom([]string{"", "\n"}).Draw(t, "last"))
}

// genOld is a part of the text with noise, or something else.
func genOld(t *rapid.T, data string) string {
	from := rapid.IntRange(0, len(data)-1).Draw(t, "from")
	part := data[from:rapid.IntRange(from+1, len(data)).Draw(t, "to")]
	noise := rapid.SampledFrom([]func(string) string{
		func(s string) string { return s },
		func(s string) string { return strings.ReplaceAll(s, "\t", "    ") },
		func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") },
		func(s string) string { return strings.ReplaceAll(s, "\n", " \n") },
		func(s string) string { return strings.Replace(s, "compute", "cmopute", 1) },
		func(s string) string { return "\n" + s + "\n" },
		func(s string) string { return strings.ReplaceAll(s, "\n\n", "\n") },
		func(s string) string { return strings.ReplaceAll(s, `'`, `\'`) },
	})
	return noise.Draw(t, "noise")(noise.Draw(t, "more noise")(part))
}

// checkPlan checks what holds for every plan.
func checkPlan(t interface{ Fatalf(string, ...any) }, data []byte, c Change, p *Plan) {
	after := p.Apply(data)
	if len(p.Edits) == 0 || bytes.Equal(after, data) {
		t.Fatalf("a plan that does nothing")
	}
	if !c.All && c.Expected < 2 && len(p.Places) != 1 {
		t.Fatalf("%d places", len(p.Places))
	}
	if got := NewText("a.go", data).After(p, after); !slices.Equal(got.lines, newSource(after, nil).lines) {
		t.Fatalf("the lines of %q are not %v", after, got.lines)
	}
	back, shift := &Plan{}, 0
	for i, e := range p.Edits {
		if e.Start > e.End || e.End > len(data) || i > 0 && e.Start < p.Edits[i-1].End {
			t.Fatalf("edit %d is %v, after %v", i, e.Range, p.Edits[max(0, i-1)].Range)
		}
		back.Edits = append(back.Edits, Edit{Range{e.Start + shift, e.Start + shift + len(e.With)}, data[e.Start:e.End]})
		shift += len(e.With) - (e.End - e.Start)
	}
	if got := back.Apply(after); !bytes.Equal(got, data) {
		t.Fatalf("taken back it is %q, was %q", got, data)
	}
}

func TestPlansCanBeRolledBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := genText(t, "text", 30)
		c := Change{Old: genOld(t, data), New: genText(t, "new", 6), All: rapid.Bool().Draw(t, "all")}
		if p, err := NewText("a.go", []byte(data)).Plan(c); err == nil {
			checkPlan(t, []byte(data), c, p)
		} else if _, ok := errors.AsType[*Refusal](err); !ok {
			t.Fatalf("%v", err)
		}
	})
}

// plainText drops what a program does not get from new_string alone.
var plainText = strings.NewReplacer("\r", "", "“", `"`, "”", `"`, "\u200b", "", "\u00a0", " ")

// What is quoted exactly and once is changed literally, whatever else a looser pass could make of it. Unless the
// strictness is exact, line breaks at its edges and the rest of a word stay, and what was done before is not done twice.
func TestExactOnceIsLiteral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := strings.ReplaceAll(genText(t, "text", 20), "\r", "")
		from := rapid.IntRange(0, len(data)-1).Draw(t, "from")
		old := data[from:rapid.IntRange(from+1, len(data)).Draw(t, "to")]
		fresh := plainText.Replace(genText(t, "new", 4))
		if strings.TrimSpace(old) == "" || old == fresh || occurrencesOf(data, old) != 1 {
			return
		}
		p, err := NewText("a.py", []byte(data)).Plan(Change{Old: old, New: fresh, Strictness: Exact})
		if err != nil {
			t.Fatalf("%v", err)
		}
		want := strings.Replace(data, old, fresh, 1)
		if got := string(p.Apply([]byte(data))); got != want || p.Pass != 1 {
			t.Fatalf("pass %d: %s", p.Pass, cmp.Diff(want, got))
		}
		if insideWord([]byte(data), from+len(old)) {
			return // see TestMatchThatEndsWithinAWord
		}
		if p, err = NewText("a.py", []byte(data)).Plan(Change{Old: old, New: fresh}); err == nil {
			got, breaks := string(p.Apply([]byte(data))), strings.Count(want, "\n")
			if strings.HasSuffix(fresh, "\n") && !strings.HasSuffix(strings.TrimRight(old, " \t"), "\n") {
				breaks-- // see TestLineBreaksGained
			}
			if despaced(got) != despaced(want) || p.Pass != 1 || strings.Count(got, "\n") < breaks {
				t.Fatalf("pass %d: %s", p.Pass, cmp.Diff(want, got))
			}
		} else if r, _ := errors.AsType[*Refusal](err); r.Kind != AlreadyApplied && r.Kind != Guard &&
			(r.Kind != Ambiguous || !withinIndentation(data, from)) {
			t.Fatalf("%v", err)
		}
	})
}

// withinIndentation reports that a line has blanks alone before an offset, and one there: see TestPartsOfIndentation.
func withinIndentation(data string, at int) bool {
	before := data[strings.LastIndexByte(data[:at], '\n')+1 : at]
	return before != "" && strings.Trim(before+data[at:at+1], " \t") == ""
}

func occurrencesOf(s, sub string) (n int) {
	for i := range s {
		if strings.HasPrefix(s[i:], sub) {
			n++
		}
	}
	return n
}

// Lines far from the place never change.
func TestLinesAroundStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		head, tail := genText(t, "head", 5)+"\nHEAD of all\n", "\nTAIL of all\n"+genText(t, "tail", 5)
		middle := genText(t, "text", 12)
		c := Change{Old: genOld(t, middle), New: genText(t, "new", 6)}
		p, err := NewText("a.yaml", []byte(head+middle+tail)).Plan(c)
		if err != nil {
			return
		}
		if at := p.Places[0]; at.Start < len(head) || at.End > len(head+middle) {
			return
		}
		after := string(p.Apply([]byte(head + middle + tail)))
		if !strings.HasPrefix(after, strings.TrimSuffix(head, "\n")) || !strings.HasSuffix(after,
			strings.TrimPrefix(tail, "\n")) {
			t.Fatalf("pass %d: %q", p.Pass, after)
		}
	})
}

func TestRefusedTwiceTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(genText(t, "text", 30))
		c := Change{Old: genOld(t, string(data)), New: genText(t, "new", 3)}
		text := NewText("a.js", data)
		_, first := text.Plan(c)
		_, again := text.Plan(c)
		_, fresh := NewText("a.js", slices.Clone(data)).Plan(c)
		if diff := cmp.Diff(first, again) + cmp.Diff(first, fresh); diff != "" {
			t.Fatalf("%s", diff)
		}
	})
}

func FuzzPlan(f *testing.F) {
	f.Add("a.go", goFile, "\tvar sum  Price\n", "\tvar sum int\n", 0)
	f.Add("a.py", "def f():\n    return 1\n", "def f():\n  retrun 1\n", "def f():\n  return 2\n", 1)
	f.Add("a.md", "“a” \u200b\xff\r\n", "\"a\"", "", 2)
	f.Add("a.txt", "1\tone\n2\ttwo\n", "1\tone\n2\ttwo\n", `\n\t"`, 3)
	f.Fuzz(func(t *testing.T, name, data, old, fresh string, flags int) {
		c := Change{Old: old, New: fresh, All: flags&1 != 0, Strictness: Strictness(flags >> 1 & 3 % 3),
			NearLine: flags >> 3 & 31, Expected: flags >> 8 & 3}
		if p, err := NewText(name, []byte(data)).Plan(c); err == nil {
			checkPlan(t, []byte(data), c, p)
		}
	})
}
