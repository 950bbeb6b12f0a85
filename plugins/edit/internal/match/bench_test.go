package match

import (
	"fmt"
	"strings"
	"testing"
)

// manyLines is a file of source text whose lines are like each other, as in real files.
func manyLines(n int) string {
	var b strings.Builder
	for i := range n {
		switch i % 8 {
		case 0:
			fmt.Fprintf(&b, "func handler%d(ctx context.Context, in *request%d) (*response, error) {\n", i, i%97)
		case 7:
			b.WriteString("}\n")
		case 6:
			b.WriteString("\treturn &response{value: result}, nil // done\n")
		default:
			fmt.Fprintf(&b, "\tresult%d, err := in.compute(ctx, %d, \"name-%d\")\n", i, i*7%1000, i%61)
		}
	}
	return b.String()
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{500, 10_000, 20_000} {
		data := []byte(manyLines(n))
		lines := strings.SplitAfter(string(data), "\n")
		block := func(size int) string { return strings.Join(lines[n/2:n/2+size], "") }
		absent := strings.NewReplacer("result", "outcome", "compute", "evaluate").Replace(block(40))
		for _, c := range []struct{ name, old string }{
			{"exact", block(20)},
			{"spaces", strings.ReplaceAll(block(20), "\t", "    ")},
			{"typo", strings.Replace(block(20), "compute", "compuute", 1)},
			{"absent", absent},
			{"stale", strings.ReplaceAll(block(40), "ctx,", "context.TODO(),")},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				for b.Loop() {
					_, _ = NewText("a.go", data).Plan(Change{Old: c.old, New: c.old + "// more\n"})
				}
			})
		}
	}
}

func BenchmarkBlockOf400(b *testing.B) {
	data := []byte(manyLines(20_000))
	lines := strings.SplitAfter(string(data), "\n")
	old := strings.ReplaceAll(strings.Join(lines[8000:8400], ""), "in.compute", "in.count")
	for b.Loop() {
		_, _ = NewText("a.go", data).Plan(Change{Old: old, New: "x"})
	}
}

// BenchmarkAllPlaces must take eight times as long for eight times as many places.
func BenchmarkAllPlaces(b *testing.B) {
	for _, n := range []int{10_000, 80_000} {
		data := []byte(strings.Repeat("\tcall(name, ctx)\n", n))
		for name, old := range map[string]string{"exact": "name, ctx", "other forms": "name,\u00a0ctx"} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					_, _ = NewText("a.go", data).Plan(Change{Old: old, New: "name", All: true})
				}
			})
		}
	}
}

// BenchmarkWorst has inputs made to cost as much as they can.
func BenchmarkWorst(b *testing.B) {
	long := strings.Repeat("ab c", 100)
	var lines, other strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&lines, "%s%d%s\n", long, i%40, long)
		fmt.Fprintf(&other, "%s%d%s\n", long, i%40, strings.Repeat("ba c", 100))
	}
	deep := strings.Repeat("a\n", 200_000)
	for _, c := range []struct{ name, data, old, fresh string }{
		{"lines alike", lines.String(), other.String()[:len(long)*2*390] + "\n" + lines.String()[:20_000], "x"},
		{"one letter", deep, deep[:1000], "b"},
		{"one letter, all", deep, "a \n", "b\n"},
		{"large hunk", lines.String(), strings.ReplaceAll(lines.String()[:400_000], "\n", " \n"), other.String()[:400_000]},
		{"large deletion", lines.String(), strings.ReplaceAll(lines.String(), "\n", " \n"), ""},
		{"one long line", strings.Repeat("a b", 300_000), "a  b" + strings.Repeat("a b", 1000), "c"},
		{"quotes that never end", strings.Repeat("'\"`/*", 200_000), "x('\"`/*", "c"},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				_, _ = NewText("a.js", []byte(c.data)).Plan(Change{Old: c.old, New: c.fresh})
			}
		})
	}
}
