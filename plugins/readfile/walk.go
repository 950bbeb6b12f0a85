package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk/workspace"
)

// A listing collects the entries of a directory, level by level, so that a cut takes the deepest.
type listing struct {
	hidden    bool // also show hidden names
	mostNames int  // of one directory

	entries []entry
	skipped int      // hidden names
	cut     bool     // entries were left out
	notes   []string // what was left out, for the model
}

func (l *listing) walk(ctx context.Context, dir *workspace.Place, depth int) error {
	var level []*workspace.Place
	err := l.look(&level, dir)
	for ; err == nil && depth > 1 && len(level) > 0 && !l.cut; depth-- {
		level, err = l.descend(ctx, level)
	}
	slices.SortFunc(l.entries, byPath)
	return err
}

// descend looks into the directories of one level and gives those of the next.
func (l *listing) descend(ctx context.Context, level []*workspace.Place) (next []*workspace.Place, err error) {
	for _, dir := range level {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if path.Base(dir.Path) == ".git" {
			continue
		}
		if err := l.look(&next, dir); err != nil {
			l.notes = append(l.notes, err.Error())
		}
	}
	return next, nil
}

// look adds the entries of a directory, and its directories to the next level.
func (l *listing) look(next *[]*workspace.Place, dir *workspace.Place) error {
	names, err := l.visible(dir)
	if err != nil {
		return err
	}
	for i, name := range names {
		if len(l.entries) == maxEntries {
			l.leaveOut("cut at %d entries, with %d more in %q alone; list a directory in it, or fewer levels", maxEntries, len(names)-i, dir.Path)
			return nil
		}
		child, err := dir.Child(name)
		if err != nil {
			continue // gone since
		}
		l.entries = append(l.entries, newEntry(child))
		if child.Info.IsDir() {
			*next = append(*next, child)
		}
	}
	return nil
}

// visible gives the names to show of a directory, sorted, and counts the others.
func (l *listing) visible(dir *workspace.Place) ([]string, error) {
	names, err := dir.Names(l.mostNames + 1)
	if err != nil {
		return nil, err
	}
	if len(names) > l.mostNames {
		names = names[:l.mostNames]
		l.leaveOut("%q has more than %d entries; those beyond are not looked at", dir.Path, l.mostNames)
	}
	all := len(names)
	if !l.hidden {
		names = slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, ".") })
	}
	l.skipped += all - len(names)
	slices.Sort(names)
	return names, nil
}

func (l *listing) leaveOut(format string, a ...any) {
	l.cut = true
	l.notes = append(l.notes, fmt.Sprintf(format, a...))
}

func newEntry(p *workspace.Place) entry {
	e := entry{Path: p.Path, Type: workspace.Kind(p.Info.Mode()), Target: p.Target}
	if e.Type == "file" {
		e.Size = new(p.Info.Size())
	}
	return e
}

// byPath sorts what is in a directory right behind it.
func byPath(a, b entry) int {
	return slices.Compare(strings.Split(a.Path, "/"), strings.Split(b.Path, "/"))
}
