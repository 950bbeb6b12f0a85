// Package removal removes folders that a plugin could write to, at a bounded cost.
package removal

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	batch  = 1024               // how many names of a folder are held in memory at once
	owners = fs.FileMode(0o700) // what it takes to empty a folder
)

// A removal empties a folder that was a plugin's, and so may hold anything: folders that are locked with their modes,
// a million files, folders within folders without end. Each folder comes up to the top before it is emptied, so that
// depth costs neither open files nor memory. Others may do the same meanwhile.
type removal struct {
	top   *os.Root
	until time.Time
}

// ErrLate says that there was not enough time.
var ErrLate = errors.New("it takes too long; the next host continues it")

// All removes a folder, or as much of it as there is time for. What a link in it names stays. One that does not exist
// is removed.
func All(path string, most time.Duration) error { return Keeping(path, "", most) }

// Keeping is All, with one file that goes last, unless it is a folder.
func Keeping(path, keep string, most time.Duration) error {
	above, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return unlessMissing(err)
	}
	defer func() { _ = above.Close() }()
	top, err := openTop(above, filepath.Base(path))
	if err != nil {
		return unlessMissing(err)
	}
	defer func() { _ = top.Close() }()
	if info, err := top.Lstat(keep); err == nil && info.IsDir() { // put there by a plugin: a folder would never go
		keep = ""
	}
	r := &removal{top, time.Now().Add(most)}
	err = r.repeat(".", keep, func() error {
		if keep != "" {
			_ = top.Remove(keep)
		}
		return above.Remove(filepath.Base(path))
	})
	if err != nil {
		return fmt.Errorf("removing %s: %w", path, err)
	}
	return nil
}

// openTop opens a folder whatever its mode, and no other that a link leads to.
func openTop(above *os.Root, base string) (*os.Root, error) {
	named, err := above.Lstat(base)
	switch {
	case err != nil:
		return nil, err
	case !named.IsDir():
		return nil, fmt.Errorf("%s is not a folder", base)
	case named.Mode()&owners != owners:
		_ = above.Chmod(base, owners)
	}
	top, err := above.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	if opened, err := top.Stat("."); err != nil || !os.SameFile(named, opened) {
		return nil, errors.Join(cmp.Or(err, fmt.Errorf("%s was replaced", base)), top.Close())
	}
	return top, nil
}

func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// repeat empties a folder, but for one name, until it can be removed: others may bring more to it meanwhile.
func (r *removal) repeat(dir, but string, remove func() error) error {
	for {
		if err := r.empty(dir, but); err != nil {
			return err
		}
		if err := unlessMissing(remove()); !errors.Is(err, fs.ErrExist) { // which is said of folders that are not empty, too
			return err
		}
	}
}

// empty removes all that is in a folder, but for one name. It ends with an error when a whole batch of names has to
// stay.
func (r *removal) empty(dir, but string) error {
	for {
		if time.Now().After(r.until) {
			return ErrLate
		}
		names, err := r.list(dir)
		if err != nil {
			return unlessMissing(err)
		}
		done, left := 0, error(nil)
		for _, e := range names {
			if e.Name() == but {
				continue
			}
			switch err := unlessMissing(r.remove(dir, e)); {
			case errors.Is(err, ErrLate):
				return err
			case err != nil:
				left = err
			default:
				done++
			}
		}
		if done == 0 {
			return left
		}
	}
}

// list returns names in a folder, from which they can be removed then.
func (r *removal) list(dir string) ([]fs.DirEntry, error) {
	f, err := r.open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Mode()&owners != owners {
		_ = f.Chmod(owners)
	}
	names, err := f.ReadDir(batch)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// open opens a folder itself, whatever its mode, and never waits for what was put in its place.
func (r *removal) open(dir string) (*os.File, error) {
	const flags = os.O_RDONLY | itself
	f, err := r.top.OpenFile(dir, flags, 0)
	if errors.Is(err, fs.ErrPermission) {
		_ = r.top.Chmod(dir, owners)
		f, err = r.top.OpenFile(dir, flags, 0)
	}
	return f, err
}

// remove removes one entry of a folder. A folder that is not at the top yet is brought there.
func (r *removal) remove(dir string, e fs.DirEntry) error {
	path := filepath.Join(dir, e.Name())
	err := r.top.Remove(path)
	if err == nil || !e.IsDir() {
		return err
	}
	if dir != "." {
		return r.raise(path)
	}
	return r.repeat(path, "", func() error { return r.top.Remove(path) })
}

// raise moves a folder to the top, under a name that is unused there.
func (r *removal) raise(path string) error {
	name := rand.Text()
	err := r.top.Rename(path, name)
	if errors.Is(err, fs.ErrPermission) { // to move it is to write to it
		_ = r.top.Chmod(path, owners)
		err = r.top.Rename(path, name)
	}
	return err
}
