package sdktest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every Go sample of the page for authors stands in a test of this package too, which compiles and runs it.
func TestSamplesOfThePageForAuthors(t *testing.T) {
	page, err := os.ReadFile("../../docs/plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(source)
	}
	_, rest, more := strings.Cut(string(page), "```go\n")
	if !more {
		t.Fatal("the page has no sample")
	}
	for more {
		var sample string
		sample, rest, _ = strings.Cut(rest, "```")
		for part := range strings.SplitSeq(strings.TrimSpace(sample), "\n\n") {
			if !strings.Contains(tests.String(), part) {
				t.Errorf("no test of this package has:\n%s", part)
			}
		}
		_, rest, more = strings.Cut(rest, "```go\n")
	}
}
