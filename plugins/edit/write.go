package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

type writeInput struct {
	Path       string `json:"path" jsonschema:"The file: relative to the workspace, or absolute inside it."`
	Content    string `json:"content" jsonschema:"All that the file shall hold. End it with a newline."`
	CreateDirs bool   `json:"create_dirs,omitempty" jsonschema:"Make the directories on the way that do not exist." default:"false"`
	Overwrite  bool   `json:"overwrite,omitempty" jsonschema:"Replace the file if it exists; all it held is gone then." default:"false"`
}

// A writeOutput is the structured result of write.
type writeOutput struct {
	Path    string `json:"path"`
	Created bool   `json:"created"`
	Changed bool   `json:"changed"`
	Bytes   int    `json:"bytes"` // of the file now
}

func addWrite(p *sdk.Plugin, files *locks) {
	sdk.AddTool(p, sdk.Tool{
		Name:  "write",
		Title: "Write a file",
		Description: "Creates a file, or with overwrite=true replaces all that an existing one holds. To change a part of a file use replace. " +
			"A file that is overwritten keeps its mode, its byte order mark and, if its lines end with CRLF, those.",
		Hints:    sdk.Hints{ReadOnly: sdk.No, Destructive: sdk.Yes, Idempotent: sdk.Yes, OpenWorld: sdk.No},
		Category: "edit", CostTier: sdk.Free,
	}, func(ctx context.Context, r *sdk.Request, in writeInput) (*sdk.Result, error) {
		return perform(ctx, r, files, in.Path, in.plan)
	})
	sdk.AddPreview(p, "write", func(_ context.Context, r *sdk.Request, in writeInput) (*sdk.Preview, error) {
		return preview(r, in.Path, in.plan)
	})
}

func (in writeInput) plan(p *workspace.Place) (*edit, error) {
	if len(in.Content) > maxFile {
		return nil, tooLarge(p.Path, fmt.Sprintf("would have %d bytes", len(in.Content)))
	}
	if p.Info == nil {
		return in.create(p)
	}
	if err := p.Regular(); err != nil {
		return nil, err
	}
	if !in.Overwrite {
		return nil, fileExists(p.Path)
	}
	before, err := load(p)
	if err != nil {
		return nil, err
	}
	return in.overwrite(p, before), nil
}

func (in writeInput) create(p *workspace.Place) (*edit, error) {
	if p.Missing != "" && !in.CreateDirs {
		return nil, &sdk.Error{Name: "ParentNotFound", Message: fmt.Sprintf("the directory %q does not exist; nothing was written", p.Missing),
			Suggestion: strings.TrimSpace("Check the path, or set create_dirs=true to make it. " + p.DidYouMean())}
	}
	e := &edit{place: p, after: []byte(in.Content), at: []int{0}, with: []byte(in.Content), quiet: true}
	e.summary = fmt.Sprintf("Created %s, %d bytes.", p.Path, len(e.after))
	e.output = writeOutput{Path: p.Path, Created: true, Changed: true, Bytes: len(e.after)}
	return e, nil
}

func (in writeInput) overwrite(p *workspace.Place, before *snapshot) *edit {
	content, kept := keepForm([]byte(in.Content), before.data)
	e := &edit{place: p, before: before, after: content, at: []int{0}, size: len(before.data), with: content}
	e.summary = fmt.Sprintf("Overwrote %s: %d bytes, before %d.%s", p.Path, len(content), len(before.data), kept)
	if !e.changes() {
		e.summary = fmt.Sprintf("%s holds exactly this already; nothing was written.", p.Path)
	}
	e.output = writeOutput{Path: p.Path, Changed: e.changes(), Bytes: len(content)}
	return e
}

var utf8Mark = []byte("\xEF\xBB\xBF")

// keepForm gives content the byte order mark and the CRLF line endings of the file that it replaces. Models do not see
// those when they read, so content without them does not mean that they shall go. It says what it did.
func keepForm(content, before []byte) (out []byte, did string) {
	if n := bytes.Count(before, crlf); n > 0 && n == bytes.Count(before, lf) && bytes.Contains(content, lf) && !bytes.Contains(content, crlf) {
		content, did = toCRLF(content), " Kept its CRLF line endings."
	}
	if bytes.HasPrefix(before, utf8Mark) && !bytes.HasPrefix(content, utf8Mark) {
		content, did = append(bytes.Clone(utf8Mark), content...), did+" Kept its UTF-8 byte order mark."
	}
	return content, did
}
