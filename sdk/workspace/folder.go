package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/sdk"
)

// A Folder is an open directory of a workspace, for tools that walk many of them: what is in it is opened by its name
// alone, which costs the same at any depth, and stays in it whatever is moved meanwhile. Close it after use. Many
// goroutines may use it at once.
type Folder struct {
	// Path is the path to show, as that of a Place.
	Path string

	root *os.Root
}

// Folder opens the directory at the place. Its errors are FileNotFound, NotADirectory, and what the system says
// (PermissionDenied, IOError).
func (p *Place) Folder() (*Folder, error) {
	if err := p.directory(); err != nil {
		return nil, err
	}
	return openFolder(p.root.root, p.name, p.Path)
}

// Folder opens a directory in the folder. Its errors are InvalidPath for what is no single name, and what the system
// says, such as FileNotFound or NotADirectory, which a symlink is too. It does not wait when a pipe took the
// directory's place.
func (f *Folder) Folder(name string) (*Folder, error) {
	if err := singleName(name); err != nil {
		return nil, err
	}
	return openFolder(f.root, name, path.Join(f.Path, name))
}

// openFolder opens a name with "." after it: os.Root opens what is on the way as directories only, so never a pipe. A
// link that took its place is followed first, and then found.
func openFolder(in *os.Root, name, shown string) (*Folder, error) {
	root, err := in.OpenRoot(name + string(filepath.Separator) + ".")
	if err != nil {
		return nil, Explain(shown, err)
	}
	if info, err := in.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		_ = root.Close()
		return nil, &sdk.Error{Name: "NotADirectory", Message: quote(shown) + " is a symlink, not a directory",
			Suggestion: "Name the directory that the link leads to."}
	}
	return &Folder{Path: shown, root: root}, nil
}

// Close closes the folder. What was opened through it stays open.
func (f *Folder) Close() { _ = f.root.Close() }

// Entries returns what is in the folder, sorted by name, with the types that the directory lists: symlinks are
// not followed. If there are more than limit entries, it returns the first limit that the system lists, and more is
// true; a limit that is not positive is none. The entries' Info may be asked only while the folder is open.
func (f *Folder) Entries(limit int) (entries []fs.DirEntry, more bool, err error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, false, Explain(f.Path, err)
	}
	defer func() { _ = dir.Close() }()
	most := -1
	if limit > 0 {
		most = limit + 1 // one more, to know whether there are more
	}
	entries, err = dir.ReadDir(most)
	if err != nil && !errors.Is(err, io.EOF) && len(entries) == 0 {
		return nil, false, Explain(f.Path, err)
	}
	if more = limit > 0 && len(entries) > limit; more {
		entries = entries[:limit]
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, more, nil
}

// Open opens a regular file in the folder for reading, and returns its FileInfo. As Place.Open it waits for nothing,
// follows no symlink, and has the errors of Place.Regular.
func (f *Folder) Open(name string) (*os.File, fs.FileInfo, error) {
	if err := singleName(name); err != nil {
		return nil, nil, err
	}
	at := Place{Path: path.Join(f.Path, name)}
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, Explain(at.Path, err)
	}
	if at.Info, err = opened(f.root, name, file, nil); err == nil {
		err = at.Regular()
	}
	if err == nil {
		err = notMadeUp(file, at.Path)
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, Explain(at.Path, err)
	}
	return file, at.Info, nil
}

// Lstat returns the FileInfo of a name in the folder; for a symlink, that of the link itself.
func (f *Folder) Lstat(name string) (fs.FileInfo, error) {
	if err := singleName(name); err != nil {
		return nil, err
	}
	info, err := f.root.Lstat(name)
	return info, Explain(path.Join(f.Path, name), err)
}

// Readlink returns the target of a symlink in the folder, unresolved.
func (f *Folder) Readlink(name string) (string, error) {
	if err := singleName(name); err != nil {
		return "", err
	}
	target, err := f.root.Readlink(name)
	return target, Explain(path.Join(f.Path, name), err)
}

func singleName(name string) error {
	if name == "." || !filepath.IsLocal(name) || filepath.Base(name) != name {
		return &sdk.Error{Name: "InvalidPath", Message: quote(name) + " is not a name in a directory",
			Suggestion: "Give a single name, without a slash, that is not . or .."}
	}
	return nil
}
