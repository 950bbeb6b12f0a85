package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/lockfile"
	"github.com/toolhost/toolhost/host/supervise"
)

// show prints how a plugin differs from what was locked.
func (l *locker) show(p *lockable) {
	switch {
	case p.problem != nil: // which is told at the end
	case p.now == nil:
		fmt.Fprintf(l.out, "%s: removed, since there is no such plugin any more\n", p.name)
	case !p.differs():
		fmt.Fprintf(l.out, "%s: as it was locked\n", p.name)
	case p.old == nil:
		fmt.Fprintf(l.out, "%s: added\n", p.name)
		l.showProgram(p, &lockfile.Plugin{SHA256: map[string]string{}})
		l.showNew(p)
	default:
		fmt.Fprintf(l.out, "%s: changed\n", p.name)
		l.showProgram(p, p.old)
		l.showTools(p)
	}
}

// showProgram prints what is other than it was.
func (l *locker) showProgram(p *lockable, old *lockfile.Plugin) {
	now := p.now
	for _, w := range append([]difference{{"version", old.Version, now.Version}}, ways(old, now)...) {
		l.showPart(w)
	}
	kept := ""
	for _, platform := range slices.Sorted(maps.Keys(now.SHA256)) {
		l.showPart(difference{"sha256 of " + platform, old.SHA256[platform], now.SHA256[platform]})
		if _, given := l.sums[platform]; !given && platform != lockfile.Platform() {
			kept += " " + platform
		}
	}
	for _, d := range interpretersOf(old, now) {
		l.showPart(d)
	}
	if kept != "" && old.SHA256[lockfile.Platform()] != now.SHA256[lockfile.Platform()] {
		l.note("the checksums of other platforms stay as they were:%s", kept)
	}
	if p.inPlace {
		l.note("%s", partly)
	}
	for _, file := range l.files(p.spec) {
		l.note("the argument %s names a file, whose content is not locked", visible(file))
	}
	if now.Dynamic && now.Tools != nil {
		l.note("it changes its tools while it runs; those that are others than now are disabled, unless its block says pin_tools = false")
	}
}

// interpretersOf are the programs that run a script here.
func interpretersOf(old, now *lockfile.Plugin) (out []difference) {
	before, after := old.InterpretersHere(), now.InterpretersHere()
	both := maps.Clone(before)
	maps.Copy(both, after)
	for _, path := range slices.Sorted(maps.Keys(both)) {
		out = append(out, difference{"interpreter " + path, before[path], after[path]})
	}
	return out
}

// files are the arguments of a command that name files, such as the script for an interpreter.
func (l *locker) files(spec supervise.Spec) (out []string) {
	for i, arg := range spec.LockedCommand()[1:] {
		path := spec.Command[i+1]
		if !filepath.IsAbs(path) {
			path = filepath.Join(cmp.Or(spec.Dir, l.workdir), path)
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			out = append(out, arg)
		}
	}
	return out
}

func quoted(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf("%q", words)
}

// A difference is something of a plugin as it was locked and as it is.
type difference struct{ name, old, now string }

// ways are how a plugin is run.
func ways(old, now *lockfile.Plugin) []difference {
	return []difference{
		{"source", old.Source, now.Source}, {"program", old.Program, now.Program}, {"args", quoted(old.Args), quoted(now.Args)},
		{"env", quoted(old.Env), quoted(now.Env)}, {"level", string(old.Level), string(now.Level)},
	}
}

func (l *locker) showPart(p difference) {
	switch p.old {
	case p.now:
	case "":
		fmt.Fprintf(l.out, "  %s: %s\n", p.name, visible(p.now))
	default:
		fmt.Fprintf(l.out, "  %s: %s -> %s\n", p.name, visible(p.old), orNone(p.now))
	}
}

func orNone(text string) string { return cmp.Or(visible(text), "none") }

func (l *locker) note(format string, a ...any) {
	fmt.Fprintln(l.out, "  note: "+fmt.Sprintf(format, a...))
}

// showNew lists the tools of a plugin that was not locked.
func (l *locker) showNew(p *lockable) {
	if !p.asked {
		l.note("it is not started to be checked, so its tools are not known")
	}
	for _, name := range slices.Sorted(maps.Keys(p.tools)) {
		fmt.Fprintf(l.out, "  tool %s: %s\n", name, summary(p.tools[name]))
	}
}

// showTools prints how the tools differ.
func (l *locker) showTools(p *lockable) {
	if !p.asked {
		l.note("another program is not started to be checked, so its tools are not compared")
		return
	}
	if (p.old.Tools == nil) != (p.now.Tools == nil) {
		l.note("its tools are pinned: %t", p.now.Tools != nil)
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(p.old.Tools)), maps.Keys(p.now.Tools))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		l.showTool(name, p.old.Tools[name], p.now.Tools[name], p.tools[name])
	}
}

func (l *locker) showTool(name, old, now string, definition json.RawMessage) {
	switch {
	case old == now:
	case now == "":
		fmt.Fprintf(l.out, "  tool %s: removed\n", name)
	case old == "":
		fmt.Fprintf(l.out, "  tool %s: added: %s\n", name, summary(definition))
	default:
		fmt.Fprintf(l.out, "  tool %s: changed\n", name)
		before := keptDefinition(old)
		if before == nil {
			l.note("the old definition, %s…, was not kept on this machine; this is the new one", old[:12])
		}
		for _, c := range host.Changes(before, definition) {
			fmt.Fprintf(l.out, "    %s\n", c.Part)
			for _, line := range c.Lines {
				fmt.Fprintf(l.out, "      %s\n", line)
			}
		}
	}
}

// summary is the first line of a definition's description.
func summary(definition json.RawMessage) string {
	var t struct{ Description string }
	_ = json.Unmarshal(definition, &t) // it was made here
	return visible(fit(firstLine(strings.TrimSpace(t.Description)), 100))
}
