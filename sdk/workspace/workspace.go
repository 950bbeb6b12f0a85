// Package workspace opens files for tools within one folder, the workspace of a call.
//
// Paths come from a model, and the content of the folder may come from anyone. No "..", absolute
// path, symlink or race leads out of it, and what looks like a file but is a pipe or a device is refused, not waited
// for. Symlinks that stay inside are followed, absolute ones too. What it cannot see: hard links to files outside, and
// other file systems mounted inside.
//
// Its errors are of type *sdk.Error, for the model: a handler returns them unchanged. Their names are
//
//	WorkspaceUnavailable   the workspace itself cannot be opened
//	InvalidPath            empty, over 4096 bytes, through more than 512 folders and links, or not a path
//	PathOutsideWorkspace   it leads out, by its letters or by a symlink
//	LinkLoop               it leads through more than 40 symlinks
//	FileNotFound           nothing is there; the suggestion has names that come near
//	IsADirectory           a directory where a file is needed
//	NotADirectory          a file where a directory is needed, or on the way
//	NotARegularFile        a pipe, a socket, a device, a file that the kernel makes up (procfs, sysfs)
//	PermissionDenied       by mode, owner or a read-only file system
//	FileExists             something is there where nothing was
//	IOError                all else that the system says
package workspace

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/filenames"
)

// A Root is an open workspace. Many goroutines may use it at once.
type Root struct {
	root *os.Root // which neither links nor ".." leave, whatever is moved meanwhile
	dir  string   // as it was given
	real string   // dir with its links resolved
	away bool     // it is not the work folder, and so its places show absolute paths
}

// Open opens a folder as a workspace, as a rule the Workdir of a request. The folder must be absolute, exist, and be
// one that this process may read; else the error is WorkspaceUnavailable. Close it after use.
func Open(dir string) (*Root, error) {
	if !filepath.IsAbs(dir) {
		return nil, &sdk.Error{Name: "WorkspaceUnavailable", Message: "the call has no absolute work folder",
			Suggestion: "Tell the user: the program that makes the call must give an absolute folder."}
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, unavailable(err)
	}
	root, err := os.OpenRoot(resolved + string(filepath.Separator)) // which opens no pipe
	if err != nil {
		return nil, unavailable(err)
	}
	return &Root{root: root, dir: filepath.Clean(dir), real: resolved}, nil
}

// OpenAt opens the folder that a path of a call belongs to, by its letters: the work folder, or the innermost of the
// request's Roots that it is in, whose places show absolute paths. A root that cannot be opened is RootUnavailable.
func OpenAt(r *sdk.Request, path string) (*Root, error) {
	full := filepath.FromSlash(path)
	if !filepath.IsAbs(full) {
		full = filepath.Join(r.Workdir, full)
	}
	inmost := ""
	for _, root := range r.Roots {
		if rel, err := filepath.Rel(root, full); err == nil && filepath.IsLocal(rel) && len(root) > len(inmost) {
			inmost = root
		}
	}
	w, err := Open(r.Workdir)
	if err != nil || inmost == "" {
		return w, err
	}
	if _, within := w.relative(full); within {
		return w, nil
	}
	w.Close()
	if w, err = Open(inmost); err != nil {
		return nil, &sdk.Error{Name: "RootUnavailable",
			Message: fmt.Sprintf("the folder %s, which the configuration opens for reading, cannot be opened: %v", inmost,
				err),
			Suggestion: "Go on without it, or have the operator look at its root block."}
	}
	w.away = true
	return w, nil
}

// Away reports whether this is a folder outside the work folder, opened by OpenAt.
func (r *Root) Away() bool { return r.away }

// Dir is the folder as it was given.
func (r *Root) Dir() string { return r.dir }

func (r *Root) shown(rel string) string {
	if r.away {
		rel = filepath.Join(r.dir, rel)
	}
	return filepath.ToSlash(rel)
}

