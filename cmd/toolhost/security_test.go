package main

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every claim of docs/security.md names tests, and they exist.
func TestClaimsHaveTests(t *testing.T) {
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsOf(t, os.DirFS("../.."))
	named := testName.FindAllStringSubmatch(string(text), -1)
	if len(named) < 50 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, m := range named {
		if !tests[m[1]] {
			t.Errorf("docs/security.md names %s, which is no test", m[1])
		}
	}
}

// testsOf returns the names of all tests below a folder.
func testsOf(t *testing.T, dir fs.FS) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	err := fs.WalkDir(dir, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := fs.ReadFile(dir, path)
		for _, m := range testFunction.FindAllSubmatch(source, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

var (
	testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(t `)
	testName     = regexp.MustCompile("`(Test\\w+)`")
)
