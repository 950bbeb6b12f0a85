// Package sandbox describes how a plugin is kept from the rest of the machine: the level that its configuration requests, what
// the machine is capable of, the level that results, and the restrictions and mounts that package proctree starts it with.
package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A Spec says how a plugin is to be kept from the rest of the machine.
type Spec struct {
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
	// PrivateFiles gives files that it makes the modes 0600 and 0700, and not those that the host's own would have.
	PrivateFiles bool
	// Wrapper is a command that runs the plugin's command, such as bwrap with its options; empty is none. In its words
	// {socket_dir}, {tmp_dir} and {workdir} stand for the folders that the plugin must find, the first two for writing.
	Wrapper []string
	// Limits are those of each of its processes.
	Limits Limits
}

// What a plugin's processes are limited to that have no other limits. They are there to be out of the way of all that is sane.
const (
	DefaultFiles    = 4096
	DefaultFileSize = 16 << 30
)

// Limits are resource limits of each process of a plugin. None is set above what the host itself has.
type Limits struct {
	Memory    int64 // bytes of private memory (RLIMIT_DATA); 0 is no limit
	Processes int   // processes and threads of the user, all counted (RLIMIT_NPROC); 0 is no limit, and root's are not limited
	Files     int   // open files (RLIMIT_NOFILE); 0 is DefaultFiles
	FileSize  int64 // bytes of one file (RLIMIT_FSIZE); 0 is DefaultFileSize
}

// Asked is what is asked for.
func (s Spec) Asked() Level {
	switch {
	case len(s.Wrapper) > 0 && !s.Level.AtLeast(Confined):
		return Container
	case s.Level == "":
		return Confined
	}
	return s.Level
}

// HasNetwork says whether the plugin is to have the network.
func (s Spec) HasNetwork() bool {
	if s.Network != nil {
		return *s.Network
	}
	return s.Asked() != Isolated
}

// Check says what in the sandbox contradicts itself; the folders it names are not looked at.
func (s Spec) Check() error {
	for _, l := range []Level{s.Level, s.Require} {
		if l != "" && !slices.Contains(knownLevels, l) {
			return fmt.Errorf("there is no sandbox level %q, only supervised, confined and isolated", l)
		}
	}
	level, limits := s.Asked(), s.Limits
	switch {
	case !level.AtLeast(s.Require) && level == Container:
		return fmt.Errorf("require = %q cannot be met by a wrapper, whose effect is not known; ask for that level too", s.Require)
	case !level.AtLeast(s.Require):
		return fmt.Errorf("require = %q is more than the level asked for, %q", s.Require, level)
	case s.NewPrivileges && !Supervised.AtLeast(level):
		return fmt.Errorf("new privileges break the level %q; they need \"supervised\"", level)
	case s.NewPrivileges && !s.HasNetwork():
		return errors.New("whoever gains privileges gains the network; allow it, or no new privileges")
	case len(s.Wrapper) > 0 && s.Wrapper[0] == "":
		return errors.New("the wrapper has no program")
	case limits.Memory < 0 || limits.Processes < 0 || limits.Files < 0 || limits.FileSize < 0:
		return errors.New("limits of the sandbox must not be negative")
	}
	return s.checkText()
}

func (s Spec) checkText() error {
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
