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
	case secret(text):
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

var (
	secretNames = []string{".env", ".envrc", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".htpasswd", ".vault-token", "id_rsa", "id_dsa",
		"id_ecdsa", "id_ed25519", "credentials", "credentials.json", "kubeconfig", ".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure"}
	secretEnds = []string{".pem", ".key", ".p12", ".pfx", ".kdbx", ".jks", ".keystore", ".asc", ".gpg"}
	shared     = []string{".env.example", ".env.sample", ".env.template", ".env.dist", ".env.test"}
)

// secret reports paths that by custom hold keys or passwords.
func secret(text string) bool {
	if strings.HasSuffix(strings.TrimRight(path.Clean(text), "/"), ".git/config") {
		return true
	}
	for part := range strings.SplitSeq(strings.ToLower(text), "/") {
		switch {
		case slices.Contains(shared, part):
		case slices.Contains(secretNames, part), strings.HasPrefix(part, ".env."), globbed(part),
			slices.ContainsFunc(secretEnds, func(e string) bool { return strings.HasSuffix(part, e) }):
			return true
		}
	}
	return false
}

// globbed reports patterns that look as if they were made for secrets; * alone is not.
func globbed(part string) bool {
	at := strings.IndexAny(part, "*?[")
	return at > 0 && slices.ContainsFunc(secretNames, func(n string) bool { return strings.HasPrefix(n, part[:at]) && at > 2 })
}
