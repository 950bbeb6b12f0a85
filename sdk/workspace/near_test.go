package workspace

import (
	"strings"
	"testing"
)

func TestNearNames(t *testing.T) {
	f := start(t, "src/main.go", "", "src/mail.go", "", "src/main_test.go", "", "README.md", "", "Config.HCL", "",
		"unlike-all-others.txt", "",
		"many/file1", "", "many/file2", "", "many/file3", "", "many/file4", "")
	f.link(t, map[string]string{"link": "src"})
	tests := []struct{ path, want string }{
		{"src/mian.go", `Did you mean "src/main.go"?`},
		{"src/maim.go", `Did you mean "src/mail.go" or "src/main.go"?`},
		{"src/main.py", `Did you mean "src/main.go"?`},
		{"many/file", `Did you mean "many/file1" or "many/file2" or "many/file3"?`},
		{"readme.md", `Did you mean "README.md"?`},
		{"config.hcl", `Did you mean "Config.HCL"?`},
		{"scr/main.go", `Did you mean "src"?`},
		{"link/mian.go", `Did you mean "src/main.go"?`},
		{"zzzzzzzz/zz", ""},
		{"src/main.go", ""}, // is there
	}
	for _, test := range tests {
		p := f.find(t, test.path)
		if got := p.DidYouMean(); got != test.want {
			t.Errorf("%s: %q, want %q", test.path, got, test.want)
		}
		if p.Info == nil && test.want != "" {
			contains(t, fails(t, p.Regular(), "FileNotFound").Suggestion, "List the directory to see what is there. "+test.want)
		}
	}
	e := fails(t, f.find(t, "zzzzzzzz/zz").Regular(), "FileNotFound")
	contains(t, e.Message, `its directory "zzzzzzzz" does not exist`, f.dir)
	if strings.Contains(e.Suggestion, "mean") || strings.HasSuffix(e.Suggestion, " ") {
		t.Errorf("suggests %q", e.Suggestion)
	}
}

func TestUnlike(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"Main.go", "main.go", 0}, {"main.go", "main.py", 1},
		{"kitten", "sitting", 3}, {"ab", "ba", 2},
	}
	for _, test := range tests {
		if got := unlike(test.a, test.b); got != test.want {
			t.Errorf("unlike(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
