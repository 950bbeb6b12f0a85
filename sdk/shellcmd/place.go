package shellcmd

import (
	"path"
	"slices"
	"strings"
)

// A Context is where a text would run.
type Context struct {
	// Dir is the folder it starts in, and Root the workspace it must stay in. Both are absolute; either may be "", and then is
	// the same as the other. With both unknown only relative paths that do not lead up count as inside.
	Dir, Root string
	// Env holds the names of variables that are set for it.
	Env []string
	// Stdin is true when it is given input.
	Stdin bool
}

// A place is the folders a command may run in, and the workspace.
type place struct {
	root string
	dirs []string
	any  bool // paths do not matter
}

func (c Context) place(dirs []string) place {
	root, dir := c.Root, c.Dir
	switch {
	case root == "" && dir == "":
		root, dir = "/the workspace", "/the workspace" // a path that nobody writes
	case root == "":
		root = dir
	case dir == "":
		dir = root
	}
	p := place{root: path.Clean(root)}
	for _, d := range dirs {
		p.dirs = append(p.dirs, joined(path.Clean(dir), d))
	}
	return p
}

// atRoot reports that it can run in no folder but the workspace's own.
func (p place) atRoot() bool {
	return p.any || !slices.ContainsFunc(p.dirs, func(d string) bool { return d != p.root })
}

func (p place) inside(file string) bool {
	return file == p.root || p.root == "/" || strings.HasPrefix(file, p.root+"/")
}

// path says why a file may not be opened.
func (p place) path(x Word) string {
	text := x.Text
	switch {
	case x.kind == source || text == "-" || text == "/dev/null" || p.any:
		return ""
	case secret(x):
		return text + " may hold secrets"
	}
	for _, d := range p.dirs {
		if !p.inside(joined(d, text)) {
			return text + " is outside of the workspace"
		}
	}
	return ""
}

// operand says why an operand may not be used.
func (p place) operand(x Word, kind operands) string {
	switch kind {
	case paths:
		return p.path(x)
	case mixed:
		// after = @ : or a comma there may be a path, too
		for part := range strings.FieldsFuncSeq(x.Text, func(r rune) bool { return strings.ContainsRune("=@:,", r) }) {
			if why := p.path(Word{Text: part, Static: x.Static, kind: x.kind}); why != "" {
				return why
			}
		}
		return p.path(x)
	case texts:
		if x.kind == glob {
			return p.path(x)
		}
	}
	return ""
}
