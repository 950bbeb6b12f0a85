package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// save makes changes, all or none: every new file is on disk before the first gets its name, and when one cannot, those
// before it get back what they held.
func (s *scene) save(changes []*change) error {
	drafts, err := prepare(changes)
	if err != nil {
		return err
	}
	if err := s.unchanged(changes); err != nil {
		discard(drafts)
		return err
	}
	return s.publish(changes, drafts)
}

func (s *scene) publish(changes []*change, drafts []*workspace.Draft) error {
	for i, c := range changes {
		if err := c.publish(s.root, drafts[i]); err != nil {
			discard(drafts[i+1:])
			return s.putBack(changes[:i], err)
		}
	}
	return nil
}

// unchanged looks at several files once more before the first is changed. For one, publish does.
func (s *scene) unchanged(changes []*change) error {
	for _, c := range changes {
		if len(changes) > 1 {
			if err := c.unchanged(s.root); err != nil {
				return err
			}
		}
	}
	return nil
}

// prepare makes the drafts, nil for files to remove.
func prepare(changes []*change) (drafts []*workspace.Draft, err error) {
	for _, c := range changes {
		var d *workspace.Draft
		if !c.remove {
			if d, err = c.place.Prepare(c.after); err != nil {
				discard(drafts)
				return nil, err
			}
		}
		drafts = append(drafts, d)
	}
	return drafts, nil
}

func discard(drafts []*workspace.Draft) {
	for _, d := range drafts {
		if d != nil {
			d.Discard()
		}
	}
}

func (c *change) publish(w *workspace.Root, d *workspace.Draft) error {
	check := func() error { return c.unchanged(w) }
	if c.before == nil {
		check = nil // a draft never takes the place of a file that came up
	}
	if d == nil {
		return c.place.Remove(check)
	}
	err := d.Publish(check)
	if failed, ok := errors.AsType[*sdk.Error](err); ok && failed.Name == "FileExists" {
		return fileExists(c.place.Path)
	}
	return err
}

// putBack undoes changes that were made before one failed, and gives the error for all of it.
func (s *scene) putBack(made []*change, cause error) error {
	var stuck []string
	var left []*change
	for _, c := range slices.Backward(made) {
		if err := s.reverse(c); err != nil {
			stuck = append(stuck, fmt.Sprintf("%q (%v)", c.place.Path, err))
			if !c.remove {
				left = append(left, c)
			}
		}
	}
	if len(stuck) == 0 {
		return cause // which says that nothing was written
	}
	if len(left) > 0 { // what they held is nowhere else
		s.history.add(s.session, s.tool, left)
	}
	return &sdk.Error{Name: "PartlyWritten", Message: fmt.Sprintf("some files are changed, and could not be put back: %s. The others are as they were, since %s", strings.Join(stuck, ", "), strings.TrimSuffix(cause.Error(), "; nothing was written")),
		Suggestion: "Read these files and decide what they shall hold. Where nobody else wrote undo can put back what they held, once the cause is gone."}
}

// reverse gives a file back what it held, unless someone else has changed it since.
func (s *scene) reverse(c *change) error {
	p, err := s.root.Find(c.place.Path)
	if err != nil {
		return err
	}
	back := &change{place: p, remove: c.before == nil}
	if c.before != nil {
		back.after = c.before.data
	}
	if !c.remove {
		if back.before, err = load(p); err != nil {
			return err
		}
		if workspace.Etag(back.before.data) != c.etag() {
			return fileChanged(p.Path)
		}
	}
	if back.remove {
		return back.publish(s.root, nil)
	}
	d, err := p.Prepare(back.after)
	if err != nil {
		return err
	}
	return back.publish(s.root, d)
}
