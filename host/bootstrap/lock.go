package bootstrap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/sdk"
)

// LockState says how a plugin compares with the lock file; "" when there is none.
type LockState string

// The states of a plugin.
const (
	Locked    LockState = "locked"
	NotLocked LockState = "not locked"
	Differs   LockState = "differs"
)

// partialChecksum is the notice about a program whose checksum does not cover everything that runs.
const partialChecksum = "it is a script, or loads what is beside it: the checksum is of the program file alone"

// LockState compares a plugin's program and settings with the lock file. The notice names files that its checksum does
// not cover.
func (p *Plugins) LockState(name string) (state LockState, notice string) {
	i := slices.IndexFunc(p.Specs, func(s supervise.Spec) bool { return s.Name == name })
	if i < 0 || !p.installed[name] && (p.LockMode == lockfile.Off || p.Locked == nil && p.LockMode == "") {
		return "", ""
	}
	spec := p.Specs[i]
	if spec.Lock.Refused != "" && p.Locked.Plugin(name) != nil {
		return Differs, ""
	}
	if spec.Lock.SHA256 == "" {
		return NotLocked, ""
	}
	program, err := spec.Inspect()
	switch {
	case err != nil || program.SHA256 != spec.Lock.SHA256:
		return Differs, ""
	case program.InPlace:
		notice = partialChecksum
	}
	return Locked, notice
}

// LockState is Plugins.LockState for a running plugin, and also compares its tools.
func (i *Instance) LockState(ctx context.Context, p *supervise.Process) (state LockState, notice string) {
	s := i.current.Load()
	state, notice = s.LockState(p.Name())
	pins := s.pins[p.Name()]
	if state != Locked || pins == nil || p.Status().State != supervise.Ready {
		return state, notice
	}
	tools, err := p.Tools(ctx)
	if err != nil {
		return state, notice
	}
	var others []string
	for _, t := range tools {
		if _, hash := host.Definition(t); t.Check() == nil && pins[t.Name] != hash {
			others = append(others, t.Name)
		}
	}
	if len(others) > 0 {
		return Differs, fmt.Sprintf("disabled, since they are not what was locked: %s; if they are meant: toolhost "+
			"plugin lock %s", strings.Join(others, ", "), p.Name())
	}
	return state, notice
}

// Unlocked has a notice for each plugin that runs although it is not locked: among the named ones, or all.
func (p *Plugins) Unlocked(only ...string) (out []error) {
	for _, spec := range p.Specs {
		if n := p.unlocked[spec.Name]; n != nil && (len(only) == 0 || slices.Contains(only, spec.Name)) {
			out = append(out, n)
		}
	}
	return out
}

// A LockPlan compares plugins with the lock file, and can write it. Its steps, in order: PlanLock starts
// nothing; Inspect starts plugins for their tools; Write changes the lock file.
type LockPlan struct {
	// Plugins are those to lock, and those that are locked and gone.
	Plugins []*LockedPlugin

	from *Plugins
}

// A LockedPlugin is a plugin as it was locked, and in its present form.
type LockedPlugin struct {
	Name     string
	Added    bool                       // it was not locked before
	Gone     bool                       // it is locked, and no longer exists
	Problem  error                      // why it cannot be inspected
	Program  string                     // the absolute path of the file
	Partial  string                     // why the checksum does not cover everything that runs; "" if it does
	Asked    bool                       // it was started, so that Tools are known
	Tools    map[string]json.RawMessage // the present definitions, by the tools' own names
	Unpinned []string                   // arguments that name files, whose content is not locked
	Kept     []string                   // other platforms, whose checksums are kept

	spec        supervise.Spec
	old, now    *lockfile.Plugin           // nil: not locked; gone
	definitions map[string]json.RawMessage // the present ones, by hash
}

// PlanLock examines the named plugins, or all. The platforms are the files of programs for other platforms, by
// platform such as linux_amd64; they need exactly one name.
func (p *Plugins) PlanLock(named []string, platforms map[string]string) (*LockPlan, error) {
	sums := map[string]string{}
	for platform, file := range platforms {
		if err := checkPlatform(platform); err != nil {
			return nil, err
		}
		sum, err := fingerprint(file)
		if err != nil {
			return nil, err
		}
		sums[platform] = sum
	}
	for _, n := range named {
		if !slices.Contains(p.Names(), n) {
			return nil, p.unknown(n)
		}
	}
	r := &LockPlan{from: p}
	for _, spec := range p.Specs {
		if len(named) == 0 && !p.installed[spec.Name] || slices.Contains(named, spec.Name) {
			r.Plugins = append(r.Plugins, p.planOne(spec, sums))
		}
	}
	if len(named) == 0 && len(p.Problems) == 0 && p.Locked != nil { // otherwise it may only have been left out
		for _, old := range p.Locked.Plugins {
			if !slices.Contains(p.Names(), old.Name) {
				r.Plugins = append(r.Plugins, &LockedPlugin{Name: old.Name, Gone: true, old: &old})
			}
		}
	}
	return r, nil
}

