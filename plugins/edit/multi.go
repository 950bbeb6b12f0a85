package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/plugins/edit/internal/match"
	"github.com/toolhost/toolhost/sdk"
)

const (
	maxEdits = 100      // of one call
	maxFiles = 50       // likewise
	maxTotal = 64 << 20 // bytes that its files hold
)

type multiInput struct {
	Path       string      `json:"path,omitempty" jsonschema:"The file of all edits that name none."`
	Edits      []multiEdit `json:"edits" jsonschema:"The edits, at most 100 in at most 50 files. They are made in order: each finds the text as those before it left it."`
	CreateDirs bool        `json:"create_dirs,omitempty" jsonschema:"Make the directories on the way to new files." default:"false"`
	DryRun     bool        `json:"dry_run,omitempty" jsonschema:"Only show what would be done." default:"false"`
}

type multiEdit struct {
	Path       string `json:"path,omitempty" jsonschema:"The file: relative to the workspace, or absolute inside it. Absent: the path of the call."`
	OldString  string `json:"old_string" jsonschema:"The text to replace, as in replace. Empty only for a file that does not exist: that is created with new_string."`
	NewString  string `json:"new_string" jsonschema:"The text to put there; empty deletes."`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"Replace every place where old_string occurs." default:"false"`
	Expected   int    `json:"expected_replacements,omitempty" jsonschema:"How many places there must be, else nothing is changed in any file. More than 1 goes with replace_all." minimum:"0"`
	NearLine   int    `json:"near_line,omitempty" jsonschema:"The line near which old_string is, counted after the edits before." minimum:"0"`
	IfMatch    string `json:"if_match,omitempty" jsonschema:"The etag that reading the file gave: nothing is changed when the file was another one before this call."`
}

// A multiOutput is the structured result of multi.
type multiOutput struct {
	Applied  bool         `json:"applied"`
	DryRun   bool         `json:"dry_run"`
	Files    []multiFile  `json:"files"`
	Edits    []multiFound `json:"edits"` // in the order of the call
	Warnings []string     `json:"warnings"`
}

type multiFile struct {
	Path    string      `json:"path"`
	Created bool        `json:"created"`
	Changed bool        `json:"changed"`
	Ranges  []lineRange `json:"ranges"` // of the lines that are new, the first 100
	Etag    string      `json:"etag"`
	Bytes   int         `json:"bytes"`
}

type multiFound struct {
	Path         string `json:"path"`
	Replacements int    `json:"replacements"` // 0 for a file that was created
	Pass         int    `json:"pass,omitempty"`
	PassName     string `json:"pass_name,omitempty"`
}

func addMulti(p *sdk.Plugin, e *editor) {
	addEdit[multiInput](p, e, sdk.Tool{
		Name:  "multi",
		Title: "Edit files, all or nothing",
		Description: "Makes several edits, in one file or in many, all or none: if one cannot be made nothing is written, and the error says which and why.\n" +
			"Each edit is as in replace. They are made in order, so old_string of a later one is the text as the earlier ones leave it.\n" +
			"Use it for changes that belong together, such as a rename in several files. A file that does not exist is created by an edit with an empty old_string.\n" +
			"Gives the lines that changed and the new etag of each file, and a diff of at most 200 lines. At most 100 edits, 50 files, 10 MiB a file, 64 MiB together.",
		Hints: sdk.Hints{ReadOnly: sdk.No, Destructive: sdk.Yes, Idempotent: sdk.No, OpenWorld: sdk.No},
	})
}

func (in multiInput) targets(*scene) ([]string, error) {
	switch {
	case len(in.Edits) == 0:
		return nil, &sdk.Error{Name: "NoEdits", Message: "edits is empty, so there is nothing to do", Suggestion: "Give at least one edit with old_string and new_string."}
	case len(in.Edits) > maxEdits:
		return nil, &sdk.Error{Name: "TooManyEdits", Message: fmt.Sprintf("there are %d edits, at most %d can be made at once; nothing was changed", len(in.Edits), maxEdits),
			Suggestion: "Make them in several calls."}
	}
	var out []string
	for i, ed := range in.Edits {
		path := in.pathOf(ed)
		if path == "" {
			return nil, &sdk.Error{Name: "InvalidPath", Message: fmt.Sprintf("%s has no path, and the call has none for it; nothing was changed", in.name(i)),
				Suggestion: "Give the edit a path, or one to the whole call."}
		}
		out = append(out, path)
	}
	return out, nil
}

func (in multiInput) pathOf(ed multiEdit) string {
	if ed.Path != "" {
		return ed.Path
	}
	return in.Path
}

// name tells an edit, counted from 1 as people do, and as programs do.
func (in multiInput) name(i int) string {
	return fmt.Sprintf("edit %d of %d (edits[%d])", i+1, len(in.Edits), i)
}

func (in multiInput) plan(ctx context.Context, s *scene) (*outcome, error) {
	m := multi{multiInput: in, scene: s, files: map[string]*tracked{}}
	for i := range in.Edits {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := m.step(i); err != nil {
			return nil, m.failed(ctx, i, err)
		}
	}
	return m.outcome()
}

func (ed multiEdit) change(level match.Strictness) match.Change {
	return match.Change{Old: ed.OldString, New: ed.NewString, All: ed.ReplaceAll, Expected: ed.Expected, NearLine: ed.NearLine, Strictness: level}
}

func (m *multi) outcome() (*outcome, error) {
	o := &outcome{dry: m.DryRun}
	out := multiOutput{Applied: !m.DryRun, DryRun: m.DryRun, Edits: m.found}
	for _, w := range m.said {
		o.notes = append(o.notes, w.String())
	}
	var lines []string
	for _, b := range m.order {
		c, err := b.change()
		if err != nil {
			return nil, err
		}
		o.changes = append(o.changes, c)
		o.notes = append(o.notes, c.costs()...)
		f := fileOf(c, m.DryRun)
		out.Files = append(out.Files, f)
		lines = append(lines, f.inWords())
	}
	out.Warnings = append([]string{}, o.notes...)
	o.output = out
	o.summary = fmt.Sprintf("%s %s in %s:\n%s", done(m.DryRun, "Made", "Would make"), count(len(m.Edits), "edit"), count(len(m.order), "file"), strings.Join(lines, "\n"))
	return o, nil
}

func fileOf(c *change, dry bool) multiFile {
	f := multiFile{Path: c.place.Path, Created: c.before == nil, Changed: c.changes(), Ranges: []lineRange{}, Etag: c.etagNow(dry), Bytes: len(c.after)}
	d := c.difference()
	lines, shift := counter{text: d.after}, 0
	for _, r := range compare(d.before, d.after) {
		if len(f.Ranges) < maxRanges {
			start := lines.at(min(r.start+shift, len(d.after)))
			f.Ranges = append(f.Ranges, lineRange{start, max(start, start+countLines(r.new)-1)})
		}
		shift += len(r.new) - (r.end - r.start)
	}
	return f
}

func (f multiFile) inWords() string {
	switch {
	case f.Created && f.Etag == "": // in a dry run
		return fmt.Sprintf("%s: created, %s", inText(f.Path), count(f.Bytes, "byte"))
	case f.Created:
		return fmt.Sprintf("%s: created, %s [etag %s]", inText(f.Path), count(f.Bytes, "byte"), f.Etag)
	case !f.Changed:
		return fmt.Sprintf("%s: the edits cancel each other out, so it stays as it is [etag %s]", inText(f.Path), f.Etag)
	}
	return fmt.Sprintf("%s: %s [etag %s]", inText(f.Path), inWords(f.Ranges), f.Etag)
}
