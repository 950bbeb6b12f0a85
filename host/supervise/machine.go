package supervise

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/supervise/internal/confine"
	"github.com/toolhost/toolhost/sdk/proctree"
)

// Means are what a machine offers to keep plugins in.
type Means struct {
	Stage        bool   `json:"stage"`                   // this system has the stage that restricts plugins: Linux
	NoNewPrivs   bool   `json:"no_new_privs"`            // programs can be kept from gaining privileges
	Landlock     int    `json:"landlock"`                // version of its interface, 0 for none
	Seccomp      bool   `json:"seccomp"`                 // filters of system calls
	Namespaces   bool   `json:"namespaces"`              // process namespaces
	NoNamespaces string `json:"no_namespaces,omitempty"` // why not
	Bubblewrap   string `json:"bubblewrap,omitempty"`    // the program bwrap in PATH, for wrappers
}

// Machine finds out what this machine offers, once: later calls give the same. The first takes a few milliseconds.
func Machine() Means { return probed() }

var probed = sync.OnceValue(func() Means {
	m := Means{Stage: confine.Here, NoNewPrivs: confine.NoNewPrivileges(), Landlock: confine.Landlock(), Seccomp: confine.Seccomp()}
	if err := proctree.Namespaces(); err != nil {
		m.NoNamespaces = err.Error()
	} else {
		m.Namespaces = true
	}
	m.Bubblewrap, _ = exec.LookPath("bwrap")
	return m
})

// A Confinement is what was asked for a plugin, and what it has.
type Confinement struct {
	Asked Level `json:"asked"`
	// Got is the highest level, at most Asked, all of whose promises hold.
	Got Level `json:"got"`
	// Missing says what of Asked is not there, and what follows from that.
	Missing []string `json:"missing,omitempty"`
	// Network says whether the plugin can reach the network.
	Network bool `json:"network"`
	// Wrapper is the wrapper's program, "" for none.
	Wrapper string `json:"wrapper,omitempty"`
}

// On says what the sandbox comes to on a machine. It fails when that is less than the sandbox requires.
func (s Sandbox) On(m Means) (Confinement, error) {
	c := Confinement{Asked: s.level(), Network: s.network() || !m.Seccomp}
	if len(s.Wrapper) > 0 {
		c.Wrapper = s.Wrapper[0]
	}
	c.Got = m.reach(c.Asked)
	c.Missing = slices.Concat(m.lackingStage(), m.lackingLandlock(c.Asked), m.lackingOthers(c.Asked, s.network()))
	switch {
	case s.Require == "":
	case c.Got.rank() < s.Require.rank():
		return c, fmt.Errorf("it requires the sandbox level %q, but this machine reaches %q: %w", s.Require, c.Got, sentences(c.Missing))
	case c.Network && !s.network():
		return c, fmt.Errorf("it requires that there be no network, which this machine cannot do: %w", sentences(c.Missing))
	}
	return c, nil
}

func sentences(all []string) error {
	var out []error
	for _, s := range all {
		out = append(out, errors.New(s))
	}
	if len(out) == 1 {
		return out[0]
	}
	return errors.Join(out...)
}

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
	if asked.rank() < Confined.rank() || !m.Stage {
		return nil
	}
	if m.Landlock == 0 {
		return []string{"the kernel has no Landlock, or it is not among its active security modules (lsm=landlock,…): nothing keeps the plugin from writing elsewhere or from other processes"}
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

func (m Means) lackingOthers(asked Level, network bool) (out []string) {
	if !m.Stage {
		return nil
	}
	if asked.rank() >= Confined.rank() && !m.Namespaces {
		out = append(out, "there are no process namespaces ("+m.NoNamespaces+"): the plugin sees other processes, can change their priority, and what it hides from its launcher outlives a launcher that is killed")
	}
	if asked.rank() >= Confined.rank() && !m.Namespaces && !m.Seccomp {
		out = append(out, "there are no filters of system calls either: the plugin can change the limits of other processes, which can end them")
	}
	if !m.Seccomp && asked == Isolated {
		out = append(out, "there are no filters of system calls: the kernel's rare calls are open to the plugin")
	}
	if !m.Seccomp && !network {
		out = append(out, "there are no filters of system calls: the network is open but for TCP, and TCP too if Landlock is older than version 4")
	}
	return out
}
