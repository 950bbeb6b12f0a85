package main

import (
	"errors"
	"strconv"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// save puts the new content in place of the old at once, unless someone else was there first.
func (e *edit) save(w *workspace.Root) error {
	var check func() error
	if e.before != nil {
		check = func() error { return e.unchanged(w) }
	}
	err := e.place.Write(e.after, check)
	if failed, ok := errors.AsType[*sdk.Error](err); ok && failed.Name == "FileExists" {
		return fileExists(e.place.Path)
	}
	return err
}

func fileExists(path string) error {
	return &sdk.Error{Name: "FileExists", Message: strconv.Quote(path) + " exists already; nothing was written",
		Suggestion: "Use replace to change a part of it, or overwrite=true to replace all of it."}
}
