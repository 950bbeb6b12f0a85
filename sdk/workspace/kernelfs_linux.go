package workspace

import (
	"os"
	"syscall"
)

// kernelFilesystems are those whose files the kernel makes up as they are read: they call themselves regular, have no
// size, may wait for ever, and reading or writing them acts on the machine. The numbers are those of statfs(2).
var kernelFilesystems = map[uint32]string{
	0x9fa0: "procfs", 0x62656572: "sysfs", 0x64626720: "debugfs", 0x74726163: "tracefs", 0x73636673: "securityfs",
	0x27e0eb: "cgroup", 0x63677270: "cgroup2",
	0xcafe4a11: "bpf", 0x6165676c: "pstore", 0xde5e81e4: "efivarfs", 0x62656570: "configfs", 0xf97cff8c: "selinuxfs",
	0x43415d53: "smackfs", 0x42494e4d: "binfmt_misc",
	0x65735543: "fusectl", 0x19800202: "mqueue", 0x1cd1: "devpts", 0x6e736673: "nsfs", 0x67596969: "rpc_pipefs",
	0x7655821: "resctrl",
}

// kernelFilesystem names the kernel's own file system that an open file is of, or gives "".
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
