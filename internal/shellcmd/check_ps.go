package shellcmd

import (
	"slices"
	"strings"
)

var (
	psLetters = lazily(`^([acfjlruvwx]+|\d+)$`)
	psEach    = lazily(`^-e(f|F|l|ly|fl|fw+|Lf|fH|jH|j|o|wwo?)?$`)
	psNamed   = lazily(`^-[Cfo]$`)
)

// checkPs refuses the letter e without a dash: it prints the variables of other processes.
func checkPs(u *use) string {
	for _, g := range u.given {
		if strings.Contains(strings.ToLower(g.value.Text), "env") {
			return "ps may show the variables of processes"
		}
	}
	for _, o := range u.operands {
		if !psLetters().MatchString(o.Text) {
			return "ps may show the variables of processes"
		}
	}
	if u.psSuspects() && !u.psAccepts() {
		return "ps may show the variables of processes"
	}
	return ""
}

// psSuspects finds an e that means variables when ps reads the options as if they had no dash. It does so when it does not
// understand them otherwise, as in ps -u e when there is no such user, or in ps -ef -o cmd.
func (u *use) psSuspects() bool {
	return slices.ContainsFunc(u.given, func(g given) bool {
		return g.name == "e" || strings.Contains(g.value.Text, "e") && !psFormats(g.name)
	})
}

// psAccepts reports options that ps is sure to understand at the first try.
func (u *use) psAccepts() bool {
	if len(u.operands) > 0 || u.has("o", "format") && u.has("f", "F", "l", "j", "L") {
		return false
	}
	sure := psNamed
	for _, g := range u.given {
		if g.name == "e" {
			sure = psEach
		}
		if g.value.Text != "" && g.name != "C" && !psFormats(g.name) {
			return false
		}
	}
	seen := map[string]bool{}
	for _, a := range u.command.Args {
		short := strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "--")
		if short && (seen[a.Text] || a.Text != "-o" && !sure().MatchString(a.Text)) {
			return false
		}
		seen[a.Text] = true
	}
	return true
}

func psFormats(option string) bool { return slices.Contains([]string{"o", "format", "sort"}, option) }
