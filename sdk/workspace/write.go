package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/sdk"
)

// Write replaces the content of the file atomically: a reader, also one after a crash,
// finds the old content or the new. Where nothing is it makes a new file, with mode 0644 and the folders that are
// missing with mode 0755, both less the umask.
//
// A file that is replaced becomes a new one with the mode that Info has (without setuid and setgid) and, where this
// process may, the owner and the extended attributes (Linux). Other names of the old file (hard links) keep the old
// content. A symlink that led here stays.
//
// Check, unless it is nil, is called when all is ready, right before the new file gets its name. Here a tool that read
// the file before makes sure that it is still the same. When check fails Write returns its error, and nothing has
// changed.
//
// The other errors are those of Regular; PermissionDenied for a file that is read-only; FileExists when something came
// up where nothing was; and what the system says (FileNotFound when the folder is gone, PermissionDenied, IOError).
// After them nothing has changed either, but for folders that were made. Only a crash, or someone who moves the folder
// away meanwhile, can leave a file behind, whose name starts with ".toolhost-"; the next process that writes to the
// folder removes it.
//
// Info stays as it was: Find again after Write.
func (p *Place) Write(data []byte, check func() error) error {
	d, err := p.Prepare(data)
	if err != nil {
		return err
	}
	return d.Publish(check)
}

// A Draft is the new content of a file, synced to disk beside the file under a temporary name. Several drafts are made
// before the first is published when either all of some files are to change or none. Publish or discard each.
type Draft struct {
	place *Place
	temp  string
	file  *os.File // whose lock says that the draft is alive
}

// Prepare does the first part of Write: all but giving the new file its name. Its errors are those of Write.
func (p *Place) Prepare(data []byte) (*Draft, error) {
	if p.Info != nil {
		if err := p.writable(); err != nil {
			return nil, err
		}
	}
	if p.Missing != "" {
		if err := p.root.root.MkdirAll(filepath.Dir(p.name), 0o755); err != nil {
			return nil, explainWrite(p.Path, err)
		}
	}
	p.root.sweep(filepath.Dir(p.name))
	temp, file, err := p.writeTemp(data)
	if p.Info != nil && errors.Is(err, fs.ErrPermission) {
		folder := filepath.ToSlash(filepath.Dir(p.Path))
		return nil, &sdk.Error{Name: "PermissionDenied", Message: fmt.Sprintf("%s cannot be replaced, as no file may be "+
			"made in its folder: %v; nothing was written", quote(p.Path), Explain(folder, err)), Suggestion: "Have the " +
			"permissions of the folder changed first, or write to the file in place, such as with a shell tool."}
	}
	if err != nil {
		return nil, explainWrite(p.Path, err)
	}
	return &Draft{p, temp, file}, nil
}

// Publish does the second part of Write, which calls check and puts the new file in place. After an error the draft is
// gone, and the file as it was.
func (d *Draft) Publish(check func() error) error {
	if err := d.place.publish(d.temp, check); err != nil {
		d.Discard()
		return err
	}
	_ = d.file.Close()
	d.place.syncFolder()
	return nil
}

// Discard removes a draft that is not published.
func (d *Draft) Discard() {
	_ = d.place.root.root.Remove(d.temp) // it may be gone with its folder
	_ = d.file.Close()
}

// Remove removes the regular file at the place, right after check, unless that is nil, found nothing against it. Errors
// are those of check, of Regular, and what the system says (PermissionDenied, IOError). Info stays as it was.
func (p *Place) Remove(check func() error) error {
	if err := p.Regular(); err != nil {
		return err
	}
	defer p.lock()()
	if check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	if err := p.root.root.Remove(p.name); err != nil {
		return Explain(p.Path, err)
	}
	p.syncFolder()
	return nil
}

