package main

import (
	"bytes"

	"github.com/toolhost/toolhost/sdk/workspace"
)

// A change is what a call makes of one file.
type change struct {
	place  *workspace.Place
	before *snapshot // nil when the file is new
	after  []byte
	remove bool // the file, which has no after then
	form   form // of both, for the diff
}

func (c *change) changes() bool {
	return c.before == nil || c.remove || !bytes.Equal(c.before.data, c.after)
}

// etag is that of the file after the change, empty when there is none then.
func (c *change) etag() string {
	if c.remove {
		return ""
	}
	return workspace.Etag(c.after)
}

// etagNow is the one that the next call can give as if_match: after a dry run the file is as it was.
func (c *change) etagNow(dry bool) string {
	switch {
	case !dry:
		return c.etag()
	case c.before == nil:
		return ""
	}
	return workspace.Etag(c.before.data)
}

func (c *change) difference() difference {
	d := difference{path: c.place.Path, gone: c.remove, made: c.before == nil}
	if !c.remove {
		d.after = c.form.shown(c.after)
	}
	if c.before != nil {
		d.before = c.form.shown(c.before.data)
	}
	return d
}
