package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

type undoInput struct {
	Count  int  `json:"count,omitempty" jsonschema:"How many calls that edited to take back, the last first." minimum:"1" maximum:"100" default:"1"`
	DryRun bool `json:"dry_run,omitempty" jsonschema:"Only show what would be done, and list the edits that can be taken back." default:"false"`
}

// An undoOutput is the structured result of undo.
type undoOutput struct {
	Applied bool       `json:"applied"`
	DryRun  bool       `json:"dry_run"`
	Files   []undoFile `json:"files"`
	Left    int        `json:"left"` // edits that can be taken back after these
}

type undoFile struct {
	Path    string `json:"path"`
	Removed bool   `json:"removed"`
	Etag    string `json:"etag"`
}

func addUndo(p *sdk.Plugin, e *editor) {
	addEdit[undoInput](p, e, sdk.Tool{
		Name:     "undo",
		Title:    "Take edits back",
		Stateful: true,
		Description: "Takes back the last edits of this session that replace, multi and write made: files hold again what " +
			"they held before, and a file that an edit created is removed.\n" +
			"One call of multi is taken back as a whole. All or nothing: a file that was changed otherwise since is refused, " +
			"with a diff of what was changed.\n" +
			"With dry_run=true it lists what can be taken back. An undo cannot be undone; directories that were made stay.\n" +
			"Edits are kept in the memory of this plugin, at most 64 MiB: they are gone when its process ends.",
		Hints: sdk.Hints{ReadOnly: sdk.No, Destructive: sdk.Yes, Idempotent: sdk.No, OpenWorld: sdk.No},
	})
}

// targets picks the edits to undo, and returns their files.
func (in undoInput) targets(s *toolCall) (paths []string, err error) {
	entries, dropped := s.history.of(s.session)
	if len(entries) == 0 {
		return nil, &sdk.Error{Name: "NothingToUndo", Message: "no edits of this session are kept" + droppedNote(dropped),
			Suggestion: "Edits are kept by the plugin's process, for the session that made them. Use version control, or " +
				"edit the file again."}
	}
	n := max(in.Count, 1)
	if n > len(entries) {
		return nil, &sdk.Error{Name: "NothingToUndo",
			Message: fmt.Sprintf("only %s of this session can be taken back, not %d%s; nothing was changed",
				textutil.Count(len(entries),
					"edit"), n, droppedNote(dropped)),
			Suggestion: fmt.Sprintf("Set count to at most %d.", len(entries))}
	}
	s.taken = entries[:n]
	for _, e := range s.taken {
		for _, r := range e.files {
			paths = append(paths, r.real)
		}
	}
	return paths, nil
}

func droppedNote(dropped int) string {
	if dropped == 0 {
		return ""
	}
	return fmt.Sprintf(" (older ones, %d of them, were dropped, as the history holds %d MiB)", dropped, maxHistory>>20)
}

func (in undoInput) plan(_ context.Context, s *toolCall) (*outcome, error) {
	entries, _ := s.history.of(s.session)
	back := undoPlan{toolCall: s, files: map[string]*change{}}
	for _, e := range s.taken {
		if !slices.Contains(entries, e) {
			return nil, &sdk.Error{Name: "NothingToUndo",
				Message:    "another call has taken back these edits meanwhile",
				Suggestion: "Call undo with dry_run=true to see what is left."}
		}
		for _, r := range e.files {
			if back.isGone(r, entries) {
				continue
			}
			if err := back.take(r); err != nil {
				return nil, err
			}
		}
	}
	return in.outcome(&back, s.taken, entries[len(s.taken):]), nil
}

func (in undoInput) outcome(back *undoPlan, taken, left []*historyEntry) *outcome {
	out := undoOutput{Applied: !in.DryRun, DryRun: in.DryRun, Left: len(left)}
	changes := back.order
	var files []string
	for _, path := range back.gone {
		out.Files = append(out.Files, undoFile{Path: path, Removed: true})
		files = append(files, pathText(path)+" (which was removed already)")
	}
	for _, c := range changes {
		out.Files = append(out.Files, undoFile{Path: c.place.Path, Removed: c.remove, Etag: c.etagNow(in.DryRun)})
		if c.remove {
			files = append(files, pathText(c.place.Path)+" (removed)")
		} else {
			files = append(files, fmt.Sprintf("%s [etag %s]", pathText(c.place.Path), c.etagNow(in.DryRun)))
		}
	}
	o := &outcome{changes: changes, dry: in.DryRun, output: out, undoes: taken}
	o.summary = fmt.Sprintf("%s back %s in %s: %s. %s", byDryRun(in.DryRun, "Took", "Would take"),
		textutil.Count(len(taken), "edit"),
		textutil.Count(len(files), "file"), strings.Join(files, ", "), remaining(left))
	if in.DryRun {
		o.summary += listEntries(append(slices.Clip(taken), left...))
	}
	return o
}

