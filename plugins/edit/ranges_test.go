package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/plugins/edit/internal/match"
)

func edit(start, end int, with string) match.Edit {
	return match.Edit{Range: match.Range{Start: start, End: end}, With: []byte(with)}
}

func TestRangesAfter(t *testing.T) {
	text := "1\n2\n3\n4\n" // two bytes a line
	tests := []struct {
		name   string
		places []match.Range
		edits  []match.Edit
		want   []lineRange
	}{
		{"a line", []match.Range{{Start: 2, End: 4}}, []match.Edit{edit(2, 4, "x\n")}, []lineRange{{2, 2}}},
		{"becomes two", []match.Range{{Start: 2, End: 3}}, []match.Edit{edit(2, 3, "x\ny")}, []lineRange{{2, 3}}},
		{"is deleted", []match.Range{{Start: 2, End: 4}}, []match.Edit{edit(2, 4, "")}, []lineRange{{2, 2}}},
		{"the last is deleted", []match.Range{{Start: 6, End: 8}}, []match.Edit{edit(6, 8, "")}, []lineRange{{3, 3}}},
		{"all are deleted", []match.Range{{Start: 0, End: 8}}, []match.Edit{edit(0, 8, "")}, []lineRange{{1, 1}}},
		{"only its middle changes", []match.Range{{Start: 0, End: 6}}, []match.Edit{edit(2, 4, "x\ny\n")},
			[]lineRange{{1, 4}}},
		{"several", []match.Range{{Start: 0, End: 1}, {Start: 4, End: 5}}, []match.Edit{edit(0, 1, "a\nb"), edit(4, 5, "c")},
			[]lineRange{{1, 2}, {4, 4}}},
		{"more than the place is taken", []match.Range{{Start: 2, End: 3}}, []match.Edit{edit(2, 4, "")},
			[]lineRange{{2, 2}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan := &match.Plan{Edits: test.edits, Places: test.places}
			if diff := cmp.Diff(test.want, rangesAfter(plan, plan.Apply([]byte(text)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRangesAsText(t *testing.T) {
	var many []lineRange
	for i := range 12 {
		many = append(many, lineRange{i + 1, i + 1})
	}
	for want, ranges := range map[string][]lineRange{"line 5": {{5, 5}}, "lines 5-9": {{5, 9}}, "lines 1, 7": {{1, 2},
		{7, 7}}, "lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...": many} {
		if got := inWords(ranges); got != want {
			t.Errorf("%v is %q", ranges, got)
		}
	}
}

// Whatever edits follow each other, the parts known as inserted hold every byte that an edit has put there.
func TestInsertedIsFollowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := bytes.Repeat([]byte("."), rapid.IntRange(0, 20).Draw(t, "size"))
		var inserted []match.Range
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			var edits []match.Edit
			at := 0
			for range rapid.IntRange(1, 3).Draw(t, "edits") {
				start := rapid.IntRange(at, len(text)).Draw(t, "start")
				end := rapid.IntRange(start, len(text)).Draw(t, "end")
				with := rapid.SampledFrom([]string{"", "X", "XXXX"}).Draw(t, "with")
				edits, at = append(edits, edit(start, end, with)), end+1
				if at > len(text) {
					break
				}
			}
			text = (&match.Plan{Edits: edits}).Apply(text)
			inserted = insertedAfter(inserted, edits)
			checkInserted(t, text, inserted)
		}
	})
}

func checkInserted(t *rapid.T, text []byte, inserted []match.Range) {
	covered, last := 0, -1
	for _, r := range inserted {
		if r.Start <= last || r.End <= r.Start || r.End > len(text) {
			t.Fatalf("ranges %v of %q", inserted, text)
		}
		covered, last = covered+bytes.Count(text[r.Start:r.End], []byte("X")), r.End
	}
	if n := bytes.Count(text, []byte("X")); covered != n {
		t.Fatalf("ranges %v of %q cover %d of %d", inserted, text, covered, n)
	}
}

func BenchmarkDiff(b *testing.B) {
	line := func(i int) string { return fmt.Sprintf("this is line %d of the file\n", i) }
	var before, one, many bytes.Buffer
	for i := range 300_000 {
		before.WriteString(line(i))
		one.WriteString(line(i))
		many.WriteString(line(i))
		if i == 150_000 {
			one.WriteString("and one more\n")
		}
		if i%100 == 0 {
			many.WriteString("and one more\n")
		}
	}
	for name, after := range map[string][]byte{"one change": one.Bytes(), "many changes": many.Bytes()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if len(compare(before.Bytes(), after)) == 0 {
					b.Fatal("no difference")
				}
			}
		})
	}
	same := bytes.Repeat([]byte("\n"), maxFile)
	other := bytes.Repeat([]byte("a\n"), maxFile/2)
	b.Run("nothing alike", func(b *testing.B) {
		for b.Loop() {
			compare(same, other)
		}
	})
	short := bytes.Repeat([]byte("a\n\n"), 100_000)
	b.Run("all lines alike", func(b *testing.B) {
		for b.Loop() {
			compare(short, bytes.ReplaceAll(short, []byte("a\n\na"), []byte("a\na\n")))
		}
	})
}
