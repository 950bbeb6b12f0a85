package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// A reading is one call of the tool.
type reading struct {
	*config
	window
	coding coding // asked for; without a name it is found out
	raw    bool
	images int // how many bytes of images may still be given
	places places
}

// A readOutput is the structured result for a file. Images have no lines.
type readOutput struct {
	Path       string     `json:"path"`
	StartLine  int        `json:"start_line,omitzero"`  // 0 when not known
	EndLine    int        `json:"end_line,omitzero"`    // 0 when there is no line
	TotalLines *int       `json:"total_lines,omitzero"` // nil when not known
	Bytes      int        `json:"bytes"`                // of the text or image in the result
	MIMEType   string     `json:"mime_type,omitzero"`   // of an image
	Encoding   string     `json:"encoding,omitzero"`    // of a text that is not UTF-8
	Cells      int        `json:"cells,omitzero"`       // of a notebook; its lines are those of the view
	Etag       string     `json:"etag,omitzero"`        // of a text; "" when the file is too large
	HardLinks  int        `json:"hard_links,omitzero"`  // the names of the file, if there are several
	Truncated  bool       `json:"truncated"`
	Error      *sdk.Error `json:"error,omitzero"` // one of several files could not be read
}

// A view is what the model sees of a file: the exact text or the image, then the notes, each a content part of its own.
type view struct {
	content sdk.Content
	notes   []string
	readOutput
}

func (v *view) result() *sdk.Result {
	return &sdk.Result{Content: v.parts(), Structured: encode(v.readOutput), Truncated: v.Truncated}
}

// parts are the content and the notes, which begin a line of their own also when the parts are put one after the other.
func (v *view) parts() (parts []sdk.Content) {
	notes := bracketed(v.notes...)
	if v.content.Text != "" || v.content.Data != nil {
		parts = append(parts, v.content)
	}
	if text := v.content.Text; text != "" && !strings.HasSuffix(text, "\n") {
		notes = "\n" + notes
	}
	if notes != "" {
		parts = append(parts, sdk.TextContent(notes))
	}
	return parts
}

// file reads one file.
func (r *reading) file(ctx context.Context, path string) (*view, error) {
	p, f, err := r.open(path)
	if err != nil {
		return nil, err
	}
	defer closeWith(ctx, f)()
	read := r.text
	if !r.raw && isNotebook(p.Path) {
		read = r.notebook
	}
	v, err := read(ctx, f, p)
	if n := p.Links(); err == nil && n > 1 {
		v.HardLinks = n
		v.notes = append(v.notes, fmt.Sprintf("the file has %d names (hard links); others may be outside the workspace", n))
	}
	return v, err
}

// open opens a regular file that holds no secrets.
func (r *reading) open(path string) (*workspace.Place, *os.File, error) {
	root, err := r.places.at(path)
	if err != nil {
		return nil, nil, err
	}
	p, err := root.Find(path)
	if err == nil {
		err = p.Regular()
	}
	if err == nil {
		err = r.secret(p)
	}
	if err != nil {
		return nil, nil, noPattern(path, err)
	}
	f, err := p.Open()
	if err != nil {
		return nil, nil, err
	}
	if name := r.holdsSecret(f, p.Path, p.Resolved()); name != "" {
		_ = f.Close()
		return nil, nil, turnedOut(p.Path, name)
	}
	return p, f, nil
}

// noPattern says to those who give a pattern that it is taken for a name.
func noPattern(path string, err error) error {
	if e, ok := errors.AsType[*sdk.Error](err); ok && e.Name == "FileNotFound" && strings.ContainsAny(path, "*?[{") {
		e.Suggestion = "Patterns are not expanded here. Find the names with a glob or list tool, and give those as paths."
	}
	return err
}

// text shows a file that is not a notebook, or not to be shown as one.
func (r *reading) text(ctx context.Context, f *os.File, p *workspace.Place) (*view, error) {
	in := newSource(ctx, f, p.Info.Size())
	text, err := decode(in, p.Info.Size(), r.coding)
	if err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	if text.binary {
		return r.binary(f, p, text.head)
	}
	e, err := r.excerpt(ctx, f, p, &text)
	if err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	if e.total >= 0 && r.tail == 0 && r.first > max(e.total, 1) {
		return nil, outOfRange(p, r.first, e.total)
	}
	return e.view(p.Path, &text, in.etag()), nil
}

// excerpt takes from a text what the call asks for.
func (r *reading) excerpt(ctx context.Context, f *os.File, p *workspace.Place, text *decoded) (*excerpt, error) {
	size := p.Info.Size()
	e := &excerpt{window: r.window, countRest: size <= countUpTo}
	if r.tail == 0 {
		return e, e.read(text.in)
	}
	var end ending
	if size > countUpTo {
		text.in = text.reader(bufio.NewReaderSize(endSource(ctx, f, size), blockSize))
		end.late, end.midway = true, true
	}
	if err := end.read(text.in); err != nil {
		return nil, err
	}
	return end.excerpt(r.window), nil
}

// view is the excerpt for the model, with notes on the text that it is of.
func (e *excerpt) view(path string, d *decoded, etag string) *view {
	text, endings := e.endings()
	out := readOutput{Path: path, StartLine: max(e.first, 0), Bytes: len(text), Etag: etag, Truncated: e.truncated()}
	if d.name != utf8Coding.name {
		out.Encoding = d.name
	}
	if e.first > 0 {
		out.EndLine = e.lastShown()
	}
	if e.total >= 0 {
		out.TotalLines = &e.total
	}
	notes := append(e.notes(d), endings)
	if etag != "" {
		notes = append(notes, "etag "+etag)
	}
	return &view{content: sdk.TextContent(string(text)), notes: notes, readOutput: out}
}

func outOfRange(p *workspace.Place, first, total int) error {
	return &sdk.Error{Name: "LineOutOfRange", Message: fmt.Sprintf("start_line %d is past the end of %q, which has %s", first, p.Path, count(total, "line")),
		Suggestion: fmt.Sprintf("Use a start_line of at most %d.", max(total, 1)), Details: sdk.Details(map[string]int{"total_lines": total})}
}
