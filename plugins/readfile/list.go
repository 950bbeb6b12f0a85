package main

import (
	"context"
	"fmt"
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
	maxNames   = 20_000 // of one directory; of more than these the first that the system tells are taken
)

type listInput struct {
	Path  string `json:"path,omitempty" jsonschema:"The directory: relative to the workspace, or absolute inside it." default:"."`
	Depth int    `json:"depth,omitempty" jsonschema:"How many levels to show; 1 is the directory's own entries." minimum:"1" maximum:"10" default:"1"`
	seen
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
		Description: "Lists a directory of the workspace, one path a line, sorted: directories end with /, files have their size in bytes, symlinks show " +
			"where they point. Paths can be given to other tools as they are. To find files by a pattern use glob, by what they hold grep. " +
			"Hidden names and what .gitignore ignores are left out, unless hidden or ignored is set, and so are files that by their names hold secrets. At most 500 entries, the upper levels first; what was left out is said in [brackets].",
		Hints: readOnly, PathAware: true, Category: "files", CostTier: sdk.Free,
		MaxResultBytes: sdk.MaxResult, // the tool holds limits of its own
	}, c.list)
}

func (c *config) list(ctx context.Context, r *sdk.Request, in listInput) (*sdk.Result, error) {
	if in.Depth < 0 || in.Depth > maxDepth {
		return nil, invalid(fmt.Sprintf("depth must be from 1 to %d", maxDepth))
	}
	if in.Path == "" {
		in.Path = "."
	}
	w, err := workspace.OpenAt(r, in.Path)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	p, err := w.Find(in.Path)
	if err != nil {
		return nil, err
	}
	l := listing{w: w, filter: c.withoutSecrets(filter(r, w, in.seen)), mostNames: maxNames, entries: []entry{}}
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
	result.Structured = encode(listOutput{Path: path, Entries: l.entries, Hidden: l.left.Hidden, Ignored: l.left.Ignored, Truncated: l.cut})
	result.Truncated = l.cut
	return result
}

// line is the entry for the model.
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

// printable quotes a name that would not be read as one: with line breaks, control characters, or bytes that are no text.
func printable(name string) string {
	if quoted := strconv.Quote(name); !utf8.ValidString(name) || len(quoted) != len(name)+2 {
		return quoted
	}
	return name
}
