package shellcmd

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/sdk/filenames"
)

// Commands that print files may be told which ones by a pattern of names. Such a pattern is no path, but where it is
// made for files with secrets, it counts like one: grep -r . --include=.env, find . -name .env -exec cat {} +.

// nameOptions are the options by which programs select files by name.
var nameOptions = table{
	{"-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname", "find"},
	{"-e --extension", "fd fdfind"}, {"--include", "grep egrep fgrep"}, {"-g --glob --iglob", "rg"},
}

// selectsSecret returns a pattern among the words of a command that lists names, if it is made for files with secrets.
func (c *Command) selectsSecret() string {
	if c.Name == "find" {
		return c.findsSecret()
	}
	if nameOptions.of(c.Name) == "" {
		return ""
	}
	u := c.invocation()
	for _, g := range u.named() {
		if pattern := secretOf(globsOf(g.name, g.value.Text)); pattern != "" {
			return pattern
		}
	}
	if c.Name != "fd" && c.Name != "fdfind" {
		return u.grepsSecret()
	}
	glob := u.has("g", "glob")
	for i, o := range u.operands {
		patterns := expressionGlobs(o.Text)
		if glob {
			patterns = []string{o.Text}
		}
		if pattern := secretOf(patterns); pattern != "" {
			return pattern
		}
		if glob || i > 0 || u.has("e", "extension") {
			continue
		}
		for _, test := range nameTests(o.Text, u.has("F", "fixed-strings")) {
			if name := filenames.SecretMatch(test); name != "" {
				return name
			}
		}
	}
	return ""
}

// invocation is the command seen as options and operands, whatever they are.
func (c *Command) invocation() *invocation {
	args := c.plainArgs()
	u := &invocation{command: c, workdirs: workdirs{any: true}, listed: len(args)}
	if s := c.spec(); s != nil {
		_ = u.read(s, args)
	}
	return u
}

// named are the options that select files by name, with their values.
func (u *invocation) named() (out []given) {
	for _, g := range u.given {
		if nameOptions.of(u.command.Name).Has(strings.Repeat("-", min(2, len(g.name))) + g.name) {
			if len(g.name) == 1 { // rg -g=*.pem
				g.value.Text = strings.TrimPrefix(g.value.Text, "=")
			}
			out = append(out, g)
		}
	}
	return out
}

// grepsSecret is selectsSecret for the expression of a grep whose input is names.
func (u *invocation) grepsSecret() string {
	if _, ok := passesNames(u.command); ok && !u.has("v") {
		for _, o := range u.operands {
			if pattern := secretOf(expressionGlobs(o.Text)); pattern != "" {
				return pattern
			}
		}
	}
	return ""
}

// findsSecret is selectsSecret for find, whose tests may be negated, also twice.
func (c *Command) findsSecret() string {
	negated, groups := false, []bool{false} // of the next test; of each open bracket
	for i, a := range c.Args {
		inmost := groups[len(groups)-1]
		switch a.Text {
		case "!", "-not":
			negated = !negated
			continue
		case "(":
			groups, negated = append(groups, inmost != negated), false
			continue
		case ")":
			groups = groups[:max(1, len(groups)-1)]
		}
		if nameOptions.of("find").Has(a.Text) && i+1 < len(c.Args) && inmost == negated {
			if pattern := testFor(a.Text, c.Args[i+1].Text); pattern != "" {
				return pattern
			}
		}
		negated = false
	}
	return ""
}

// testFor returns what a test of find selects, if that is files with secrets.
func testFor(option, text string) string {
	if !strings.HasSuffix(option, "regex") {
		return secretOf([]string{text})
	}
	if pattern := secretOf(expressionGlobs(text)); pattern != "" {
		return pattern
	}
	return filenames.SecretMatch(wholePath(text))
}

// globsOf are the patterns of names in the value of an option.
func globsOf(option, text string) []string {
	if option == "e" || option == "extension" {
		return []string{"x." + strings.TrimPrefix(text, ".")}
	}
	return []string{text}
}

