package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

type diffInput struct {
	Path     string `json:"path,omitempty" jsonschema:"Only this file. Absent: all that were edited."`
	MaxLines int    `json:"max_lines,omitempty" jsonschema:"The most lines to show." minimum:"1" maximum:"5000" default:"200"`
}

// A diffOutput is the structured result of diff.
type diffOutput struct {
	Files    []diffFile `json:"files"`
	Warnings []string   `json:"warnings"`
}

type diffFile struct {
	Path    string `json:"path"`
	Created bool   `json:"created"`
	Changed bool   `json:"changed"` // false when the edits cancel each other out
}

func addDiff(p *sdk.Plugin, e *editor) {
	sdk.AddTool(p, sdk.Tool{
		Name:  "diff",
		Title: "Show what was edited",
		Description: "Shows what the edits of this session changed so far, as one unified diff from before the first to " +
			"after the last: of all files, or of one.\n" +
			"Use it to check the whole of a change before saying that it is done. Changes by others, such as a formatter or " +
			"a shell command, are in it only if edits of the same file came after them.\n" +
			"Edits are kept in the memory of this plugin, at most 64 MiB: they are gone when its process ends. Then use " +
			"version control.",
		Hints:    sdk.Hints{ReadOnly: sdk.Yes, Destructive: sdk.No, Idempotent: sdk.Yes, OpenWorld: sdk.No},
		Category: "edit", CostTier: sdk.Free, Stateful: true,
		MaxResultBytes: sdk.MaxResult, // the tool holds limits of its own
	}, func(ctx context.Context, r *sdk.Request, in diffInput) (*sdk.Result, error) {
		return e.diff(ctx, r, in)
	})
}

func (e *editor) diff(ctx context.Context, r *sdk.Request, in diffInput) (*sdk.Result, error) {
	s, err := e.enter(r)
	if err != nil {
		return nil, err
	}
	defer s.root.Close()
	only := ""
	if in.Path != "" {
		p, err := s.find(in.Path)
		if err != nil {
			return nil, err
		}
		only = p.Real()
	}
	entries, dropped := s.history.of(s.session)
	out := diffWriter{most: limits{lines: 200, bytes: 64 << 10, lineBytes: 500},
		more: "set path to one file, or a larger max_lines"}
	if in.MaxLines > 0 {
		out.most.lines = min(in.MaxLines, 5000)
		out.most.bytes = max(out.most.bytes, out.most.lines*200)
	}
	v := diffView{toolCall: s, diffWriter: &out, files: joinFiles(entries, only)}
	if dropped > 0 {
		v.notes = append(v.notes, strings.TrimSpace(droppedNote(dropped)))
	}
	if err := v.show(ctx); err != nil {
		return nil, err
	}
	return v.result(only), nil
}

// A diffView is the state of a call of the diff tool.
type diffView struct {
	*toolCall
	diffWriter *diffWriter
	files      []fileRecord
	notes      []string
	out        []diffFile
}

// joinFiles joins what calls did to each file into one record, in the order of the first edits.
func joinFiles(entries []*historyEntry, only string) (out []fileRecord) {
	at := map[string]int{}
	for _, e := range slices.Backward(entries) {
		for _, r := range e.files {
			i, ok := at[r.real]
			switch {
			case only != "" && r.real != only:
			case ok:
				out[i].after = r.after
			default:
				at[r.real] = len(out)
				out = append(out, r)
			}
		}
	}
	return out
}

func (v *diffView) show(ctx context.Context) error {
	for _, r := range v.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		path, err := v.locate(r)
		if err != nil {
			v.notes = append(v.notes, fmt.Sprintf("%s: %v.", pathText(r.path), err))
			continue
		}
		v.write(path, r)
	}
	return nil
}

// locate returns the path of a file in the workspace of the call, and notes changes made outside of this plugin.
// Files that may not be shown are errors.
func (v *diffView) locate(r fileRecord) (path string, err error) {
	p, err := v.find(r.real)
	if err != nil {
		return "", err
	}
	if now, err := look(p); err != nil || !r.after.is(now) {
		v.notes = append(v.notes, pathText(p.Path)+" was changed or removed otherwise since its last edit here, which "+
			"this diff does not show.")
	}
	return p.Path, nil
}

func (v *diffView) write(path string, r fileRecord) {
	form := formOf(r.after.data, v.settings.legacy)
	d := difference{path: path, made: r.before == nil, after: form.shown(r.after.data)}
	if r.before != nil {
		d.before = form.shown(r.before.data)
	}
	d.write(v.diffWriter)
	v.out = append(v.out, diffFile{Path: path, Created: d.made, Changed: r.before != r.after})
}

func (v *diffView) result(only string) *sdk.Result {
	text := v.diffWriter.String()
	switch {
	case len(v.files) == 0 && only != "":
		text = "No edit of this file in this session is kept."
	case len(v.files) == 0:
		text = "No edits of this session are kept: it made none, or the plugin was restarted since."
	case text == "" && len(v.out) > 0:
		text = "The edits of this session cancel each other out."
	}
	if len(v.notes) > 0 {
		text = strings.Trim(notesText(v.notes)+"\n\n"+text, "\n")
	}
	result := sdk.Text(text)
	result.Truncated = v.diffWriter.dropped > 0
	result.Structured, _ = json.Marshal(diffOutput{Files: append([]diffFile{}, v.out...), Warnings: append([]string{},
		v.notes...)})
	return result
}
