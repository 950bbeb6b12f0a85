package config

import (
	"slices"

	"github.com/toolhost/toolhost/host/supervise"
)

// resolve has the arguments of a plugin's command that are paths start from the folder of the file, as all paths in it do: a
// plugin starts in the work folder, where a file of the same name is a stranger's. With dir they start from there, since the
// process does.
func (f *fields) resolve(spec *supervise.Spec) {
	words, from := spec.Command, f.config.Dir
	if len(words) == 0 {
		return
	}
	if spec.Dir != "" {
		from = spec.Dir
	}
	resolved, script := supervise.ResolvePaths(words, from)
	if script > 0 {
		spec.Script = resolved[script]
	}
	if spec.Dir != "" || slices.Equal(resolved, words) {
		return
	}
	spec.Command = resolved
	if spec.References.Locked == nil {
		spec.References.Locked = words
		return
	}
	for i, word := range resolved {
		if word != words[i] { // a path that is by reference: what runs is not hidden
			spec.References.Words[i] = word
		}
	}
}

// checkModule warns of interpreters that look for code in the folder that they start in, which is the work folder.
func (f *fields) checkModule(spec supervise.Spec) {
	if name, option := supervise.SearchesHere(spec.Command); name != "" && spec.Dir == "" {
		f.warn(f.body.Attributes["command"].Expr.Range(), "%s %s looks for modules in the work folder first, where a file of somebody else would run", name, option).
			hint(`put "-P" before %q (Python 3.11), or name the folder to start in: dir = "."`, option)
	}
}
