package shellcmd

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
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
		p.dirs = append(p.dirs, p.real(joined(path.Clean(dir), d)))
	}
	return p
}

// topFolder stands for the folder that git names as the top of what is checked out. It counts as the workspace: a workspace is one,
// or lies in one.
const topFolder = "/(top)"

func (p place) real(file string) string {
	if rest, ok := strings.CutPrefix(file, topFolder); ok && (rest == "" || rest[0] == '/') {
		return path.Clean(p.root + rest)
	}
	return file
}

// folderOf gives the folder that a substitution prints: that of $(pwd), or topFolder; "" for any other.
func folderOf(c *syntax.CmdSubst) string {
	if len(c.Stmts) != 1 || c.Stmts[0].Background || c.Stmts[0].Negated {
		return ""
	}
	for _, r := range c.Stmts[0].Redirs {
		if to := readWord(r.Word, ""); to.Text != "/dev/null" || r.N == nil || r.N.Value != "2" {
			return ""
		}
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 {
		return ""
	}
	var words []string
	for _, a := range call.Args {
		words = append(words, a.Lit())
	}
	switch strings.Join(words, " ") {
	case "pwd":
		return "."
	case "git rev-parse --show-toplevel":
		return topFolder
	}
	return ""
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
	if x.kind == folder {
		text = x.file
	}
	switch {
	case x.kind == source || text == "-" || text == "/dev/null" || p.any:
		return ""
	case secret(x), x.kind == folder && secret(static(text)):
		return text + " may hold secrets"
	}
	for _, d := range p.dirs {
		if !p.inside(p.real(joined(d, text))) {
			return x.Text + " is outside of the workspace"
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
