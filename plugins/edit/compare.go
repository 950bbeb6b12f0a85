package main

import (
	"slices"

	"github.com/aymanbagabas/go-udiff/lcs"
)

const (
	maxLines   = 1_000_000 // in the part that differs: beyond, it is one region
	maxBetween = 20_000    // likewise, between two lines that stayed
)

// A region is a run of whole lines, before[start:end], that became the lines in new.
type region struct {
	start, end int
	new        []byte
}

// compare finds the lines that differ, in order. What is equal at both ends is not looked at line by line, so that an edit
// in a large file is found at once.
func compare(before, after []byte) (out []region) {
	start := equalStart(before, after)
	end := equalEnd(before[start:], after[start:])
	x, y := before[start:len(before)-end], after[start:len(after)-end]
	if len(x) == 0 || len(y) == 0 || countLines(x)+countLines(y) > maxLines {
		if len(x)+len(y) > 0 {
			out = append(out, region{start, start + len(x), y})
		}
		return out
	}
	a, b := splitLines(x), splitLines(y)
	fromX, fromY := offsets(a), offsets(b)
	for _, d := range differ(a, b) {
		out = append(out, region{start + fromX[d.Start], start + fromX[d.End], y[fromY[d.ReplStart]:fromY[d.ReplEnd]]})
	}
	return out
}

// equalStart is how many bytes of whole lines are equal from the start.
func equalStart(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) {
		next := min(n+4096, len(a), len(b))
		if string(a[n:next]) == string(b[n:next]) {
			n = next
			continue
		}
		for a[n] == b[n] {
			n++
		}
		break
	}
	if n == len(a) && n == len(b) {
		return n
	}
	return lineStart(a, n)
}

// equalEnd is how many bytes of whole lines are equal up to the end.
func equalEnd(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) {
		next := min(n+4096, len(a), len(b))
		if string(a[len(a)-next:len(a)-n]) == string(b[len(b)-next:len(b)-n]) {
			n = next
			continue
		}
		for a[len(a)-1-n] == b[len(b)-1-n] {
			n++
		}
		break
	}
	for n > 0 && (startsInside(a, n) || startsInside(b, n)) {
		n = len(a) - lineEnd(a, len(a)-n)
	}
	return n
}

// startsInside tells whether the last n bytes start in the middle of a line.
func startsInside(b []byte, n int) bool { return n < len(b) && b[len(b)-n-1] != '\n' }

func splitLines(b []byte) []string {
	out := make([]string, 0, countLines(b))
	for len(b) > 0 {
		end := lineEnd(b, 0)
		out, b = append(out, string(b[:end])), b[end:]
	}
	return out
}

// offsets tell where each line starts, and where the last ends.
func offsets(lines []string) []int {
	out, at := make([]int, 0, len(lines)+1), 0
	for _, l := range lines {
		out, at = append(out, at), at+len(l)
	}
	return append(out, at)
}

// A pair is a line of a and the same line of b.
type pair struct{ a, b int }

// differ compares between the lines that both have once, in the same order: they tell best what stayed, and leave short
// parts to compare.
func differ(a, b []string) (out []lcs.Diff) {
	var from pair
	for _, to := range append(stayed(a, b), pair{len(a), len(b)}) {
		for _, d := range between(a[from.a:to.a], b[from.b:to.b]) {
			out = append(out, lcs.Diff{Start: d.Start + from.a, End: d.End + from.a, ReplStart: d.ReplStart + from.b, ReplEnd: d.ReplEnd + from.b})
		}
		from = to
	}
	return out
}

func between(a, b []string) []lcs.Diff {
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	n, m := len(a)-start-end, len(b)-start-end
	switch {
	case n+m == 0:
		return nil
	case n == 0 || m == 0 || n+m == 2 || n+m > maxBetween:
		return []lcs.Diff{{Start: start, End: start + n, ReplStart: start, ReplEnd: start + m}}
	}
	return lcs.DiffLines(a, b)
}

// stayed pairs the lines that a and b have once: the longest row of them that rises in both (patience diff).
func stayed(a, b []string) []pair {
	inA, inB := once(a), once(b)
	var row []pair // by their place in a
	for i, line := range a {
		if inA[line] < 0 {
			continue
		}
		if j, ok := inB[line]; ok && j >= 0 {
			row = append(row, pair{i, j})
		}
	}
	return rising(row)
}

// once tells where each line is, and -1 for those that are there more than once.
func once(lines []string) map[string]int {
	out := make(map[string]int, len(lines))
	for i, l := range lines {
		if _, ok := out[l]; ok {
			i = -1
		}
		out[l] = i
	}
	return out
}

// rising gives the longest row of pairs whose b rises too.
func rising(row []pair) []pair {
	var tops []int // by length: the pair with the least b that ends a row of that length
	before := make([]int, len(row))
	for i, p := range row {
		n, _ := slices.BinarySearchFunc(tops, p.b, func(top, b int) int { return row[top].b - b })
		before[i] = -1
		if n > 0 {
			before[i] = tops[n-1]
		}
		if n == len(tops) {
			tops = append(tops, i)
		}
		tops[n] = i
	}
	out := make([]pair, len(tops))
	for i, n := len(tops)-1, last(tops); i >= 0; i, n = i-1, before[n] {
		out[i] = row[n]
	}
	return out
}

func last(tops []int) int {
	if len(tops) == 0 {
		return -1
	}
	return tops[len(tops)-1]
}
