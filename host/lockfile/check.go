package lockfile

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// A Mode says what happens to a plugin that is not locked. The zero Mode is Warn where there is a lock file, else Off.
type Mode string

// The modes, as the attribute lock of a configuration has them.
const (
	Warn    Mode = "warn"    // it runs, with a notice
	Require Mode = "require" // it is not started
	Off     Mode = "off"     // the lock file is not used
)

// Modes are all the modes.
var Modes = []string{string(Off), string(Require), string(Warn)}

// in is the mode that holds for a file, or for none.
func (m Mode) in(f *File) Mode {
	if f == nil {
		return cmp.Or(m, Off)
	}
	return cmp.Or(m, Warn)
}

// Check sets the Lock of each spec to what the file, which may be nil, requires of it. Dir is the configuration's
// folder. Notices say, by their names, which plugins run although they are not locked.
func (f *File) Check(specs []supervise.Spec, mode Mode, dir string) (out []supervise.Spec, notices map[string]error) {
	if mode = mode.in(f); mode == Off {
		return specs, nil
	}
	notices = map[string]error{}
	for _, spec := range specs {
		approve := "toolhost plugin lock " + spec.Name
		p := f.Plugin(spec.Name)
		switch {
		case p != nil:
			spec.Lock = f.lockOf(p, New(spec, dir), approve)
		case mode == Require:
			spec.Lock = supervise.Lock{Refused: fmt.Sprintf(
				"it is not in %s, which lock = %q requires; to approve it, run: %s", Name, Require, approve)}
		default:
			notices[spec.Name] = fmt.Errorf(
				"plugin %q is not in %s, and runs without a check; to approve it, run: %s", spec.Name, Name, approve)
		}
		out = append(out, spec)
	}
	return out, notices
}

// Program is the lock of a plugin's program alone: its arguments, variables and level may be any. Approve is the
// command that locks it.
func (f *File) Program(name, approve string) supervise.Lock {
	p := f.Plugin(name)
	if p == nil {
		return supervise.Lock{Refused: "it is not locked; to approve it, run: " + approve}
	}
	return f.lockOf(p, *p, approve)
}

func (f *File) lockOf(p *Plugin, now Plugin, approve string) supervise.Lock {
	l := supervise.Lock{
		SHA256: p.SHA256[Platform()], Interpreters: p.InterpretersHere(), Source: fmt.Sprintf("%s:%d", f.shown, p.line),
		Advice: "to approve this program, run: " + approve,
	}
	if differs := p.differs(now); differs != "" {
		l.Refused = fmt.Sprintf("%s, unlike what was locked at %s; to approve that, run: %s", differs, l.Source, approve)
	} else if l.SHA256 == "" { // otherwise any program would do, on the one platform where no one approved it
		l.Refused = fmt.Sprintf("it is locked at %s, but not for %s; to approve its program here, run on this platform: %s",
			l.Source, Platform(), approve)
	}
	return l
}

// differs says how now gives a plugin more, or something else, than when it was locked.
func (p *Plugin) differs(now Plugin) string {
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

// Pins returns the hashes of the locked tools by plugin and tool, as host.Options takes them; nil when nothing is
// locked.
func (f *File) Pins(mode Mode) map[string]map[string]string {
	if f == nil || mode == Off {
		return nil
	}
	out := map[string]map[string]string{}
	for _, p := range f.Plugins {
		if p.Tools != nil {
			out[p.Name] = p.Tools
		}
	}
	return out
}

// Equal reports whether both have the same content; either may be nil.
func (p *Plugin) Equal(q *Plugin) bool {
	if p == nil || q == nil {
		return p == q
	}
	a, errA := p.block().Bytes()
	b, errB := q.block().Bytes()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// Runs reports whether now would run what was locked: the same program on this platform, with the same arguments and
// variables, in no weaker sandbox.
func (p *Plugin) Runs(now Plugin) bool {
	return p.SHA256[Platform()] == now.SHA256[Platform()] &&
		maps.Equal(p.InterpretersHere(), now.InterpretersHere()) && p.differs(now) == ""
}

// InterpretersHere are the checksums of this platform's interpreters, by path.
func (p *Plugin) InterpretersHere() map[string]string {
	out := map[string]string{}
	for key, sum := range p.Interpreters {
		if path, here := strings.CutPrefix(key, Platform()+":"); here {
			out[path] = sum
		}
	}
	return out
}

// SetInterpretersHere replaces this platform's interpreters; those of other platforms are kept.
func (p *Plugin) SetInterpretersHere(interpreters []supervise.Interpreter) {
	all := map[string]string{}
	for key, sum := range p.Interpreters {
		if !strings.HasPrefix(key, Platform()+":") {
			all[key] = sum
		}
	}
	for _, i := range interpreters {
		all[Platform()+":"+i.Path] = i.SHA256
	}
	if p.Interpreters = all; len(all) == 0 {
		p.Interpreters = nil
	}
}
