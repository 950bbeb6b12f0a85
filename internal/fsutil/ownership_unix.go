//go:build unix

package fsutil

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// writable is the mode W_OK of access(2).
const writable = 2

// maxLinks is how many symbolic links one path may lead through, as in the kernel.
const maxLinks = 40

// An OwnershipError says that other users could change a file that is trusted, with the command that fixes it. Retrying
// does not help.
type OwnershipError struct{ error }

// CheckOwnership fails with an [*OwnershipError] if a user other than this one and root can put another file at path:
// by writing to the file, to a folder above it, or to those of a symbolic link on the way. Another error means that the
// path cannot be read.
func CheckOwnership(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	rest, at, links := []string{path}, "", 0
	for len(rest) > 0 {
		name, more, _ := strings.Cut(rest[len(rest)-1], "/")
		if rest[len(rest)-1] = more; more == "" {
			rest = rest[:len(rest)-1]
		}
		next := filepath.Join("/", at, name)
		mode, err := checkEntry(next)
		if err != nil {
			return err
		}
		if mode&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			return err
		}
		if links++; links > maxLinks {
			return &OwnershipError{fmt.Errorf("%s leads through more than %d links", path, maxLinks)}
		}
		if filepath.IsAbs(target) {
			at = ""
		}
		rest = append(rest, target)
	}
	return nil
}

// checkEntry checks the owner and the mode of one file, folder or link, whose parent folders are no links, and returns
// the mode.
func checkEntry(path string) (fs.FileMode, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: the system does not report its owner", path)
	}
	if !trustedUser(stat.Uid) {
		return 0, &OwnershipError{fmt.Errorf("%s belongs to the user with id %d, who could change what runs. Fix: "+
			"chown %d %s", path, stat.Uid, os.Geteuid(), path)}
	}
	mode := info.Mode()
	if mode&fs.ModeSymlink != 0 { // a link has no mode of its own
		return mode, nil
	}
	chmod := othersWrite(mode, stat, false)
	if chmod == "" {
		return mode, nil
	}
	return 0, &OwnershipError{fmt.Errorf("%s is writable by other users (mode %s), who could change what runs. Fix: %s %s",
		path, mode, chmod, path)}
}

// Trust says whose files are believed.
type Trust int

// The files that are believed; others than their writers cannot write to them.
const (
	OurFile    Trust = iota // of this user or root; a group that its owner is alone in may write to it
	OurOwnFile              // likewise, but no group may: toolhost has written it
	RootsFile               // of root alone
	NamedFile               // of any user: this one has named the file, and so believes its owner
)

// CheckWriters fails with an [*OwnershipError], which names the fix, if another user than those of t can write to an
// open file. Path is its path, for the error.
func CheckWriters(path string, open fs.FileInfo, t Trust) error {
	stat, ok := open.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("the system does not report its owner")
	}
	strict := t == OurOwnFile || t == RootsFile
	fix := othersWrite(open.Mode(), stat, strict)
	switch {
	case fix != "":
		return &OwnershipError{fmt.Errorf("other users can write to it. Fix: %s %s", fix, path)}
	case t == RootsFile && stat.Uid != 0:
		return &OwnershipError{fmt.Errorf("its owner is not root. Fix: chown root %s", path)}
	case t != NamedFile && !trustedUser(stat.Uid):
		return &OwnershipError{fmt.Errorf("its owner is another user, with the id %d. Fix: chown %d %s", stat.Uid,
			os.Geteuid(), path)}
	}
	return nil
}

// CheckFolderWriters fails with an [*OwnershipError] if other users can write to a folder, and so remove files of it.
// Its owner and the folders above it are not checked. A folder that cannot be examined passes, which whoever reads a
// file in it notices, and so does one that is mounted read-only: Kubernetes mounts files in folders of mode 0777.
func CheckFolderWriters(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("the system does not report its owner")
	}
	fix := othersWrite(info.Mode(), stat, false)
	if fix == "" || errors.Is(syscall.Access(dir, writable), syscall.EROFS) {
		return nil
	}
	return &OwnershipError{fmt.Errorf("other users can write to it. Fix: %s %s", fix, dir)}
}

// othersWrite returns the command that keeps others from writing to a file or folder, "" if they cannot. Strict counts
// the owner's private group as others.
func othersWrite(mode fs.FileMode, stat *syscall.Stat_t, strict bool) string {
	switch {
	case mode.IsDir() && mode&fs.ModeSticky != 0: // users can change only their own files there
		return ""
	case mode.Perm()&0o002 != 0, mode.Perm()&0o020 != 0 && strict:
		return "chmod go-w"
	case mode.Perm()&0o020 != 0 && !privateGroup(stat.Uid, stat.Gid):
		return "chmod g-w"
	}
	return ""
}

// OpenForReading opens a file without waiting for the other end of a pipe.
func OpenForReading(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// trustedUser is true for this user and for root, who can change everything anyway.
func trustedUser(uid uint32) bool {
	return uid == 0 || int(uid) == os.Geteuid() || uid == overflowID && rootIsHidden()
}

// overflowID stands for all users that a user namespace has no number for.
const overflowID = 65534

// rootIsHidden is true in a user namespace without root, as sandboxes make them: root's files have the overflow id
// there. So have those of other users, which cannot be distinguished.
func rootIsHidden() bool {
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 0 && f[0] == "0" {
			return false
		}
	}
	return true
}

// privateGroup is true for the group that many systems make for each user, with the user's name and no other member:
// files are group-writable there by default. A group that is not in /etc/group may have any members.
func privateGroup(uid, gid uint32) bool {
	user := accountLine("/etc/passwd", uid)
	group := accountLine("/etc/group", gid)
	if len(user) < 4 || len(group) < 4 || user[0] != group[0] || user[3] != group[2] {
		return false
	}
	return !slices.ContainsFunc(strings.Split(group[3], ","),
		func(member string) bool { return member != "" && member != user[0] })
}

// accountLine returns the fields of the line of /etc/passwd or /etc/group with the id. The files are read here because
// a lookup by the system may ask the network.
func accountLine(file string, id uint32) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimRight(line, "\n"), ":")
		if len(f) > 2 && f[2] == fmt.Sprint(id) {
			return f
		}
	}
	return nil
}

// CheckPrivateDir fails unless dir is a folder of this user with mode 0700 that no other user can replace, as
// [CheckOwnership] checks: a place for files that are trusted or run.
func CheckPrivateDir(dir string) error {
	if err := CheckOwnership(dir); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	return checkPrivate(dir, info, os.Geteuid())
}

func checkPrivate(dir string, info fs.FileInfo, user int) error {
	stat, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return errors.New(dir + " must be a folder that only you can access, and is none. Fix: move it away")
	case known && int(stat.Uid) != user: // such as root's, of a run with sudo
		return fmt.Errorf("%s must be a folder that only you can access, and belongs to the user with id %d. "+
			"Fix: chown %d %s", dir, stat.Uid, user, dir)
	case !private(info):
		return errors.New(dir + " must be a folder that only you can access. Fix: chmod 700 " + dir)
	}
	return nil
}

func openPrivate(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !(info.Mode().IsRegular() && private(info)) {
		err = errors.New(path + " is not a regular file that only you can access")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// private is true for what this user owns and no other user can access.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}
