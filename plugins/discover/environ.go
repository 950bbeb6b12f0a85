package main

import (
	"os"
	"slices"
	"strings"
)

// environ is the environment of a project's commands: the plugin's own, which its host chose, without what belongs to
// the plugin or makes shells read files.
func environ(dir string) []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		for _, prefix := range []string{"TOOLHOST_", "PLUGIN_", "BASH_FUNC_"} {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return slices.Contains([]string{"BASH_ENV", "ENV", "BASHOPTS", "SHELLOPTS"}, name)
	})
	return append(env, "PWD="+dir)
}
