package shellcmd

import (
	"fmt"
	"slices"
	"strings"
)

// Rules decide about commands. Allow and Deny are lists of token prefixes: {"git", "log"} stands for git log and what may
// follow it, and not for git logout.
type Rules struct {
	// Deny refuses a command however it is dressed up, with options in between too.
	Deny [][]string
	// Allow lets a command run when all that it does is known: options and paths that could write, execute or leave the
	// workspace are not covered, unless the prefix names them. A program with sub-commands that is listed alone stands for those
	// sub-commands that this package knows.
	Allow [][]string
	// ReadOnly also allows the everyday commands that only read, with the options known to only read.
	ReadOnly bool
	// Otherwise is the effect for all others: "allow", "ask" or "deny"; "" is "ask". A command with doubts is asked about even
	// with "allow", and so is one that runs what is not seen here: a file, or what a project holds (sh x.sh, make, npm test).
	Otherwise string
}

// The effects, from loose to strict.
const (
	allow = "allow"
	ask   = "ask"
	deny  = "deny"
)

// stricter gives the stricter of two effects.
func stricter(a, b string) string {
	order := []string{allow, ask, deny}
	return order[max(slices.Index(order, a), slices.Index(order, b), 0)]
}

func (r Rules) otherwise() string {
	if slices.Contains([]string{allow, deny}, r.Otherwise) {
		return r.Otherwise
	}
	return ask
}

// Check finds mistakes. The error is for rules that mean nothing; the warnings are for rules that mean more than they seem to.
func (r Rules) Check() (warnings []string, err error) {
	if !slices.Contains([]string{"", allow, ask, deny}, r.Otherwise) {
		return nil, fmt.Errorf("otherwise = %q: it must be \"allow\", \"ask\" or \"deny\"", r.Otherwise)
	}
	for _, list := range []struct {
		name  string
		rules [][]string
	}{{allow, r.Allow}, {deny, r.Deny}} {
		for i, prefix := range list.rules {
			if err := checkPrefix(prefix); err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", list.name, i, err)
			}
		}
	}
	for _, prefix := range r.Allow {
		if why := tooBroad(prefix); why != "" {
			warnings = append(warnings, fmt.Sprintf("allow %q: %s", strings.Join(prefix, " "), why))
		}
	}
	return warnings, nil
}

func checkPrefix(prefix []string) error {
	if len(prefix) == 0 {
		return fmt.Errorf("a rule without words stands for nothing; name a program")
	}
	for _, token := range prefix {
		if token == "" || strings.ContainsAny(token, " \t\n") {
			return fmt.Errorf("the word %q is empty or has a blank in it; give one word each", token)
		}
	}
	return nil
}

// runsOthers are programs that run what they are given, or what a project says.
var runsOthers = map[string]string{
	"git": "sub-commands and settings of git can run programs; name the sub-command", "find": "find can run and delete; this package covers its harmless uses only",
	"npm": "npm runs what packages say; name the script", "yarn": "yarn runs what packages say; name the script", "pnpm": "pnpm runs what packages say; name the script",
	"npx": "npx downloads and runs", "make": "make runs what its file says; name the target", "cargo": "cargo runs what projects say; name the sub-command",
	"go": "go runs what projects say; name the sub-command", "docker": "docker can reach all of the machine; name the sub-command", "podman": "podman can run anything; name the sub-command",
	"kubectl": "kubectl can change clusters; name the sub-command", "awk": "awk programs can run commands", "tar": "tar has options that run programs",
	"vim": "editors can run commands", "vi": "editors can run commands", "ssh": "ssh runs commands elsewhere", "gdb": "gdb can run anything",
	"rsync": "rsync has options that run programs", "curl": "curl can send files away", "wget": "wget can write and send files",
	"gradle": "gradle runs what projects say; name the task", "mvn": "mvn runs what projects say; name the goal",
}

func tooBroad(prefix []string) string {
	name := baseName(prefix[0])
	_, wraps := wrappers[name]
	switch {
	case wraps:
		return name + " runs other commands; those in it are judged by themselves, list them instead"
	case shells[name] && len(prefix) == 1:
		return name + " runs any command; list the commands instead"
	case interpreters[strings.TrimRight(name, ".0123456789")].text != "" && len(prefix) == 1:
		return name + " runs any program; list the script with it"
	case len(prefix) == 2 && slices.Contains([]string{"npm", "yarn", "pnpm"}, name) && prefix[1] == "run":
		return "this is every script of the project; name the script"
	case len(prefix) == 1:
		return runsOthers[name]
	}
	return ""
}
