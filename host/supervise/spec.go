package supervise

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/internal/wire"
)

// A Spec is a plugin's configuration. Zero values stand for those of Defaults.
type Spec struct {
	// Name is the plugin's label, ^[a-z][a-z0-9-]{0,31}$; its tools are called NAME__TOOL.
	Name string
	// Command is the program and its arguments. It is never passed to a shell.
	Command []string
	// Attach joins a process that was started by hand, with TOOLHOST_ATTACH, instead of starting one: Command is the
	// file that it wrote, and nothing else.
	Attach bool
	// Script is the absolute path of the argument that an interpreter runs; "" if there is none or it is not known. It
	// must exist.
	Script string
	// Dir is the folder that the plugin starts in; "" is the supervisor's work folder.
	Dir string
	// Env is added to the few variables of the host's environment that a plugin gets.
	Env map[string]string
	// InheritEnv gives the plugin the whole environment of the host, except for variables of the plugin protocol and
	// those that make shells run other files; nil does not.
	InheritEnv *bool
	// SHA256 is the checksum, in hex, that the program file must have; "" accepts any.
	SHA256 string
	// Lock is the plugin's entry in a lock file.
	Lock Lock
	// Eager starts the plugin when it is added, not with the first call.
	Eager bool
	// Standby keeps a second process ready, which takes over when the first dies. It has none of the first one's state,
	// costs its memory, and must be able to run beside it.
	Standby bool
	// StartTimeout is how long the plugin may take from its start until it has described itself.
	StartTimeout time.Duration
	// DrainTimeout is how long calls may continue in the old process after a reload, or after the plugin was removed,
	// at most an hour; zero is until their deadlines.
	DrainTimeout time.Duration
	// Restart is the policy after a crash.
	Restart Restart
	// Config is the plugin's own configuration, a JSON object, or nil.
	Config json.RawMessage
	// References are values that are not displayed.
	References References
	// Idempotent names the tools whose calls may be repeated when the plugin died during one.
	Idempotent []string
	// Sandbox limits what the plugin may use of the machine.
	Sandbox sandbox.Spec
	// StateDir is the absolute path of a folder for what the plugin keeps between starts: it is made, and the plugin may
	// write to it at every level; "" gives it none.
	StateDir string
	// Refused is why the plugin must not be started at all, such as a secret that is missing; "" if it may be.
	Refused string
	// Source is where the spec is from, for display, such as "config.hcl:12".
	Source string
	// Renamed means that the user has chosen the program's name, which may then differ from the plugin's own.
	Renamed bool
}

// A Lock is the entry of a plugin in a lock file. The zero value locks nothing.
type Lock struct {
	// SHA256 is the checksum, in hex, that the program file must have besides that of the spec; "" accepts any.
	SHA256 string
	// Interpreters are the checksums, by path, of the programs that run it if it is a script, or env; others are
	// refused. They have no effect without SHA256.
	Interpreters map[string]string
	// Source is where the entry is, such as "toolhost.lock.hcl:12", and Advice how to update it, for errors.
	Source, Advice string
	// Refused is why the plugin must not be started at all; "" if it may be.
	Refused string
}

// Restart is the policy after crashes. The first restart is immediate, each further one waits longer, and more than
// MaxCrashes within Window quarantine the plugin.
type Restart struct {
	MaxCrashes int
	Window     time.Duration // also how long a plugin must run without a crash to have its crashes reset
	Backoff    time.Duration // the wait before the second restart; it doubles with each further one
	BackoffMax time.Duration // the longest wait
}

// Defaults has the values that the zero values of a Spec stand for.
var Defaults = Spec{
	StartTimeout: 10 * time.Second,
	Restart: Restart{MaxCrashes: 5, Window: time.Minute, Backoff: 100 * time.Millisecond,
		BackoffMax: 30 * time.Second},
}

// Check validates the spec without reading the files that it names; Verify does that.
func (s Spec) Check() error {
	switch {
	case !toolname.IsPlugin(s.Name):
		return fmt.Errorf("plugin name %.100q must match %s", s.Name, toolname.PluginPattern)
	case len(s.Command) == 0 || s.Command[0] == "":
		return fmt.Errorf("plugin %q has no command; set command, or put toolhost-plugin-NAME into plugin_dirs", s.Name)
	case slices.ContainsFunc(s.Command, func(a string) bool { return strings.ContainsRune(a, 0) }):
		return fmt.Errorf("plugin %q: the command contains a NUL character", s.Name)
	case s.SHA256 != "" && !isSHA256(s.SHA256):
		return fmt.Errorf("plugin %q: sha256 must be 64 hex digits, not %.100q", s.Name, s.SHA256)
	case s.Lock.SHA256 != "" && !isSHA256(s.Lock.SHA256):
		return fmt.Errorf("plugin %q: the locked sha256 must be 64 hex digits, not %q", s.Name, s.Lock.SHA256)
	}
	if err := s.checkAttach(); err != nil {
		return fmt.Errorf("plugin %q: %w", s.Name, err)
	}
	if err := s.Sandbox.Check(); err != nil {
		return fmt.Errorf("plugin %q: %w", s.Name, err)
	}
	r := s.Restart
	if s.StartTimeout < 0 || s.DrainTimeout < 0 || r.MaxCrashes < 0 || r.Window < 0 || r.Backoff < 0 || r.BackoffMax < 0 {
		return fmt.Errorf("plugin %q: timeouts and restart limits must not be negative", s.Name)
	}
	return nil
}

func isSHA256(s string) bool {
	return len(s) == 64 && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}

// complete returns a deep copy with the defaults.
func (s Spec) complete(workdir string) Spec {
	s.Command, s.Idempotent = slices.Clone(s.Command), slices.Clone(s.Idempotent)
	s.Env, s.Config = maps.Clone(s.Env), bytes.Clone(s.Config)
	b := &s.Sandbox
	b.Write, b.Read, b.Wrapper = slices.Clone(b.Write), slices.Clone(b.Read), slices.Clone(b.Wrapper)
	if b.Network != nil {
		b.Network = new(*b.Network)
	}
	s.Dir = cmp.Or(s.Dir, workdir)
	s.StartTimeout = cmp.Or(s.StartTimeout, Defaults.StartTimeout)
	d := Defaults.Restart
	s.Restart.MaxCrashes = cmp.Or(s.Restart.MaxCrashes, d.MaxCrashes)
	s.Restart.Window = cmp.Or(s.Restart.Window, d.Window)
	s.Restart.Backoff = cmp.Or(s.Restart.Backoff, d.Backoff)
	s.Restart.BackoffMax = cmp.Or(s.Restart.BackoffMax, d.BackoffMax)
	return s
}

// RunOnce runs the plugin's program with these arguments instead of serving, for an action of a person such as a
// login: with the plugin's environment and its configuration on standard input, outside any sandbox. The program is
// checked as before a start. When ctx ends, it gets SIGTERM, and 5 seconds to end.
func (s Spec) RunOnce(ctx context.Context, args []string, out, errOut io.Writer) error {
	if err := s.Verify(); err != nil {
		return err
	}
	program, err := s.Inspect()
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, program.Path, slices.Concat(s.Command[1:], args)...)
	c.Dir = s.Dir
	c.Env = append(s.Environment(), wire.EnvInstance+"="+s.Name)
	c.Stdin = strings.NewReader(cmp.Or(string(s.Config), "{}"))
	c.Stdout, c.Stderr = out, errOut
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 5 * time.Second
	err = c.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err == nil || ended {
		return err
	}
	return fmt.Errorf("the program of %s cannot be run: %w", s.Name, err)
}
