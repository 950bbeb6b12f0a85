package shellcmd_test

import (
	"slices"
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
