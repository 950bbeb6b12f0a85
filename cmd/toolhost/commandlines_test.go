package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	// inlineCode is a span of code, and codeLine a line of a block of code that runs a command.
	inlineCode = regexp.MustCompile("`([^`]+)`")
	codeLine   = regexp.MustCompile(`(?m)^ *(?:\$ )?((?:\S*/)?toolhost .*)$`)
	// commandLine is a command of toolhost, up to what ends it in a shell or in prose.
	commandLine = regexp.MustCompile(`(?:^|[\s"'(=/])toolhost((?: +[^\s|;&<>()#…]+)+)`)
	wordOfName  = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

// fencedBlocks are the blocks of code of a page, with their language.
var fencedBlocks = regexp.MustCompile("(?s)\n *```([^\\n]*)\n(.*?)\n *```")

// quotedArgument is one word of a command line.
var quotedArgument = regexp.MustCompile(`'[^']*'`)

// commandsIn are the words of each command line of toolhost in a text.
func commandsIn(text string) (out [][]string) {
	for _, m := range commandLine.FindAllStringSubmatch(quotedArgument.ReplaceAllString(text, "ARGUMENT"), -1) {
		var words []string
		for _, word := range strings.Fields(m[1]) {
			words = append(words, strings.Trim(word, "`'\",.:[]"))
		}
		out = append(out, words)
	}
	return out
}

// checkCommand fails when there is no such command, or it has no such flag or value of a flag.
func checkCommand(t *testing.T, root *cobra.Command, where string, words []string) *cobra.Command {
	t.Helper()
	cmd, rest := root, words
	for len(rest) > 0 && strings.HasPrefix(rest[0], "--") { // those of all commands may come first
		flag := root.PersistentFlags().Lookup(strings.TrimPrefix(rest[0], "--"))
		if rest = rest[1:]; flag != nil && flag.Value.Type() != "bool" && len(rest) > 0 {
			rest = rest[1:]
		}
	}
	for len(rest) > 0 {
		i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == rest[0] })
		if i < 0 {
			break
		}
		cmd, rest = cmd.Commands()[i], rest[1:]
	}
	if len(rest) > 0 && cmd.HasSubCommands() && wordOfName.MatchString(rest[0]) && cmd.Name() != "mcp" {
		t.Errorf("%s: toolhost %s: there is no command %q", where, strings.Join(words, " "), rest[0])
	}
	_ = cmd.LocalFlags() // adds those of the commands above
	cmd.InitDefaultHelpFlag()
	for i, word := range rest {
		if word == "--" {
			break
		}
		name, value, given := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if !strings.HasPrefix(word, "--") || name == "" {
			continue
		}
		flag := cmd.Flags().Lookup(name)
		if flag == nil {
			flag = cmd.InheritedFlags().Lookup(name)
		}
		if flag == nil {
			t.Errorf("%s: toolhost %s: %s has no flag --%s", where, strings.Join(words, " "), cmd.CommandPath(), name)
			continue
		}
		if !given && i+1 < len(rest) {
			value = rest[i+1]
		}
		if c, is := flag.Value.(choice); is && wordOfName.MatchString(value) && !slices.Contains(c.words, value) {
			t.Errorf("%s: toolhost %s: %q is no value of --%s", where, strings.Join(words, " "), value, name)
		}
	}
	return cmd
}

// Commands and flags that pages, help texts and messages name exist, and each command is on a page.
func TestCommandLinesOfTexts(t *testing.T) {
	newTree := func() *cobra.Command {
		return newRoot(newTerminal(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}))
	}
	// notOurs are the wire's first bytes, and a command line of MCP's inspector that ends in ours.
	notOurs := regexp.MustCompile(`^(session v1|mcp -e) `)
	root, named, found := newTree(), map[string]bool{}, 0
	check := func(where, text string) {
		for _, words := range commandsIn(text) {
			if notOurs.MatchString(strings.Join(words, " ") + " ") {
				continue
			}
			found++
			for cmd := checkCommand(t, root, where, words); cmd != nil; cmd = cmd.Parent() {
				named[cmd.CommandPath()] = named[cmd.CommandPath()] || strings.HasSuffix(where, ".md")
			}
		}
	}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"testdata", "node_modules", ".git", "bin", "dist"}, d.Name()):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".md") && d.Name() != "CHANGELOG.md":
			page := readText(t, path)
			for _, m := range fencedBlocks.FindAllStringSubmatch(page, -1) {
				for _, line := range codeLine.FindAllStringSubmatch(m[2], -1) {
					check(path, line[1])
				}
			}
			for _, paragraph := range strings.Split(fencedBlocks.ReplaceAllString(page, "\n\n"), "\n\n") {
				for _, m := range inlineCode.FindAllStringSubmatch(paragraph, -1) {
					check(path, strings.Join(strings.Fields(m[1]), " "))
				}
			}
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			for _, text := range literals(t, path) {
				for _, m := range inlineCode.FindAllStringSubmatch(text, -1) {
					check(path, strings.Join(strings.Fields(m[1]), " "))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		check(cmd.CommandPath(), cmd.Example)
		for _, m := range inlineCode.FindAllStringSubmatch(cmd.Long, -1) {
			check(cmd.CommandPath(), strings.Join(strings.Fields(m[1]), " "))
		}
		cobraHas := strings.HasPrefix(cmd.CommandPath(), "toolhost completion") || cmd.Name() == "help"
		if !named[cmd.CommandPath()] && !cmd.Hidden && cmd.Parent() != nil && !cobraHas {
			t.Errorf("no page has `%s`", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			each(sub)
		}
	}
	each(newTree())
	if found < 100 {
		t.Errorf("only %d command lines are found", found)
	}
}

// literals are the strings of a Go file, those that are added to each other as one.
func literals(t *testing.T, path string) (out []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var text func(e ast.Expr) string
	text = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			s, err := strconv.Unquote(e.Value)
			if err == nil && e.Kind == token.STRING {
				return s
			}
		case *ast.BinaryExpr:
			return text(e.X) + text(e.Y)
		}
		return "…" // a value
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			out = append(out, text(n))
			return false
		case *ast.BasicLit:
			out = append(out, text(n))
		}
		return true
	})
	return out
}
