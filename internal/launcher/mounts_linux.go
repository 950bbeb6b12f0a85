package launcher

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"
	"unsafe"
)

// namespaceInit is the pid of a launcher that was started in its own process namespace. Nothing inside can kill or
// stop it, and when it ends, everything inside ends.
const namespaceInit = 1

// NamespaceCapabilities are those that a launcher needs in a user namespace of its own to
// mount /proc and to give up all capabilities: CAP_SETPCAP and CAP_SYS_ADMIN.
var NamespaceCapabilities = []uintptr{8, 21}

const sharedMemory = "/dev/shm"

// fileSystems are the namespace's own: a /proc that shows its processes only, shared memory that ends with it,
// message queues, which could otherwise be opened by paths from outside, and pseudo terminals, so that the user's are
// out of reach.
var (
	fileSystems = []fileSystem{
		{kind: "proc", path: "/proc", forbidden: syscall.MS_NODEV},
		{kind: "tmpfs", path: sharedMemory, options: "mode=1777,size=25%", forbidden: syscall.MS_NODEV, optional: true},
		{kind: "mqueue", path: "/dev/mqueue", forbidden: syscall.MS_NODEV, optional: true},
	}
	terminals = fileSystem{kind: "devpts", path: "/dev/pts", options: "newinstance,ptmxmode=0666,mode=0600",
		optional: true}
)

type fileSystem struct {
	kind, path, options string
	forbidden           uintptr // besides programs
	optional            bool    // some systems have none
}

func (f fileSystem) mount() error {
	err := syscall.Mount(f.kind, f.path, f.kind, syscall.MS_NOSUID|syscall.MS_NOEXEC|f.forbidden, f.options)
	if missing := errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENODEV); missing && f.optional {
		return nil
	}
	return err
}

// isolate makes the mounts of a namespace that are the same for all programs.
func isolate() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, f := range fileSystems {
		if err := f.mount(); err != nil {
			return err
		}
	}
	return nil
}

// setUpNamespace makes the other mounts of the namespace and those that protect files, and gives up the capabilities
// for that. On failure it returns the step.
func setUpNamespace(p Program) (step string, err error) {
	if !p.Terminal { // else the program finds its terminal where it was opened
		if err := terminals.mount(); err != nil {
			return "mount", err
		}
	}
	if err := p.protect(); err != nil {
		return "protect", err
	}
	if os.Geteuid() == 0 {
		return "", nil // there is no user namespace: the capabilities are those of our parent
	}
	return "capset", dropAllCapabilities()
}

// protect makes the mounts of the sandbox: the kernel neither renames nor removes a mount. Folders inside one that
// was mounted before are found in the mount, also from the current folder.
func (p Program) protect() error {
	if p.Sandbox.ReadOnlyRoot {
		if err := p.Sandbox.makeReadOnly(); err != nil {
			return err
		}
	}
	for _, m := range p.Sandbox.Mounts {
		if err := m.mount(); err != nil {
			return failed("mounting "+strconv.Quote(m.Path), err)
		}
	}
	if len(p.Sandbox.Mounts) == 0 && !p.Sandbox.ReadOnlyRoot || len(p.Dir) > 0 && p.Dir[0] == '/' {
		return nil // the current folder is not used, and may be one that cannot be entered
	}
	here, err := syscall.Getwd()
	if err == syscall.ENOENT { // a removed folder is in none of those
		return nil
	}
	if err != nil {
		return failed("getcwd", err)
	}
	return failed("chdir "+strconv.Quote(here), syscall.Chdir(here))
}

