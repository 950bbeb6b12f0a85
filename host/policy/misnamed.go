package policy

import "slices"

// Misnamed gives those of the rule's Names that no tool it is about has. declared holds the arguments of every tool
// that is known, by its full name, nil for a tool that takes any. Where the rule may be about other tools as well,
// nothing can be told, and nothing is given.
func (r *Rule) Misnamed(declared map[string]map[string]bool) (names []string) {
	own := map[string]bool{}
	told := len(declared) > 0
	seen := map[string]bool{}
	for tool, arguments := range declared {
		if !r.about(tool, seen) {
			continue
		}
		told = told && arguments != nil
		for name := range arguments {
			own[name] = true
		}
	}
	if !told || slices.ContainsFunc(r.Tools, func(glob string) bool { return !seen[glob] }) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Names), func(name string) bool { return own[name] })
}

// about says whether the rule is about a tool, and notes which of its patterns say so.
func (r *Rule) about(tool string, seen map[string]bool) bool {
	said := len(r.Tools) == 0
	for _, glob := range r.Tools {
		if matchesAny([]string{glob}, tool) {
			said, seen[glob] = true, true
		}
	}
	return said
}
