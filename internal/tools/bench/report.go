package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

func (b *bench) add(f figure) {
	if len(f.ratios) == 0 {
		return
	}
	b.figures = append(b.figures, f)
	fmt.Printf("%-70s %s\n", f.name+" / "+f.against, f.value())
}

// value is the median, with the quarter of the ratios that is smallest and the one that is largest left out.
func (f figure) value() string {
	sorted := slices.Sorted(slices.Values(f.ratios))
	low, high := sorted[len(sorted)/4], sorted[len(sorted)-1-len(sorted)/4]
	return fmt.Sprintf("%s (%s to %s)", number(median(f.ratios)), number(low), number(high))
}

func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case v >= 10:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// verdict says whether the median is within the limit and the aim.
func (f figure) verdict() string {
	within := func(limit float64) bool {
		if f.atLeast {
			return median(f.ratios) >= limit
		}
		return median(f.ratios) <= limit
	}
	switch {
	case f.must == 0:
		return ""
	case f.aim != 0 && within(f.aim):
		return "aim"
	case within(f.must):
		return "met"
	}
	return "missed"
}

// table is all figures in Markdown.
func (b *bench) table() string {
	var t strings.Builder
	t.WriteString("| figure | against | ratio (half of the rounds) | must | aim | |\n|---|---|---|---|---|---|\n")
	for _, f := range b.figures {
		sign := "≤ "
		if f.atLeast {
			sign = "≥ "
		}
		limit := func(v float64) string {
			if v == 0 {
				return ""
			}
			return sign + number(v)
		}
		fmt.Fprintf(&t, "| %s | %s | %s | %s | %s | %s |\n", f.name, f.against, f.value(), limit(f.must), limit(f.aim),
			strings.TrimSpace(f.verdict()+" "+f.note))
	}
	t.WriteString("\n| group | arm | calls/s | p50, µs | processor, µs a call |\n|---|---|---|---|---|\n")
	seen := map[string]bool{}
	for _, s := range b.samples {
		key := s.group + "|" + s.arm
		if seen[key] {
			continue
		}
		seen[key] = true
		column := func(value func(sample) float64) string {
			var values []float64
			for _, other := range b.samples {
				if other.group == s.group && other.arm == s.arm && other.calls > 0 {
					values = append(values, value(other))
				}
			}
			return fmt.Sprintf("%.0f", median(values))
		}
		fmt.Fprintf(&t, "| %s | %s | %s | %s | %s |\n", s.group, s.arm, column(perSecond),
			column(func(s sample) float64 { return p50(s) / 1000 }), column(sample.cpuPerCall))
	}
	return t.String()
}

// benchstat is all samples, a line each.
func (b *bench) benchstat() string {
	var t strings.Builder
	for _, s := range b.samples {
		if s.calls > 0 {
			fmt.Fprintf(&t, "Benchmark%s/%s %d %.0f ns/op %.0f p50-ns %.1f cpu-us/op %.3f foreign\n",
				strings.ReplaceAll(s.group, " ", "_"), strings.ReplaceAll(s.arm, " ", "_"), s.calls,
				float64(s.elapsed)/float64(s.calls), float64(s.p50), s.cpuPerCall(), s.foreign)
		}
	}
	return t.String()
}
