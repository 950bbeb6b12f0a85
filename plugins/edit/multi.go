package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/plugins/edit/internal/match"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
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
		Description: "Makes several edits, in one file or in many, all or none: if one cannot be made nothing is written, " +
			"and the error says which and why.\n" +
			"Each edit is as in replace. They are made in order, so old_string of a later one is the text as the earlier " +
			"ones leave it.\n" +
			"Use it for changes that belong together, such as a rename in several files. A file that does not exist is " +
			"created by an edit with an empty old_string.\n" +
			"Gives the lines that changed and the new etag of each file, and a diff of at most 200 lines. At most 100 edits, " +
			"50 files, 10 MiB a file, 64 MiB together.",
		Hints: sdk.Hints{ReadOnly: sdk.No, Destructive: sdk.Yes, Idempotent: sdk.No, OpenWorld: sdk.No},
	})
}

func (in multiInput) targets(*toolCall) ([]string, error) {
	switch {
	case len(in.Edits) == 0:
		return nil, &sdk.Error{Name: "NoEdits",
			Message:    "edits is empty, so there is nothing to do",
			Suggestion: "Give at least one edit with old_string and new_string."}
	case len(in.Edits) > maxEdits:
		return nil, &sdk.Error{Name: "TooManyEdits",
			Message: fmt.Sprintf("there are %d edits, at most %d can be made at once; nothing was changed", len(in.Edits),
				maxEdits),
			Suggestion: "Make them in several calls."}
	}
	var out []string
	for i, ed := range in.Edits {
		path := in.pathOf(ed)
		if path == "" {
			return nil, &sdk.Error{Name: "InvalidPath",
				Message:    fmt.Sprintf("%s has no path, and the call has none for it; nothing was changed", in.name(i)),
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

// name names an edit, counted from 1 and by its index.
func (in multiInput) name(i int) string {
	return fmt.Sprintf("edit %d of %d (edits[%d])", i+1, len(in.Edits), i)
}

func (in multiInput) plan(ctx context.Context, s *toolCall) (*outcome, error) {
	m := multi{multiInput: in, toolCall: s, files: map[string]*trackedBuffer{}}
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
	return match.Change{Old: ed.OldString, New: ed.NewString, All: ed.ReplaceAll, Expected: ed.Expected,
		NearLine: ed.NearLine, Strictness: level}
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
		o.notes = append(o.notes, c.sideEffects()...)
		f := fileOf(c, m.DryRun)
		out.Files = append(out.Files, f)
		lines = append(lines, f.inWords())
	}
	out.Warnings = append([]string{}, o.notes...)
	o.output = out
	o.summary = fmt.Sprintf("%s %s in %s:\n%s", byDryRun(m.DryRun, "Made", "Would make"),
		textutil.Count(len(m.Edits), "edit"), textutil.Count(len(m.order), "file"), strings.Join(lines, "\n"))
	return o, nil
}

func fileOf(c *change, dry bool) multiFile {
	f := multiFile{Path: c.place.Path, Created: c.before == nil, Changed: c.changes(), Ranges: []lineRange{},
		Etag: c.etagNow(dry), Bytes: len(c.after)}
	d := c.difference()
	lines, shift := lineCounter{text: d.after}, 0
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
		return fmt.Sprintf("%s: created, %s", pathText(f.Path), textutil.Count(f.Bytes, "byte"))
	case f.Created:
		return fmt.Sprintf("%s: created, %s [etag %s]", pathText(f.Path), textutil.Count(f.Bytes, "byte"), f.Etag)
	case !f.Changed:
		return fmt.Sprintf("%s: the edits cancel each other out, so it is unchanged [etag %s]", pathText(f.Path), f.Etag)
	}
	return fmt.Sprintf("%s: %s [etag %s]", pathText(f.Path), inWords(f.Ranges), f.Etag)
}

// A multi is the state of a call of the multi tool.
type multi struct {
	multiInput
	*toolCall
	files map[string]*trackedBuffer // by real path
	order []*trackedBuffer
	found []multiFound
	said  []warning
	bytes int // that the files held
}

// A trackedBuffer keeps the original text and the edits made to it.
type trackedBuffer struct {
	*buffer
	original []byte
	made     []editResult
}

// Made are the matcher's edits for one edit of the call, counted from 0.
type editResult struct {
	index int
	edits []match.Edit
}

// step makes edit i.
func (m *multi) step(i int) error {
	ed := m.Edits[i]
	p, err := m.find(m.pathOf(ed))
	if err != nil {
		return err
	}
	t := m.files[p.Real()]
	if t == nil && p.Info == nil && ed.OldString == "" {
		return m.create(p, ed)
	}
	if t == nil {
		if t, err = m.open(p); err != nil {
			return err
		}
	}
	if err := t.before.matches(p.Path, ed.IfMatch); err != nil {
		return err
	}
	earlier := t.inserted
	plan, err := t.apply(ed.change(m.settings.strictness))
	if err != nil {
		return err
	}
	if err := m.chained(i, t, plan, earlier); err != nil {
		return err
	}
	t.made = append(t.made, editResult{i, plan.Edits})
	m.found = append(m.found, multiFound{Path: p.Path, Replacements: len(plan.Places), Pass: plan.Pass,
		PassName: plan.PassName})
	m.warn(i, plan)
	return nil
}

// chained refuses edit i when it changes all places of a text, of which the file had some and an earlier edit has made
// others: a swap or a shift of names, written as if all edits were made at once, would lose what sets them apart.
func (m *multi) chained(i int, t *trackedBuffer, plan *match.Plan, earlier []match.Range) error {
	ed, fresh := m.Edits[i], 0
	for _, p := range plan.Places {
		i, _ := slices.BinarySearchFunc(earlier, p.Start+1, func(r match.Range, at int) int { return r.End - at })
		if i < len(earlier) && earlier[i].Start < p.End {
			fresh++
		}
	}
	if fresh == 0 || fresh == len(plan.Places) {
		return nil
	}
	for _, made := range t.made {
		by := m.Edits[made.index]
		if (by.ReplaceAll && strings.Contains(by.NewString, ed.OldString) || by.NewString == ed.OldString) &&
			!strings.Contains(by.OldString, ed.OldString) {
			return &sdk.Error{Name: names[match.Guard],
				Message: fmt.Sprintf("old_string fits %d places, of which edit %d has made %d; changed together, they could "+
					"not be told apart any more. Nothing was changed", len(plan.Places), made.index+1, fresh),
				Suggestion: fmt.Sprintf("If only the text from before this call is meant, put edit %d before edit %d; to "+
					"swap two texts, go through a third one. If all of it is meant, make edit %d in a call of its own.",
					i+1, made.index+1, i+1)}
		}
	}
	return nil
}

func (m *multi) warn(i int, plan *match.Plan) {
	for _, w := range matchWarnings(plan) {
		at := slices.IndexFunc(m.said, func(s warning) bool { return s.text == w })
		if at < 0 {
			at, m.said = len(m.said), append(m.said, warning{text: w})
		}
		m.said[at].edits = append(m.said[at].edits, i+1)
	}
}

// A warning is about some edits, counted from 1: models make the same mistake repeatedly.
type warning struct {
	text  string
	edits []int
}

func (w warning) String() string {
	if len(w.edits) == 1 {
		return fmt.Sprintf("edit %d: %s", w.edits[0], w.text)
	}
	shown := strings.Trim(strings.ReplaceAll(fmt.Sprint(w.edits[:min(len(w.edits), 10)]), " ", ", "), "[]")
	if more := len(w.edits) - 10; more > 0 {
		shown = fmt.Sprintf("%s and %d more", shown, more)
	}
	return fmt.Sprintf("edits %s: %s", shown, w.text)
}

func (m *multi) open(p *workspace.Place) (*trackedBuffer, error) {
	b, err := m.buffer(p.Path, "")
	if err != nil {
		return nil, err
	}
	if m.bytes += len(b.before.data); m.bytes > maxTotal {
		return nil, &sdk.Error{Name: "FilesTooLarge",
			Message: fmt.Sprintf("the files up to %q hold more than %d bytes together; nothing was changed", p.Path,
				maxTotal),
			Suggestion: "Edit them in several calls."}
	}
	t := &trackedBuffer{buffer: b, original: b.text}
	return t, m.register(t)
}

func (m *multi) create(p *workspace.Place, ed multiEdit) error {
	if err := m.checkNew(m.pathOf(ed), p, m.CreateDirs); err != nil {
		return err
	}
	if err := (*snapshot)(nil).matches(p.Path, ed.IfMatch); err != nil {
		return err
	}
	if err := m.settings.checkContent(p.Path, nil, ed.NewString); err != nil {
		return err
	}
	b := &buffer{place: p, form: plainForm, text: []byte(ed.NewString), inserted: []match.Range{{End: len(ed.NewString)}}}
	m.found = append(m.found, multiFound{Path: p.Path})
	return m.register(&trackedBuffer{buffer: b, original: b.text})
}

func (m *multi) register(t *trackedBuffer) error {
	if len(m.order) == maxFiles {
		return &sdk.Error{Name: "TooManyFiles",
			Message:    fmt.Sprintf("the edits are in more than %d files; nothing was changed", maxFiles),
			Suggestion: "Edit them in several calls."}
	}
	if other := m.sameFile(t); other != nil {
		return &sdk.Error{Name: "SameFile",
			Message: fmt.Sprintf("%q and %q are two names of one file, which would become two files, each with a part of the "+
				"edits; nothing was changed", other.place.Path, t.place.Path),
			Suggestion: fmt.Sprintf("Make all these edits in %q.", other.place.Path)}
	}
	m.files[t.place.Real()] = t
	m.order = append(m.order, t)
	return nil
}

// sameFile finds another name of the same file among those before: a hard link, or on some systems another case.
func (m *multi) sameFile(t *trackedBuffer) *trackedBuffer {
	for _, other := range m.order {
		if t.before != nil && other.before != nil && os.SameFile(t.before.info, other.before.info) {
			return other
		}
	}
	return nil
}

// multiDetails say which edit failed, and which earlier one caused it, if any.
type multiDetails struct {
	Index         *int `json:"index,omitempty"`          // of the edit, from 0
	InvalidatedBy *int `json:"invalidated_by,omitempty"` // likewise
}

// with adds these to the details of an error.
func (d multiDetails) with(details json.RawMessage) json.RawMessage {
	all := map[string]any{}
	_ = json.Unmarshal(details, &all) // an error may have none
	_ = json.Unmarshal(sdk.Details(d), &all)
	return sdk.Details(all)
}

// failed adds to an error which edit failed.
func (m *multi) failed(ctx context.Context, i int, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return err
	}
	e = new(*e)
	more := multiDetails{Index: &i}
	if by := m.invalidatingEdit(ctx, i, e); by < 0 {
		e.Message = m.name(i) + ": " + e.Message
	} else {
		more.InvalidatedBy = &by
		e.Message = fmt.Sprintf("%s was invalidated by edit %d: it matches the file before this call. %s", m.name(i),
			by+1, e.Message)
		e.Suggestion = fmt.Sprintf("Give as old_string of edit %d the text as edit %d leaves it, or make one edit of both.",
			i+1, by+1)
	}
	e.Details = more.with(e.Details)
	if r, ok := errors.AsType[*refusal](err); ok {
		return shorten(e, r.text)
	}
	return shorten(e, "")
}

// invalidatingEdit finds the edit after which edit i no longer fits; -1 when it never did.
func (m *multi) invalidatingEdit(ctx context.Context, i int, e *sdk.Error) int {
	p, err := m.find(m.pathOf(m.Edits[i]))
	if err != nil || !fromMatcher(e) || e.Details == nil { // what the matcher refuses has details
		return -1
	}
	t := m.files[p.Real()]
	if t == nil || len(t.made) == 0 || t.before == nil {
		return -1
	}
	return t.invalidatingEdit(func(text []byte) bool {
		return ctx.Err() == nil && fits(p.Path, text, m.Edits[i].change(m.settings.strictness))
	})
}

// invalidatingEdit finds the edit of the call after which something no longer fits the text; -1 when it never did.
func (t *trackedBuffer) invalidatingEdit(fits func(text []byte) bool) int {
	if !fits(t.original) {
		return -1
	}
	good, bad, text := 0, len(t.made), t.original // text is after the first edits, as many as good says
	for bad-good > 1 {
		middle := (good + bad) / 2
		next := text
		for _, made := range t.made[good:middle] {
			next = (&match.Plan{Edits: made.edits}).Apply(next)
		}
		if fits(next) {
			good, text = middle, next
		} else {
			bad = middle
		}
	}
	return t.made[good].index
}

const maxJudged = 1 << 20 // bytes of a text; in a larger one fits tries exact matches only, which are fast

func fits(path string, text []byte, c match.Change) bool {
	if len(text) > maxJudged {
		c.Strictness = match.Exact
	}
	_, err := match.NewText(path, text).Plan(c)
	return err == nil
}

func fromMatcher(e *sdk.Error) bool {
	for _, name := range names {
		if e.Name == name {
			return true
		}
	}
	return false
}