// writeTemp writes data, safely on disk, beside the file, and returns its name and the open file, which is locked. It
// leaves nothing when it fails.
func (p *Place) writeTemp(data []byte) (name string, f *os.File, err error) {
	perm := fs.FileMode(0o644)
	if p.Info != nil {
		perm = 0o600 // until it has its owner
	}
	for f == nil {
		name = filepath.Join(filepath.Dir(p.name), tempPrefix+rand.Text())
		if f, err = p.root.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm); err != nil {
			return "", nil, err
		}
		if !keepAlive(f) { // it was taken for one that was left, in the moment before it had its lock
			_ = f.Close()
			f = nil
		}
	}
	if err = p.fill(f, data); err != nil {
		_ = p.root.root.Remove(name)
		_ = f.Close()
		return "", nil, err
	}
	return name, f, nil
}

func (p *Place) fill(f *os.File, data []byte) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	if p.Info != nil {
		keepOwner(f, p.Info)
		if err := f.Chmod(p.Info.Mode().Perm()); err != nil {
			return err
		}
		if err := p.keepAttributes(f); err != nil {
			return err
		}
	}
	return f.Sync()
}

// keepAttributes ignores a file that cannot be opened: its attributes cannot be read, and that
// it is gone or another is for check to find.
func (p *Place) keepAttributes(to *os.File) error {
	from := *p // whose Info stays
	if old, err := from.Open(); err == nil {
		defer func() { _ = old.Close() }()
		return keepAttributes(to, old)
	}
	return nil
}

// publish renames temp to the file's name, unless a new file has appeared there.
func (p *Place) publish(temp string, check func() error) error {
	if p.Info != nil {
		defer p.lock()()
	}
	if check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	if p.Info == nil {
		return explainWrite(p.Path, p.publishNew(temp))
	}
	return explainWrite(p.Path, p.root.root.Rename(temp, p.name))
}

// publishNew links instead of renaming, as a rename would replace a file that came up meanwhile. Where the file system
// has no links it looks, then renames.
func (p *Place) publishNew(temp string) error {
	err := p.root.root.Link(temp, p.name)
	if err == nil {
		_ = p.root.root.Remove(temp) // the file itself is in place
		return nil
	}
	if _, statErr := p.root.root.Lstat(p.name); statErr == nil || errors.Is(err, fs.ErrExist) {
		return &sdk.Error{Name: "FileExists", Message: fmt.Sprintf("%s exists already; nothing was written", quote(p.Path)),
			Suggestion: "Read it to see what it holds."}
	}
	return p.root.root.Rename(temp, p.name)
}

// syncFolder makes the new name last through a power cut, where folders can be synced.
func (p *Place) syncFolder() {
	if f, err := p.root.root.OpenFile(filepath.Dir(p.name), os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// A lock, which ends with the process, distinguishes temporary files in use from those of a killed process.

// tempPrefix begins the names of files that are not in place yet; what follows is a text of crypto/rand.
const tempPrefix = ".toolhost-"

var tempName = lazy.Regexp(`^\.toolhost-[A-Z2-7]{26}$`)

const (
	// maxSwept bounds how many names of a folder are examined, and maxSweptFolders how many folders a process
	// remembers.
	maxSwept        = 10_000
	maxSweptFolders = 10_000
)

// swept are the folders that were looked at: once is enough, since a process that leaves a file was killed before.
type swept struct {
	mu      sync.Mutex
	folders map[string]bool
}

// allSwept is the process's: a workspace is opened for each call.
var allSwept swept

// first reports whether the folder was not looked at yet.
func (s *swept) first(folder string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folders[folder] || len(s.folders) >= maxSweptFolders {
		return false
	}
	if s.folders == nil {
		s.folders = map[string]bool{}
	}
	s.folders[folder] = true
	return true
}

// sweep removes from a folder what was left by processes that are gone. What cannot be removed stays.
func (r *Root) sweep(folder string) {
	if !allSwept.first(filepath.Join(r.real, folder)) {
		return
	}
	dir, err := r.root.Open(folder)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(maxSwept)
	for _, name := range names {
		if tempName().MatchString(name) {
			r.removeLeft(filepath.Join(folder, name))
		}
	}
}
