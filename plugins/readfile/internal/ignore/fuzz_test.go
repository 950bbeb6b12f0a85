package ignore

import (
	"strings"
	"testing"
)

// Whatever an ignore file holds, reading it and asking it ends soon and breaks nothing, and a last rule that keeps
// everything keeps everything.
func FuzzRules(f *testing.F) {
	f.Add([]byte("*.o\n!a.o\n/d/**/x\n[a-z]*\\ \n"), "d/e/x")
	f.Add([]byte("**/**/**/a*b*c*d\n[[:alpha:]\n\\"), "a/b/c/abcd")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		path = strings.Trim(path, "/")
		_ = (*Rules)(nil).Enter("", Files{GitIgnore: data}).Match(path, false)
		all := append(append([]byte{}, data...), "\n!*\n"...)
		if v := (*Rules)(nil).Enter("", Files{Ignore: data, GitIgnore: all, Exclude: data}).Match(path, true); v == None {
			t.Errorf("nothing is said of %q", path)
		}
	})
}
