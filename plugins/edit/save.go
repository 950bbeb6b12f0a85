package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// A change is the change that a call makes to one file.
type change struct {
	place  *workspace.Place
	before *snapshot // nil when the file is new
	after  []byte
	remove bool // remove the file; after is nil then
	form   form // of both, for the diff
}

func (c *change) changes() bool {
	return c.before == nil || c.remove || !bytes.Equal(c.before.data, c.after)
}

// etag is that of the file after the change, empty when it is removed.
func (c *change) etag() string {
	if c.remove {
		return ""
	}
	return workspace.Etag(c.after)
}

// etagNow is the one to give as if_match next: after a dry run that of the unchanged file.
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

const maxFile = 10 << 20 // bytes; larger files are not edited

// A snapshot is the content and the metadata of a file when it was read.
type snapshot struct {
	data []byte
	info fs.FileInfo
}

// load reads the file at p, which must be writable.
func load(p *workspace.Place) (*snapshot, error) {
	f, err := p.OpenWritable()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := readAll(f, p)
	return &snapshot{data: data, info: p.Info}, err
}

// look reads the file at p, which may be read-only.
func look(p *workspace.Place) ([]byte, error) {
	f, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readAll(f, p)
}

func readAll(f *os.File, p *workspace.Place) ([]byte, error) {
	if p.Info.Size() > maxFile {
		return nil, tooLarge(p.Path, fmt.Sprintf("has %d bytes", p.Info.Size()))
	}
	var data bytes.Buffer
	data.Grow(int(p.Info.Size()) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(f, maxFile+1)); err != nil {
		return nil, workspace.Explain(p.Path, err)
	}
	if data.Len() > maxFile { // it grew meanwhile
		return nil, tooLarge(p.Path, "grows while it is read")
	}
	return data.Bytes(), nil
}

func tooLarge(path, why string) error {
	return &sdk.Error{Name: "FileTooLarge",
		Message:    fmt.Sprintf("%q %s; at most %d bytes can be edited. Nothing was changed", path, why, maxFile),
		Suggestion: "Change it with a program, such as sed through a shell tool."}
}

// matches checks the etag that a model gave. Without one it checks nothing.
func (s *snapshot) matches(path, ifMatch string) error {
	wanted := strings.ToLower(strings.Trim(ifMatch, "\" "))
	switch {
	case ifMatch == "":
		return nil
	case !etagForm.MatchString(wanted): // also quotes around nothing: a check was meant
		return &sdk.Error{Name: "InvalidEtag",
			Message: fmt.Sprintf("if_match %.80q is not an etag, which has 12 hexadecimal digits; nothing was written", ifMatch),
			Suggestion: "Give the etag that reading the file gave, or leave if_match out to edit the file whatever it holds " +
				"by now."}
	case s == nil:
		return changedSince(path, strconv.Quote(path)+" does not exist, so it cannot be the file that was read", wanted, "",
			"Check the path. To create the file leave if_match out.")
	}
	if now := workspace.Etag(s.data); now != wanted {
		return changedSince(path, fmt.Sprintf("%q was changed since it was read: its etag is %s, not %s", path, now, wanted),
			wanted, now,
			"Read the file again, then repeat the edit with the new etag if it still fits.")
	}
	return nil
}

var etagForm = regexp.MustCompile(`^[0-9a-f]{12}$`)

func changedSince(path, message, wanted, now, advice string) error {
	return &sdk.Error{Name: "FileChanged", Message: message + "; nothing was written", Suggestion: advice,
		Details: sdk.Details(map[string]string{"path": path, "if_match": wanted, "etag": now})}
}

// unchanged checks that the file is still the one that was read: the same path, inode, mode and content, byte for
// byte. Size and time are not enough: on some systems times have a resolution of milliseconds.
func (c *change) unchanged(w *workspace.Root) error {
	p, err := w.Find(c.place.Path)
	if err != nil {
		return err
	}
	if c.before == nil {
		if p.Info != nil || p.Real() != c.place.Real() {
			return fileExists(c.place.Path)
		}
		return nil
	}
	if p.Info == nil || p.Real() != c.place.Real() || !os.SameFile(p.Info, c.before.info) {
		return fileChanged(p.Path)
	}
	now, err := load(p)
	if err != nil {
		return err
	}
	if now.info.Mode() != c.before.info.Mode() || !os.SameFile(now.info, c.before.info) || !bytes.Equal(now.data,
		c.before.data) {
		return fileChanged(p.Path)
	}
	return nil
}

func fileChanged(path string) error {
	return &sdk.Error{Name: "FileChanged",
		Message:    strconv.Quote(path) + " was changed by someone else during this call; nothing was written",
		Suggestion: "Read the file again, then repeat the edit if it still fits.", Retryable: true}
}

func fileExists(path string) error {
	return &sdk.Error{Name: "FileExists", Message: strconv.Quote(path) + " exists already; nothing was written",
		Suggestion: "Use replace to change a part of it, or overwrite=true to replace all of it."}
}

// save makes changes, all or none: every new file is on disk under a temporary name before the first is renamed, and
// when one rename fails, the files before it are restored.
func (s *toolCall) save(changes []*change) error {
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

func (s *toolCall) publish(changes []*change, drafts []*workspace.Draft) error {
	for i, c := range changes {
		if err := c.publish(s.root, drafts[i]); err != nil {
			discard(drafts[i+1:])
			return s.putBack(changes[:i], err)
		}
	}
	return nil
}

// unchanged checks several files again before the first is changed. For a single one, publish does.
func (s *toolCall) unchanged(changes []*change) error {
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
		check = nil // a draft never replaces a file that was created meanwhile
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

// putBack undoes changes that were made before one failed, and returns the error for all of them.
func (s *toolCall) putBack(made []*change, cause error) error {
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
	if len(left) > 0 { // their old content is nowhere else
		s.history.add(s.session, s.tool, left)
	}
	return &sdk.Error{Name: "PartlyWritten",
		Message: fmt.Sprintf("some files are changed, and could not be put back: %s. The others are as they were, since %s",
			strings.Join(stuck, ", "), strings.TrimSuffix(cause.Error(), "; nothing was written")),
		Suggestion: "Read these files and decide what they should contain. Where no one else wrote, undo can restore what " +
			"they held, once the cause is gone."}
}

// reverse restores a file, unless another program has changed it since.
func (s *toolCall) reverse(c *change) error {
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
