package main

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// An edit is what one call does to one file. It is planned from what the file holds, then shown or saved.
type edit struct {
	place  *workspace.Place
	before *snapshot // nil when the file is new
	after  []byte

	// For the diff: at each of these offsets of before, size bytes became with.
	at       []int
	size     int
	with     []byte
	unlisted int // more places, which are not in at

	summary string // for the model, of what was done
	quiet   bool   // the diff would only repeat what the model wrote
	output  any    // the structured result
}

// A planner makes the edit that a call asks for, and changes nothing.
type planner func(p *workspace.Place) (*edit, error)

// perform plans and saves an edit, alone in its file.
func perform(ctx context.Context, r *sdk.Request, files *locks, path string, plan planner) (*sdk.Result, error) {
	w, err := workspace.Open(r.Workdir)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	p, release, err := findAlone(ctx, w, files, path)
	if err != nil {
		return nil, err
	}
	defer release()
	e, err := plan(p)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // the last chance to leave everything as it is
		return nil, err
	}
	if e.changes() {
		if err := e.save(w); err != nil {
			return nil, err
		}
	}
	return e.result(), nil
}

// findAlone finds a path and locks the file there.
func findAlone(ctx context.Context, w *workspace.Root, files *locks, path string) (*workspace.Place, func(), error) {
	first, err := w.Find(path)
	if err != nil {
		return nil, nil, err
	}
	release, err := files.acquire(ctx, first.Real())
	if err != nil {
		return nil, nil, err
	}
	p, err := w.Find(path) // again: the wait may have been long
	if err == nil && p.Real() != first.Real() {
		err = fileChanged(path)
	}
	if err != nil {
		release()
	}
	return p, release, err
}

func (e *edit) result() *sdk.Result {
	text := e.summary
	if !e.quiet && e.changes() {
		text += "\n\n" + e.diff(limits{lines: 200, bytes: 20 << 10, lineBytes: 500})
	}
	result := sdk.Text(text)
	result.Structured, _ = json.Marshal(e.output) // our own structs always have a JSON form
	return result
}

func (e *edit) changes() bool { return e.before == nil || !bytes.Equal(e.before.data, e.after) }

// preview plans an edit and shows its diff.
func preview(r *sdk.Request, path string, plan planner) (*sdk.Preview, error) {
	w, err := workspace.Open(r.Workdir)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	p, err := w.Find(path)
	if err != nil {
		return nil, err
	}
	e, err := plan(p)
	if err != nil {
		return nil, err
	}
	text := e.summary
	if e.changes() {
		text = e.diff(limits{lines: 5000, bytes: 1 << 20, lineBytes: 1 << 20})
	}
	return &sdk.Preview{Content: []sdk.Content{sdk.TextContent(text)}}, nil
}
