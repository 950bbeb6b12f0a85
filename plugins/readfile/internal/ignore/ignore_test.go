package ignore

import (
	"fmt"
	"strings"
	"testing"
)

func TestOrderOfFiles(t *testing.T) {
	top := (*Rules)(nil).Enter("",
		Files{Ignore: []byte("!kept\n"), GitIgnore: []byte("kept\n*.o\nx\n"), Exclude: []byte("excluded\n!x\n"),
			Repository: true})
	sub := top.Enter("sub", Files{GitIgnore: []byte("!a.o\n/here\n")})
	own := sub.Enter("sub/own", Files{Repository: true})
	other := top.Enter("other", Files{Ignore: []byte("a.o\n")})
	tests := []struct {
		name  string
		rules *Rules
		path  string
		want  Verdict
	}{
		{"no rules", nil, "a.o", None}, {"no rule", top, "a.c", None}, {"git's", top, "a.o", Ignored},
		{"excluded", top, "excluded", Ignored},
		{".ignore goes before .gitignore", top, "kept", Kept}, {".gitignore goes before exclude", top, "x", Ignored},
		{"a folder's go before those above", sub, "sub/a.o", Kept}, {"and those above still hold", sub, "sub/b.o", Ignored},
		{"anchored to its folder", sub, "sub/here", Ignored},
		{"and not below", sub, "sub/d/here", None}, {"another repository", own, "sub/own/a.o", None},
		{"has no exclude of that above", own, "sub/own/excluded", None},
		{".ignore holds there", own, "sub/own/kept", Kept}, {"a neighbor's are its own", other, "other/a.o", Ignored},
		{"and not the other's", other, "other/here", None},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.rules.Match(test.path, false); got != test.want {
				t.Errorf("%s: %d, want %d", test.path, got, test.want)
			}
		})
	}
}

// Rules as large projects have them, for names of which none match.
func BenchmarkMatch(b *testing.B) {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "name%d\n*.ext%d\n/path%d/x\n[Dd]ir%d/\n*~%d\n", i, i, i, i, i)
	}
	rules := (*Rules)(nil).Enter("", Files{GitIgnore: []byte(text.String())})
	b.ReportAllocs()
	for b.Loop() {
		if rules.Match("src/internal/server/handler_test.go", false) != None {
			b.Fatal("ignored")
		}
	}
}
