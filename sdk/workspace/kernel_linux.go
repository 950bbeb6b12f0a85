package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// kernelFilesystems are those whose files the kernel generates when they are read: they look regular, have no size,
// may wait forever, and reading or writing them acts on the machine. The numbers are those of statfs(2).
var kernelFilesystems = map[uint32]string{
	0x9fa0: "procfs", 0x62656572: "sysfs", 0x64626720: "debugfs", 0x74726163: "tracefs", 0x73636673: "securityfs",
	0x27e0eb: "cgroup", 0x63677270: "cgroup2",
	0xcafe4a11: "bpf", 0x6165676c: "pstore", 0xde5e81e4: "efivarfs", 0x62656570: "configfs", 0xf97cff8c: "selinuxfs",
	0x43415d53: "smackfs", 0x42494e4d: "binfmt_misc",
	0x65735543: "fusectl", 0x19800202: "mqueue", 0x1cd1: "devpts", 0x6e736673: "nsfs", 0x67596969: "rpc_pipefs",
	0x7655821: "resctrl",
}

// kernelFilesystem returns the name of the kernel file system of an open file, or "".
func kernelFilesystem(f *os.File) string {
	c, err := f.SyscallConn() // Fd would make it one that waits
	if err != nil {
		return ""
	}
	var s syscall.Statfs_t
	if c.Control(func(fd uintptr) { err = syscall.Fstatfs(int(fd), &s) }) != nil || err != nil {
		return ""
	}
	return kernelFilesystems[uint32(s.Type)]
}

// keepAttributes copies the extended attributes of the old file to the new one, access control lists among them. The
// user's own attributes must come along; of the system's those do that this process may set. Capabilities do not: they
// were given to a program that is another now, as setuid was.
func keepAttributes(to, from *os.File) error {
	var failed error
	err := withDescriptors(to, from, func(to, from int) {
		for _, name := range attributeNames(from) {
			if name == "security.capability" {
				continue
			}
			value, err := attribute(from, name)
			if err == nil {
				err = unix.Fsetxattr(to, name, value, 0)
			}
			if err != nil && strings.HasPrefix(name, "user.") {
				failed = fmt.Errorf("its extended attribute %s cannot be kept: %w", name, err)
				return
			}
		}
	})
	return errors.Join(err, failed)
}

func withDescriptors(a, b *os.File, f func(a, b int)) error {
	inA, err := a.SyscallConn()
	if err != nil {
		return err
	}
	inB, err := b.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = inA.Control(func(fdA uintptr) {
		inner = inB.Control(func(fdB uintptr) { f(int(fdA), int(fdB)) })
	})
	return errors.Join(err, inner)
}

// attributeNames are none where the file system has no attributes.
func attributeNames(fd int) (out []string) {
	list := make([]byte, 64<<10) // the kernel's limit
	n, err := unix.Flistxattr(fd, list)
	if err != nil {
		return nil
	}
	for name := range bytes.SplitSeq(list[:n], []byte{0}) {
		if len(name) > 0 {
			out = append(out, string(name))
		}
	}
	return out
}

func attribute(fd int, name string) ([]byte, error) {
	value := make([]byte, 64<<10) // likewise
	n, err := unix.Fgetxattr(fd, name, value)
	if err != nil {
		return nil, err
	}
	return value[:n], nil
}
