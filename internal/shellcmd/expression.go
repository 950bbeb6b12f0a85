package shellcmd

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Expressions for names are tried on names of files with secrets, since what an expression is for is not seen by its
// letters: [.]p.m$ is for *.pem.

// A nameTest reports the names that a program selects.
type nameTest = func(name string) bool

// A grepTest is a grep whose input is names of files. Its parts are the alternatives of its expression.
type grepTest struct {
	parts   []nameTest
	inverts bool
}

// passes reports a name that the grep prints.
func (g grepTest) passes(name string) bool {
	if len(g.parts) == 0 { // it cannot be read
		return true
	}
	return slices.ContainsFunc(g.parts, func(part nameTest) bool { return part(name) }) != g.inverts
}

func (c *Command) grepTest() grepTest {
	u := c.invocation()
	out := grepTest{inverts: u.has("v")}
	if len(u.operands) != 1 {
		return out
	}
	text := u.operands[0].Text
	if c.Name == "fgrep" || u.has("F") {
		text = regexp.QuoteMeta(text)
	} else {
		text = portable(text, c.Name == "grep" && !u.has("E"))
	}
	for _, part := range alternatives(text) {
		switch {
		case u.has("x"):
			part = "^(?:" + part + ")$"
		case u.has("w"):
			part = `\b(?:` + part + `)\b`
		}
		if e := anyCase(part); e != nil {
			out.parts = append(out.parts, e.MatchString)
		}
	}
	return out
}

// nameTests are what fd does with an expression, or with a text, for the names of files: a test for each alternative.
func nameTests(text string, literal bool) (out []nameTest) {
	if literal {
		text = regexp.QuoteMeta(text)
	}
	for _, part := range alternatives(text) {
		list := []*regexp.Regexp{anyCase(part)}
		if at := strings.LastIndexByte(part, '/'); at >= 0 {
			list = append(list, anyCase(part[at+1:]))
		}
		out = append(out, ofNames(list...))
	}
	return out
}

const (
	maxExpression   = 4 << 10 // bytes; longer ones are not tried
	maxAlternatives = 64      // tried one by one; more are tried as one
)

// alternatives are the parts of an expression between the | outside of brackets.
func alternatives(text string) (out []string) {
	depth, from := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			i += bracketLen(text[i:]) - 1
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 {
				out, from = append(out, text[from:i]), i+1
			}
		}
	}
	if len(out) >= maxAlternatives {
		return []string{text}
	}
	return append(out, text[from:])
}

// wholePath is what find does with an expression, which is for whole paths; in any of the kinds that it knows.
func wholePath(text string) nameTest {
	return ofNames(anyCase("^(?:"+portable(text, true)+")$"), anyCase("^(?:"+portable(text, false)+")$"),
		anyCase("^(?:"+strings.NewReplacer(`\+`, "+", `\?`, "?").Replace(portable(text, true))+")$"))
}

// ofNames reports names that one of some expressions matches, as a path too; an expression may be nil.
func ofNames(list ...*regexp.Regexp) nameTest {
	return func(name string) bool {
		for _, path := range asPaths(name) {
			for _, e := range list {
				if e != nil && e.MatchString(path) {
					return true
				}
			}
		}
		return false
	}
}

// anyMatches reports words of which an expression matches one.
func anyMatches(args []Word, expression func() *regexp.Regexp) bool {
	return slices.ContainsFunc(args, func(a Word) bool { return expression().MatchString(a.Text) })
}

// hasWord reports one of some words.
func hasWord(args []Word, words lazy.Words) bool {
	return slices.ContainsFunc(args, func(a Word) bool { return words.Has(a.Text) })
}

// givenOption reports one of some options, in any form.
func givenOption(args []Word, options lazy.Words) bool {
	return slices.ContainsFunc(args, func(a Word) bool { return optionOf(a.Text, options) })
}

// asPaths are the forms in which programs list a name.
func asPaths(name string) []string {
	return []string{name, "./" + name, "sub/" + name, "./sub/" + name}
}

// anyCase compiles an expression; it is nil for one that cannot be read, or is too long.
func anyCase(text string) *regexp.Regexp {
	if len(text) > maxExpression {
		return nil
	}
	out, err := regexp.Compile("(?i)" + text)
	if err != nil {
		return nil
	}
	return out
}

// portable makes an expression of POSIX one of Go. In a basic one brackets and signs count where a backslash is before
// them.
func portable(text string, basic bool) string {
	const signs = "(){}|+?"
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '[':
			n := bracketLen(text[i:])
			out.WriteString(strings.ReplaceAll(text[i:i+n], `\`, `\\`))
			i += n - 1
		case c == '\\' && i+1 < len(text):
			i++
			switch next := text[i]; {
			case basic && strings.IndexByte(signs, next) >= 0:
				out.WriteByte(next)
			case next == '<' || next == '>':
				out.WriteString(`\b`)
			case strings.IndexByte("wWsSbB", next) >= 0:
				out.WriteString(text[i-1 : i+1])
			default:
				out.WriteString(regexp.QuoteMeta(text[i : i+1]))
			}
		case basic && strings.IndexByte(signs, c) >= 0, c == '*' && (i == 0 || i == 1 && text[0] == '^'):
			out.WriteString(`\` + string(c))
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// bracketLen is the length of the bracket expression at the start of a text, in which a ] may come first.
func bracketLen(text string) int {
	i := 1
	if strings.HasPrefix(text[i:], "^") {
		i++
	}
	if strings.HasPrefix(text[i:], "]") {
		i++
	}
	for i < len(text) && text[i] != ']' {
		if strings.HasPrefix(text[i:], "[:") {
			if end := strings.Index(text[i:], ":]"); end > 0 {
				i += end + 1
			}
		}
		i++
	}
	return min(i+1, len(text))
}