func unavailable(err error) error {
	return &sdk.Error{Name: "WorkspaceUnavailable", Message: "the work folder cannot be opened: " + err.Error(),
		Suggestion: "Tell the user: the folder must exist, and toolhost must be allowed to read it."}
}

// Close closes the workspace. Files that were opened through it stay open.
func (r *Root) Close() { _ = r.root.Close() } // a folder has nothing left to write that could fail

// Find follows a path, absolute or relative to the workspace, to its place. That nothing is there is no error: the
// place says so. Errors are PathOutsideWorkspace, InvalidPath, LinkLoop, NotADirectory when the path continues behind
// a file, and what the system says (PermissionDenied, IOError).
func (r *Root) Find(path string) (*Place, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return nil, &sdk.Error{Name: "InvalidPath", Message: "the path is empty or has a NUL character",
			Suggestion: `Name a file inside the workspace, such as "src/main.go".`}
	}
	if len(path) > maxPath {
		return nil, &sdk.Error{Name: "InvalidPath", Message: fmt.Sprintf("the path %s has %d bytes, at most %d are allowed",
			quoteShort(path), len(path), maxPath), Suggestion: "Give the path of one file, no content and no list."}
	}
	rel, ok := r.relative(path)
	if !ok {
		return nil, r.outside(path)
	}
	s := search{Place: &Place{Path: r.shown(rel), root: r, name: "."}, todo: parts(rel)}
	if err := s.run(); err != nil {
		return nil, err
	}
	return s.Place, nil
}

// relative makes path relative to the workspace, by its letters alone; false when it lies outside.
func (r *Root) relative(path string) (string, bool) {
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	for _, base := range []string{r.dir, r.real} {
		if rel, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

func (r *Root) outside(path string) error {
	return &sdk.Error{Name: "PathOutsideWorkspace",
		Message:    fmt.Sprintf("%s leads outside the workspace %s", quote(path), r.dir),
		Suggestion: "Only files inside the workspace can be used. Name one relative to it, such as \"src/main.go\"."}
}

// AllowedSecrets are the files that tools may read though their names suggest secrets: patterns of paths
// relative to the workspace, with slashes, such as config/test.pem or testdata/**/*.key. It is the type of
// allow_secrets in a plugin's configuration; Check it before use.
type AllowedSecrets []string

// Check returns InvalidConfig for an invalid pattern.
func (a AllowedSecrets) Check() error {
	for _, pattern := range a {
		if pattern == "" || path.IsAbs(pattern) || !doublestar.ValidatePattern(pattern) {
			return &sdk.Error{Name: "InvalidConfig",
				Message: fmt.Sprintf("allow_secrets: %q is not a pattern of paths in the workspace", pattern),
				Suggestion: `Write paths relative to the workspace, such as "config/test.pem" or "testdata/**/*.key"; close each ` +
					`[ and {.`}
		}
	}
	return nil
}

// Against returns the path by which a file is a filenames.Secret that is not allowed, or "". Both paths are relative to
// the workspace, with slashes: the one that was given, and the one behind its links. A file that is allowed by the
// latter is so by any name. The path of the workspace itself does not count: a user who works in a folder below .ssh
// has chosen it.
func (a AllowedSecrets) Against(given, resolved string) string {
	for _, name := range []string{given, resolved} {
		if filenames.Secret(name) && !a.has(name) && !a.has(resolved) {
			return name
		}
	}
	return ""
}

// AgainstText is Against for files whose names say only that they may hold secrets (filenames.MaySecret): text is the
// content of the file, or its first MiB.
func (a AllowedSecrets) AgainstText(given, resolved string, text []byte) string {
	for _, name := range []string{given, resolved} {
		if filenames.MaySecret(name) && !a.has(name) && !a.has(resolved) && filenames.HoldsSecret(text) {
			return name
		}
	}
	return ""
}

func (a AllowedSecrets) has(name string) bool {
	return slices.ContainsFunc(a, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, name) })
}
