package shellcmd

import (
	"path"
	"slices"
	"strings"
)

// programFolders hold the programs of the machine.
var programFolders = strings.Fields("/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin /snap/bin")

// unseen says why a command runs what its words do not show, "" if it does not: a file, or what a project holds. A rule can
// allow such a command by name; it is never allowed as one of the others.
func unseen(c *Command) string {
	if c.built || c.Name == "" || len(c.Args) == 1 && (c.Args[0].Text == "--version" || c.Args[0].Text == "--help") {
		return ""
	}
	sub := ""
	if args := c.plainArgs(); len(args) > 0 {
		sub = args[0].Text
	}
	_, interprets := interpreters[c.Name]
	_, versioned := interpreters[strings.TrimRight(c.Name, ".0123456789")]
	switch {
	case strings.Contains(c.Program.Text, "/") && !slices.Contains(programFolders, path.Dir(path.Clean(c.Program.Text))):
		return "what is in " + c.Program.Text + " is not looked into"
	case shells[c.Name] && len(c.Args) > 0 && !strings.HasPrefix(c.Args[0].Text, "-"), (interprets || versioned) && interpreters[c.Name].text != "*":
		return "it runs a file that is not looked into"
	case c.Name == "npm" || c.Name == "pnpm" || c.Name == "yarn":
		if !readNPM[sub] {
			return "it runs what the project holds"
		}
	case c.Name == "git":
		if sub, rest := c.gitArgs(); sub != "" && !gitSubs[sub] && (sub != "config" || !gitConfigReads(rest)) {
			return "git " + sub + " may run what a setting or its words say"
		}
	case projects[c.Name] || projectSubs[c.Name+":"+sub]:
		return "it runs what the project or a package holds"
	}
	return ""
}

func gitConfigReads(rest []Word) bool {
	return len(rest) > 0 && slices.Contains([]string{"--get", "--get-all", "--get-regexp", "--list", "-l", "--show-origin"}, rest[0].Text)
}
