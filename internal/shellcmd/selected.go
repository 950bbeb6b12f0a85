package shellcmd

import (
	"slices"
	"strings"
)

// Commands that print files may be told which ones by a pattern of names. Such a pattern is no path, but where it is
// made for files with secrets, it counts like one: grep -r . --include=.env, find . -name .env -exec cat {} +.

// nameOptions are the options by which programs select files by name.
var nameOptions = map[string][]string{
	"find": strings.Fields("-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname"),
	"fd":   strings.Fields("-e --extension"), "fdfind": strings.Fields("-e --extension"),
	"grep": strings.Fields("--include"), "egrep": strings.Fields("--include"), "fgrep": strings.Fields("--include"),
	"rg": strings.Fields("-g --glob --iglob"),
}

// selectsSecret returns a pattern among the words of a command that lists names, if it is made for files with secrets.
func (c *Command) selectsSecret() string {
	for i, a := range c.Args {
		name, text, attached := strings.Cut(a.Text, "=")
		option := slices.Contains(nameOptions[c.Name], name)
		switch {
		case !option && len(a.Text) > 2 && slices.Contains(nameOptions[c.Name], a.Text[:2]):
			text = a.Text[2:] // attached to a letter
		case !option && !c.namesOperand(i):
			continue
		case !option:
			text = a.Text
		case !attached && i+1 == len(c.Args):
			continue
		case !attached:
			text = c.Args[i+1].Text
		}
		if i > 0 && (c.Args[i-1].Text == "!" || c.Args[i-1].Text == "-not") {
			continue
		}
		for _, pattern := range c.patterns(name, text) {
			if secretPattern(pattern) {
				return pattern
			}
		}
	}
	return ""
}

// namesOperand reports an operand that is an expression for names: of fd, and of a grep whose input is names.
func (c *Command) namesOperand(i int) bool {
	a := c.Args[i]
	if strings.HasPrefix(a.Text, "-") {
		return false
	}
	return c.Name == "fd" || c.Name == "fdfind" || passesNames(c) && strings.HasSuffix(c.Name, "grep") &&
		!slices.ContainsFunc(c.Args, func(a Word) bool { return hasLetter(a, "v") })
}

// patterns are the patterns of names in the value of an option, or in an operand.
func (c *Command) patterns(option, text string) (out []string) {
	switch {
	case option == "--extension" || strings.HasPrefix(option, "-e"):
		return []string{"x." + strings.TrimPrefix(text, ".")}
	case slices.Contains(nameOptions[c.Name], option) && !strings.HasSuffix(option, "regex"):
		return []string{text}
	}
	// an expression: its parts, each also behind the dot that may be before a bracket
	plain := strings.NewReplacer(".*", "*", ".+", "*", `\`, "")
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("|()^$", r) }) {
		part = plain.Replace(part)
		out = append(out, part)
		if strings.ContainsAny(text, ".") {
			out = append(out, "."+strings.TrimLeft(part, ".*"))
		}
	}
	return out
}

// secretPattern reports a pattern of names that is made for files with secrets; one that excludes them is not.
func secretPattern(pattern string) bool {
	if strings.HasPrefix(pattern, "!") {
		return false
	}
	list, ok := braces(pattern)
	if !ok {
		list = []string{pattern}
	}
	return slices.ContainsFunc(list, func(p string) bool { return p != "" && secret(Word{Text: p, kind: glob}) })
}

// namesSecret returns such a pattern of one of the commands that list names for another.
func namesSecret(list []Command) string {
	for i := range list {
		if pattern := list[i].selectsSecret(); pattern != "" {
			return pattern
		}
	}
	return ""
}

// checkSelected refuses patterns of names for files with secrets, unless only names are printed.
func checkSelected(u *invocation) string {
	for _, g := range u.given {
		option := strings.Repeat("-", min(2, len(g.name))) + g.name
		if slices.Contains(nameOptions[u.command.Name], option) && !u.has("files") && secretPattern(g.value.Text) {
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
