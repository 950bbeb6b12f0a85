package host

import (
	"path"
	"slices"
	"strings"
)

// matchesAny takes globs that have been checked.
func matchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return matches(g, name) })
}

func matches(glob, name string) bool {
	if glob == name {
		return true
	}
	ok, err := path.Match(glob, name)
	return ok && err == nil
}

// globReaches tells whether the glob matches any name that a tool of the plugin may have.
func globReaches(glob, plugin string) bool {
	steps, rest := globSteps(glob)
	prefix := plugin + "__"
	if len(steps) < len(prefix) {
		return rest != "" && matches(strings.Join(steps, ""), prefix[:len(steps)])
	}
	return matches(strings.Join(steps[:len(prefix)], ""), prefix)
}

// globCovers tells whether the glob matches every name that a tool of the plugin may have.
func globCovers(glob, plugin string) bool {
	steps, rest := globSteps(glob)
	prefix := plugin + "__"
	return strings.Trim(rest, "*") == "" && rest != "" && len(steps) <= len(prefix) &&
		matches(strings.Join(steps, ""), prefix[:len(steps)])
}

// globSteps splits a glob into what matches one byte of a name each, up to the first star, and the rest from there.
// Names are ASCII.
func globSteps(glob string) (steps []string, rest string) {
	for glob != "" && glob[0] != '*' {
		n := stepLength(glob)
		steps, glob = append(steps, glob[:n]), glob[n:]
	}
	return steps, glob
}

func stepLength(glob string) int {
	switch glob[0] {
	case '\\':
		return min(2, len(glob))
	case '[':
		return classLength(glob)
	}
	return 1
}

// classLength finds the end of a class, in which a backslash takes the next byte along.
func classLength(glob string) int {
	for i := 1; i < len(glob); i++ {
		switch glob[i] {
		case '\\':
			i++
		case ']':
			return i + 1
		}
	}
	return len(glob)
}
