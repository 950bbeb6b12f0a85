package launcher

import (
	"errors"
	"slices"
	"strconv"
	"syscall"
	"unsafe"
)

// fix makes all file systems read-only but for the writable paths, if the program is sealed; mounts of their own of what it
// is not to move, read-only ones of what it is not to change; and mounts an empty file on what it is not to see: the kernel
// renames and removes no mount. What lies in a folder that was fixed before is found in there, also from the folder that we
// are in.
func (p Program) fix() error {
	if p.Sealed {
		if err := p.seal(); err != nil {
			return err
		}
	}
	covers := slices.Concat(alike(cover{}, p.Fixed), alike(cover{readOnly: true}, p.ReadOnly), alike(cover{what: "/dev/null"}, p.Hidden), alike(cover{link: true}, p.Links))
	for _, c := range covers {
		if err := c.mount(); err != nil {
			return failed("mounting "+strconv.Quote(c.on), err)
		}
	}
	if len(covers) == 0 && !p.Sealed || len(p.Dir) > 0 && p.Dir[0] == '/' {
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

// seal makes every mount of the namespace read-only, and puts what is writable back as it was. The copies of that are made
// first: what is read-only in a namespace of an ordinary user never becomes writable again. A path that is not there, or that
// we cannot reach, is left out, as in a ruleset.
func (p Program) seal() error {
	type copied struct {
		path string
		tree int
	}
	var trees []copied
	writable := append(slices.Clone(p.Writable), sharedMemory)
	slices.Sort(writable) // what is above comes first: a copy of it has the mounts below twice
	for _, path := range slices.Compact(writable) {
		at, err := openPath(path)
		if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ELOOP) && path == sharedMemory {
			continue
		} else if err != nil {
			return failed("opening "+strconv.Quote(path), err)
		}
		tree, err := cover{}.tree(at)
		_ = syscall.Close(at)
		if err != nil {
			return failed("open_tree "+strconv.Quote(path), err)
		}
		trees = append(trees, copied{path, tree})
	}
	root, err := openPath("/")
	if err != nil {
		return failed(`opening "/"`, err)
	}
	defer func() { _ = syscall.Close(root) }()
	if err := (cover{readOnly: true}).limit(root); err != nil {
		return failed(`mount_setattr "/"`, err)
	}
	for _, c := range trees {
		at, err := openPath(c.path)
		if err != nil {
			return failed("opening "+strconv.Quote(c.path), err)
		}
		err = moveMount(c.tree, at)
		_, _ = syscall.Close(at), syscall.Close(c.tree)
		if err != nil {
			return failed("move_mount "+strconv.Quote(c.path), err)
		}
	}
	return nil
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
	link     bool // it is a symbolic link, and stays one
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
	open := openPath
	if c.link {
		open = openLink
	}
	at, err := open(c.on)
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
	return moveMount(tree, at)
}

// moveMount puts a tree that was opened on an open file or folder.
func moveMount(tree, at int) error {
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
func openPath(path string) (int, error) { return openWith(path, 0) }

// openLink opens a symbolic link itself. What is none is as good as gone.
func openLink(path string) (int, error) {
	fd, err := openWith(path, syscall.O_NOFOLLOW)
	if err != nil {
		return -1, err
	}
	var st syscall.Stat_t
	if err = syscall.Fstat(fd, &st); err == nil && st.Mode&syscall.S_IFMT != syscall.S_IFLNK {
		err = syscall.ENOENT
	}
	if err != nil {
		_ = syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

func openWith(path string, flags uint64) (int, error) {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	how := [3]uint64{pathOnly | syscall.O_CLOEXEC | flags, 0, withoutSymlinks} // struct open_how: flags, mode, resolve
	current := atCurrent
	fd, _, e := syscall.Syscall6(sysOpenat2, uintptr(current), uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	if e != 0 {
		return -1, e
	}
	return int(fd), nil
}
