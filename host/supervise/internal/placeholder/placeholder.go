//go:build unix

// Package placeholder puts something in place of files and folders that do not exist, so that these can be kept from
// a plugin: links that lead nowhere, or empty folders where others would see a link and not a folder. A sticky bit
// distinguishes them from folders of the user's. A shared lock keeps one for as long as a process is kept from it;
// the last to release it removes it. A folder of the host's has a note of each, for the next host to find if this one
// is killed.
package placeholder

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/toolhost/toolhost/host/supervise/internal/dirlock"
	"github.com/toolhost/toolhost/internal/fsutil"
)

// A Placeholder is held until its Release.
type Placeholder struct {
	path   string
	folder *os.File // that is the placeholder or, of a link, that it is in
	link   bool
}

const (
	mode       = 0o755 | fs.ModeSticky
	notePrefix = "held-"
)

// Hold makes a placeholder folder at the path, or shares the one that is there, with a note in the folder notes. It
// is nil when the user has a file or a folder there. One that another process keeps for itself alone is an error,
// after some 300 ms.
func Hold(path, notes string) (*Placeholder, error) {
	folder, made, err := dirlock.Make(path, mode)
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return nil, nil
	case err != nil:
		return nil, err
	case made && !sticky(folder): // it cannot be distinguished from one of the user's
		_ = syscall.Rmdir(path)
		return nil, errors.Join(fmt.Errorf("the file system of %s has no sticky bits", path), folder.Close())
	case !empty(folder):
		return nil, folder.Close()
	}
	leaveNote(path, notes)
	return &Placeholder{path: path, folder: folder}, nil
}

// leaveNote leaves a note that stays: the next start in the same folder finds it, and need not make one.
func leaveNote(path, notes string) {
	note := filepath.Join(notes, fmt.Sprintf("%s%x", notePrefix, sha256.Sum256([]byte(path))))
	_ = os.Symlink(path, note)
}

// empty reports whether the folder is one of ours that has not come into use.
func empty(folder *os.File) bool {
	if !sticky(folder) {
		return false
	}
	_, err := folder.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

func sticky(folder *os.File) bool {
	info, err := folder.Stat()
	return err == nil && info.Mode()&fs.ModeSticky != 0
}

// Release removes the placeholder if no other host holds it. One that has come into use stays.
func (p *Placeholder) Release() {
	defer p.folder.Close()
	if p.link {
		p.releaseLink()
		return
	}
	if dirlock.Upgrade(p.folder) {
		p.remove()
	}
}

// remove needs the lock for this process alone. One that has come into use is the user's, with the mode that it was
// given since.
func (p *Placeholder) remove() {
	if !dirlock.Is(p.folder, p.path) {
		return
	}
	if err := syscall.Rmdir(p.path); errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		if info, err := p.folder.Stat(); err == nil {
			_ = p.folder.Chmod(info.Mode() &^ fs.ModeSticky)
		}
	}
}

// RemoveNoted removes what a host that is dead has left, by its notes.
func RemoveNoted(notes string) {
	for _, note := range fsutil.Glob(notes, notePrefix+"*") {
		if path, err := os.Readlink(note); err == nil {
			removeLeft(path)
		}
	}
}

func removeLeft(path string) {
	if IsLink(path) {
		removeLeftLink(path)
		return
	}
	folder, err := dirlock.Alone(path)
	if err != nil {
		return
	}
	defer folder.Close()
	if sticky(folder) {
		(&Placeholder{path: path, folder: folder}).remove()
	}
}
