package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitWords(t *testing.T) {
	for _, test := range []struct {
		commandLine string
		want        []string
	}{
		{"", nil},
		{" \t\r\n ", nil},
		{"bin/get_tools", []string{"bin/get_tools"}},
		{"  python3   tool.py --call ", []string{"python3", "tool.py", "--call"}},
		{`"my tools/get" 'a b' c\ d`, []string{"my tools/get", "a b", "c d"}},
		{`a"b"'c'd`, []string{"abcd"}},
		{`x '' ""`, []string{"x", "", ""}},
		{`'$HOME | "x" \'`, []string{`$HOME | "x" \`}},
		{`"a \"b\" \\ \$ \` + "`" + ` \n '"`, []string{`a "b" \ $ ` + "`" + ` \n '`}},
		{`\$x \| \' \" \\ \a`, []string{"$x", "|", "'", `"`, `\`, "a"}},
		{"a\\\nb \"c\\\nd\"", []string{"ab", "cd"}},
		{"a\nb", []string{"a", "b"}},
		{"x a#b a~b --out=~ {} [1] !", []string{"x", "a#b", "a~b", "--out=~", "{}", "[1]", "!"}},
		{"env A=1 B=2 x", []string{"env", "A=1", "B=2", "x"}},
		{"'A=1' x", []string{"A=1", "x"}},
		{"grüße 日本 \u00a0", []string{"grüße", "日本", "\u00a0"}},
		{"a\xffb", []string{"a\xffb"}},
	} {
		got, err := splitWords(test.commandLine)
		if err != nil {
			t.Errorf("%q: %v", test.commandLine, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.commandLine, diff)
		}
	}
}

func TestSplitWordsRefusesShellSyntax(t *testing.T) {
	needsShell := " means something to a shell, but it is not run through a shell; write a script, or quote it ('"
	for commandLine, want := range map[string]string{
		"./x | jq .":      "'|' at character 5" + needsShell + "|') to mean the character itself",
		"./x > out":       "'>' at character 5",
		"./x < in":        "'<' at character 5",
		"./x 2>&1":        "'>' at character 6",
		"./x && y":        "'&' at character 5",
		"./x & ":          "'&' at character 5",
		"./x; y":          "';' at character 4",
		"$HOME/y":         "'$' at character 1",
		"x `id`":          "'`' at character 3",
		`x "$HOME"`:       "'$' at character 4",
		"x \"`id`\"":      "'`' at character 4",
		"(x)":             "'(' at character 1",
		"x )":             "')' at character 3",
		"./x *.json":      "'*' at character 5",
		"./x a?":          "'?' at character 6",
		"./x # all of it": "'#' at character 5",
		"~/bin/x":         "'~' at character 1",
		"ä |":             "'|' at character 3",
		"x 'a":            "the ' at character 3 is not closed",
		`x "a`:            `the " at character 3 is not closed`,
		`x "a\"`:          `the " at character 3 is not closed`,
		`x "a\`:           `the " at character 3 is not closed`,
		`x \`:             `it ends with a \ that has nothing behind it`,
		"FOO=1 ./x": "FOO=1 sets a variable, which only a shell does here; it is not run through a shell; write env " +
			"FOO=1 in front, or a script",
		" _a1= x": "_a1= sets a variable",
	} {
		words, err := splitWords(commandLine)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %q, %v\nwant %s", commandLine, words, err, want)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	for _, commandLine := range []string{"", "a b", `"a\"b" 'c'`, `a\`, "'", "A=1 b", "x|y", "\\\n", "a\x00 b", "\xff'"} {
		f.Add(commandLine)
	}
	f.Fuzz(func(t *testing.T, commandLine string) {
		words, err := splitWords(commandLine)
		if err != nil {
			if words != nil || err.Error() == "" {
				t.Fatalf("%q: words %q and the error %q", commandLine, words, err)
			}
			return
		}
		retry, err := splitWords((command{words: words}).String())
		if err != nil {
			t.Fatalf("%q: written again as %s: %v", commandLine, command{words: words}, err)
		}
		if diff := cmp.Diff(words, retry); diff != "" {
			t.Fatalf("%q (-split +written and split):\n%s", commandLine, diff)
		}
		if quoted, err := splitWords("'" + strings.ReplaceAll(commandLine, "'", `'\''`) + "'"); err != nil ||
			len(quoted) != 1 ||
			quoted[0] != commandLine {
			t.Fatalf("%q in quotes: %q, %v", commandLine, quoted, err)
		}
	})
}
