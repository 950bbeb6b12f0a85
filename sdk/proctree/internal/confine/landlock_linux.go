package confine

import (
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/sdk/proctree/internal/launcher"
)

// Landlock, see https://docs.kernel.org/userspace-api/landlock.html.

const (
	reading = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// making device nodes is never granted: root could make one for any disk.
	making  = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	writing = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	tcp    = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	scopes = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
)

// writingAt are the rights to write of a version of Landlock. Without the right to refer, from version 2 on, no file
// could be moved from one folder to another.
func writingAt(abi int) uint64 {
	rights := uint64(writing)
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return rights
}

// rulesetOf says what is forbidden where no rule allows it.
func rulesetOf(r *Restrictions) (attr unix.LandlockRulesetAttr) {
	if r.ABI == 0 {
		return attr
	}
	if r.Writes {
		attr.Handled_access_fs = writingAt(r.ABI) | making
	}
	if r.Reads {
		attr.Handled_access_fs |= reading
	}
	if r.Writes && r.ABI >= 6 {
		attr.Scoped = scopes
	}
	if r.NoTCP && r.ABI >= 4 {
		attr.Handled_access_net = tcp
	}
	return attr
}

// rulesOf are the paths that may be written to, and those that may be read.
func rulesOf(r *Restrictions, handled uint64) (rules []launcher.Rule) {
	write := writingAt(r.ABI)
	if r.Reads {
		write |= reading
	}
	for _, list := range []struct {
		paths  []string
		rights uint64
	}{{r.Write, write & handled}, {r.Read, reading & handled}} {
		for _, path := range list.paths {
			if list.rights != 0 {
				rules = append(rules, launcher.Rule{Path: path, Rights: list.rights})
			}
		}
	}
	return rules
}
