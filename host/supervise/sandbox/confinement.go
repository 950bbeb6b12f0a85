package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk/proctree"
)

// A Confinement says what was requested for a plugin, and what is effective.
type Confinement struct {
	Requested Level `json:"asked"`
	// Effective is the highest level, at most the requested one, whose promises all hold.
	Effective Level `json:"got"`
	// Missing are sentences about the parts of the requested level that are missing, with the consequences.
	Missing []string `json:"missing,omitempty"`
	// ReadOnly are files and folders that it cannot change, though they are in folders that it may write to: those that
	// toolhost and others run or read by themselves, such as .git. Some may not exist.
	ReadOnly []string `json:"read_only,omitempty"`
	// Masked are files that appear empty to it, such as the record of calls.
	Masked []string `json:"hidden,omitempty"`
	// Network reports whether the plugin can reach the network.
	Network bool `json:"network"`
	// Wrapper is the wrapper's program, "" for none.
	Wrapper string `json:"wrapper,omitempty"`
}

// Evaluate returns the effect of the sandbox on a machine, without the paths that a Host protects. It fails when the
// effective level is below the required one.
func (s Spec) Evaluate(m proctree.Capabilities) (Confinement, error) {
	c := Confinement{Requested: s.Requested(), Network: s.hasNetwork() || !m.Seccomp}
	if len(s.Wrapper) > 0 {
		c.Wrapper = s.Wrapper[0]
	}
	c.Effective = effective(c.Requested, m)
	c.Missing = append(missing(c.Requested, m, s.hasNetwork()), s.unlimited(m)...)
	if err := c.meets(s.Require); err != nil {
		return c, err
	}
	if s.Require != "" && c.Network && !s.hasNetwork() {
		return c, fmt.Errorf("it requires that there be no network, which this machine cannot do: %w", c.missingError())
	}
	return c, nil
}

// meets fails when the effective level is less than the required one, "" for none.
func (c Confinement) meets(require Level) error {
	if require == "" || c.Effective.AtLeast(require) {
		return nil
	}
	return fmt.Errorf("it requires the sandbox level %q, but would have %q: %w", require, c.Effective, c.missingError())
}

func (c Confinement) missingError() error { return errors.New(strings.Join(c.Missing, "\n")) }

// unlimited reports limits that have no effect: the kernel counts root's processes and does not limit them, except
// for a root that is one in a user namespace only, see https://man7.org/linux/man-pages/man2/getrlimit.2.html.
func (s Spec) unlimited(m proctree.Capabilities) []string {
	if s.Limits.Processes == 0 || !m.Sandbox || os.Geteuid() != 0 {
		return nil
	}
	users, _ := os.ReadFile("/proc/self/uid_map")
	if f := strings.Fields(string(users)); len(f) > 1 && f[1] != "0" {
		return nil
	}
	return []string{"the number of processes is not limited, since the system does not limit root's: " +
		"run toolhost as an ordinary user"}
}

// A promise is one thing that a level prevents, as in the table in docs/security.md. A level is effective where all
// of its promises hold, and those of the levels below it.
type promise struct {
	level Level
	holds func(proctree.Capabilities) bool
	needs means  // reported as missing where it does not hold
	open  string // what the plugin can do then
}

// means are the parts of the kernel that promises depend on.
type means int

const (
	landlock means = iota
	namespaces
	mounts
	filters
)

// The versions of Landlock that introduced what a level needs, see
// https://docs.kernel.org/userspace-api/landlock.html.
const (
	landlockRefer    = 2
	landlockTruncate = 3
	landlockTCP      = 4
	landlockIoctl    = 5
	landlockScopes   = 6
)

// promises are those of Confined and Isolated. Those of Supervised depend on no_new_privs alone, see effective.
var promises = []promise{
	{Confined, func(m proctree.Capabilities) bool { return m.Landlock > 0 || m.ReadOnlyMounts() }, landlock,
		"write to files elsewhere"},
	{Confined, func(m proctree.Capabilities) bool {
		return m.Landlock >= landlockTruncate || m.Landlock == 0 || m.ReadOnlyMounts()
	}, landlock, "empty files elsewhere"},
	{Confined, hasLandlock, landlock,
		"write to terminals, devices and named pipes, and reach abstract sockets of other programs"},
	{Isolated, hasLandlock, landlock, "read all that its user may read"},

	{Confined, func(m proctree.Capabilities) bool { return m.Namespaces || m.Landlock >= landlockScopes }, namespaces,
		"end other processes by signals"},
	{Confined, func(m proctree.Capabilities) bool { return m.Namespaces || m.Landlock > 0 }, namespaces,
		"read and change the memory of other processes"},
	{Confined, func(m proctree.Capabilities) bool { return m.Namespaces || m.Seccomp }, namespaces,
		"change the limits of other processes, which ends them"},
	{Confined, hasNamespaces, namespaces,
		"see other processes, change their priority and reach their shared memory and message queues"},
	{Confined, hasNamespaces, namespaces, "leave processes behind that outlive a launcher that is killed"},

	{Confined, proctree.Capabilities.ReadOnlyMounts, mounts, "change auto-executed files in its folders, such as .git"},
	{Confined, proctree.Capabilities.ReadOnlyMounts, mounts,
		"lock the record of calls, and read it unless it is isolated"},
	{Confined, proctree.Capabilities.ReadOnlyMounts, mounts,
		"change modes, owners, times and attributes of its user's files elsewhere"},

	{Confined, hasFilters, filters, "block others that open a file, by a lease on it"},
	{Confined, hasFilters, filters,
		"make programs that run with the rights of its user or group, by setuid and setgid bits"},
	{Isolated, hasFilters, filters, "make the kernel's rare calls (mounts, io_uring, bpf, keys, …)"},
}

