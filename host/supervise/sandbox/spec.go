// Package sandbox describes how a plugin is isolated from the rest of the machine: the level that its configuration
// requests, the level that is effective with the machine's capabilities, and the mounts and restrictions with which
// package proctree starts its program.
package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk/proctree"
)

// A Level is a degree of isolation from the rest of the machine.
type Level string

// The levels. Each of the first three includes the one before it.
const (
	// Supervised: a launcher that ends what it started, no terminal, a short environment, limits, a private TMPDIR, no new
	// privileges.
	Supervised Level = "supervised"
	// Confined: it can write only to its folders, and cannot signal or trace processes outside. It can still change
	// modes and times of its user's files and, unless Network is false, use services such as D-Bus or docker through
	// their Unix sockets.
	Confined Level = "confined"
	// Isolated: it can read only what it needs, and has no network.
	Isolated Level = "isolated"
	// Container: Supervised, inside a wrapper of the user's, which decides on further isolation. It is requested by
	// setting a wrapper.
	Container Level = "container"
	// None: not even Supervised. It cannot be requested; it is the level of systems without the means.
	None Level = "none"
)

// requestable are the levels that can be requested, from the loosest.
var requestable = []Level{Supervised, Confined, Isolated}

// AtLeast reports whether all promises of the other level are known to hold at this one. The effect of a wrapper is
// not known.
func (l Level) AtLeast(other Level) bool { return l.rank() >= other.rank() }

func (l Level) rank() int {
	if l == Container {
		return 0
	}
	return slices.Index(requestable, l) // -1 for None and ""
}

// A Spec is the sandbox that is requested for a plugin.
type Spec struct {
	// Level is the requested level; "" is Confined, with a Wrapper Container. Unsupported parts are left out and
	// reported, see Confinement.
	Level Level
	// Require is the least effective level: below it the plugin is not started. "" is none.
	Require Level
	// Write are the folders that it may write to from Confined on, absolute paths; nil is the work folder.
	Write []string
	// Read are folders and files that it may read at Isolated, besides those it writes to and what programs need to
	// run.
	Read []string
	// Network allows the network; nil leaves it to the level: Isolated has none.
	Network *bool
	// NewPrivileges lets programs such as sudo work, at Supervised only.
	NewPrivileges bool
	// PrivateFiles gives files that it creates the modes 0600 and 0700, instead of those that the host's umask would
	// give.
	PrivateFiles bool
	// Wrapper is a command that runs the plugin's command, such as bwrap with its options; empty is none. In it
	// {socket_dir}, {tmp_dir} and {workdir} stand for folders that the plugin must have, the first two writable.
	Wrapper []string
	// Limits apply to each of its processes.
	Limits Limits
}

// The limits of a plugin's processes that have no others: far above what normal programs need.
const (
	DefaultFiles    = 4096
	DefaultFileSize = 16 << 30
)

// Limits are resource limits of each process of a plugin. None is set above what the host itself has.
type Limits struct {
	Memory    int64 // bytes of private memory (RLIMIT_DATA); 0 is no limit
	Processes int   // processes and threads of the user, all counted (RLIMIT_NPROC); 0 is no limit; root has none
	Files     int   // open files (RLIMIT_NOFILE); 0 is DefaultFiles
	FileSize  int64 // bytes of one file (RLIMIT_FSIZE); 0 is DefaultFileSize
}

// Requested is the level that is requested.
func (s Spec) Requested() Level {
	switch {
	case len(s.Wrapper) > 0 && !s.Level.AtLeast(Confined):
		return Container
	case s.Level == "":
		return Confined
	}
	return s.Level
}

// HasNamespaces reports whether the program gets namespaces of its own on such a machine.
func (s Spec) HasNamespaces(m proctree.Capabilities) bool { return s.confined() && m.Namespaces }

// confined reports whether at least Confined is requested.
func (s Spec) confined() bool { return s.Requested().AtLeast(Confined) }

// hasNetwork reports whether the plugin may use the network.
func (s Spec) hasNetwork() bool {
	if s.Network != nil {
		return *s.Network
	}
	return s.Requested() != Isolated
}

// Check returns contradictions in the sandbox; it does not look up the folders.
func (s Spec) Check() error {
	for _, l := range []Level{s.Level, s.Require} {
		if l != "" && !slices.Contains(requestable, l) {
			return fmt.Errorf("there is no sandbox level %q, only supervised, confined and isolated", l)
		}
	}
	level, limits := s.Requested(), s.Limits
	switch {
	case !level.AtLeast(s.Require) && level == Container:
		return fmt.Errorf("require = %q cannot be met by a wrapper, whose effect is not known; request that level too",
			s.Require)
	case !level.AtLeast(s.Require):
		return fmt.Errorf("require = %q is more than the requested level, %q", s.Require, level)
	case s.NewPrivileges && !Supervised.AtLeast(level):
		return fmt.Errorf("new privileges contradict the level %q; they need \"supervised\"", level)
	case s.NewPrivileges && !s.hasNetwork():
		return errors.New("programs that gain privileges gain the network; allow it, or no new privileges")
	case len(s.Wrapper) > 0 && s.Wrapper[0] == "":
		return errors.New("the wrapper has no program")
	case limits.Memory < 0 || limits.Processes < 0 || limits.Files < 0 || limits.FileSize < 0:
		return errors.New("limits of the sandbox must not be negative")
	}
	for _, path := range slices.Concat(s.Write, s.Read) {
		if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
			return fmt.Errorf("the sandbox names %q, which is not an absolute path", path)
		}
	}
	if strings.ContainsRune(strings.Join(s.Wrapper, ""), 0) {
		return errors.New("the wrapper contains a NUL character")
	}
	return nil
}
