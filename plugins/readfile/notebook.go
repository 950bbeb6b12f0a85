package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/toolhost/toolhost/sdk/workspace"
)

// Limits of a notebook, beyond which it is read as the JSON that it is, or shown in part.
const (
	maxNotebook = 16 << 20
	maxCells    = 5000
	maxOutputs  = 100 // of a cell
	maxOutput   = 8 << 10
)

func isNotebook(name string) bool { return strings.EqualFold(path.Ext(name), ".ipynb") }

// notebook shows the cells of a notebook. What is not one is shown as text, with the reason.
func (r *reading) notebook(ctx context.Context, f *os.File, p *workspace.Place) (*view, error) {
	if size := p.Info.Size(); size > maxNotebook {
		return r.notAsNotebook(ctx, f, p, fmt.Sprintf("it has %d bytes, at most %d are taken apart", size, maxNotebook))
	}
	data, err := io.ReadAll(io.LimitReader(newSource(ctx, f, p.Info.Size()), maxNotebook))
	if err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	n := notebook{ctx: ctx}
	if err := n.read(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))); ctx.Err() != nil {
		return nil, ctx.Err()
	} else if err != nil {
		return r.notAsNotebook(ctx, f, p, reason(err))
	}
	return r.cells(&n, p, workspace.Etag(data))
}

func (r *reading) notAsNotebook(ctx context.Context, f *os.File, p *workspace.Place, why string) (*view, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	v, err := r.text(ctx, f, p)
	if err == nil {
		v.notes = append([]string{"shown as text, not as a notebook: " + why}, v.notes...)
	}
	return v, err
}

// cells makes the view of a notebook: lines are those of what is shown, not those of the file.
func (r *reading) cells(n *notebook, p *workspace.Place, etag string) (*view, error) {
	e := &excerpt{window: r.window, countRest: true}
	in := bufio.NewReader(&n.out)
	if r.tail > 0 {
		var end ending
		_ = end.read(in) // of memory, which never fails
		e = end.excerpt(r.window)
	} else if err := e.read(in); err != nil {
		return nil, err
	}
	if r.tail == 0 && r.first > max(e.total, 1) {
		return nil, outOfRange(p, r.first, e.total)
	}
	note := "a notebook of " + count(n.cells, "cell") + "; lines are counted as shown here; to edit it, read it with raw=true first"
	v := e.view(p.Path, &decoded{coding: utf8Coding, note: note}, etag)
	v.Cells = n.cells
	return v, nil
}

// reason words an error of the JSON package for people.
func reason(err error) string {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("its JSON is broken near byte %d: %v", e.Offset, e)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "its JSON ends too early"
	}
	return err.Error()
}
