package config

import (
	"bytes"
	"cmp"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/supervise"
	"github.com/toolhost/toolhost/host/supervise/sandbox"
)

// LockName is the file beside a configuration that says what its plugins were when somebody agreed to them.
const LockName = "toolhost.lock.hcl"

// A Lock is what a lock file says.
type Lock struct {
	Path    string         // absolute
	Plugins []LockedPlugin // by name

	shown string
}

// A LockedPlugin is one plugin as it was locked.
type LockedPlugin struct {
	Name string
	// Version is what the plugin said, Source where its program was named; both are for people alone.
	Version, Source string
	// Program is the first word of the command: a path relative to the lock file's folder, an absolute one, or a word without
	// slashes to be looked up in PATH. Args are the others, and Env the names of the variables that it is given.
	Program   string
	Args, Env []string
	// Level is the least that keeps it from the rest of the machine.
	Level sandbox.Level
	// SHA256 holds the checksums of the program by platform, such as "linux_amd64".
	SHA256 map[string]string
	// Interpreters holds those of the programs that run it, if it is a script, or env, by platform and path:
	// "linux_amd64:/usr/bin/python3".
	Interpreters map[string]string
	// Tools holds the hash of each tool's definition by the tool's own name; nil leaves the tools free.
	Tools map[string]string
	// Dynamic says that the plugin may change its tools while it runs.
	Dynamic bool

	line int
}

// Platform is this machine's key in LockedPlugin.SHA256.
func Platform() string { return runtime.GOOS + "_" + runtime.GOARCH }

// IsPlatform says whether a word looks like a platform.
func IsPlatform(word string) bool { return platformPattern.MatchString(word) }

// Plugin finds a plugin; nil when it is not locked.
func (l *Lock) Plugin(name string) *LockedPlugin {
	if l == nil {
		return nil
	}
	i, there := l.find(name)
	if !there {
		return nil
	}
	return &l.Plugins[i]
}

func (l *Lock) find(name string) (int, bool) {
	return slices.BinarySearchFunc(l.Plugins, name, func(p LockedPlugin, n string) int { return strings.Compare(p.Name, n) })
}

// Same says whether two say the same; either may be nil.
func (p *LockedPlugin) Same(q *LockedPlugin) bool {
	if p == nil || q == nil {
		return p == q
	}
	a, errA := (&Lock{Plugins: []LockedPlugin{*p}}).text()
	b, errB := (&Lock{Plugins: []LockedPlugin{*q}}).text()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// Runs says whether now would run what was locked: the same program on this platform, with the same arguments and
// variables, kept in as well.
func (p *LockedPlugin) Runs(now LockedPlugin) bool {
	return p.SHA256[Platform()] == now.SHA256[Platform()] && maps.Equal(p.InterpretersHere(), now.InterpretersHere()) && p.differs(now) == ""
}

// InterpretersHere are those of this platform, by path.
func (p *LockedPlugin) InterpretersHere() map[string]string {
	out := map[string]string{}
	for key, sum := range p.Interpreters {
		if path, here := strings.CutPrefix(key, Platform()+":"); here {
			out[path] = sum
		}
	}
	return out
}

// SetInterpretersHere puts these in the place of this platform's; those of others stay.
func (p *LockedPlugin) SetInterpretersHere(interpreters []supervise.Interpreter) {
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

// Put adds a plugin, in the place of one with the same name.
func (l *Lock) Put(p LockedPlugin) {
	i, there := l.find(p.Name)
	if there {
		l.Plugins[i] = p
		return
	}
	l.Plugins = slices.Insert(l.Plugins, i, p)
}

// Remove takes a plugin out.
func (l *Lock) Remove(name string) {
	l.Plugins = slices.DeleteFunc(l.Plugins, func(p LockedPlugin) bool { return p.Name == name })
}

// LockedAs gives what a lock file in the folder says of the spec itself: all but the version, the checksum and the tools.
func LockedAs(spec supervise.Spec, dir string) LockedPlugin {
	return LockedPlugin{
		Name: spec.Name, Source: sourceOf(spec, dir), Program: relative(spec.Command[0], dir), Args: spec.LockedCommand()[1:],
		Env: shownNames(spec), Level: cmp.Or(spec.Sandbox.Level, sandbox.Confined),
	}
}

// shownNames are those of the variables that a plugin is given.
func shownNames(spec supervise.Spec) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		out = append(out, spec.References.Hide(name))
	}
	return out
}

// sourceOf says where a spec is from, without what changes with each line that is added above it.
func sourceOf(spec supervise.Spec, dir string) string {
	source := spec.Source
	if i := strings.LastIndexByte(source, ':'); i >= 0 && strings.Trim(source[i+1:], "0123456789") == "" {
		source = filepath.Base(source[:i])
	}
	if filepath.IsAbs(source) {
		source = relative(filepath.Dir(source), dir)
	}
	return source
}

// relative names a program or folder from the folder of the lock file, if it is in there or beside it. A path stays a path:
// with a slash.
func relative(path, dir string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	near := dir
	if above := filepath.Dir(dir); filepath.Dir(above) != above {
		near = above
	}
	if !within(path, near) {
		return path
	}
	rel, err := filepath.Rel(dir, path)
	switch {
	case err != nil:
		return path
	case strings.HasPrefix(rel, "../"):
		return rel
	}
	return "./" + rel
}
