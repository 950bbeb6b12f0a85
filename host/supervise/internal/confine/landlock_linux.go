package confine

import (
	"errors"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock, see https://docs.kernel.org/userspace-api/landlock.html.

const (
	reading = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// making device nodes is never granted: root could make one for any disk.
	making  = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	writing = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	// onFiles are the rights that make sense for what is no folder.
	onFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
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
func rulesetOf(o *Orders) (attr unix.LandlockRulesetAttr) {
	if o.Writes {
		attr.Handled_access_fs = writingAt(o.ABI) | making
	}
	if o.Reads {
		attr.Handled_access_fs |= reading
	}
	if o.Writes && o.ABI >= 6 {
		attr.Scoped = scopes
	}
	if o.NoTCP && o.ABI >= 4 {
		attr.Handled_access_net = tcp
	}
	return attr
}

func landlock(o *Orders) *Failure {
	attr := rulesetOf(o)
	if o.ABI == 0 || attr == (unix.LandlockRulesetAttr{}) {
		return nil
	}
	ruleset, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return &Failure{"landlock_create_ruleset", errno}
	}
	write := writingAt(o.ABI)
	if o.Reads {
		write |= reading
	}
	for _, list := range []struct {
		paths  []string
		rights uint64
	}{{o.Write, write & attr.Handled_access_fs}, {o.Read, reading & attr.Handled_access_fs}} {
		for _, path := range list.paths {
			if f := allow(int(ruleset), path, list.rights); f != nil {
				return f
			}
		}
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return &Failure{"landlock_restrict_self", errno}
	}
	return nil
}

// allow grants rights on a path and what is below it. One that is not there, or that we cannot reach, needs no rule.
func allow(ruleset int, path string, rights uint64) *Failure {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || rights == 0 {
		return nil
	} else if err != nil {
		return failed("opening "+strconv.Quote(path), err)
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return failed("fstat", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= onFiles
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := syscall.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return &Failure{"landlock_add_rule " + strconv.Quote(path), errno}
	}
	return nil
}
