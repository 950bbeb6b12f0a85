package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/plugins/readfile/internal/walk"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// Limits of one list.
const (
	maxEntries = 500
	maxDepth   = 10
	maxNames   = 20_000 // of one directory; of more than these the first that the system lists are taken
)

type listInput struct {
	Path  string `json:"path,omitempty" jsonschema:"The directory: relative to the workspace, or absolute inside it." default:"."`
	Depth int    `json:"depth,omitempty" jsonschema:"How many levels to show; 1 is the directory's own entries." minimum:"1" maximum:"10" default:"1"`
	visibility
}

// A listOutput is the structured result.
type listOutput struct {
	Path      string  `json:"path"`
	Entries   []entry `json:"entries"`
	Hidden    int     `json:"hidden_entries"`  // names that begin with a dot, left out
	Ignored   int     `json:"ignored_entries"` // left out by ignore rules
	Truncated bool    `json:"truncated"`
}

// An entry is one name in a directory.
type entry struct {
	Path   string `json:"path"`            // relative to the workspace, ready to use
	Type   string `json:"type"`            // file, dir, symlink, pipe, socket or device
	Size   *int64 `json:"size,omitzero"`   // of a file, in bytes
	Target string `json:"target,omitzero"` // of a symlink
}

func addList(p *sdk.Plugin, c *config) {
	sdk.AddTool(p, sdk.Tool{
		Name:  "list",
		Title: "List a directory",
		Description: "Lists a directory of the workspace, one path a line, sorted: directories end with /, files have " +
			"their size in bytes, symlinks show " +
			"where they point. Paths can be given to other tools as they are. To find files by a pattern use glob, by what " +
			"they hold grep. " +
			"Hidden names and what .gitignore ignores are left out, unless hidden or ignored is set, and so are files that by " +
			"their names hold secrets. At most 500 entries, the upper levels first; what was left out is said in [brackets].",
		Hints: readOnly, PathAware: true, Category: "files", CostTier: sdk.Free,
		MaxResultBytes: sdk.MaxResult, // the tool holds limits of its own
	}, c.list)
}

func (c *config) list(ctx context.Context, r *sdk.Request, in listInput) (*sdk.Result, error) {
	if in.Depth < 0 || in.Depth > maxDepth {
		return nil, invalid(fmt.Sprintf("depth must be from 1 to %d", maxDepth),
			"For what lies deeper list a directory below.")
	}
	in.Path = cmp.Or(in.Path, ".")
	w, err := workspace.OpenAt(r, in.Path)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	p, err := w.Find(in.Path)
	if err != nil {
		return nil, err
	}
	l := listing{w: w, filter: c.withoutSecrets(filter(r, w, in.visibility)), mostNames: maxNames, entries: []entry{}}
	if err := l.walk(ctx, p, max(in.Depth, 1)); err != nil {
		return nil, err
	}
	return l.result(p.Path), nil
}

func (l *listing) result(path string) *sdk.Result {
	var text strings.Builder
	for _, e := range l.entries {
		text.WriteString(e.line() + "\n")
	}
	if len(l.entries) == 0 && l.left == (walk.LeftOut{}) {
		text.WriteString("[the directory is empty]\n")
	}
	text.WriteString(bracketed(append(l.notes, leftNotes(l.left)...)...))
	result := sdk.Text(strings.TrimSuffix(text.String(), "\n"))
	result.Structured = encode(listOutput{Path: path, Entries: l.entries, Hidden: l.left.Hidden, Ignored: l.left.Ignored,
		Truncated: l.cut})
	result.Truncated = l.cut
	return result
}

func (e entry) line() string {
	switch name := printable(e.Path); e.Type {
	case "dir":
		return name + "/"
	case "file":
		return name + " " + strconv.FormatInt(*e.Size, 10)
	case "symlink":
		return name + " -> " + printable(e.Target)
	default:
		return name + " (" + e.Type + ")"
	}
}

// printable quotes a name that would not be read as one: with line breaks, control characters, or bytes that are no
// text.
func printable(name string) string {
	if quoted := strconv.Quote(name); !utf8.ValidString(name) || len(quoted) != len(name)+2 {
		return quoted
	}
	return name
}

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
			l.leaveOut("cut at %d entries, with %d more in %q alone; list a directory in it, or fewer levels", len(l.entries),
				len(entries)-i, dir.Path)
			return nil
		}
		child, err := dir.Child(e.Name())
		if err != nil {
			continue // gone since
		}
		shown := entry{Path: child.Path, Type: workspace.Kind(child.Info.Mode()), Target: child.Target}
		if shown.Type == "file" {
			shown.Size = new(child.Info.Size())
		}
		l.entries = append(l.entries, shown)
		l.size += len(child.Path) + len(child.Target)
		if child.Info.IsDir() {
			*next = append(*next, subfolder{child, in})
		}
	}
	return nil
}

// visible returns the entries to show of a directory, sorted, and counts the others.
func (l *listing) visible(ctx context.Context, in *walk.Folder) ([]fs.DirEntry, error) {
	entries, left, err := in.Look(ctx, l.mostNames)
	if left.Crowded > 0 {
		l.leaveOut("%q has more than %d entries; those beyond are not looked at", in.Path, l.mostNames)
		left.Crowded = 0 // it is said
	}
	l.left.Add(left)
	return entries, err
}

func (l *listing) leaveOut(format string, a ...any) {
	l.cut = true
	l.notes = append(l.notes, fmt.Sprintf(format, a...))
}

// byPath sorts what is in a directory right after it.
func byPath(a, b entry) int {
	return slices.Compare(strings.Split(a.Path, "/"), strings.Split(b.Path, "/"))
}