func remaining(left []*historyEntry) string {
	if len(left) == 0 {
		return "No older edit can be taken back."
	}
	return textutil.Count(len(left), "older edit") + " can be taken back."
}

// listEntries lists entries, the last first.
func listEntries(entries []*historyEntry) string {
	var b strings.Builder
	b.WriteString("\nThe edits that are kept, the last first:")
	for i, e := range entries[:min(len(entries), 20)] {
		var paths []string
		for _, r := range e.files[:min(len(e.files), 5)] {
			paths = append(paths, pathText(r.path))
		}
		if len(e.files) > len(paths) {
			paths = append(paths, fmt.Sprintf("and %d more", len(e.files)-len(paths)))
		}
		fmt.Fprintf(&b, "\n%d. %s of %s, %v ago", i+1, e.tool, strings.Join(paths, ", "), time.Since(e.at).Round(time.Second))
	}
	if more := len(entries) - 20; more > 0 {
		fmt.Fprintf(&b, "\n... and %s", textutil.Count(more, "older edit"))
	}
	return b.String()
}

// An undoPlan collects the changes that undo edits, the last edit first.
type undoPlan struct {
	*toolCall
	files map[string]*change // by real path
	order []*change
	gone  []string // files that the session has made and someone has removed
}

// isGone reports a file that an edit of the session has made and that is not there any more: nothing is left to undo.
func (b *undoPlan) isGone(r fileRecord, entries []*historyEntry) bool {
	p, err := b.find(r.real)
	if err != nil || p.Info != nil || b.files[r.real] != nil {
		return false
	}
	made := slices.ContainsFunc(entries, func(e *historyEntry) bool {
		return slices.ContainsFunc(e.files, func(f fileRecord) bool { return f.real == r.real && f.before == nil })
	})
	if made && !slices.Contains(b.gone, p.Path) {
		b.gone = append(b.gone, p.Path)
	}
	return made
}

// take undoes what one call did to one file, which must have the content that the call left.
func (b *undoPlan) take(r fileRecord) error {
	c := b.files[r.real]
	if c == nil {
		var err error
		if c, err = b.start(r); err != nil {
			return err
		}
	}
	if c.remove || !r.after.is(c.after) {
		return b.changed(c, r)
	}
	if c.remove = r.before == nil; c.remove {
		c.after = nil
	} else {
		c.after = r.before.data
	}
	return nil
}

// start adds a change that does nothing yet.
func (b *undoPlan) start(r fileRecord) (*change, error) {
	p, err := b.find(r.real)
	if err != nil {
		return nil, err
	}
	if p.Info == nil || !p.Info.Mode().IsRegular() || p.Real() != r.real {
		return nil, &sdk.Error{Name: "FileChanged",
			Message: strconv.Quote(p.Path) + " is not there any more, or something else is in its place; nothing was " +
				"taken back",
			Suggestion: "To restore the file, write it with the tool write."}
	}
	before, err := load(p)
	if err != nil {
		return nil, err
	}
	c := &change{place: p, before: before, after: before.data, form: formOf(before.data, b.settings.legacy)}
	b.files[r.real], b.order = c, append(b.order, c)
	return c, nil
}

// changed reports that a file was changed otherwise since the edit, with a diff.
func (b *undoPlan) changed(c *change, r fileRecord) error {
	out := diffWriter{most: limits{lines: 200, bytes: 20 << 10, lineBytes: 500}, more: "read the file to see it all"}
	difference{path: c.place.Path, before: c.form.shown(r.after.data), after: c.form.shown(c.after)}.write(&out)
	e := &sdk.Error{Name: "FileChanged",
		Message: fmt.Sprintf("%q was changed since the edit that is to be taken back, so nothing was taken back",
			c.place.Path),
		Suggestion: "Take the edit back with replace instead. The diff shows what was changed since.",
		Details: sdk.Details(map[string]string{"path": c.place.Path, "etag": workspace.Etag(c.after),
			"etag_after_edit": workspace.Etag(r.after.data)})}
	return &refusal{e, out.String()}
}
