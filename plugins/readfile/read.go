package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/sdk"
)

// Limits of one read. A line's length and the count of lines are limits of what is not asked for by number: a range
// that the caller names is bounded by its bytes, and a line that is asked for alone is not cut short of them either.
const (
	defaultLines = 2000
	defaultBytes = 100 << 10
	maxBytes     = 1 << 20
	maxLineChars = 2000
	maxImage     = 3 << 20
	maxImages    = 2 << 20  // of all images of several files, which leaves room for their texts
	countUpTo    = 64 << 20 // of larger files not all is read, so that their lines are not counted and they have no etag
	maxPaths     = 50
)

type readInput struct {
	Path        string   `json:"path,omitempty" jsonschema:"The file: relative to the workspace, or absolute inside it."`
	Paths       []string `json:"paths,omitempty" jsonschema:"Instead of path: up to 50 files to read in one call, such as [\"a.go\",\"b.go\"]. The other arguments count for each of them, max_bytes for all together."`
	StartLine   int      `json:"start_line,omitempty" jsonschema:"First line to read, counted from 1." minimum:"1" default:"1"`
	EndLine     int      `json:"end_line,omitempty" jsonschema:"Last line to read, itself included. Without it up to 2000 lines are read." minimum:"1"`
	Tail        int      `json:"tail,omitempty" jsonschema:"Instead of start_line and end_line: how many of the last lines to read." minimum:"1"`
	LineNumbers bool     `json:"line_numbers,omitempty" jsonschema:"Put the number and a tab before each line. They are not part of the file." default:"false"`
	MaxBytes    int      `json:"max_bytes,omitempty" jsonschema:"How many bytes of text to give at most." minimum:"1" maximum:"1048576" default:"102400"`
	Encoding    string   `json:"encoding,omitempty" jsonschema:"How the file is encoded, such as euc-kr or windows-1252. Leave it out to have it found out; give it when a note names one that is wrong."`
	Raw         bool     `json:"raw,omitempty" jsonschema:"Read a notebook (.ipynb) as the JSON that it is, as editing it needs." default:"false"`
}

const readDescription = `Reads a text file, or several in one call. Shows images (PNG, JPEG, GIF, WebP), and notebooks (.ipynb) cell by cell.

The text comes exactly as it is in the file; CRLF line endings, and those that are CR alone, are shown as LF. Notes in [brackets] after it are not part of the file: they say which lines it is, what was left out, and how to get the rest.
Without a range the first 2000 lines are read, at most 100 KiB, and lines are cut at 2000 characters. For parts of long files give start_line and end_line, or tail for the last lines.
line_numbers=true puts a number and a tab before each line, for talking about lines; leave them out of text for edit tools.
Give paths to read several files at once: each comes under a line "==> path <==", and one that fails says so in its place. Patterns such as *.go are not expanded: find names with glob or list, and text in files with grep.
[etag ...] names what the file holds now; edit tools take it as if_match, to change the file only if it is still the same.
Text that is not UTF-8 is decoded, and a note says from which encoding; the encoding argument overrides it.
Refused are other binary files, directories, and files that hold secrets by their names, such as .env and private keys.`

func addRead(p *sdk.Plugin, c *config) {
	sdk.AddTool(p, sdk.Tool{
		Name: "read", Title: "Read a file", Description: readDescription,
		Hints: readOnly, PathAware: true, Category: "files", CostTier: sdk.Free,
		MaxResultBytes: sdk.MaxResult, // the tool holds limits of its own and says how to continue
	}, c.read)
}

func (c *config) read(ctx context.Context, r *sdk.Request, in readInput) (*sdk.Result, error) {
	call, err := c.newReadCall(in)
	if err != nil {
		return nil, err
	}
	call.places.request = r
	defer call.places.close()
	if len(in.Paths) > 0 {
		return call.many(ctx, in.Paths)
	}
	v, err := call.file(ctx, in.Path)
	if err != nil {
		return nil, err
	}
	return v.result(), nil
}

// newReadCall makes of the arguments what all files of the call have in common.
func (c *config) newReadCall(in readInput) (*readCall, error) {
	switch {
	case in.Path == "" && len(in.Paths) == 0:
		return nil, invalid("neither path nor paths is given",
			"Give path for one file, or paths for several, such as [\"a.go\",\"b.go\"].")
	case in.Path != "" && len(in.Paths) > 0:
		return nil, invalid("path and paths are both given", "Give one of them; paths may hold a single file.")
	case len(in.Paths) > maxPaths:
		return nil, invalid(fmt.Sprintf("paths has %d files, at most %d can be read in one call", len(in.Paths), maxPaths),
			"Read them in several calls.")
	}
	window, err := in.window()
	if err != nil {
		return nil, err
	}
	call := &readCall{config: c, window: window, raw: in.Raw, images: maxImage}
	if in.Encoding != "" {
		call.textEncoding, err = encodingNamed(in.Encoding)
	}
	return call, err
}

func (in readInput) window() (window, error) {
	first := max(in.StartLine, 1)
	switch {
	case min(in.StartLine, in.EndLine, in.Tail, in.MaxBytes) < 0 || in.MaxBytes > maxBytes:
		return window{}, invalid(fmt.Sprintf("start_line, end_line, tail and max_bytes must be positive, and max_bytes at "+
			"most %d", maxBytes), "Leave out those that you do not need; for the last lines give tail.")
	case in.Tail > 0 && (in.StartLine > 1 || in.EndLine > 0): // 1 is what absent means
		return window{}, invalid("tail is given with start_line or end_line",
			"Give tail alone for the last lines, or start_line and end_line for a range.")
	case in.EndLine > 0 && in.EndLine < first:
		return window{}, invalid(fmt.Sprintf("end_line %d lies before start_line %d", in.EndLine, first),
			"Both count lines from 1: end_line is the last line to read, not how many. Leave it out to read on from start_line.")
	}
	out := window{first: first, last: in.EndLine, tail: in.Tail, bytes: cmp.Or(in.MaxBytes, defaultBytes),
		chars: maxLineChars, numbers: in.LineNumbers}
	if out.last == 0 && out.tail == 0 {
		out.last, out.byDefault = first+defaultLines-1, true
	}
	if out.first == out.last || out.tail == 1 {
		out.chars = out.bytes + 1 // never the limit that is met first
	}
	return out, nil
}

func invalid(message, suggestion string) error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments", Message: message, Suggestion: suggestion}
}

// encode returns the JSON of our own output structs, which always have one.
func encode(v any) json.RawMessage {
	out, _ := json.Marshal(v)
	return out
}
