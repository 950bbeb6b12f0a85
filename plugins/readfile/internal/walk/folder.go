// Package walk goes through the folders of a workspace: by the ignore rules of the project, in parallel, and with the
// same order of results each time. It follows no symlinks, and survives what vanishes or changes under it.
package walk

import (
	"context"
	"io/fs"
	"path"
	"strings"

	"github.com/toolhost/toolhost/plugins/readfile/internal/ignore"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// A Filter says what to look at besides what a project has in plain sight.
type Filter struct {
	Hidden  bool // names that begin with a dot
	Ignored bool // what ignore rules leave out
	// Denied reports files and directories that are not to be shown whatever is asked for, Secret of files that hold
	// secrets, by their path in the workspace as it is shown, and without links. Nil is none.
	Denied func(resolved string) bool
	Secret func(shown, resolved string) bool
}

// Denies reports whether a path, or a folder that it is in, is not to be shown.
func (f Filter) Denies(resolved string) bool {
	for f.Denied != nil {
		if f.Denied(resolved) {
			return true
		}
		if resolved = path.Dir(resolved); resolved == "." || resolved == "/" {
			return false
		}
	}
	return false
}

// LeftOut counts what a look or a walk left out.
type LeftOut struct {
	Hidden     int // names that begin with a dot, of files and directories
	Ignored    int // files and directories that ignore rules name
	Unreadable int // directories and ignore files that could not be read, or are too deep or too large
	Crowded    int // directories with more entries than are examined
	Denied     int // files and directories that are not to be shown
	Secret     int // files that hold secrets
}

// Add counts what another look left out.
func (l *LeftOut) Add(more LeftOut) {
	l.Hidden += more.Hidden
	l.Ignored += more.Ignored
	l.Unreadable += more.Unreadable
	l.Crowded += more.Crowded
	l.Denied += more.Denied
	l.Secret += more.Secret
}

// A Folder is an open directory, with the rules that hold in it.
type Folder struct {
	*workspace.Folder
	// Below is the path from the folder that Enter was asked for, whose own is "".
	Below string

	filter Filter
	path   string // in the workspace, without links, as rules are for; its own is ""
	rules  *ignore.Rules
}

// Enter opens a directory, with the rules of the folders that it is in. Its errors are those of Place.Folder.
func Enter(w *workspace.Root, p *workspace.Place, filter Filter) (*Folder, error) {
	in, err := p.Folder()
	if err != nil {
		return nil, err
	}
	f := &Folder{Folder: in, filter: filter, path: p.Resolved()}
	if f.path == "." {
		f.path = ""
	}
	if f.path == "" || filter.Ignored {
		return f, nil
	}
	above := strings.Split(f.path, "/")
	for i := range above {
		f.rulesOf(w, strings.Join(above[:i], "/"))
	}
	return f, nil
}

// rulesOf adds the rules of a folder above f, if it is still there.
func (f *Folder) rulesOf(w *workspace.Root, above string) {
	p, err := w.Find(path.Join(".", above))
	if err != nil {
		return
	}
	in, err := p.Folder()
	if err != nil {
		return
	}
	defer in.Close()
	f.rules, _ = enter(f.rules, in, above, func(name string) bool {
		_, err := in.Lstat(name)
		return err == nil
	})
}

// Resolved is the path of a name in the folder, relative to the workspace, with no link on the way.
func (f *Folder) Resolved(name string) string { return path.Join(f.path, name) }

// Sub opens a directory in the folder.
func (f *Folder) Sub(name string) (*Folder, error) {
	in, err := f.Folder.Folder(name)
	if err != nil {
		return nil, err
	}
	return f.sub(in, name), nil
}

// SubAt opens a directory in the folder by its place, which Place.Child of the folder's own gave. The folder may be
// closed.
func (f *Folder) SubAt(p *workspace.Place) (*Folder, error) {
	in, err := p.Folder()
	if err != nil {
		return nil, err
	}
	return f.sub(in, path.Base(p.Path)), nil
}

func (f *Folder) sub(in *workspace.Folder, name string) *Folder {
	return &Folder{Folder: in, Below: path.Join(f.Below, name), filter: f.filter, path: path.Join(f.path, name),
		rules: f.rules}
}

// Look returns what is in the folder, sorted by name, without what is hidden or ignored. Of more than most entries it
// looks at the first that the system lists. It also learns the rules that the folder adds to those above it. The
// rules may be many and slow: it stops when ctx ends.
func (f *Folder) Look(ctx context.Context, most int) ([]fs.DirEntry, LeftOut, error) {
	var out LeftOut
	entries, more, err := f.Entries(most)
	if err != nil {
		return nil, out, err
	}
	if more {
		out.Crowded = 1
	}
	if !f.filter.Ignored {
		out.Unreadable = f.learn(entries)
	}
	keep := entries[:0]
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, out, err
		}
		if f.shows(e, &out) {
			keep = append(keep, e)
		}
	}
	return keep, out, nil
}

// learn adds the rules of ignore files among the entries, and returns the number of those that could not be read.
func (f *Folder) learn(entries []fs.DirEntry) (unreadable int) {
	has := map[string]bool{}
	for _, e := range entries {
		if e.Name() > ".ignore" {
			break // they are sorted
		}
		has[e.Name()] = true
	}
	if len(has) > 0 {
		f.rules, unreadable = enter(f.rules, f.Folder, f.path, func(name string) bool { return has[name] })
	}
	return unreadable
}

// shows decides about an entry, and counts it when it is left out.
func (f *Folder) shows(e fs.DirEntry, out *LeftOut) bool {
	verdict := ignore.None
	if f.rules != nil {
		verdict = f.rules.Match(f.Resolved(e.Name()), e.IsDir())
	}
	switch {
	case f.filter.Denied != nil && f.filter.Denied(f.Resolved(e.Name())):
		out.Denied++
	case verdict == ignore.Ignored:
		out.Ignored++
	case verdict == ignore.None && !f.filter.Hidden && e.Name()[0] == '.':
		out.Hidden++
	case f.filter.Secret != nil && !e.IsDir() && f.filter.Secret(path.Join(f.Path, e.Name()), f.Resolved(e.Name())):
		out.Secret++
	default:
		return true
	}
	return false
}
