package shellcmd

import (
	"path"
	"strings"
)

func baseName(program string) string { return path.Base(program) }

// lists reports that a rule is about a command: the same program, as written, and the same first words.
func lists(prefix []string, c *Command) bool {
	args := c.plainArgs()
	if len(prefix) == 0 || c.Program.Text != prefix[0] || len(args) < len(prefix)-1 {
		return false
	}
	for i, token := range prefix[1:] {
		if !args[i].Static || args[i].Text != token {
			return false
		}
	}
	return true
}

// uncoveredBy says why a rule that lists a command does not allow it.
func uncoveredBy(prefix []string, c *Command, input bool, p place) string {
	if why := unsafeUse(c, p); why != "" {
		return why
	}
	if strings.Contains(prefix[0], "/") && !path.IsAbs(prefix[0]) && !p.atRoot() {
		return prefix[0] + " is another program in another folder"
	}
	if why := guarded(c, prefix, p); why != "" {
		return why
	}
	words := len(prefix) - 1
	s, n := c.find()
	switch {
	case s != nil && (n > 0 || !tabled()[c.Name]):
		return s.uncovered(c, n, words, p)
	case input:
		return "it is given input, and what it does with it is not known"
	case tabled()[c.Name] && words == 0:
		return "the rule names no sub-command, and this one is not known to be harmless"
	}
	rest := *c
	rest.Args = c.plainArgs()
	return uncoveredUnknown(&rest, words, p)
}

// denies reports that a rule is about a command, however it is written: by its base name, with global options before the
// sub-command, with short options bundled or apart, with long ones cut short.
func denies(prefix []string, c *Command) bool {
	if len(prefix) == 0 || c.Name == "" && c.Program.Text != prefix[0] {
		return false
	}
	if c.Name != "" && c.Name != baseName(prefix[0]) {
		return false
	}
	if sub, rest := c.gitArgs(); len(prefix) > 1 && prefix[1] == "push" && (sub == "push" || sub == "send-pack") {
		return deniesPush(prefix[2:], rest)
	}
	var words []string
	for _, token := range prefix[1:] {
		if !strings.HasPrefix(token, "-") || token == "-" {
			words = append(words, token)
		} else if !hasOption(c.Args, token) {
			return false
		}
	}
	return startsWith(c.Args, words, globalValues[c.Name])
}

// globalValues are options before a sub-command that take a word with them. Of other programs any option may.
var globalValues = map[string]string{
	"git":     " -C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix --attr-source ",
	"go":      " -C ",
	"cargo":   " --color --config -C -Z ",
	"npm":     " --prefix -w --workspace -C ",
	"docker":  " --config -c --context -H --host -l --log-level --tlscacert --tlscert --tlskey ",
	"kubectl": " -n --namespace --context --cluster --kubeconfig -s --server --user --as --as-group --token --request-timeout ",
	"rm":      " ",
}

// startsWith reports that the operands begin with some words.
func startsWith(args []Word, words []string, values string) bool {
	if len(words) == 0 {
		return true
	}
	for i, a := range args {
		switch {
		case !a.Static:
			return false
		case len(a.Text) > 1 && a.Text[0] == '-':
			takes := values == "" || strings.Contains(values, " "+a.Text+" ")
			if takes && !strings.Contains(a.Text, "=") && i+1 < len(args) && startsWith(args[i+2:], words, values) {
				return true
			}
			if takes && values != "" {
				return false
			}
		default:
			return a.Text == words[0] && startsWith(args[i+1:], words[1:], values)
		}
	}
	return false
}

// hasOption looks for an option in all arguments.
func hasOption(args []Word, token string) bool {
	if !strings.HasPrefix(token, "--") {
		return hasLetters(args, token)
	}
	for _, a := range args {
		name, _, _ := strings.Cut(a.Text, "=")
		whole, _, has := strings.Cut(token, "=")
		if a.Text == token || !has && name == token || len(name) > 3 && strings.HasPrefix(whole, name) && strings.HasPrefix(name, "--") {
			return true
		}
	}
	return false
}

// hasLetters looks for short options: as one word, bundled, or apart.
func hasLetters(args []Word, token string) bool {
	var given string
	for _, a := range args {
		if a.Text == token || strings.HasPrefix(a.Text, token+"=") {
			return true
		}
		if len(a.Text) > 1 && a.Text[0] == '-' && a.Text[1] != '-' {
			given += a.Text[1:]
		}
	}
	if len(token) > 4 { // a long option with one dash
		return false
	}
	for _, r := range token[1:] {
		if !strings.ContainsRune(given, r) {
			return false
		}
	}
	return true
}
