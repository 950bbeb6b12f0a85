package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// A manyOutput is the structured result of several files.
type manyOutput struct {
	Files     []readOutput `json:"files"`
	Truncated bool         `json:"truncated"`
}

// many reads several files, one after the other, until max_bytes are used up. It fails when none can be read.
func (r *reading) many(ctx context.Context, paths []string) (*sdk.Result, error) {
	r.images = maxImages
	result, out, failed := &sdk.Result{}, manyOutput{}, 0
	for i, path := range paths {
		v := r.one(ctx, path)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if v.Error != nil {
			failed++
		}
		out.Files, out.Truncated = append(out.Files, v.readOutput), out.Truncated || v.Truncated
		result.Add(header(i, v.Path)).Add(v.parts()...)
	}
	if failed == len(paths) {
		return nil, nothingRead(out.Files)
	}
	result.Structured, result.Truncated = encode(out), out.Truncated
	return result, nil
}

// one reads one of several files; what goes wrong is said in its place.
func (r *reading) one(ctx context.Context, path string) *view {
	if r.bytes == 0 {
		return &view{readOutput: readOutput{Path: path, Truncated: true}, notes: []string{"not read: max_bytes are used up; read it with another call"}}
	}
	v, err := r.file(ctx, path)
	if err != nil {
		return failed(path, err)
	}
	if v.MIMEType == "" {
		r.bytes -= v.Bytes
	} else {
		r.images -= v.Bytes
	}
	return v
}

func failed(path string, err error) *view {
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		e = &sdk.Error{Name: "Error", Message: err.Error()}
	}
	e.Code = cmp.Or(e.Code, sdk.CodeTool)
	note := fmt.Sprintf("not read: %s: %s", e.Name, e.Message)
	if e.Suggestion != "" {
		note += ". " + e.Suggestion
	}
	return &view{readOutput: readOutput{Path: path, Error: e}, notes: []string{note}}
}

// header is the line over a file. It ends the line of what is before it, as the parts may be put one after the other.
func header(i int, path string) sdk.Content {
	text := fmt.Sprintf("==> %s <==\n", printable(path))
	if i > 0 {
		text = "\n" + text
	}
	return sdk.TextContent(text)
}

// nothingRead is the error for files of which none could be read. It has their common name, if they have one.
func nothingRead(files []readOutput) error {
	e := &sdk.Error{Name: files[0].Error.Name, Suggestion: files[0].Error.Suggestion, Details: encode(map[string]any{"files": files})}
	var messages []string
	for _, f := range files {
		if f.Error.Name != e.Name {
			e.Name = "NothingRead"
		}
		messages = append(messages, f.Error.Message)
	}
	if len(files) == 1 {
		e.Message = messages[0]
		return e
	}
	const most = 5
	if more := len(messages) - most; more > 0 {
		messages = append(messages[:most], fmt.Sprintf("and %d more", more))
	}
	e.Message = fmt.Sprintf("none of the %d files could be read: %s", len(files), strings.Join(messages, "; "))
	return e
}