// checkPlatform returns the error of a platform to lock a program for.
func checkPlatform(platform string) error {
	switch {
	case !lockfile.IsPlatform(platform):
		return fmt.Errorf("a platform must look like %s, not %q", lockfile.Platform(), platform)
	case platform == lockfile.Platform():
		return fmt.Errorf("the platform %s is this machine, where the program is the one that runs; leave it out", platform)
	}
	return nil
}

// planOne collects everything that is known without starting the plugin.
func (p *Plugins) planOne(spec supervise.Spec, sums map[string]string) *LockedPlugin {
	l := &LockedPlugin{Name: spec.Name, spec: spec, old: p.Locked.Plugin(spec.Name)}
	l.Added = l.old == nil
	program, err := spec.Inspect()
	if err != nil {
		l.Problem = err
		return l
	}
	now := lockfile.New(spec, p.Dir)
	now.SHA256, l.Program = map[string]string{}, program.Path
	if program.InPlace {
		l.Partial = partialChecksum
	}
	if l.old != nil {
		maps.Copy(now.SHA256, l.old.SHA256)
		now.Version, now.Tools, now.Dynamic, now.Interpreters = l.old.Version, l.old.Tools, l.old.Dynamic, l.old.Interpreters
	}
	maps.Copy(now.SHA256, sums)
	now.SHA256[lockfile.Platform()] = program.SHA256
	now.SetInterpretersHere(program.Interpreters)
	l.now = &now
	for _, platform := range slices.Sorted(maps.Keys(now.SHA256)) {
		if _, given := sums[platform]; !given && platform != lockfile.Platform() {
			l.Kept = append(l.Kept, platform)
		}
	}
	for i, arg := range spec.LockedCommand()[1:] {
		path := absolute(cmp.Or(spec.Dir, p.options.Workdir), spec.Command[i+1])
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			l.Unpinned = append(l.Unpinned, arg)
		}
	}
	// The program that is started for its tools is the one that was hashed.
	l.spec.Lock = supervise.Lock{SHA256: program.SHA256, Interpreters: now.InterpretersHere(),
		Source: "what was read a moment ago"}
	return l
}

// Inspect starts plugins for their tools: those that were not locked before if added is set, those whose program or
// settings have changed if changed is set, and all others.
func (r *LockPlan) Inspect(ctx context.Context, added, changed bool) error {
	byName := map[string]*LockedPlugin{}
	at := &Plugins{Configuration: &Configuration{Config: r.from.Config, options: r.from.options, redactor: r.from.redactor,
		builtin: r.from.builtin}}
	at.options.Plugins, at.options.Refresh, at.options.Profile = nil, true, ""
	for _, p := range r.Plugins {
		if p.Problem == nil && p.now != nil && (p.old != nil || added) && (changed || !p.RunsOther()) {
			at.Specs = append(at.Specs, p.spec)
			byName[p.Name] = p
		}
	}
	if len(byName) == 0 {
		return nil
	}
	i, err := at.open(ctx, false)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for _, process := range i.Processes() {
		all.Go(func() { byName[process.Name()].inspect(ctx, process, r.from.FreeTools[process.Name()]) })
	}
	all.Wait()
	if err := i.Close(); err != nil {
		i.options.Logger.Error("closing", "error", err)
	}
	return nil
}

func (l *LockedPlugin) inspect(ctx context.Context, process *supervise.Process, free bool) {
	defined, err := allTools(ctx, process)
	if err != nil {
		l.Problem = err
		return
	}
	status := process.Status()
	l.Asked, l.now.Version, l.now.Dynamic, l.now.Tools = true, plainWord(status.Version), status.Dynamic, nil
	if free {
		return
	}
	l.now.Tools, l.Tools, l.definitions = map[string]string{}, map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for _, t := range defined {
		if err := t.Check(); err != nil { // it is not offered
			continue
		}
		if _, twice := l.Tools[t.Name]; twice {
			l.Problem = errors.Join(l.Problem, errors.New("it declares the tool "+t.Name+" more than once"))
		}
		definition, hash := host.Definition(t)
		l.now.Tools[t.Name], l.Tools[t.Name], l.definitions[hash] = hash, definition, definition
	}
}

