package placeholder

import (
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// nowhere is where the links lead: nothing can be made in /proc, so following one finds nothing.
const nowhere = "/proc/toolhost-placeholder"

// HoldLink makes a placeholder at the path that is a symbolic link to nowhere, or shares the one that is there. For
// all programs that look for a file or folder there nothing exists, but none can be made. The rest is as with Hold.
// The hosts that hold it have a lock each on the folder it is in, at a place of its own; a host that makes or removes
// it has the folder for a moment.
func HoldLink(path, notes string) (*Placeholder, error) {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	p := &Placeholder{path: path, folder: folder, link: true}
	err = p.alone(func() error {
		if err := os.Symlink(nowhere, path); err != nil && !(errors.Is(err, fs.ErrExist) && IsLink(path)) {
			return err
		}
		if err := p.lock(unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK}); err != nil {
			return errors.Join(err, os.Remove(path))
		}
		return nil
	})
	if err != nil {
		_ = folder.Close()
		if errors.Is(err, fs.ErrExist) { // something of the user's
			return nil, nil
		}
		return nil, err
	}
	leaveNote(path, notes)
	return p, nil
}

// IsLink reports whether there is a placeholder of HoldLink, of any host.
func IsLink(path string) bool {
	to, err := os.Readlink(path)
	return err == nil && to == nowhere
}

// releaseLink removes the link if no other host holds it.
func (p *Placeholder) releaseLink() {
	_ = p.alone(func() error {
		_ = p.lock(unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK})
		others := unix.Flock_t{Type: unix.F_WRLCK}
		if err := p.lock(unix.F_OFD_GETLK, &others); err != nil || others.Type != unix.F_UNLCK || !IsLink(p.path) {
			return err
		}
		return os.Remove(p.path)
	})
}

// removeLeftLink removes one that a dead host has left.
func removeLeftLink(path string) {
	if folder, err := os.Open(filepath.Dir(path)); err == nil {
		defer folder.Close()
		(&Placeholder{path: path, folder: folder, link: true}).releaseLink()
	}
}

// lock is fcntl for the byte that stands for the link.
func (p *Placeholder) lock(command int, l *unix.Flock_t) error {
	h := fnv.New32a()
	_, _ = h.Write([]byte(filepath.Base(p.path)))
	l.Start, l.Len = int64(h.Sum32()), 1
	return unix.FcntlFlock(p.folder.Fd(), command, l)
}

// alone does something while no other host does the same in the folder. It waits 300 ms at most for one that does.
func (p *Placeholder) alone(do func() error) error {
	const tries, pause = 300, time.Millisecond
	fd := int(p.folder.Fd())
	err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	for n := 0; n < tries && errors.Is(err, unix.EWOULDBLOCK); n++ {
		time.Sleep(pause)
		err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(), unix.Flock(fd, unix.LOCK_UN))
}
