package shellcmd_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/shellcmd"
)

// BenchmarkJudge judges each command of the corpus; p99 is the slow end of them.
func BenchmarkJudge(b *testing.B) {
	samples := corpus(b)
	var took []time.Duration
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s := samples[i%len(samples)]
		start := time.Now()
		ruleSets["denies"].rules.Judge(s.text, here)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}

func BenchmarkAssess(b *testing.B) {
	for b.Loop() {
		shellcmd.Assess("cd src && git log --oneline -5 | head -3; grep -rn foo .", here)
	}
}

// nestings are openings and ends that are repeated up to the longest text.
var nestings = map[string][2]string{"arithmetic": {"((", "))"}, "expansion": {"${a/", "}"}, "default": {"${a:-",
	"}"},
	"index": {"a[", "]=1 "}, "substitution": {"$(", ")"}, "find": {"find -exec ", ""}, "function": {"f() { ",
		"; }"}}

// nested is a text of some bytes with nothing but one of these in itself.
func nested(how string, size int) string {
	n := nestings[how]
	times := size / len(n[0]+n[1])
	return strings.Repeat(n[0], times) + "rm x" + strings.Repeat(n[1], times)
}

// BenchmarkNested is about what takes longest. 16 KiB cost twice what 8 KiB cost, up to four times where the stack of
// the parser grows.
func BenchmarkNested(b *testing.B) {
	for how := range nestings {
		for _, size := range []int{8000, 16000} {
			b.Run(how+"-"+strconv.Itoa(size/1000)+"k", func(b *testing.B) {
				text := nested(how, size)
				for b.Loop() {
					ruleSets["denies"].rules.Judge(text, here)
					shellcmd.Catastrophe(text, here)
				}
			})
		}
	}
}

// Commands in commands do not multiply: each is examined a few times, whatever adds words to it.
func assessed(text string) []shellcmd.Command {
	_, commands := shellcmd.Assess(text, here)
	return commands
}

func TestNestedCommandsAreBounded(t *testing.T) {
	for _, text := range []string{`x=$(a -w "$x" b); rm -rf "$x"`, strings.Repeat(`x=$(echo $x $x $(echo $x $x)); rm -rf "$x";`, 100), nested("find", 16000), strings.Repeat("watch ", 2500) + "rm",
		strings.Repeat("nice watch -x ", 1000) + "rm", "x=rm;" + strings.Repeat("x=$x$x;", 25) + "$x",
		"x=rm; " + strings.Repeat("for x in $x$x; do ", 20) + "$x; " + strings.Repeat("done; ", 20)} {
		if allocs := testing.AllocsPerRun(1, func() { shellcmd.Catastrophe(text, here) }); allocs > 1_000_000 {
			t.Errorf("%.0f allocations for %d bytes of %s", allocs, len(text), text[:20])
		}
		for _, c := range assessed(text) {
			if len(c.Name) > len(text) {
				t.Errorf("%d bytes of %s have a name of %d", len(text), text[:20], len(c.Name))
			}
		}
	}
}