// expressionGlobs are the patterns in an expression: its parts, each also behind the dot that may be before a bracket.
func expressionGlobs(text string) (out []string) {
	plain := strings.NewReplacer(".*", "*", ".+", "*", `\`, "")
	if strings.Contains(text, "(") { // id_(rsa|dsa) is id_{rsa,dsa}
		groups := strings.NewReplacer("(?:", "{", "(", "{", "|", ",", ")", "}", "^", "", "$", "")
		out = append(out, groups.Replace(plain.Replace(text)))
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("|()^$", r) }) {
		part = plain.Replace(part)
		out = append(out, part)
		if strings.ContainsAny(text, ".") {
			out = append(out, "."+strings.TrimLeft(part, ".*"))
		}
	}
	return out
}

// secretOf returns one of some patterns that is made for files with secrets, and of its braces such a part.
func secretOf(patterns []string) string {
	for _, pattern := range patterns {
		if part := secretPart(pattern); part != "" {
			return part
		}
	}
	return ""
}

// secretPattern reports a pattern of names that is made for files with secrets; one that excludes them is not.
func secretPattern(pattern string) bool { return secretPart(pattern) != "" }

func secretPart(pattern string) string {
	if strings.HasPrefix(pattern, "!") {
		return ""
	}
	list, ok := braces(pattern)
	if !ok {
		list = []string{pattern, strings.NewReplacer("{", "", "}", "").Replace(pattern)} // {*.pem} is *.pem for rg
	}
	for _, p := range list {
		if p != "" && secret(Word{Text: p, kind: glob}) {
			return p
		}
	}
	return ""
}

// namesSecret returns such a pattern of one of the commands that list names for another, or the name of a file with
// secrets that those which pass names select together.
func namesSecret(list []Command) string {
	var greps []grepTest
	for i := range list {
		if pattern := list[i].selectsSecret(); pattern != "" {
			return pattern
		}
		if i > 0 && strings.HasSuffix(list[i].Name, "grep") {
			greps = append(greps, list[i].grepTest())
		}
	}
	if len(list) == 0 || list[0].limited() {
		return ""
	}
	for i, g := range greps {
		for _, part := range g.parts {
			name := filenames.SecretMatch(func(name string) bool {
				return slices.ContainsFunc(asPaths(name), func(path string) bool {
					return part(path) && !slices.ContainsFunc(greps, func(g grepTest) bool { return !g.passes(path) })
				})
			})
			if name != "" && !greps[i].inverts {
				return name
			}
		}
	}
	return ""
}

// limited reports a command that lists only files with usual endings, such as *.go.
func (c *Command) limited() bool {
	var patterns []string
	u := c.invocation()
	switch c.Name {
	case "find":
		for i, a := range c.Args {
			if slices.Contains([]string{"-o", "-or", "!", "-not", ","}, a.Text) {
				return false
			}
			if i > 0 && (c.Args[i-1].Text == "-name" || c.Args[i-1].Text == "-iname") {
				patterns = append(patterns, a.Text)
			}
		}
	case "git":
		sub, rest := c.gitArgs()
		dashes := slices.IndexFunc(rest, func(a Word) bool { return a.Text == "--" })
		if sub != "ls-files" && dashes < 0 {
			return false
		}
		for _, a := range rest[dashes+1:] {
			if !strings.HasPrefix(a.Text, "-") {
				patterns = append(patterns, a.Text)
			}
		}
	default:
		if c.Name == "rg" && u.has("t", "type") {
			return true
		}
		for _, g := range u.named() {
			patterns = append(patterns, globsOf(g.name, g.value.Text)...)
		}
	}
	other := func(p string) bool { return !usualEnding().MatchString(p) }
	return len(patterns) > 0 && !slices.ContainsFunc(patterns, other)
}

var usualEnding = lazy.Regexp(`^[^!:{]*\.[A-Za-z0-9]+$`)

// checkSelected refuses patterns of names for files with secrets, unless only names are printed.
func checkSelected(u *invocation) string {
	for _, g := range u.named() {
		if !u.has("files") && secretPattern(g.value.Text) {
			return g.value.Text + " may hold secrets"
		}
	}
	for _, a := range u.command.Args { // --include=.env* that the shell does not expand
		option, text, _ := strings.Cut(a.Text, "=")
		if a.kind == glob && strings.HasPrefix(option, "-") && secretPattern(text) {
			return text + " may hold secrets"
		}
	}
	return ""
}
