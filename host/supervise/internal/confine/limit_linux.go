package confine

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// limit sets the umask and the resource limits, soft and hard. None is set above what the host itself has.
func limit(o *Orders) *Failure {
	if o.Umask {
		syscall.Umask(0o077)
	}
	for _, l := range []struct {
		name     string
		resource int
		most     uint64
		set      bool
	}{
		{"RLIMIT_CORE", unix.RLIMIT_CORE, 0, true},
		{"RLIMIT_NOFILE", unix.RLIMIT_NOFILE, o.Files, o.Files > 0},
		{"RLIMIT_FSIZE", unix.RLIMIT_FSIZE, o.FileSize, o.FileSize > 0},
		{"RLIMIT_DATA", unix.RLIMIT_DATA, o.Memory, o.Memory > 0},
		{"RLIMIT_NPROC", unix.RLIMIT_NPROC, o.Processes, o.Processes > 0},
	} {
		if !l.set {
			continue
		}
		if err := lower(l.resource, l.most); err != nil {
			return failed("setrlimit("+l.name+")", err)
		}
	}
	return nil
}

// lower uses package syscall, which then no longer puts back the limit of open files that Go has raised for itself.
func lower(resource int, most uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	least := min(most, now.Max)
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: least, Max: least})
}

// kept are the capabilities that root has left when it is confined: those over files and users. What changes the system
// itself, such as mounts, modules, devices, the clock and the network's set-up, is not for a plugin.
const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID |
	1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE

// dropCapabilities takes the others from root. Without new privileges execve gives none of them back.
func dropCapabilities(o *Orders) *Failure {
	if !o.Writes && !o.NoKernel {
		return nil
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return failed("capget", err)
	}
	for i, keep := range []uint32{kept, 0} {
		data[i].Permitted &= keep
		data[i].Effective &= keep
		data[i].Inheritable = 0
	}
	return failed("capset", unix.Capset(&header, &data[0]))
}
