package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var unlimited = limits{lines: 1 << 30, bytes: 1 << 30, lineBytes: 1 << 30}

func shownAs(d difference, most limits) string {
	out := diffWriter{most: most, more: "look there"}
	if d.path == "" {
		d.path = "f"
	}
	d.write(&out)
	return out.String()
}

func TestDiff(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	with := func(old, line string) string { return strings.Replace(ten, old, line, 1) }
	tests := []struct {
		name, before, after string
		want                string // the diff without its two head lines
	}{
		{"first line", ten, with("1\n", "one\n"), "@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4"},
		{"last line", ten, with("10", "ten"), "@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-10\n+ten"},
		{"inserted", ten, with("5\n", "5\nx\n"), "@@ -3,6 +3,7 @@\n 3\n 4\n 5\n+x\n 6\n 7\n 8"},
		{"inserted at the start", ten, "x\n" + ten, "@@ -1,3 +1,4 @@\n+x\n 1\n 2\n 3"},
		{"inserted at the end", ten, ten + "x\n", "@@ -8,3 +8,4 @@\n 8\n 9\n 10\n+x"},
		{"deleted", ten, with("5\n", ""), "@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8"},
		{"lines joined", "a\nb\nc\n", "ab\nc\n", "@@ -1,3 +1,2 @@\n-a\n-b\n+ab\n c"},
		{"a repeated line deleted", "a\na\na\n", "a\na\n", "@@ -1,3 +1,2 @@\n a\n a\n-a"},
		{"near ones make one hunk", "a\n1\n2\n3\n4\n5\n6\na\n", "x\n1\n2\n3\n4\n5\n6\nx\n",
			"@@ -1,8 +1,8 @@\n-a\n+x\n 1\n 2\n 3\n 4\n 5\n 6\n-a\n+x"},
		{"far ones make two", "a\n1\n2\n3\n4\n5\n6\n7\na\n", "x\ny\n1\n2\n3\n4\n5\n6\n7\nx\ny\n",
			"@@ -1,4 +1,5 @@\n-a\n+x\n+y\n 1\n 2\n 3\n@@ -6,4 +7,5 @@\n 5\n 6\n 7\n-a\n+x\n+y"},
		{"no final newline", "a\nb", "a\nc", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at " +
			"end of file"},
		{"final newline added", "a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b"},
		{"final newline dropped", "a\nb\n", "a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file"},
		{"all deleted", "a\n", "", "@@ -1 +0,0 @@\n-a"},
		{"written into an empty file", "", "a\n", "@@ -0,0 +1 @@\n+a"},
		{"bytes that are no text", "gr\xFCn\na\n", "gr\xFCn\nb\n", "@@ -1,2 +1,2 @@\n gr\uFFFDn\n-a\n+b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := difference{before: []byte(test.before), after: []byte(test.after)}
			if diff := cmp.Diff("--- a/f\n+++ b/f\n"+test.want, shownAs(d, unlimited)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkDiff(t, test.before, test.after)
		})
	}
}

func TestDiffOfWholeFiles(t *testing.T) {
	for want, d := range map[string]difference{
		"":                       {before: []byte("a\n"), after: []byte("a\n")},
		"--- /dev/null\n+++ b/f": {made: true},
		"--- a/f\n+++ /dev/null": {gone: true},
		"--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a":                 {gone: true, before: []byte("a\n")},
		"Binary file f: 2 bytes become 4.":                          {before: []byte("a\x00"), after: []byte("text")},
		`--- /dev/null` + "\n" + `+++ "b/x\n@@ -1 +1 @@\n-a\u202e"`: {path: "x\n@@ -1 +1 @@\n-a\u202e", made: true},
		"--- /dev/null\n+++ b/ü ö.txt\t":                            {path: "ü ö.txt", made: true},
	} {
		if got := shownAs(d, unlimited); got != want {
			t.Errorf("shows %q, want %q", got, want)
		}
	}
}

