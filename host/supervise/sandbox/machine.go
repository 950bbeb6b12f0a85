package sandbox

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/sdk/proctree"
)

// Means are what a machine offers to keep plugins in.
type Means struct {
	Stage        bool   `json:"stage"`                   // this system can restrict plugins: Linux
	NoNewPrivs   bool   `json:"no_new_privs"`            // programs can be kept from gaining privileges
	Landlock     int    `json:"landlock"`                // version of its interface, 0 for none
	Seccomp      bool   `json:"seccomp"`                 // filters of system calls
	Namespaces   bool   `json:"namespaces"`              // process namespaces
	NoNamespaces string `json:"no_namespaces,omitempty"` // why not
	NoFixing     bool   `json:"no_fixing,omitempty"`     // files cannot be fixed in them: Linux before 5.12
	Bubblewrap   string `json:"bubblewrap,omitempty"`    // the program bwrap in PATH, for wrappers
}

// Machine finds out what this machine offers, once: later calls give the same. The first takes a few milliseconds.
func Machine() Means {
	_ = proctree.Namespaces() // so that it is known
	return Presumed()
}

// Presumed is Machine without a try: process namespaces are there until a start finds out that they are not.
func Presumed() Means {
	m, no := offered(), proctree.NamespacesRefused()
	if m.Namespaces = no == nil; no != nil {
		m.NoNamespaces = no.Error()
	}
	return m
}

// Protects says whether paths can be kept from a plugin in its own folders.
func (m Means) Protects() bool { return m.Namespaces && !m.NoFixing }

var offered = sync.OnceValue(func() Means {
	o := proctree.Offered()
	m := Means{Stage: o.Restrictions, NoNewPrivs: o.NoNewPrivileges, Landlock: o.Landlock, Seccomp: o.Filters, NoFixing: !o.Fixed}
	m.Bubblewrap, _ = exec.LookPath("bwrap")
	return m
})

// reach is the highest level up to the one asked for whose promises all hold here.
func (m Means) reach(asked Level) Level {
	switch others := m.Namespaces || m.Landlock >= landlockScopes && m.Seccomp; {
	case !m.Stage || !m.NoNewPrivs:
		return None
	case asked == Supervised || asked == Container:
		return asked
	case m.Landlock < landlockTruncate || !others:
		return Supervised
	case asked == Isolated && !m.Seccomp:
		return Confined
	}
	return asked
}

// The versions of Landlock that brought what a level needs, see https://docs.kernel.org/userspace-api/landlock.html.
const (
	landlockRefer    = 2
	landlockTruncate = 3
	landlockTCP      = 4
	landlockIoctl    = 5
	landlockScopes   = 6
)

func (m Means) lackingStage() []string {
	switch {
	case !m.Stage:
		return []string{"this system has no means that toolhost knows to use: the plugin can do what its user can"}
	case !m.NoNewPrivs:
		return []string{"the kernel has no no_new_privs: programs such as sudo can gain privileges, and no level holds"}
	}
	return nil
}

// lackingLandlock says what the version of Landlock leaves open.
func (m Means) lackingLandlock(asked Level) (out []string) {
	if !asked.AtLeast(Confined) || !m.Stage {
		return nil
	}
	if m.Landlock == 0 {
		return []string{"the kernel has no Landlock, or it is not among its active security modules (lsm=landlock,…): nothing keeps the plugin from " + m.openWithoutLandlock(asked)}
	}
	say := func(since int, consequence string) {
		if m.Landlock < since {
			out = append(out, fmt.Sprintf("Landlock is version %d here: %s", m.Landlock, consequence))
		}
	}
	say(landlockRefer, "files cannot be moved from one folder to another")
	say(landlockTruncate, "files outside can be emptied")
	say(landlockIoctl, "devices can be controlled by ioctl")
	if !m.Namespaces {
		say(landlockScopes, "signals to other processes are not blocked")
	}
	say(landlockScopes, "abstract sockets of other programs can be reached")
	return out
}

// openWithoutLandlock says what nothing else closes.
func (m Means) openWithoutLandlock(asked Level) string {
	open := []string{"writing elsewhere"}
	if asked == Isolated {
		open = []string{"reading and writing elsewhere"}
	}
	if !m.Namespaces {
		open = append(open, "from signals to other processes")
	}
	return strings.Join(append(open, "from their abstract sockets"), ", ")
}

func (m Means) lackingOthers(asked Level, network bool) (out []string) {
	if !m.Stage {
		return nil
	}
	if asked.AtLeast(Confined) && !m.Namespaces {
		out = append(out, "there are no process namespaces ("+m.NoNamespaces+"): the plugin sees other processes, can change their priority and reach their shared memory and message queues, and what it hides from its launcher outlives a launcher that is killed")
	}
	if asked.AtLeast(Confined) && !m.Seccomp {
		out = append(out, "there are no filters of system calls: the plugin can hold up others that open a file, by a lease on it"+m.otherLimits())
	}
	if !m.Seccomp && asked == Isolated {
		out = append(out, "there are no filters of system calls: the kernel's rare calls (mounts, io_uring, bpf, keys, …) are open to the plugin")
	}
	switch {
	case m.Seccomp || network:
	case m.Landlock < landlockTCP:
		out = append(out, "there are no filters of system calls: the network is open, and services that listen on Unix sockets can be asked")
	default:
		out = append(out, "there are no filters of system calls: the network is open but for TCP, and services that listen on Unix sockets can be asked")
	}
	return out
}

// otherLimits: in a namespace there is nobody else to set them for.
func (m Means) otherLimits() string {
	if m.Namespaces {
		return ""
	}
	return ", and change the limits of other processes, which can end them"
}
