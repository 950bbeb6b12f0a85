package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/sdk"
)

func TestFilesOfTheKernelAreRefused(t *testing.T) {
	for dir, files := range map[string][]string{"/proc": {"version", "self/environ", "self/mem", "sys/kernel/hostname",
		"cpuinfo"}, "/sys": {"kernel/mm/transparent_hugepage/enabled", "power/state"}} {
		w, err := Open(dir)
		check(t, err)
		defer w.Close()
		for _, path := range files {
			p, err := w.Find(path)
			check(t, err)
			if p.Info == nil || !p.Info.Mode().IsRegular() || p.Info.Mode().Perm()&0o444 == 0 {
				continue // this machine has none of that name, or with another mode
			}
			_, err = p.Open()
			if e, ok := errors.AsType[*sdk.Error](err); ok && e.Name == "PermissionDenied" {
				continue // not root
			}
			contains(t, fails(t, err, "NotARegularFile").Message, "made up by the kernel")
			parent, err := w.Find(filepath.Dir(path))
			check(t, err)
			in, err := parent.Folder()
			check(t, err)
			_, _, err = in.Open(filepath.Base(path))
			in.Close()
			contains(t, fails(t, err, "NotARegularFile").Message, "made up by the kernel", path)
		}
	}
}

func TestExtendedAttributesSurvive(t *testing.T) {
	f := start(t, "file", "old")
	values := map[string]string{"user.comment": "kept", "user.empty": "", "user.large": strings.Repeat("x", 2000)}
	for name, value := range values {
		if err := unix.Setxattr(f.path("file"), name, []byte(value), 0); errors.Is(err, unix.ENOTSUP) {
			t.Skip("the file system of this machine's temporary folder has no extended attributes")
		} else {
			check(t, err)
		}
	}
	// An access control list: the owner rw, user 1 r, the group r, others none.
	acl := "\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" + "\x02\x00\x04\x00\x01\x00\x00\x00" +
		"\x04\x00\x04\x00\xff\xff\xff\xff" + "\x10\x00\x04\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff"
	if err := unix.Setxattr(f.path("file"), "system.posix_acl_access", []byte(acl), 0); err == nil {
		values["system.posix_acl_access"] = acl
	}
	p := f.find(t, "file")
	mode := p.Info.Mode()
	check(t, p.Write([]byte("new"), nil))
	for name, value := range values {
		got := make([]byte, 4096)
		n, err := unix.Getxattr(f.path("file"), name, got)
		check(t, err)
		if string(got[:n]) != value {
			t.Errorf("%s is %q", name, got[:n])
		}
	}
	if after := f.find(t, "file").Info.Mode(); after != mode {
		t.Errorf("the mode %s became %s", mode, after)
	}
	data, err := os.ReadFile(f.path("file"))
	check(t, err)
	if string(data) != "new" {
		t.Errorf("it holds %q", data)
	}
}