func TestDiffLimits(t *testing.T) {
	spread := strings.Repeat("a\n\n\n\n\n\n\n\n", 1500)
	d := difference{before: []byte(spread), after: []byte(strings.ReplaceAll(spread, "a", "b"))}
	got := shownAs(d, limits{lines: 5, bytes: 1000, lineBytes: 100})
	if want := "--- a/f\n+++ b/f\n@@ -1,"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got,
		"more lines of this diff are left out; look there)") {
		t.Errorf("cut by lines: %q", got)
	}
	if got := shownAs(d, limits{lines: 1000, bytes: 30, lineBytes: 100}); len(got) > 120 || !strings.HasSuffix(got,
		"look there)") {
		t.Errorf("cut by bytes: %q", got)
	}
	long := difference{before: []byte(strings.Repeat("ü", 100) + "\n"), after: []byte("\n")}
	contains(t, shownAs(long, limits{lines: 10, bytes: 1000, lineBytes: 5}), "\n-üü\uFFFD... (200 bytes)\n")
}

// Each place shows as its own hunk, however many there are.
func TestDiffOfManyPlaces(t *testing.T) {
	var before strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&before, "line %d\n", i)
	}
	after := regexp.MustCompile(`(?m)^(line \d*50)$`).ReplaceAllString(before.String(), "$1 changed")
	d := difference{before: []byte(before.String()), after: []byte(after)}
	if n := strings.Count(shownAs(d, unlimited), "\n@@ "); n != 200 {
		t.Errorf("200 changes make %d hunks", n)
	}
	checkDiff(t, before.String(), after)
}

func TestDiffOfRandomTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteByte("abc\n\n"[r.IntN(5)])
		}
		return b.String()
	}
	for range 3000 {
		before, old, with := text(80), "a"+text(4), text(6)
		checkDiff(t, before, strings.ReplaceAll(before, old, with))
		checkDiff(t, before, text(80))
	}
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\n", "a\nc")
	f.Add("", "\n")
	f.Fuzz(func(t *testing.T, before, after string) { checkDiff(t, before, after) })
}

// checkDiff applies the diff to what was before, and compares with what was after.
func checkDiff(t *testing.T, before, after string) {
	t.Helper()
	if !utf8.ValidString(before) || !utf8.ValidString(after) || strings.ContainsRune(before+after, 0) || before == after {
		return // such a diff does not have it all
	}
	diff := shownAs(difference{before: []byte(before), after: []byte(after)}, unlimited)
	got, err := patch(before, diff)
	if err != nil || got != after {
		t.Fatalf("%v: %q became %q, want %q, by the diff\n%s", err, before, got, after, diff)
	}
}

// What the tools show is a patch for patch(1).
func TestDiffIsAPatch(t *testing.T) {
	tool, err := exec.LookPath("patch")
	if err != nil {
		t.Log("there is no patch(1) here; the own reader of diffs is what is tested")
		return
	}
	for _, test := range [][2]string{{"a\nb\nc\n", "a\nx\nc\n"}, {"a\nb", "a\nb\n"}, {"a\r\nb\r\n", "a\r\nc\r\n"}, {"",
		"a\n"}, {strings.Repeat("a\n", 40), strings.Repeat("a\n", 20) + "b\n" + strings.Repeat("a\n", 20)}} {
		dir := t.TempDir()
		check(t, os.WriteFile(filepath.Join(dir, "f"), []byte(test[0]), 0o644))
		cmd := exec.CommandContext(t.Context(), tool, "-p1", "--binary", "-d", dir)
		cmd.Stdin = strings.NewReader(shownAs(difference{before: []byte(test[0]), after: []byte(test[1])}, unlimited) + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("patch: %v\n%s", err, out)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != test[1] {
			t.Errorf("%q became %q (%v), want %q", test[0], got, err, test[1])
		}
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
