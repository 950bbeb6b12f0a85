package main

import (
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// Every hunk is coloured, and by what its header says: a removed line may look like the name of a file.
func TestPaintDiff(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	_, tty, err := pty.Open()
	if err != nil {
		t.Skip("there are no terminals here: ", err)
	}
	defer func() { _ = tty.Close() }()
	colours := &terminal{err: tty}
	const diff = `--- a/q.sql
+++ b/q.sql
@@ -1,3 +1,3 @@
 one
--- two
+++ two
 three
@@ -50,2 +50 @@
-fifty
-fifty one
+50
\ No newline at end of file
@@ -60,0 +61,2 @@
+
+-- more
diff --git a/x b/x
--- a/x
+++ b/x
@@ -1 +1 @@
-a
+b
+ a list
- of what it also does`
	const kinds = "bbc rg crrg cggbbbcrg  "
	lines := strings.Split(diff, "\n")
	names := map[byte]color{'b': bold, 'c': cyan, 'r': red, 'g': green, ' ': ""}
	painted := colours.paintDiff(lines)
	for i, line := range lines {
		want := line
		if c := names[kinds[i]]; c != "" {
			want = string(c) + line + "\x1b[0m"
		}
		if painted[i] != want {
			t.Errorf("line %d is %q, want %q", i+1, painted[i], want)
		}
	}
	plain := (&terminal{err: os.Stderr, noColor: true}).paintDiff(lines)
	if strings.Join(plain, "\n") != diff {
		t.Errorf("without colours the diff is changed: %q", plain)
	}
	if prose := []string{"- one", "+ two", "--- three"}; strings.Join(colours.paintDiff(prose), "") != strings.Join(prose, "") {
		t.Error("a list is coloured as a diff")
	}
}
