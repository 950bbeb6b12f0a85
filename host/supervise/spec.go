package supervise

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// A Spec says which plugin to run, and how. Zero values stand for the defaults of Defaults.
type Spec struct {
	// Name is the plugin's label, ^[a-z][a-z0-9-]{0,31}$; its tools are called NAME__TOOL.
	Name string
	// Command is the program and its arguments. It is never given to a shell.
	Command []string
	// Script is the file among the arguments that an interpreter runs, absolute; "" when there is none or it is not known. It must
	// be there.
	Script string
	// Dir is the folder that the plugin starts in; "" is the supervisor's work folder.
	Dir string
	// Env is added to the few variables that a plugin gets of the host's environment.
	Env map[string]string
	// InheritEnv gives the plugin all of the host's environment instead of these few, but for what is between a plugin and its
	// host and what makes shells run more than they are told; nil does not.
	InheritEnv *bool
	// SHA256 is the checksum, in hex, that the program file must have; "" accepts any.
	SHA256 string
	// Lock is what a lock file says of the plugin.
	Lock Lock
	// Eager starts the plugin at once instead of with the first call.
	Eager bool
	// StartTimeout is how long the plugin may take from its start until it has described itself.
	StartTimeout time.Duration
	// DrainTimeout is how long calls may go on in the old process after a reload, or after the plugin was removed; zero is
	// as long as their deadlines allow. It is at most an hour.
	DrainTimeout time.Duration
	// Restart says what happens after a crash.
	Restart Restart
	// Config is the plugin's own configuration, a JSON object, or nil.
	Config json.RawMessage
	// References are the values that are not to be shown.
	References References
	// Idempotent names the tools whose calls may be repeated when the plugin died in one.
	Idempotent []string
	// Sandbox says how it is kept from the rest of the machine.
	Sandbox sandbox.Spec
	// Source tells people where the spec is from, such as "config.hcl:12".
	Source string
}

// A Lock is what a lock file says of a plugin. The zero value is nothing.
type Lock struct {
	// SHA256 is the checksum, in hex, that the program file must have, beside that of the spec; "" accepts any.
	SHA256 string
	// Interpreters are the checksums, by path, of the programs that run it if it is a script, or env; any other is refused. It
	// counts with SHA256.
	Interpreters map[string]string
	// Source tells people where that stands, such as "toolhost.lock.hcl:12", and Advice what to do about another program.
	Source, Advice string
	// Refused says why the plugin must not be started at all; "" when it may be.
	Refused string
}

// Restart limits how often a plugin that crashes is started again. The first start after a crash is at once, each
// further one waits longer, and one crash too many within Window puts the plugin in quarantine.
type Restart struct {
	MaxCrashes int           // how many crashes within Window are put up with
	Window     time.Duration // also how long a plugin must run well to have its crashes forgotten
	Backoff    time.Duration // the wait before the second restart; it doubles from there
	BackoffMax time.Duration // the longest wait
}

// Defaults are what the zero values of a Spec stand for.
var Defaults = Spec{
	StartTimeout: 10 * time.Second,
	Restart:      Restart{MaxCrashes: 5, Window: time.Minute, Backoff: 100 * time.Millisecond, BackoffMax: 30 * time.Second},
}

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// Check says what is wrong with the spec by itself; the files it names are not looked at.
func (s Spec) Check() error {
	switch {
	case !pluginName.MatchString(s.Name):
		return fmt.Errorf("plugin name %q must match %s", s.Name, pluginName)
	case len(s.Command) == 0 || s.Command[0] == "":
		return fmt.Errorf("plugin %q has no command", s.Name)
	case slices.ContainsFunc(s.Command, func(a string) bool { return strings.ContainsRune(a, 0) }):
		return fmt.Errorf("plugin %q: the command contains a NUL character", s.Name)
	case s.SHA256 != "" && !isSHA256(s.SHA256):
		return fmt.Errorf("plugin %q: sha256 must be 64 hex digits, not %q", s.Name, s.SHA256)
	case s.Lock.SHA256 != "" && !isSHA256(s.Lock.SHA256):
		return fmt.Errorf("plugin %q: the locked sha256 must be 64 hex digits, not %q", s.Name, s.Lock.SHA256)
	}
	if err := s.Sandbox.Check(); err != nil {
		return fmt.Errorf("plugin %q: %w", s.Name, err)
	}
	return s.checkLimits()
}

func (s Spec) checkLimits() error {
	r := s.Restart
	if s.StartTimeout < 0 || s.DrainTimeout < 0 || r.MaxCrashes < 0 || r.Window < 0 || r.Backoff < 0 || r.BackoffMax < 0 {
		return fmt.Errorf("plugin %q: timeouts and restart limits must not be negative", s.Name)
	}
	return nil
}

func isSHA256(s string) bool {
	return len(s) == 64 && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}

func (s Spec) clone() Spec {
	s.Command, s.Env, s.Config, s.Idempotent = slices.Clone(s.Command), maps.Clone(s.Env), bytes.Clone(s.Config), slices.Clone(s.Idempotent)
	b := &s.Sandbox
	b.Write, b.Read, b.Wrapper = slices.Clone(b.Write), slices.Clone(b.Read), slices.Clone(b.Wrapper)
	if b.Network != nil {
		b.Network = new(*b.Network)
	}
	return s
}

// withDefaults fills in the zero values.
func (s Spec) withDefaults() Spec {
	s.StartTimeout = cmp.Or(s.StartTimeout, Defaults.StartTimeout)
	d := Defaults.Restart
	s.Restart.MaxCrashes = cmp.Or(s.Restart.MaxCrashes, d.MaxCrashes)
	s.Restart.Window = cmp.Or(s.Restart.Window, d.Window)
	s.Restart.Backoff = cmp.Or(s.Restart.Backoff, d.Backoff)
	s.Restart.BackoffMax = cmp.Or(s.Restart.BackoffMax, d.BackoffMax)
	return s
}
