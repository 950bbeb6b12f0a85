package launcher

import (
	"slices"
	"strconv"
	"syscall"
	"unsafe"
)

// fix makes mounts of their own of what the program is not to move, read-only ones of what it is not to change, and mounts an
// empty file on what it is not to see: the kernel renames and removes no mount. What lies in a folder that was fixed before
// is found in there, also from the folder that we are in.
func (p Program) fix() error {
	covers := slices.Concat(alike(cover{}, p.Fixed), alike(cover{readOnly: true}, p.ReadOnly), alike(cover{what: "/dev/null"}, p.Hidden))
	for _, c := range covers {
		if err := c.mount(); err != nil {
			return failed("mounting "+strconv.Quote(c.on), err)
		}
	}
	if len(covers) == 0 || len(p.Dir) > 0 && p.Dir[0] == '/' {
		return nil // nothing is left in the folder that we are in, which may be one that we could not enter
	}
	here, err := syscall.Getwd()
	if err == syscall.ENOENT { // a folder that was removed is in none of those
		return nil
	}
	if err != nil {
		return failed("getcwd", err)
	}
	return failed("chdir "+strconv.Quote(here), syscall.Chdir(here))
}

// System calls and constants that package syscall lacks; the numbers are the same on all architectures, see
// https://man7.org/linux/man-pages/man2/mount_setattr.2.html and https://man7.org/linux/man-pages/man2/openat2.2.html.
const (
	sysOpenTree     = 428
	sysMoveMount    = 429
	sysOpenat2      = 437
	sysMountSetattr = 442

	atCurrent       = -100         // AT_FDCWD
	emptyPath       = 0x1000       // AT_EMPTY_PATH
	cloneTree       = 0x8000 | 0x1 // AT_RECURSIVE | OPEN_TREE_CLONE
	recursive       = 0x8000       // AT_RECURSIVE
	bothEmpty       = 0x4 | 0x40   // MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH
	readOnlyMount   = 0x1          // MOUNT_ATTR_RDONLY
	pathOnly        = 0x200000     // O_PATH
	withoutSymlinks = 0x4          // RESOLVE_NO_SYMLINKS
)

// CanFix says whether the kernel has what fix takes. The youngest of it is asked for nothing, which it refuses.
func CanFix() bool {
	_, _, e := syscall.RawSyscall6(sysMountSetattr, 0, 0, 0, 0, 0, 0)
	return e == syscall.EINVAL
}

// A cover is a mount on a path.
type cover struct {
	on       string
	what     string // "" is what is there already
	readOnly bool
}

// alike are covers on several paths.
func alike(c cover, paths []string) (all []cover) {
	slices.Sort(paths) // what is above comes first: a copy of it has the mounts below twice
	for _, c.on = range paths {
		all = append(all, c)
	}
	return all
}

// mount works on open files: what others do to the path meanwhile changes nothing.
func (c cover) mount() error {
	at, err := openPath(c.on)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(at) }()
	tree, err := c.tree(at)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(tree) }()
	if err := c.limit(tree); err != nil {
		return err
	}
	if _, _, e := syscall.Syscall6(sysMoveMount, uintptr(tree), uintptr(noPath), uintptr(at), uintptr(noPath), bothEmpty, 0); e != 0 {
		return e
	}
	return nil
}

// tree opens what is to be mounted.
func (c cover) tree(at int) (int, error) {
	if c.what != "" {
		what, err := openPath(c.what)
		if err != nil {
			return -1, err
		}
		defer func() { _ = syscall.Close(what) }()
		at = what
	}
	tree, _, e := syscall.Syscall(sysOpenTree, uintptr(at), uintptr(noPath), emptyPath|cloneTree|syscall.O_CLOEXEC)
	if e != 0 {
		return -1, e
	}
	return int(tree), nil
}

func (c cover) limit(tree int) error {
	if !c.readOnly {
		return nil
	}
	attributes := [4]uint64{readOnlyMount} // struct mount_attr: set, clear, propagation, user namespace
	_, _, e := syscall.Syscall6(sysMountSetattr, uintptr(tree), uintptr(noPath), emptyPath|recursive, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes), 0)
	if e != 0 {
		return e
	}
	return nil
}

// noPath is the empty path of system calls that are given an open file.
var noPath = unsafe.Pointer(new(byte))

// openPath opens a file or a folder itself, without a look into it, if no part of its path is a symbolic link.
func openPath(path string) (int, error) {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	how := [3]uint64{pathOnly | syscall.O_CLOEXEC, 0, withoutSymlinks} // struct open_how: flags, mode, resolve
	current := atCurrent
	fd, _, e := syscall.Syscall6(sysOpenat2, uintptr(current), uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	if e != 0 {
		return -1, e
	}
	return int(fd), nil
}
