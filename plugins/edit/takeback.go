package main

import (
	"fmt"
	"strconv"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// takingBack collects what files are to hold when edits are taken back, the last edit first.
type takingBack struct {
	*scene
	files map[string]*change // by real path
	order []*change
}

// take takes back what one call did to one file, which must hold what that call left.
func (b *takingBack) take(r record) error {
	c := b.files[r.real]
	if c == nil {
		var err error
		if c, err = b.start(r); err != nil {
			return err
		}
	}
	if c.remove || !r.after.is(c.after) {
		return b.changed(c, r)
	}
	if c.remove = r.before == nil; c.remove {
		c.after = nil
	} else {
		c.after = r.before.data
	}
	return nil
}

// start makes a change that does nothing yet.
func (b *takingBack) start(r record) (*change, error) {
	p, err := b.find(r.real)
	if err != nil {
		return nil, err
	}
	if p.Info == nil || !p.Info.Mode().IsRegular() || p.Real() != r.real {
		return nil, &sdk.Error{Name: "FileChanged", Message: strconv.Quote(p.Path) + " is not there any more, or something else is in its place; nothing was taken back",
			Suggestion: "To have it again, write it anew."}
	}
	before, err := load(p)
	if err != nil {
		return nil, err
	}
	c := &change{place: p, before: before, after: before.data, form: formOf(before.data, b.settings.legacy)}
	b.files[r.real], b.order = c, append(b.order, c)
	return c, nil
}

// changed says that a file was changed by someone else since the edit, and how.
func (b *takingBack) changed(c *change, r record) error {
	out := page{most: limits{lines: 200, bytes: 20 << 10, lineBytes: 500}, more: "read the file to see it all"}
	difference{path: c.place.Path, before: c.form.shown(r.after.data), after: c.form.shown(c.after)}.write(&out)
	e := &sdk.Error{Name: "FileChanged", Message: fmt.Sprintf("%q was changed since the edit that is to be taken back, so nothing was taken back", c.place.Path),
		Suggestion: "Take the edit back with replace instead. The diff shows what was changed since.",
		Details:    sdk.Details(map[string]string{"path": c.place.Path, "etag": workspace.Etag(c.after), "etag_after_edit": workspace.Etag(r.after.data)})}
	return &refusal{e, out.String()}
}