// makeReadOnly makes every mount of the namespace read-only, and restores the writable ones. Their copies are made
// first: a read-only mount in a namespace of an ordinary user never becomes writable again. A path that does not
// exist, or that cannot be reached, is left out, as in a ruleset.
func (s *Sandbox) makeReadOnly() error {
	type copied struct {
		path string
		tree int
	}
	var trees []copied
	writable := append(slices.Clone(s.Writable), sharedMemory)
	slices.Sort(writable) // parents first: a copy of a parent includes the mounts below
	for _, path := range slices.Compact(writable) {
		at, err := openPath(path, 0)
		switch {
		case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EACCES),
			errors.Is(err, syscall.ELOOP) && path == sharedMemory:
			continue
		case err != nil:
			return failed("opening "+strconv.Quote(path), err)
		}
		tree, err := openTree(at)
		_ = syscall.Close(at)
		if err != nil {
			return failed("open_tree "+strconv.Quote(path), err)
		}
		trees = append(trees, copied{path, tree})
	}
	root, err := openPath("/", 0)
	if err != nil {
		return failed(`opening "/"`, err)
	}
	defer func() { _ = syscall.Close(root) }()
	if err := setReadOnly(root); err != nil {
		return failed(`mount_setattr "/"`, err)
	}
	for _, c := range trees {
		at, err := openPath(c.path, 0)
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

// mount works on open files, so changes of the path by others have no effect.
func (m Mount) mount() error {
	var flags uint64
	if m.Symlink {
		flags = syscall.O_NOFOLLOW
	}
	at, err := openPath(m.Path, flags)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(at) }()
	source := at
	if m.Symlink { // a file that is not a link counts as missing
		var st syscall.Stat_t
		if err := syscall.Fstat(at, &st); err != nil {
			return err
		}
		if st.Mode&syscall.S_IFMT != syscall.S_IFLNK {
			return syscall.ENOENT
		}
	}
	if m.Source != "" {
		if source, err = openPath(m.Source, 0); err != nil {
			return err
		}
		defer func() { _ = syscall.Close(source) }()
	}
	tree, err := openTree(source)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(tree) }()
	if m.ReadOnly {
		if err := setReadOnly(tree); err != nil {
			return err
		}
	}
	return moveMount(tree, at)
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

// noPath is the empty path of system calls that receive an open file.
var noPath = unsafe.Pointer(new(byte))

// CanMountReadOnly reports whether the kernel has all these calls. The newest, mount_setattr, is called with nothing,
// which it refuses.
func CanMountReadOnly() bool {
	_, _, e := syscall.RawSyscall6(sysMountSetattr, 0, 0, 0, 0, 0, 0)
	return e == syscall.EINVAL
}

// openPath opens a file or a folder itself, without access to its content, if no part of its path is a symbolic link.
// With O_NOFOLLOW the last part may be one, which is opened itself.
func openPath(path string, flags uint64) (int, error) {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	how := [3]uint64{pathOnly | syscall.O_CLOEXEC | flags, 0, withoutSymlinks} // struct open_how: flags, mode, resolve
	current := atCurrent
	fd, _, e := syscall.Syscall6(sysOpenat2, uintptr(current), uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	if e != 0 {
		return -1, e
	}
	return int(fd), nil
}

// openTree copies what is mounted at an open file or folder, with all mounts below it.
func openTree(at int) (int, error) {
	tree, _, e := syscall.Syscall(sysOpenTree, uintptr(at), uintptr(noPath), emptyPath|cloneTree|syscall.O_CLOEXEC)
	if e != 0 {
		return -1, e
	}
	return int(tree), nil
}

// setReadOnly makes a tree of mounts read-only.
func setReadOnly(tree int) error {
	attributes := [4]uint64{readOnlyMount} // struct mount_attr: set, clear, propagation, user namespace
	_, _, e := syscall.Syscall6(sysMountSetattr, uintptr(tree), uintptr(noPath), emptyPath|recursive,
		uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes), 0)
	if e != 0 {
		return e
	}
	return nil
}

// moveMount mounts a copied tree on an open file or folder.
func moveMount(tree, at int) error {
	_, _, e := syscall.Syscall6(sysMoveMount, uintptr(tree), uintptr(noPath), uintptr(at), uintptr(noPath), bothEmpty, 0)
	if e != 0 {
		return e
	}
	return nil
}
