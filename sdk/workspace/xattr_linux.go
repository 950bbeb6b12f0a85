package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// keepAttributes gives the new file the extended attributes of the old one, access control lists among them. The user's
// own attributes must come along; of the system's those do that this process may set. Capabilities do not: they were
// given to a program that is another now, as setuid was.
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
