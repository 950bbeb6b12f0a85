package lazy

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	t.Parallel()
	const words Words = "git go\n\tgofmt a"
	for name, want := range map[string]bool{
		"git": true, "go": true, "gofmt": true, "a": true,
		"": false, "gi": false, "fmt": false, "o": false, "git go": false, "go\n\tgofmt": false, "aa": false,
		" ": false, "gofmt ": false,
	} {
		if words.Has(name) != want || Set(words)()[name] != want {
			t.Errorf("%q is a word: %t, want %t", name, !want, want)
		}
	}
	if got := slices.Collect(words.All()); !slices.Equal(got, []string{"git", "go", "gofmt", "a"}) {
		t.Errorf("All returns %q", got)
	}
	if !words.Any(func(w string) bool { return w == "gofmt" }) || words.Any(func(w string) bool { return w == "x" }) {
		t.Error("Any finds other words than those of the set")
	}
}
