package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

type replaceInput struct {
	Path       string `json:"path" jsonschema:"The file: relative to the workspace, or absolute inside it."`
	OldString  string `json:"old_string" jsonschema:"The text to replace, exactly as it is in the file: same indentation, no line numbers. It must fit one place only, so include neighboring lines where needed."`
	NewString  string `json:"new_string" jsonschema:"The text to put there; empty deletes."`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"Replace every place where old_string occurs." default:"false"`
}

// A replaceOutput is the structured result of replace.
type replaceOutput struct {
	Path         string `json:"path"`
	Replacements int    `json:"replacements"`
	FirstLine    int    `json:"first_line"` // of the first replacement
	Bytes        int    `json:"bytes"`      // of the whole file now
}

func addReplace(p *sdk.Plugin, files *locks) {
	sdk.AddTool(p, sdk.Tool{
		Name:  "replace",
		Title: "Replace text in a file",
		Description: "Replaces text in a file. Read the file first and copy old_string from it: it must match exactly and fit one place, else nothing is changed and the " +
			"error says where the text is. LF also matches the line endings of a CRLF file, which are kept. Gives a diff of the change.",
		Hints:    sdk.Hints{ReadOnly: sdk.No, Destructive: sdk.Yes, Idempotent: sdk.No, OpenWorld: sdk.No},
		Category: "edit", CostTier: sdk.Free,
	}, func(ctx context.Context, r *sdk.Request, in replaceInput) (*sdk.Result, error) {
		return perform(ctx, r, files, in.Path, in.plan)
	})
	sdk.AddPreview(p, "replace", func(_ context.Context, r *sdk.Request, in replaceInput) (*sdk.Preview, error) {
		return preview(r, in.Path, in.plan)
	})
}

func (in replaceInput) plan(p *workspace.Place) (*edit, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	before, err := load(p)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(before.data, 0) >= 0 {
		return nil, &sdk.Error{Name: "BinaryFile", Message: strconv.Quote(p.Path) + " is not text: it holds NUL bytes, as binary files and UTF-16 do",
			Suggestion: "Change it with a program that knows its format."}
	}
	m := match{path: p.Path, text: before.data, old: []byte(in.OldString), with: []byte(in.NewString)}
	m.fitEndings()
	if err := m.find(in.ReplaceAll); err != nil {
		return nil, err
	}
	e := &edit{place: p, before: before, after: m.apply(), at: m.at, size: len(m.old), with: m.with, unlisted: m.count - len(m.at)}
	line := lineOf(before.data, m.at[0])
	e.output = replaceOutput{Path: p.Path, Replacements: m.count, FirstLine: line, Bytes: len(e.after)}
	e.summary = fmt.Sprintf("Replaced 1 place in %s, at line %d.", p.Path, line)
	if m.count > 1 {
		e.summary = fmt.Sprintf("Replaced %d places in %s, the first at line %d.", m.count, p.Path, line)
	}
	return e, nil
}

func (in replaceInput) check() error {
	switch in.OldString {
	case "":
		return &sdk.Error{Name: "EmptyOldString", Message: "old_string is empty, which fits everywhere",
			Suggestion: "To insert text, give a line as old_string, and the line with the text as new_string. To write a whole file use write."}
	case in.NewString:
		return noChange()
	}
	return nil
}

func noChange() error {
	return &sdk.Error{Name: "NoChange", Message: "old_string and new_string are the same, so nothing would change",
		Suggestion: "Give the text as it shall be as new_string."}
}
