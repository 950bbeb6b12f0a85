package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A tool's name that is a word of the file's language, or no word of it, is locked like any other, and so are arguments
// that would be expressions.
func TestLockWordsOfTheLanguage(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	for _, name := range []string{"for", "if", "in", "null", "true", "else", "1e5", "0x1", "a-b"} {
		t.Run(name, func(t *testing.T) {
			p := LockedPlugin{Name: "odd", Program: "./${x}", Level: "confined", Args: []string{"${a.b}", "%{ if x }", `"\`, "line\nbreak", ""},
				SHA256: map[string]string{"linux_amd64": sum}, Tools: map[string]string{name: sum, "later": sum}}
			path := filepath.Join(t.TempDir(), LockName)
			if err := UpdateLock(path, func(l *Lock) error { l.Put(p); return nil }); err != nil {
				t.Fatal(err)
			}
			l, err := readLock(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&p, l.Plugin("odd"), cmpopts.IgnoreUnexported(LockedPlugin{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
