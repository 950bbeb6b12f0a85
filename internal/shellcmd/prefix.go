package shellcmd

import (
	"slices"
	"strings"
)

// Prefix gives what an "always" answer to a text may stand for, as tokens for Rules.Allow: the program of one simple, fully
// known command, with its sub-command if it has one, such as {"git", "push"}, {"npm", "run", "build"} or {"ls"}. It is nil for
// everything else: lists and pipes, redirects, interpreters, wrappers, commands that could do much harm, and those that such
// a rule would not cover, because of an option that is not known.
func Prefix(text string) []string {
	s, err := Parse(text)
	if err != nil || len(s.Commands) == 0 || slices.ContainsFunc(s.Commands[1:], func(c Command) bool { return !c.maybe }) {
		return nil
	}
	c := &s.Commands[0]
	if c.Text != shorten(strings.TrimRight(text, " \t\n;")) {
		return nil // there is something around it
	}
	if len(c.Doubts)+len(c.Redirects)+len(c.Via) > 0 || c.kept != nil || runsText(c.Name) || slices.Contains(joints, c.Name) {
		return nil
	}
	prefix := c.prefix()
	if prefix == nil || harm(c, place{any: true, dirs: []string{""}}) != "" {
		return nil
	}
	if uncoveredBy(prefix, c, false, place{any: true, dirs: c.dirs}) != "" {
		return nil
	}
	return prefix
}

// runsText reports programs for which a prefix would stand for anything.
func runsText(name string) bool {
	_, wraps := wrappers[name]
	_, interprets := interpreters[name]
	_, versioned := interpreters[strings.TrimRight(name, ".0123456789")]
	return name == "" || wraps || interprets || versioned || shells[name] || slices.Contains([]string{"eval", "trap", "ssh", "su", "script", "npx", "&"}, name)
}

// prefix is the program, and the sub-command.
func (c *Command) prefix() []string {
	args := c.plainArgs()
	if !hasSubs[c.Name] && !hasSubs[c.Program.Text] {
		return []string{c.Program.Text}
	}
	n := 1
	if len(args) > 1 && slices.Contains([]string{"run", "exec", "compose", "stash", "remote", "worktree", "mod"}, args[0].Text) && subWord(args[1]) {
		n = 2
	}
	if len(args) == 0 || !subWord(args[0]) {
		return nil
	}
	out := []string{c.Program.Text}
	for _, a := range args[:n] {
		out = append(out, a.Text)
	}
	return out
}

func subWord(x Word) bool {
	return x.Static && x.Text != "" && x.Text[0] != '-' && !strings.ContainsAny(x.Text, " =\t\n")
}
