package wild

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestGlob(t *testing.T) {
	tests := []struct{ pattern, yes, no string }{ // paths, with spaces between
		{"*.go", "a.go .go", "a.gox a/b.go"}, {"a?c", "abc aéc", "ac abbc a/c"}, {"**/*.go", "a.go b/a.go c/b/a.go", "a.g"},
		{"a/**", "a/b a/b/c a/", "a ab"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "ab a/xb a/x/yb"}, {"a**b", "ab axxb", "a/b"}, {"**", "a a/b", ""},
		{"[a-c]x", "ax bx", "dx x"}, {"[!a]", "b é", "a /"}, {"[^a]", "b", "a"},
		{"[é-ü]", "é ü", "e"}, {"[]a]", "] a", "b"}, {"[a-]", "a -", "b"}, {`\*`, "*", "a"}, {`a\{b`, "a{b", "ab"},
		{"{a,b}", "a b", "c {a,b}"}, {"{a,b{c,d}}e", "ae bce bde", "be"}, {"x{,y}", "x xy", "y"},
		{"{a}", "a", "{a}"}, {"[{]a", "{a", "a"}, {"{[,],x}", ", x", "["}, {`{\,,x}`, ", x", `\`}, {"a}b", "a}b", "ab"},
		{"{a/b,c}/*", "a/b/x c/x", "a/x"}, {"*a*b*", "ab xaxbx", "ba"}, {"", "", "a"},
	}
	for _, test := range tests {
		g, err := ParseGlob(test.pattern, false)
		if err != nil {
			t.Errorf("%q: %v", test.pattern, err)
			continue
		}
		for _, path := range strings.Fields(test.yes) {
			if !g.Match(path) {
				t.Errorf("%q does not match %q", test.pattern, path)
			}
		}
		for _, path := range strings.Fields(test.no) {
			if g.Match(path) {
				t.Errorf("%q matches %q", test.pattern, path)
			}
		}
	}
}

func TestGlobFolds(t *testing.T) {
	g, err := ParseGlob("SRC/*[A-C]É.Go", true)
	if err != nil || !g.Match("src/xBé.GO") || g.Match("src/xdé.go") {
		t.Errorf("%v, %+v", err, g)
	}
}

func TestGlobMistakes(t *testing.T) {
	tests := map[string]string{"[a": "a [ without its ]", "a\\": `a \ at the end`, "{a": "a { without its }",
		"[[:vowel:]]": "without its ]", strings.Repeat("{a,b}", 7): "more than 64 alternatives",
		strings.Repeat("a", 1025): "at most 1024", "{" + strings.Repeat("a,", 64) + "}": "more than 64"}
	for pattern, want := range tests {
		if _, err := ParseGlob(pattern, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", pattern, err, want)
		}
	}
}

// A pattern matches what the regular expression does that is put together of the same pieces.
func TestGlobAgreesWithRegularExpressions(t *testing.T) {
	pieces := map[string]string{"a": "a", "b": "b", "ab": "ab", "é": "é", ".": "[.]", "*": "[^/]*", "?": "[^/]", "/": "/",
		"/**/": "/(.*/)?", "[ab]": "[ab]", "[!a]": "[^a/]", "[^b]": "[^b/]", "{a,b}": "(a|b)", "{ab,}": "(ab|)",
		"{b/,*}": "(b/|[^/]*)"}
	piece := rapid.SampledFrom(slices.Sorted(maps.Keys(pieces)))
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("ab/é.")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		drawn := rapid.SliceOfN(piece, 1, 8).Draw(t, "pattern")
		path := letters.Draw(t, "path")
		pattern, expr := "", ""
		for _, p := range drawn {
			pattern += p
			expr += pieces[p]
		}
		g, err := ParseGlob(pattern, false)
		if err != nil { // more alternatives than are allowed
			t.Skip(err)
		}
		alternatives, _ := expand(pattern)
		for _, one := range alternatives { // single stars beside each other may be a double one
			if strings.Contains(strings.ReplaceAll(one, "/**/", "/"), "**") {
				t.Skip(one)
			}
		}
		if want := regexp.MustCompile("^(?:" + expr + ")$").MatchString(path); g.Match(path) != want {
			t.Fatalf("%q and %q: %v, want %v", pattern, path, !want, want)
		}
	})
}

// The worst patterns on the longest paths there are: were a wildcard tried again for each way to match those before it,
// this would never end.
func TestMatchIsNeverExponential(t *testing.T) {
	path := strings.Repeat(strings.Repeat("a", 254)+"/", 16)
	for _, pattern := range []string{strings.Repeat("*a", 500) + "b", strings.Repeat("**/*a", 200) + "b",
		strings.Repeat("a*", 100) + "/**/" + strings.Repeat("?*", 300) + "b"} {
		if Git(pattern, true).Match(path) {
			t.Errorf("%.20q matches", pattern)
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("src/**/*.{go,[a-z]}", "src/a/b.go")
	f.Add("[!é-", "x")
	f.Add("\xFF", "\xF3")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		g, err := ParseGlob(pattern, false)
		if err == nil && !strings.ContainsAny(pattern, `*?[]{}\`) && g.Match(path) != (pattern == path) {
			t.Errorf("%q and %q: %v", pattern, path, g.Match(path))
		}
		_ = Git(pattern, true).Match(path)
	})
}
