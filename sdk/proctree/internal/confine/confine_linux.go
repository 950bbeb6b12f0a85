// Package confine turns what people ask that a program be without into orders for the launcher, in the kernel's numbers. It
// runs in the process that asks, where what it imports is there already.
package confine

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/sdk/proctree/internal/launcher"
)

// Restrictions are those of package proctree, which says what they mean.
type Restrictions struct {
	Umask, NoNewPrivileges             bool
	Files, FileSize, Memory, Processes uint64
	ABI                                int
	Writes, Reads                      bool
	Write, Read                        []string
	NoTCP, NoSockets, NoKernel         bool
	NoInterference                     bool
	NoSetID, NoMetadata                bool
	Expendable                         bool
}

// Orders are what the launcher has to do for all of it. The error is a *launcher.Failure with ENOSYS: files need Landlock,
// and there is no filter for this processor.
func (r *Restrictions) Orders() (launcher.Orders, error) {
	if (r.Writes || r.Reads) && r.ABI <= 0 {
		return launcher.Orders{}, &launcher.Failure{Call: "landlock", Errno: syscall.ENOSYS}
	}
	attr, score := rulesetOf(r), 0
	if r.Expendable {
		score = 500 // half of what there is
	}
	filter, err := filterOf(r)
	return launcher.Orders{
		Umask: r.Umask, NoNewPrivileges: r.NoNewPrivileges, Limits: limitsOf(r), Drop: r.Writes || r.NoKernel || r.NoSetID, Keep: kept, Score: score,
		Ruleset: [3]uint64{attr.Handled_access_fs, attr.Handled_access_net, attr.Scoped},
		Rules:   rulesOf(r, attr.Handled_access_fs), Filter: filter,
	}, err
}

// limitsOf are the resource limits. There are never core dumps.
func limitsOf(r *Restrictions) (limits []launcher.Limit) {
	limits = append(limits, launcher.Limit{Name: "RLIMIT_CORE", Resource: unix.RLIMIT_CORE})
	for _, l := range []launcher.Limit{
		{Name: "RLIMIT_NOFILE", Resource: unix.RLIMIT_NOFILE, Most: r.Files},
		{Name: "RLIMIT_FSIZE", Resource: unix.RLIMIT_FSIZE, Most: r.FileSize},
		{Name: "RLIMIT_DATA", Resource: unix.RLIMIT_DATA, Most: r.Memory},
		{Name: "RLIMIT_NPROC", Resource: unix.RLIMIT_NPROC, Most: r.Processes},
	} {
		if l.Most > 0 {
			limits = append(limits, l)
		}
	}
	return limits
}

// kept are the capabilities that root has left when it is confined: those over files and users. What changes the system
// itself, such as mounts, modules, devices, the clock and the network's set-up, is not for a plugin. Nor is
// CAP_DAC_READ_SEARCH, which CAP_DAC_OVERRIDE includes but for opening files by handle, past the mounts that protect them.
const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID |
	1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_NET_BIND_SERVICE