func hasLandlock(m proctree.Capabilities) bool   { return m.Landlock > 0 }
func hasNamespaces(m proctree.Capabilities) bool { return m.Namespaces }
func hasFilters(m proctree.Capabilities) bool    { return m.Seccomp }

// effective is the highest level, up to the requested one, whose promises all hold on a machine.
func effective(requested Level, m proctree.Capabilities) Level {
	switch {
	case !m.Sandbox || !m.NoNewPrivs:
		return None
	case requested == Supervised || requested == Container:
		return requested
	}
	broken := func(level Level) bool {
		return slices.ContainsFunc(promises, func(p promise) bool { return p.level == level && !p.holds(m) })
	}
	switch {
	case broken(Confined):
		return Supervised
	case requested == Confined || broken(Isolated):
		return Confined
	}
	return Isolated
}

// missing are sentences about promises of the requested level that do not hold, one for each missing means: what the
// plugin can do, and how to fix it. Later sentences do not affect the level.
func missing(requested Level, m proctree.Capabilities, network bool) (out []string) {
	switch {
	case !m.Sandbox:
		return []string{fmt.Sprintf("the sandbox level %s is not available on %s: this system has no means that toolhost "+
			"knows to use, and the plugin can do what its user can", requested, runtime.GOOS)}
	case !m.NoNewPrivs:
		return []string{"the kernel has no no_new_privs: programs such as sudo can gain privileges, and no level holds"}
	}
	for _, of := range []means{landlock, namespaces, mounts, filters} {
		var open []string
		for _, p := range promises {
			if p.needs == of && requested.AtLeast(p.level) && !p.holds(m) {
				open = append(open, p.open)
			}
		}
		if of == filters && !m.Seccomp && !network {
			tcp := ""
			if m.Landlock >= landlockTCP {
				tcp = " but for TCP"
			}
			open = append(open, "use the network"+tcp+", and ask services that listen on Unix sockets")
		}
		if len(open) > 0 {
			out = append(out, fmt.Sprintf("%s: the plugin can %s. %s", of.cause(m), strings.Join(open, "; "), fixes[of]))
		}
	}
	if requested.AtLeast(Confined) {
		out = append(out, gaps(requested, m)...)
	}
	return out
}

// cause is why the means are missing.
func (of means) cause(m proctree.Capabilities) string {
	switch {
	case of == landlock && m.Landlock > 0:
		return fmt.Sprintf("Landlock is version %d here, without the right to truncate files", m.Landlock)
	case of == landlock:
		return "the kernel has no Landlock, or it is not among its active security modules"
	case of == namespaces:
		return "there are no process namespaces (" + m.NamespacesError + ")"
	case of == mounts && !m.Namespaces:
		return "without process namespaces there are no read-only mounts"
	case of == mounts:
		return "files cannot be made read-only by mounts"
	}
	return "there are no filters of system calls"
}

// fixes say how to provide missing means.
var fixes = map[means]string{
	landlock: "It takes Linux 5.13 or newer with landlock in the lsm= of its command line, " +
		"and a container that allows its calls",
	namespaces: "Allow user namespaces to this user (sysctl user.max_user_namespaces, " +
		"kernel.apparmor_restrict_unprivileged_userns=0), or have the container allow them",
	mounts: "They take process namespaces, Linux 5.12, " +
		"and a container that allows mount_setattr, open_tree and move_mount",
	filters: "They take a kernel with CONFIG_SECCOMP_FILTER, on amd64 or arm64",
}

// gaps are things that the machine leaves open and no level prevents, or that it cannot do for a plugin.
func gaps(requested Level, m proctree.Capabilities) (out []string) {
	for _, gap := range []struct {
		since       int
		consequence string
	}{
		{landlockRefer, "files cannot be moved from one folder to another"},
		{landlockIoctl, "devices can be controlled by ioctl"},
		{landlockScopes, "abstract sockets of other programs can be reached"},
	} {
		if m.Landlock > 0 && m.Landlock < gap.since {
			out = append(out, fmt.Sprintf("Landlock is version %d here: %s", m.Landlock, gap.consequence))
		}
	}
	if requested == Isolated && m.Seccomp && !m.ReadOnlyMounts() {
		out = append(out, "modes, owners, times and attributes of files cannot be changed at all, also of the plugin's own, "+
			"since a filter of system calls cannot distinguish files")
	}
	return out
}
