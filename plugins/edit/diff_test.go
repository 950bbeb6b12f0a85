package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk/workspace"
)

var unlimited = limits{lines: 1 << 30, bytes: 1 << 30, lineBytes: 1 << 30}

// editOf is the edit that puts with in place of all of old.
func editOf(before, old, with string) *edit {
	m := match{text: []byte(before), old: []byte(old), with: []byte(with)}
	if err := m.find(true); err != nil {
		panic(err)
	}
	return &edit{place: &workspace.Place{Path: "f"}, before: &snapshot{data: m.text}, after: m.apply(), at: m.at, size: len(m.old), with: m.with, unlisted: m.count - len(m.at)}
}

func TestDiff(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	tests := []struct {
		name string
		edit *edit
		want string // the diff without its two head lines
	}{
		{"first line", editOf(ten, "1\n2", "one\n2"), "@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4"},
		{"last line", editOf(ten, "10", "ten"), "@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n+ten"},
		{"inserted", editOf(ten, "5\n", "5\nx\n"), "@@ -3,6 +3,7 @@\n 3\n 4\n 5\n+x\n 6\n 7\n 8"},
		{"deleted", editOf(ten, "5\n", ""), "@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8"},
		{"equal lines around do not count", editOf(ten, "4\n5\n6\n", "4\nx\n6\n"), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8"},
		{"lines joined", editOf("a\nb\nc\n", "a\n", "a"), "@@ -1,3 +1,2 @@\n-a\n-b\n+ab\n c"},
		{"two on a line", editOf("a a\nb\n", "a", "x"), "@@ -1,2 +1,2 @@\n-a a\n+x x\n b"},
		{"near ones make one hunk", editOf("a\n1\n2\n3\n4\n5\n6\na\n", "a", "x"), "@@ -1,8 +1,8 @@\n-a\n+x\n 1\n 2\n 3\n 4\n 5\n 6\n-a\n+x"},
		{"far ones make two", editOf("a\n1\n2\n3\n4\n5\n6\n7\na\n", "a\n", "x\ny\n"), "@@ -1,4 +1,5 @@\n-a\n+x\n+y\n 1\n 2\n 3\n@@ -6,4 +7,5 @@\n 5\n 6\n 7\n-a\n+x\n+y"},
		{"no final newline", editOf("a\nb", "b", "c"), "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file"},
		{"final newline added", editOf("a\nb", "b", "b\n"), "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b"},
		{"all deleted", editOf("a\n", "a\n", ""), "@@ -1 +0,0 @@\n-a"},
		{"written into an empty file", &edit{place: &workspace.Place{Path: "f"}, before: &snapshot{}, after: []byte("a\n"), at: []int{0}, with: []byte("a\n")}, "@@ -0,0 +1 @@\n+a"},
		{"bytes that are no text", editOf("gr\xFCn\na\n", "a", "b"), "@@ -1,2 +1,2 @@\n gr\uFFFDn\n-a\n+b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := test.edit.diff(unlimited)
			if diff := cmp.Diff("--- a/f\n+++ b/f\n"+test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkDiff(t, test.edit)
		})
	}
}

func TestDiffLimits(t *testing.T) {
	e := editOf(strings.Repeat("a\n\n\n\n\n\n\n\n", 1500), "a", "b")
	got := e.diff(limits{lines: 5, bytes: 1000, lineBytes: 100})
	if want := "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n-a\n+b\n... ("; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "more lines of this diff are left out)") {
		t.Errorf("cut by lines: %q", got)
	}
	if got := e.diff(limits{lines: 1000, bytes: 30, lineBytes: 100}); len(got) > 100 || !strings.HasSuffix(got, "left out)") {
		t.Errorf("cut by bytes: %q", got)
	}
	contains(t, e.diff(unlimited), "\n... and 500 more places")
	long := editOf(strings.Repeat("ü", 100)+"\n", "ü", "u")
	contains(t, long.diff(limits{lines: 10, bytes: 1000, lineBytes: 5}), "\n-üü\uFFFD... (200 bytes)\n")
	binary := &edit{place: &workspace.Place{Path: "f"}, before: &snapshot{data: []byte("a\x00")}, after: []byte("text"), at: []int{0}, size: 2, with: []byte("text")}
	if got := binary.diff(unlimited); got != "Binary file f: 2 bytes become 4." {
		t.Errorf("of a binary file: %q", got)
	}
}

