//go:build !proctree_group

package proctree

import (
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/launcher"
)

// kernelCapabilities asks the kernel each time, and starts nothing; a failure of read-only mounts that [Namespaces]
// or a run has found is included.
func kernelCapabilities() Capabilities {
	abi, _, noLandlock := syscall.RawSyscall(
		unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if noLandlock != 0 {
		abi = 0
	}
	_, noPrivs := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	_, _, noSeccomp := syscall.RawSyscall(
		unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return Capabilities{
		Sandbox: true, NoNewPrivs: noPrivs == nil, Landlock: int(abi), Seccomp: noSeccomp == 0 && architecture() != 0,
		NoReadOnlyMounts: !launcher.CanMountReadOnly() || mountsRefusal.get() != nil,
	}
}

// compile converts the sandbox to the kernel's numbers. It runs in this process, where the packages it needs are
// initialized. Files cannot be restricted without Landlock, and there is no filter for some processors.
func (p *program) compile() (launcher.Sandbox, error) {
	s := &p.sandbox
	if (s.RestrictWrites || s.RestrictReads) && s.Landlock <= 0 {
		return launcher.Sandbox{}, p.sandboxError("landlock", syscall.ENOSYS)
	}
	var filter []syscall.SockFilter
	if s.NoSockets || s.NoRareCalls || s.NoInterference || s.NoSetID || s.NoMetadata {
		if architecture() == 0 {
			return launcher.Sandbox{}, p.sandboxError("seccomp", syscall.ENOSYS)
		}
		for _, i := range s.filter() {
			filter = append(filter, syscall.SockFilter(i))
		}
	}
	ruleset := s.ruleset()
	return launcher.Sandbox{
		ReadOnlyRoot: s.ReadOnlyRoot, Writable: s.Writable, Mounts: s.mounts(),
		OOMScoreAdj: s.OOMScoreAdj, Umask: s.Umask, NoNewPrivileges: s.NoNewPrivileges, Rlimits: s.rlimits(),
		DropCapabilities: s.RestrictWrites || s.NoRareCalls || s.NoSetID, KeepCapabilities: keptCapabilities,
		Landlock:      [3]uint64{ruleset.Handled_access_fs, ruleset.Handled_access_net, ruleset.Scoped},
		LandlockRules: s.rules(ruleset.Handled_access_fs), Seccomp: filter,
	}, nil
}

// mounts are those on the paths of the sandbox. Of each kind parents come first: a copy of a parent includes the
// mounts below.
func (s *Sandbox) mounts() (mounts []launcher.Mount) {
	add := func(paths []string, like launcher.Mount) {
		for _, like.Path = range slices.Sorted(slices.Values(paths)) {
			mounts = append(mounts, like)
		}
	}
	add(s.Pinned, launcher.Mount{})
	add(s.ReadOnly, launcher.Mount{ReadOnly: true})
	add(s.Masked, launcher.Mount{Source: "/dev/null"})
	add(s.PinnedLinks, launcher.Mount{Symlink: true})
	return mounts
}

func (s *Sandbox) rlimits() (limits []launcher.Rlimit) {
	if s.NoCoreDumps {
		limits = append(limits, launcher.Rlimit{Name: "RLIMIT_CORE", Resource: unix.RLIMIT_CORE})
	}
	for _, l := range []launcher.Rlimit{
		{Name: "RLIMIT_NOFILE", Resource: unix.RLIMIT_NOFILE, Max: s.MaxFiles},
		{Name: "RLIMIT_FSIZE", Resource: unix.RLIMIT_FSIZE, Max: s.MaxFileSize},
		{Name: "RLIMIT_DATA", Resource: unix.RLIMIT_DATA, Max: s.MaxMemory},
		{Name: "RLIMIT_NPROC", Resource: unix.RLIMIT_NPROC, Max: s.MaxProcesses},
	} {
		if l.Max > 0 {
			limits = append(limits, l)
		}
	}
	return limits
}

// keptCapabilities are those that root keeps: those over files and users. Those that change the system itself, such
// as mounts, modules, devices, the clock and the network's set-up, are dropped, and so is CAP_DAC_READ_SEARCH, which
// adds to CAP_DAC_OVERRIDE only opening files by handle, past the mounts that protect them.
const keptCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID |
	1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE

// Landlock, see https://docs.kernel.org/userspace-api/landlock.html.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// deviceRights, making device nodes, are never granted: root could make one for any disk.
	deviceRights = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	writeRights  = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
)

// writeRightsOf are the rights to write of a version of Landlock. Without the right to refer, from version 2 on, no
// file could be moved from one folder to another.
func writeRightsOf(version int) uint64 {
	rights := uint64(writeRights)
	if version >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 5 {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return rights
}

// ruleset has the accesses that Landlock forbids unless a rule allows them.
func (s *Sandbox) ruleset() (attr unix.LandlockRulesetAttr) {
	if s.Landlock == 0 {
		return attr
	}
	if s.RestrictWrites {
		attr.Handled_access_fs = writeRightsOf(s.Landlock) | deviceRights
	}
	if s.RestrictReads {
		attr.Handled_access_fs |= readRights
	}
	if s.RestrictWrites && s.Landlock >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	if s.NoTCP && s.Landlock >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	return attr
}

// rules are the paths that may be written to, and those that may be read.
func (s *Sandbox) rules(handled uint64) (rules []launcher.LandlockRule) {
	add := func(paths []string, rights uint64) {
		for _, path := range paths {
			if rights &= handled; rights != 0 {
				rules = append(rules, launcher.LandlockRule{Path: path, Rights: rights})
			}
		}
	}
	write := writeRightsOf(s.Landlock)
	if s.RestrictReads {
		write |= readRights
	}
	add(s.Write, write)
	add(s.Read, readRights)
	return rules
}
