package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// A promise is one thing that a level keeps a plugin from, as the table in docs/security.md says. A level is reached where all
// of its promises hold, and those of the levels before it.
type promise struct {
	level Level
	kept  func(Means) bool
	lack  capability // what is missing where it is not kept
	open  string     // what the plugin can do then
}

// A capability is one thing of the kernel's that promises rest on.
type capability int

const (
	landlock capability = iota
	namespaces
	mounts
	filters
)

// The versions of Landlock that brought what a level needs, see https://docs.kernel.org/userspace-api/landlock.html.
const (
	landlockRefer    = 2
	landlockTruncate = 3
	landlockTCP      = 4
	landlockIoctl    = 5
	landlockScopes   = 6
)

var (
	hasLandlock   = func(m Means) bool { return m.Landlock > 0 }
	hasNamespaces = func(m Means) bool { return m.Namespaces }
	hasFilters    = func(m Means) bool { return m.Seccomp }
)

// promises are those of Confined and Isolated. Those of Supervised rest on no_new_privs alone, see reach.
var promises = []promise{
	{Confined, func(m Means) bool { return m.Landlock > 0 || m.Protects() }, landlock, "write to files elsewhere"},
	{Confined, func(m Means) bool { return m.Landlock >= landlockTruncate || m.Landlock == 0 || m.Protects() }, landlock, "empty files elsewhere"},
	{Confined, hasLandlock, landlock, "write to terminals, devices and named pipes, and reach abstract sockets of other programs"},
	{Isolated, hasLandlock, landlock, "read all that its user may read"},

	{Confined, func(m Means) bool { return m.Namespaces || m.Landlock >= landlockScopes }, namespaces, "end other processes by signals"},
	{Confined, func(m Means) bool { return m.Namespaces || m.Landlock > 0 }, namespaces, "read and change the memory of other processes"},
	{Confined, func(m Means) bool { return m.Namespaces || m.Seccomp }, namespaces, "change the limits of other processes, which ends them"},
	{Confined, hasNamespaces, namespaces, "see other processes, change their priority and reach their shared memory and message queues"},
	{Confined, hasNamespaces, namespaces, "leave processes behind that outlive a launcher that is killed"},

	{Confined, Means.Protects, mounts, "change what others run or obey in its folders, such as .git"},
	{Confined, Means.Protects, mounts, "lock the record of calls, and read it unless it is isolated"},
	{Confined, Means.Protects, mounts, "change modes, owners, times and attributes of its user's files elsewhere"},

	{Confined, hasFilters, filters, "hold up others that open a file, by a lease on it"},
	{Confined, hasFilters, filters, "make programs that run with the rights of its user or group, by setuid and setgid bits"},
	{Isolated, hasFilters, filters, "make the kernel's rare calls (mounts, io_uring, bpf, keys, …)"},
}

// reach is the highest level up to the one asked for all of whose promises hold here.
func (m Means) reach(asked Level) Level {
	switch {
	case !m.Stage || !m.NoNewPrivs:
		return None
	case asked == Supervised || asked == Container:
		return asked
	}
	got := Supervised
	for _, level := range []Level{Confined, Isolated} {
		if !asked.AtLeast(level) || slices.ContainsFunc(promises, func(p promise) bool { return p.level == level && !p.kept(m) }) {
			break
		}
		got = level
	}
	return got
}

// lacking says what of the level asked for does not hold here, a sentence for each capability that is missing: what the plugin
// can do for that, and what helps. What follows it takes nothing from the level.
func (m Means) lacking(asked Level, network bool) (out []string) {
	switch {
	case !m.Stage:
		return []string{"this system has no means that toolhost knows to use: the plugin can do what its user can"}
	case !m.NoNewPrivs:
		return []string{"the kernel has no no_new_privs: programs such as sudo can gain privileges, and no level holds"}
	}
	if asked.AtLeast(Confined) {
		for _, c := range []capability{landlock, namespaces, mounts, filters} {
			if open := m.open(c, asked, network); len(open) > 0 {
				out = append(out, fmt.Sprintf("%s: the plugin can %s. %s", m.why(c), strings.Join(open, "; "), fixes[c]))
			}
		}
		return append(out, m.gaps(asked)...)
	}
	if !network && !m.Seccomp {
		out = append(out, fmt.Sprintf("%s: %s. %s", m.why(filters), m.openNetwork(), fixes[filters]))
	}
	return out
}

// open is what the plugin can do for the want of a capability.
func (m Means) open(c capability, asked Level, network bool) (open []string) {
	for _, p := range promises {
		if p.lack == c && asked.AtLeast(p.level) && !p.kept(m) {
			open = append(open, p.open)
		}
	}
	if c == filters && !m.Seccomp && !network {
		open = append(open, m.openNetwork())
	}
	return open
}

func (m Means) openNetwork() string {
	if m.Landlock >= landlockTCP {
		return "the network is open but for TCP, and services that listen on Unix sockets can be asked"
	}
	return "the network is open, and services that listen on Unix sockets can be asked"
}

// why says what is missing.
func (m Means) why(c capability) string {
	switch c {
	case landlock:
		if m.Landlock > 0 {
			return fmt.Sprintf("Landlock is version %d here, without the right to truncate files", m.Landlock)
		}
		return "the kernel has no Landlock, or it is not among its active security modules"
	case namespaces:
		return "there are no process namespaces (" + m.NoNamespaces + ")"
	case mounts:
		if !m.Namespaces {
			return "without process namespaces there are no read-only mounts"
		}
		return "files cannot be made read-only by mounts"
	case filters:
		return "there are no filters of system calls"
	}
	return ""
}

// fixes say what helps.
var fixes = map[capability]string{
	landlock:   "It takes Linux 5.13 or newer with landlock in the lsm= of its command line, and a container that allows its calls",
	namespaces: "Allow user namespaces to this user (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0), or have the container allow them",
	mounts:     "They take process namespaces, Linux 5.12, and a container that allows mount_setattr, open_tree and move_mount",
	filters:    "They take a kernel with CONFIG_SECCOMP_FILTER, on amd64 or arm64",
}

// gaps are what the machine leaves open that no level promises, or cannot do for a plugin.
func (m Means) gaps(asked Level) (out []string) {
	if m.Landlock > 0 {
		for _, gap := range []struct {
			since       int
			consequence string
		}{
			{landlockRefer, "files cannot be moved from one folder to another"},
			{landlockIoctl, "devices can be controlled by ioctl"},
			{landlockScopes, "abstract sockets of other programs can be reached"},
		} {
			if m.Landlock < gap.since {
				out = append(out, fmt.Sprintf("Landlock is version %d here: %s", m.Landlock, gap.consequence))
			}
		}
	}
	if asked == Isolated && m.Seccomp && !m.Protects() {
		out = append(out, "modes, owners, times and attributes of files cannot be changed at all, also of the plugin's own, since a filter of system calls cannot tell files apart")
	}
	return out
}
