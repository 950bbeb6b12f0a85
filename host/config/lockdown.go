package config

import (
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// Lock modes say what becomes of a plugin that is not locked.
const (
	LockWarn    = "warn"    // it runs, with a notice
	LockRequire = "require" // it is not started
	LockOff     = "off"     // the lock file is not looked at
)

var lockModes = []string{LockOff, LockRequire, LockWarn}

// locking is the mode that holds: without a word of the file, a lock file that is there is looked at.
func (c *Config) locking() string {
	switch {
	case c.LockMode != "":
		return c.LockMode
	case c.Locked == nil:
		return LockOff
	}
	return LockWarn
}

// Lockdown gives each spec what the lock file wants of it, and says, by their names, which plugins run although they are not
// locked.
func (c *Config) Lockdown(specs []supervise.Spec) (out []supervise.Spec, notices map[string]error) {
	if c.locking() == LockOff {
		return specs, nil
	}
	notices = map[string]error{}
	for _, spec := range specs {
		var notice string
		if spec.Lock, notice = c.lockOf(spec); notice != "" {
			notices[spec.Name] = fmt.Errorf("plugin %q %s", spec.Name, notice)
		}
		out = append(out, spec)
	}
	return out, notices
}

func (c *Config) lockOf(spec supervise.Spec) (l supervise.Lock, notice string) {
	approve := "toolhost plugin lock " + spec.Name
	p := c.Locked.Plugin(spec.Name)
	if p == nil {
		notice = "is not in " + LockName
	} else {
		l = supervise.Lock{SHA256: p.SHA256[Platform()], Interpreters: p.InterpretersHere(), Source: fmt.Sprintf("%s:%d", c.Locked.shown, p.line),
			Advice: "if this program is meant: " + approve}
		if differs := p.differs(LockedAs(spec, c.Dir)); differs != "" {
			l.Refused = fmt.Sprintf("%s, unlike what was locked at %s; if that is meant: %s", differs, l.Source, approve)
		} else if l.SHA256 == "" { // any program would do, on the one platform where nobody agreed to it
			l.Refused = fmt.Sprintf("it is locked at %s, but not for %s; if its program here is meant, run on this platform: %s", l.Source, Platform(), approve)
		}
	}
	if notice != "" && c.locking() == LockRequire {
		l.Refused = fmt.Sprintf("it %s, and lock = %q wants that; to agree to it as it is now: %s", notice, LockRequire, approve)
		return l, ""
	}
	if notice != "" {
		notice += "; it runs all the same; to agree to it as it is now: " + approve
	}
	return l, notice
}

// differs says in which way the spec gives a plugin more, or something else, than when it was locked.
func (p *LockedPlugin) differs(now LockedPlugin) string {
	levels := []sandbox.Level{sandbox.Supervised, sandbox.Confined, sandbox.Isolated}
	switch {
	case !slices.Equal(p.Args, now.Args):
		return fmt.Sprintf("its arguments are %q", now.Args)
	case !slices.Equal(p.Env, now.Env):
		return fmt.Sprintf("it is given the variables %q", now.Env)
	case slices.Index(levels, now.Level) < slices.Index(levels, p.Level):
		return fmt.Sprintf("its sandbox level is %q, less than %q", now.Level, p.Level)
	}
	return ""
}

// Pins gives the hashes of the tools that are locked, for host.Options; nil when the lock file is not looked at.
func (c *Config) Pins() map[string]map[string]string {
	if c.Locked == nil || c.locking() == LockOff {
		return nil
	}
	out := map[string]map[string]string{}
	for _, p := range c.Locked.Plugins {
		if p.Tools != nil && !c.PluginSettings[p.Name].FreeTools {
			out[p.Name] = p.Tools
		}
	}
	return out
}
