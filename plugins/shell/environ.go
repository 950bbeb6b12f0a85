package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk/proctree"
)

// environ is the environment of a command: the plugin's own, which its host chose, without what belongs to the plugin or
// makes shells run more than the command; then what the call adds.
func environ(extra map[string]string, dir string) []string {
	env := proctree.Environ()
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		env = append(env, name+"="+extra[name])
	}
	return append(env, "PWD="+dir)
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkEnv refuses variables that would make the shell, or any program, run code that the command does not show: whoever
// allows a command reads the command.
func checkEnv(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case !envName.MatchString(name):
			return invalid("env: %q is no name for a variable; letters, digits and _ only", name)
		case strings.ContainsRune(env[name], 0):
			return invalid("env: the value of %s has a NUL character, which no variable can hold; pass it through stdin", name)
		case proctree.Reserved(name), strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "DYLD_"):
			return invalid("env: %s may not be set here; if the command needs it, write it in the command itself (%s=... program)", name, name)
		}
	}
	return nil
}