func TestDiffOfRandomEdits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteByte("ab\n\n"[r.IntN(4)])
		}
		return b.String()
	}
	for range 3000 {
		before, old, with := text(80), "a"+text(4), text(6)
		if strings.Contains(before, old) && old != with {
			checkDiff(t, editOf(before, old, with))
		}
	}
}

// checkDiff applies the diff of e to what was before, and compares with what e makes of it.
func checkDiff(t *testing.T, e *edit) {
	t.Helper()
	before, diff := e.text(), e.diff(unlimited)
	if e.unlisted > 0 || !utf8.Valid(before) || !utf8.Valid(e.after) || bytes.IndexByte(e.text(), 0) >= 0 || bytes.IndexByte(e.with, 0) >= 0 {
		return // such a diff does not have it all
	}
	got, err := patch(string(before), diff)
	if err != nil || got != string(e.after) {
		t.Fatalf("%v: %q with %q at %v became %q, want %q, by the diff\n%s", err, before, e.with, e.at, got, e.after, diff)
	}
}

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$`)

// patch applies a diff, and believes none of its numbers.
func patch(before, diff string) (string, error) {
	lines := strings.SplitAfter(before, "\n")
	var out strings.Builder
	at, made := 0, 0 // lines of before that are done, lines that are written
	hunk := []string(nil)
	for _, l := range append(strings.Split(diff, "\n")[2:], "@@ end @@") {
		if !strings.HasPrefix(l, "@@ ") {
			hunk = append(hunk, l)
			continue
		}
		if hunk != nil {
			var err error
			if at, made, err = apply(&out, lines, hunk, at, made); err != nil {
				return "", err
			}
		}
		hunk = []string{l}
	}
	out.WriteString(strings.Join(lines[at:], ""))
	return out.String(), nil
}

func apply(out *strings.Builder, lines, hunk []string, at, made int) (int, int, error) {
	var n [5]int // first and count before, first and count after
	for i, text := range hunkHead.FindStringSubmatch(hunk[0]) {
		n[i], _ = strconv.Atoi(text)
		if i%2 == 0 && i > 0 && text == "" {
			n[i] = 1
		}
	}
	first := n[1] - min(n[2], 1)
	if first < at || first > len(lines) {
		return 0, 0, fmt.Errorf("hunk %s does not follow line %d", hunk[0], at)
	}
	out.WriteString(strings.Join(lines[at:first], ""))
	made += first - at
	if made != n[3]-min(n[4], 1) {
		return 0, 0, fmt.Errorf("hunk %s has another first line after, %d lines are before it", hunk[0], made)
	}
	at = first
	for i, l := range hunk[1:] {
		if strings.HasPrefix(l, `\`) {
			continue
		}
		text := l[1:] + "\n"
		if i+2 < len(hunk) && strings.HasPrefix(hunk[i+2], `\`) {
			text = l[1:]
		}
		if l[0] != '+' {
			if at >= len(lines) || lines[at] != text {
				return 0, 0, fmt.Errorf("line %d is not %q", at+1, text)
			}
			at++
		}
		if l[0] != '-' {
			out.WriteString(text)
			made++
		}
	}
	if at-first != n[2] || made-(n[3]-min(n[4], 1)) != n[4] {
		return 0, 0, fmt.Errorf("hunk %s has other counts", hunk[0])
	}
	return at, made, nil
}
