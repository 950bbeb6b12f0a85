package schema

import (
	"strings"
	"testing"
)

func mustCompile(t testing.TB, raw string) *Schema {
	t.Helper()
	s, err := Compile([]byte(raw))
	if err != nil {
		t.Fatalf("Compile(%.300s): %v", raw, err)
	}
	return s
}

func longText(n int) string { return strings.Repeat("some words to read, one line\n", n/29+1)[:n] }
