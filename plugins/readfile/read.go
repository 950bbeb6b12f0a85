package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// Limits of one read. A line's length and the count of lines are limits of what is not asked for by number: a range that
// the caller names is bounded by its bytes, and a line that is asked for alone is not cut short of them either.
const (
	defaultLines = 2000
	defaultBytes = 100 << 10
	maxBytes     = 1 << 20
	maxLineChars = 2000
	maxImage     = 3 << 20
	countUpTo    = 64 << 20 // in larger files the lines after the range are not counted
)

type readInput struct {
	Path      string `json:"path" jsonschema:"The file: relative to the workspace, or absolute inside it."`
	StartLine int    `json:"start_line,omitempty" jsonschema:"First line to read, counted from 1." minimum:"1" default:"1"`
	EndLine   int    `json:"end_line,omitempty" jsonschema:"Last line to read, itself included. Without it up to 2000 lines are read." minimum:"1"`
	MaxBytes  int    `json:"max_bytes,omitempty" jsonschema:"How much text to give at most." minimum:"1" maximum:"1048576" default:"102400"`
}

// A readOutput is the structured result. Images have no lines.
type readOutput struct {
	Path       string `json:"path"`
	StartLine  int    `json:"start_line,omitzero"`
	EndLine    int    `json:"end_line,omitzero"`    // 0 when there is no line
	TotalLines *int   `json:"total_lines,omitzero"` // nil when not known
	Bytes      int    `json:"bytes"`                // of the text or image in the result
	MIMEType   string `json:"mime_type,omitzero"`   // of an image
	Truncated  bool   `json:"truncated"`
}

func addRead(p *sdk.Plugin) {
	sdk.AddTool(p, sdk.Tool{
		Name:  "read",
		Title: "Read a file",
		Description: "Reads a text file, or shows an image (PNG, JPEG, GIF, WebP). The text comes exactly as it is in the file, without line numbers; " +
			"notes in [brackets] after it say which lines it is and how to get the rest. For long files give start_line and end_line. " +
			"CRLF line endings are shown as LF. Other binary files are refused.",
		Hints: readOnly, Category: "files", CostTier: sdk.Free,
		MaxResultBytes: sdk.MaxResult, // the tool holds limits of its own and says how to go on
	}, read)
}

func read(ctx context.Context, r *sdk.Request, in readInput) (*sdk.Result, error) {
	window, err := in.window()
	if err != nil {
		return nil, err
	}
	w, err := workspace.Open(r.Workdir)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	p, err := w.Find(in.Path)
	if err != nil {
		return nil, err
	}
	f, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readFrom(ctx, f, p, window)
}

// window makes the range to read of the arguments.
func (in readInput) window() (window, error) {
	first := max(in.StartLine, 1)
	switch {
	case in.StartLine < 0 || in.EndLine < 0 || in.MaxBytes < 0 || in.MaxBytes > maxBytes:
		return window{}, invalid(fmt.Sprintf("start_line, end_line and max_bytes must be positive, and max_bytes at most %d", maxBytes))
	case in.EndLine > 0 && in.EndLine < first:
		return window{}, invalid(fmt.Sprintf("end_line %d lies before start_line %d", in.EndLine, first))
	}
	out := window{first: first, last: in.EndLine, bytes: in.MaxBytes, chars: maxLineChars}
	if out.bytes == 0 {
		out.bytes = defaultBytes
	}
	if out.last == 0 {
		out.last, out.byDefault = first+defaultLines-1, true
	}
	if out.first == out.last {
		out.chars = out.bytes + 1 // never the limit that is met first
	}
	return out, nil
}

func invalid(message string) error {
	return &sdk.Error{Code: sdk.CodeInvalidArgs, Name: "InvalidArguments", Message: message}
}

func readFrom(ctx context.Context, f *os.File, p *workspace.Place, window window) (*sdk.Result, error) {
	text, err := decode(reader{ctx, f})
	if err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	if text.binary {
		return readBinary(f, p, text.head)
	}
	e := excerpt{window: window, countRest: p.Info.Size() <= countUpTo}
	if err := e.read(text.in); err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	if e.total >= 0 && window.first > max(e.total, 1) {
		return nil, outOfRange(p, window.first, e.total)
	}
	return e.result(p.Path, text.note)
}

func outOfRange(p *workspace.Place, first, total int) error {
	return &sdk.Error{Name: "LineOutOfRange", Message: fmt.Sprintf("start_line %d is past the end of %q, which has %s", first, p.Path, count(total, "line")),
		Suggestion: fmt.Sprintf("Use a start_line of at most %d.", max(total, 1)), Details: sdk.Details(map[string]int{"total_lines": total})}
}

// result is e for the model: the exact text, then the notes, each a content part of its own.
func (e *excerpt) result(path, note string) (*sdk.Result, error) {
	text, endings := e.endings()
	out := readOutput{Path: path, StartLine: e.first, EndLine: e.lastShown(), Bytes: len(text), Truncated: e.truncated()}
	if e.total >= 0 {
		out.TotalLines = &e.total
	}
	result := &sdk.Result{Structured: encode(out), Truncated: out.Truncated}
	if len(text) > 0 {
		result.Add(sdk.TextContent(string(text)))
	}
	if notes := e.notes(note, endings); notes != "" {
		result.Add(sdk.TextContent(notes))
	}
	return result, nil
}

// encode gives the JSON of our own output structs, which always have one.
func encode(v any) json.RawMessage {
	out, _ := json.Marshal(v)
	return out
}

// A reader stops when the call does.
type reader struct {
	ctx context.Context
	in  io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(b)
}
