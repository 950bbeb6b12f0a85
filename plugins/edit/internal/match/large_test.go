package match

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// largeFile has functions that differ in their names alone.
func largeFile(ext string) []byte {
	var b bytes.Buffer
	for n := 0; b.Len() < 9<<20; n++ {
		fmt.Fprintf(&b, "func handler%d(ctx context):\n\tif value%d := in.compute(ctx); value%d > 0:\n"+
			"\t\treturn fail(%d, \"name-%d\")\n\n\treturn nil\n\n", n, n, n, n%1000, n%61)
	}
	if ext == "txt" {
		b.WriteString("값을 더한다\n")
	}
	return b.Bytes()
}

// What an edit of a large file costs must depend on its lines, not on the file: of a hundred edits in one call each
// would read all of it several times.
func TestLargeFileIsReadOnce(t *testing.T) {
	for _, ext := range []string{"go", "py", "txt"} {
		text := NewText("a."+ext, largeFile(ext))
		for _, n := range []int{7, 3000, 50_000} {
			old := fmt.Sprintf("    if value%d := in.compute(ctx); value%d > 0:\n        return fail(%d, \"name-%d\")\n", n, n,
				n%1000, n%61)
			p, err := text.Plan(Change{Old: old, New: strings.Replace(old, "return", "raise", 1)})
			if err != nil {
				t.Fatal(err)
			}
			if want := []byte("\t\traise fail"); p.Pass != indentationPass || !bytes.Contains(p.Apply(text.data), want) {
				t.Errorf("%s: pass %d", ext, p.Pass)
			}
		}
		if len(text.streams) > 0 {
			t.Errorf("%s: the file was normalized as a whole %d times", ext, len(text.streams))
		}
	}
}

// The lines around a rare line are those that old_string can be in, however many blank lines and blanks are between.
func TestPlacesAroundARareLine(t *testing.T) {
	filler := strings.Repeat("call(value, other)\n", 5000)
	for _, test := range []struct{ name, part, old, fresh, want string }{
		{"at the start", "uniqueName(1)\n", "  uniqueName(1)\n", "  uniqueName(2)\n", "uniqueName(2)\n"},
		{"blank lines", "first(1)\n\n\n\nuniqueName(1)\n\n\nlast(1)\n", "first(1)\nuniqueName(1)\nlast(1)\n",
			"first(1)\nuniqueName(2)\nlast(1)\n", "first(1)\n\n\n\nuniqueName(2)\n\n\nlast(1)\n"},
		{"twice in a part", "\tuniqueName(1)\n\tuniqueName(3)\n", "  uniqueName(3)\n", "  uniqueName(4)\n",
			"\tuniqueName(1)\n\tuniqueName(4)\n"},
		{"blank lines before", "first(1)\n\n\n\tuniqueName(1)\n", "\n\n  uniqueName(1)\n", "\n\n  uniqueName(2)\n",
			"first(1)\n\n\n\tuniqueName(2)\n"},
	} {
		for _, data := range []string{test.part + filler, filler + test.part, filler + test.part + filler} {
			p, err := NewText("a.go", []byte(data)).Plan(Change{Old: test.old, New: test.fresh})
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			if got := string(p.Apply([]byte(data))); got != strings.Replace(data, test.part, test.want, 1) {
				t.Errorf("%s: pass %d made another change", test.name, p.Pass)
			}
		}
	}
}

// Blank lines of new_string are looked at once each.
func TestManyBlankLinesInNew(t *testing.T) {
	const data = "{\n\tone()\n\ttwo()\n}\n"
	fresh, start := "\tone()\n"+strings.Repeat("\n", 200_000)+"\ttwo()\n", time.Now()
	written(t, "a.js", data, "\tone()\n\ttwo()\n", fresh)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("%v", took)
	}
}

// A line of signs that are no letters says nothing of how much of old_string is still to come.
func TestPlacesAroundALineOfSigns(t *testing.T) {
	filler := strings.Repeat("call(value, other)\n", 5000)
	for _, part := range []string{"┌─────────┐\n│  Title  │\n└─────────┘\n", "└─────────┘\n│  Title  │\n┌───┐\n",
		"★★★\n☆☆☆\n", "★★\n☆☆☆\n", "─────────\nab\n\n\n"} {
		for _, level := range []Strictness{Exact, Full} {
			data := filler + part + filler
			p, err := NewText("a.txt", []byte(data)).Plan(Change{Old: part, New: "none\n", Strictness: level})
			if err != nil {
				t.Errorf("%q, strictness %d: %v", part, level, err)
				continue
			}
			if got := string(p.Apply([]byte(data))); p.Pass != 1 || got != filler+"none\n"+filler {
				t.Errorf("%q, strictness %d: pass %d", part, level, p.Pass)
			}
		}
	}
}

// All lines of a large file can be those of a long old_string, which is found in other blanks elsewhere.
func TestManyEqualLines(t *testing.T) {
	const line = "    some_call(value, other_value)\n"
	data, old := strings.Repeat(line, 60_000)+"end_of_it(y)\n", strings.Repeat(line, 15_000)+"  end_of_it(y)\n"
	text, start := NewText("a.py", []byte(data)), time.Now()
	if _, refusal := text.Plan(Change{Old: old, New: old + "more(z)\n"}); refusal == nil {
		t.Error("no refusal")
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("%v", took)
	}
}
