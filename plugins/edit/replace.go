package main

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/plugins/edit/internal/match"
	"github.com/toolhost/toolhost/sdk"
)

type replaceInput struct {
	Path       string `json:"path" jsonschema:"The file: relative to the workspace, or absolute inside it."`
	OldString  string `json:"old_string" jsonschema:"The text to replace, copied from the file: same indentation, no line numbers. It must fit one place only, so include neighboring lines where needed."`
	NewString  string `json:"new_string" jsonschema:"The text to put there; empty deletes."`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"Replace every place where old_string occurs." default:"false"`
	Expected   int    `json:"expected_replacements,omitempty" jsonschema:"How many places there must be, else nothing is changed. More than 1 goes with replace_all." minimum:"0"`
	NearLine   int    `json:"near_line,omitempty" jsonschema:"The line near which old_string is, to choose between places that fit equally well." minimum:"0"`
	IfMatch    string `json:"if_match,omitempty" jsonschema:"The etag that reading the file gave: nothing is changed when the file is another one by now."`
	DryRun     bool   `json:"dry_run,omitempty" jsonschema:"Only show what would be done." default:"false"`
}

// A replaceOutput is the structured result of replace.
type replaceOutput struct {
	Path         string      `json:"path"`
	Applied      bool        `json:"applied"`
	Replacements int         `json:"replacements"`
	Pass         int         `json:"pass"`
	PassName     string      `json:"pass_name"`
	Ranges       []lineRange `json:"ranges"`
	Etag         string      `json:"etag"`  // of the file as it is now
	Bytes        int         `json:"bytes"` // likewise
	Warnings     []string    `json:"warnings"`
	DryRun       bool        `json:"dry_run"`
}

const replaceOutputSchema = `{"type":"object","properties":{"path":{"type":"string"},"applied":{"type":"boolean"},` +
	`"replacements":{"type":"integer"},` +
	`"pass":{"type":"integer","description":"1 is exact"},"pass_name":{"type":"string"},` +
	`"ranges":{"type":"array","description":"where the new text is, the first 100 places",` +
	`"items":{"type":"object","properties":{"start_line":{"type":"integer"},"end_line":{"type":"integer"}}}},` +
	`"etag":{"type":"string"},"bytes":{"type":"integer"},` +
	`"warnings":{"type":"array","items":{"type":"string"}},"dry_run":{"type":"boolean"}}}`

func addReplace(p *sdk.Plugin, e *editor) {
	addEdit[replaceInput](p, e, sdk.Tool{
		Name:  "replace",
		Title: "Replace text in a file",
		Description: "Replaces text in one file: finds old_string, which must mean one place, and puts new_string there.\n" +
			"Read the file first and copy old_string from it. Small slips (indentation, white space, line endings, " +
			"typographic quotes, a left-out comment) are put right where the place is beyond doubt, and the result says so; " +
			"untouched lines keep their bytes.\n" +
			"Otherwise nothing is changed, and the error shows the nearest places with line numbers.\n" +
			"For several edits at once use multi, for a new file or all of one use write, to take an edit back use undo.\n" +
			"Gives the lines that changed, the new etag and a diff of at most 200 lines. Files up to 10 MiB. Files that hold " +
			"secrets, such as .env, are refused.",
		Hints:        sdk.Hints{ReadOnly: sdk.No, Destructive: sdk.Yes, Idempotent: sdk.No, OpenWorld: sdk.No},
		OutputSchema: []byte(replaceOutputSchema),
	})
}

func (in replaceInput) targets(*toolCall) ([]string, error) { return []string{in.Path}, nil }

func (in replaceInput) plan(_ context.Context, s *toolCall) (*outcome, error) {
	wanted := in.change(s.settings.strictness)
	if err := checkStrings(wanted); err != nil { // whatever the file holds
		return nil, err
	}
	b, err := s.buffer(in.Path, in.IfMatch)
	if err != nil {
		return nil, err
	}
	plan, err := b.apply(wanted)
	if err != nil {
		return nil, err
	}
	c, err := b.change()
	if err != nil {
		return nil, err
	}
	places, notes := len(plan.Places), append(matchWarnings(plan), c.sideEffects()...)
	out := replaceOutput{Path: b.place.Path, Applied: !in.DryRun, DryRun: in.DryRun, Replacements: places,
		Pass: plan.Pass, PassName: plan.PassName, Ranges: rangesAfter(plan, b.text), Etag: c.etagNow(in.DryRun),
		Bytes: len(c.after), Warnings: append([]string{}, notes...)}
	o := &outcome{changes: []*change{c}, dry: in.DryRun, notes: notes, output: out}
	o.summary = fmt.Sprintf("%s %s in %s, at %s. [etag %s]", byDryRun(in.DryRun, "Replaced", "Would replace"),
		textutil.Count(places, "place"), pathText(out.Path), inWords(out.Ranges), out.Etag)
	return o, nil
}

func (in replaceInput) change(level match.Strictness) match.Change {
	return match.Change{Old: in.OldString, New: in.NewString, All: in.ReplaceAll, Expected: in.Expected,
		NearLine: in.NearLine, Strictness: level}
}

// matchWarnings say how old_string differs from the text that it matched, so that a model copies better the next time.
func matchWarnings(p *match.Plan) []string {
	if p.Pass <= 1 || len(p.Warnings) > 0 {
		return p.Warnings
	}
	return []string{fmt.Sprintf("old_string does not stand there exactly; it was found by pass %d (%s).", p.Pass,
		p.PassName)}
}

func byDryRun(dry bool, did, would string) string {
	if dry {
		return would
	}
	return did
}
