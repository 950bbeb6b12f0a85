package main

import (
	"os"
	"testing"
)

func writeConfig(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é 日\t\n":   "plain é 日\t\n",
		"a\u202eb\x1b[2J": `a\u{202e}b\u{1b}[2J`,
		"rm\u3164x":       `rm\u{3164}x`,
		"\u2800\u115f":    `\u{2800}\u{115f}`,
		"a\ufe0f":         `a\u{fe0f}`,
		"a\U000e0101":     `a\u{e0101}`,
		"\xff":            `\xff`,
	} {
		if got := visible(text); got != want {
			t.Errorf("%+q is shown as %+q", text, got)
		}
	}
}