// allTools starts a plugin and waits for its tools. It fails if some are missing or old: they would count as
// removed.
func allTools(ctx context.Context, process *supervise.Process) ([]sdk.Tool, error) {
	if _, err := process.Tools(ctx); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	_ = process.AwaitTools(limited, func(string) {}) // what is missing at the end is a notice
	for _, n := range process.Status().Notices {
		if n.Kind == sdk.Problem {
			return nil, errors.New(n.Text)
		}
	}
	return process.Tools(ctx)
}

// plainWord makes a short printable ASCII text of a plugin's version.
func plainWord(text string) string {
	runes := []rune(text)
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, string(runes[:min(len(runes), 60)]))
}

// Differs reports whether the plugin differs from the lock file.
func (l *LockedPlugin) Differs() bool { return !l.old.Equal(l.now) }

// RunsOther reports whether another program, or the program with other settings, would run than was locked.
func (l *LockedPlugin) RunsOther() bool {
	return l.Problem == nil && l.now != nil && l.old != nil && !l.old.Runs(*l.now)
}

// Dynamic reports whether the plugin changes its tools while it runs, which are pinned.
func (l *LockedPlugin) Dynamic() bool { return l.now.Dynamic && l.now.Tools != nil }

// Pinned reports whether its tools were pinned before, and are now.
func (l *LockedPlugin) Pinned() (before, now bool) { return l.old.Tools != nil, l.now.Tools != nil }

// A Difference is a part of a plugin, as it was locked and in its present form; "" is none.
type Difference struct{ Part, Old, Now string }

// Differences are the parts that differ, without the tools.
func (l *LockedPlugin) Differences() []Difference {
	old, now := l.old, l.now
	if old == nil {
		old = &lockfile.Plugin{}
	}
	all := []Difference{
		{"version", old.Version, now.Version}, {"source", old.Source, now.Source}, {"program", old.Program, now.Program},
		{"args", quoted(old.Args), quoted(now.Args)}, {"env", quoted(old.Env), quoted(now.Env)},
		{"level", string(old.Level), string(now.Level)},
	}
	for _, platform := range slices.Sorted(maps.Keys(now.SHA256)) {
		all = append(all, Difference{"sha256 of " + platform, old.SHA256[platform], now.SHA256[platform]})
	}
	before, after := old.InterpretersHere(), now.InterpretersHere()
	for _, path := range keysOf(before, after) {
		all = append(all, Difference{"interpreter " + path, before[path], after[path]})
	}
	return slices.DeleteFunc(all, func(d Difference) bool { return d.Old == d.Now })
}

// OtherProgram reports whether the program of this platform has another checksum than was locked.
func (l *LockedPlugin) OtherProgram() bool {
	return l.old == nil || l.old.SHA256[lockfile.Platform()] != l.now.SHA256[lockfile.Platform()]
}

// keysOf are the keys of two maps, sorted.
func keysOf(a, b map[string]string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b)))))
}

func quoted(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf("%q", words)
}

// A ToolDifference is a tool that differs from the lock file.
type ToolDifference struct {
	Name string
	// Old is the hash of the locked definition, "" when there is none, and OldDefinition the definition if this machine
	// has it.
	Old           string
	OldDefinition json.RawMessage
	Now           json.RawMessage // the present definition; nil when there is none
}

// Changes compares both definitions, part by part.
func (d ToolDifference) Changes() []lockfile.Change { return lockfile.Changes(d.OldDefinition, d.Now) }

// ToolDifferences are the tools that differ, by name.
func (l *LockedPlugin) ToolDifferences() (out []ToolDifference) {
	var old map[string]string
	if l.old != nil {
		old = l.old.Tools
	}
	for _, name := range keysOf(old, l.now.Tools) {
		if before, now := old[name], l.now.Tools[name]; before != now {
			d := ToolDifference{Name: name, Old: before}
			if now != "" {
				d.Now = l.Tools[name]
			}
			if before != "" {
				d.OldDefinition = keptDefinition(before)
			}
			out = append(out, d)
		}
	}
	return out
}

// Write changes the lock file for the plugins that differ, unless another process has changed it since it was read.
// It returns the path of the file.
func (r *LockPlan) Write(plugins []*LockedPlugin) (path string, err error) {
	path = filepath.Join(r.from.Dir, lockfile.Name)
	for _, p := range plugins {
		keepDefinitions(p.definitions)
	}
	return path, lockfile.Update(path, func(lock *lockfile.File) error {
		for _, p := range plugins {
			if !lock.Plugin(p.Name).Equal(p.old) {
				return fmt.Errorf("%s was changed in the meantime; nothing was written. Run the command again", lockfile.Name)
			}
			if p.now == nil {
				lock.Remove(p.Name)
			} else {
				lock.Put(*p.now)
			}
		}
		return nil
	})
}
