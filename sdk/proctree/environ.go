package proctree

import (
	"os"
	"slices"
	"strings"
)

// Environ gives the environment of this process for a program that a tool runs:
// without what is [Reserved].
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return Reserved(name)
	})
}

// Reserved reports variables that no program gets from a tool: those that are
// between a plugin and its host, and those that make shells run more than they
// are told.
func Reserved(name string) bool {
	for _, prefix := range []string{"TOOLHOST_", "PLUGIN_", "BASH_FUNC_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"BASH_ENV", "ENV", "BASHOPTS", "SHELLOPTS"}, name)
}
