package main

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/readfile/internal/walk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// A listing collects the entries of a directory, level by level, so that a cut takes the deepest.
type listing struct {
	w         *workspace.Root
	filter    walk.Filter
	mostNames int // of one directory

	entries []entry
	size    int // of their paths, in bytes
	left    walk.LeftOut
	cut     bool     // entries were left out
	notes   []string // what was left out, for the model
}

// A subfolder is a directory to look into, and the one that it is in, which is closed but knows the rules.
type subfolder struct {
	*workspace.Place
	in *walk.Folder
}

func (l *listing) walk(ctx context.Context, dir *workspace.Place, depth int) error {
	top, err := walk.Enter(l.w, dir, l.filter)
	if err != nil {
		return err
	}
	var level []subfolder
	err = l.look(ctx, &level, top, dir)
	for ; err == nil && depth > 1 && len(level) > 0 && !l.cut; depth-- {
		level, err = l.descend(ctx, level)
	}
	slices.SortFunc(l.entries, byPath)
	return err
}

// descend looks into the directories of one level and gives those of the next.
func (l *listing) descend(ctx context.Context, level []subfolder) (next []subfolder, err error) {
	for _, dir := range level {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if path.Base(dir.Path) == ".git" {
			continue
		}
		in, err := dir.in.SubAt(dir.Place)
		if err == nil {
			err = l.look(ctx, &next, in, dir.Place)
		}
		if err != nil {
			l.notes = append(l.notes, err.Error())
		}
	}
	return next, ctx.Err()
}

// look adds the entries of a directory, which it closes, and its directories to the next level.
func (l *listing) look(ctx context.Context, next *[]subfolder, in *walk.Folder, dir *workspace.Place) error {
	defer in.Close()
	entries, err := l.visible(ctx, in)
	if err != nil {
		return err
	}
	for i, e := range entries {
		if len(l.entries) == maxEntries || l.size > maxPathBytes {
			l.leaveOut("cut at %d entries, with %d more in %q alone; list a directory in it, or fewer levels", len(l.entries), len(entries)-i, dir.Path)
			return nil
		}
		child, err := dir.Child(e.Name())
		if err != nil {
			continue // gone since
		}
		l.entries = append(l.entries, newEntry(child))
		l.size += len(child.Path) + len(child.Target)
		if child.Info.IsDir() {
			*next = append(*next, subfolder{child, in})
		}
	}
	return nil
}

// visible gives the entries to show of a directory, sorted, and counts the others.
func (l *listing) visible(ctx context.Context, in *walk.Folder) ([]fs.DirEntry, error) {
	entries, left, err := in.Look(ctx, l.mostNames)
	if left.Crowded > 0 {
		l.leaveOut("%q has more than %d entries; those beyond are not looked at", in.Path, l.mostNames)
	}
	l.left.Hidden += left.Hidden
	l.left.Ignored += left.Ignored
	l.left.Unreadable += left.Unreadable
	l.left.Denied += left.Denied
	l.left.Secret += left.Secret
	return entries, err
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
