package supervise

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A Level says how far a plugin is kept from the rest of the machine.
type Level string

// The levels. Each of the first three has what the one before it has.
const (
	// Supervised: a launcher that ends what it started, no terminal, a short environment, limits, a private TMPDIR, no new
	// privileges.
	Supervised Level = "supervised"
	// Confined: it can write to its folders only, and cannot signal or trace processes outside. What it can still do is
	// change modes and times of its user's files, and ask services such as D-Bus or docker for things by their Unix sockets;
	// these a Sandbox keeps from it whose Network is false.
	Confined Level = "confined"
	// Isolated: it can read only what it needs, and has no network.
	Isolated Level = "isolated"
	// Container: Supervised, and a wrapper of the user's around it, which says what else it is kept from. It cannot be asked
	// for but by a wrapper.
	Container Level = "container"
	// None: not even Supervised. It cannot be asked for; systems without the means have nothing better.
	None Level = "none"
)

// knownLevels are those that can be asked for, from the loosest.
var knownLevels = []Level{Supervised, Confined, Isolated}

// rank orders levels by what we know they hold. Nobody knows what a wrapper does.
func (l Level) rank() int {
	if l == Container {
		return 0
	}
	return slices.Index(knownLevels, l) // -1 for None and ""
}

// A Sandbox says how a plugin is to be kept from the rest of the machine.
type Sandbox struct {
	// Level is what is asked for; "" is Confined, with a Wrapper Container. What the system cannot do is left out and told,
	// see Confinement.
	Level Level
	// Require is the least that must be reached: below it the plugin is not started. "" is none.
	Require Level
	// Write are the folders that it may write to from Confined on, absolute; nil is the work folder.
	Write []string
	// Read are folders and files that it may read at Isolated, besides those it writes to and what programs need to run.
	Read []string
	// Network says whether it may use the network; nil leaves it to the level: Isolated may not.
	Network *bool
	// NewPrivileges lets programs such as sudo work, at Supervised only.
	NewPrivileges bool
	// HostUmask gives files that it makes the modes that the host's own would have, and not 0600 and 0700.
	HostUmask bool
	// Wrapper is a command that runs the plugin's command, such as bwrap with its options; empty is none. In its words
	// {socket_dir}, {tmp_dir} and {workdir} stand for the folders that the plugin must find, the first two for writing.
	Wrapper []string
	// Limits are those of each of its processes.
	Limits SandboxLimits
}

// SandboxLimits are resource limits of each process of a plugin. None is set above what the host itself has.
type SandboxLimits struct {
	Memory    int64 // bytes of private memory (RLIMIT_DATA); 0 is no limit
	Processes int   // processes and threads of the user, all counted (RLIMIT_NPROC); 0 is no limit
	Files     int   // open files (RLIMIT_NOFILE); 0 is 4096
	FileSize  int64 // bytes of one file (RLIMIT_FSIZE); 0 is 16 GiB
}

// level is what is asked for.
func (s Sandbox) level() Level {
	switch {
	case len(s.Wrapper) > 0 && s.Level.rank() < Confined.rank():
		return Container
	case s.Level == "":
		return Confined
	}
	return s.Level
}

// network says whether the plugin is to have the network.
func (s Sandbox) network() bool {
	if s.Network != nil {
		return *s.Network
	}
	return s.level() != Isolated
}

// Check says what in the sandbox contradicts itself; the folders it names are not looked at.
func (s Sandbox) Check() error {
	for _, l := range []Level{s.Level, s.Require} {
		if l != "" && !slices.Contains(knownLevels, l) {
			return fmt.Errorf("there is no sandbox level %q, only supervised, confined and isolated", l)
		}
	}
	level, limits := s.level(), s.Limits
	switch {
	case s.Require.rank() > level.rank() && level == Container:
		return fmt.Errorf("require = %q cannot be met by a wrapper, whose effect is not known; ask for that level too", s.Require)
	case s.Require.rank() > level.rank():
		return fmt.Errorf("require = %q is more than the level asked for, %q", s.Require, level)
	case s.NewPrivileges && level.rank() > Supervised.rank():
		return fmt.Errorf("new privileges break the level %q; they need \"supervised\"", level)
	case s.NewPrivileges && !s.network():
		return errors.New("whoever gains privileges gains the network; allow it, or no new privileges")
	case len(s.Wrapper) > 0 && s.Wrapper[0] == "":
		return errors.New("the wrapper has no program")
	case limits.Memory < 0 || limits.Processes < 0 || limits.Files < 0 || limits.FileSize < 0:
		return errors.New("limits of the sandbox must not be negative")
	}
	return s.checkText()
}

func (s Sandbox) checkText() error {
	for _, path := range slices.Concat(s.Write, s.Read) {
		if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
			return fmt.Errorf("the sandbox names %q, which is no absolute path", path)
		}
	}
	if slices.ContainsFunc(s.Wrapper, func(word string) bool { return strings.ContainsRune(word, 0) }) {
		return errors.New("the wrapper contains a NUL character")
	}
	return nil
}
