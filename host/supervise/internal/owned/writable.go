//go:build unix

package owned

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many links one path may lead through, as the kernel counts.
const maxLinks = 40

// An Error says that others could change what is trusted, and how to mend that. Trying again cannot help.
type Error struct{ error }

// Check says what is wrong when somebody else than the user and root could put another file in the place of the one at
// path: by writing to the file, to a folder above it, or to those of a link that leads there. That is an [*Error]; one of
// another kind says that the path cannot be looked at.
func Check(path string) error {
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
		if err := ownEntry(next); err != nil {
			return err
		}
		target, err := os.Readlink(next)
		if err != nil { // no link
			at = next
			continue
		}
		if links++; links > maxLinks {
			return &Error{fmt.Errorf("%s leads through more than %d links", path, maxLinks)}
		}
		if filepath.IsAbs(target) {
			at = ""
		}
		rest = append(rest, target)
	}
	return nil
}

// ownEntry looks at one file, folder or link of a path whose beginning has no links.
func ownEntry(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: the system does not tell whose it is", path)
	}
	if !ownUser(stat.Uid) {
		return &Error{fmt.Errorf("%s belongs to the user with id %d, who could change what runs; mend it with: chown %d %s",
			path, stat.Uid, os.Geteuid(), path)}
	}
	return ownMode(path, info, stat)
}

// ownMode refuses what others may write to. A link has no mode of its own, and in a sticky folder everybody can only
// change what is his.
func ownMode(path string, info fs.FileInfo, stat *syscall.Stat_t) error {
	mode := info.Mode()
	switch {
	case mode&fs.ModeSymlink != 0 || mode.IsDir() && mode&fs.ModeSticky != 0:
		return nil
	case mode.Perm()&0o002 != 0:
		return othersCan(path, mode, "chmod go-w")
	case mode.Perm()&0o020 != 0 && !privateGroup(stat.Uid, stat.Gid):
		return othersCan(path, mode, "chmod g-w")
	}
	return nil
}

func othersCan(path string, mode fs.FileMode, chmod string) error {
	return &Error{fmt.Errorf("others than you can write to %s (its mode is %s), and so could change what runs; mend it with: %s %s", path, mode, chmod, path)}
}

// ownUser is true for the user and for root, who can change everything anyway.
func ownUser(uid uint32) bool {
	return uid == 0 || int(uid) == os.Geteuid() || uid == overflow && rootIsHidden()
}

// overflow stands for all users that a user namespace has no number for.
const overflow = 65534

// rootIsHidden is true in a user namespace that has no root, as sandboxes make them: what is root's has the overflow
// number there. So has what is another's, which cannot be told apart.
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

// privateGroup is true for the group that many systems make for each user, of his name, with nobody else in it: files
// are group-writable there by default, and nobody else is meant. Groups that are not in /etc/group may have anybody.
func privateGroup(uid, gid uint32) bool {
	user := entryOf("/etc/passwd", 2, uid)
	group := entryOf("/etc/group", 2, gid)
	if len(user) < 4 || len(group) < 4 || user[0] != group[0] || user[3] != group[2] {
		return false
	}
	for member := range strings.SplitSeq(group[3], ",") {
		if member != "" && member != user[0] {
			return false
		}
	}
	return true
}

// entryOf gives the fields of the first line of a file such as /etc/passwd that has the number in the field. The files
// are read here, since asking the system may mean asking the network.
func entryOf(file string, field int, number uint32) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimRight(line, "\n"), ":")
		if len(f) > field && f[field] == fmt.Sprint(number) {
			return f
		}
	}
	return nil
}
