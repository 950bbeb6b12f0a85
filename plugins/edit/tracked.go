package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/edit/internal/match"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/workspace"
)

// A multi is a call of the multi tool on its way through the edits.
type multi struct {
	multiInput
	*scene
	files map[string]*tracked // by real path
	order []*tracked
	found []multiFound
	said  []warning
	bytes int // that the files held
}

// A tracked buffer knows how it came to be what it is.
type tracked struct {
	*buffer
	original []byte
	made     []made
}

// Made are the edits that an edit of the call, counted from 0, has made.
type made struct {
	index int
	edits []match.Edit
}

// step makes edit i.
func (m *multi) step(i int) error {
	ed := m.Edits[i]
	p, err := m.find(m.pathOf(ed))
	if err != nil {
		return err
	}
	t := m.files[p.Real()]
	if t == nil && p.Info == nil && ed.OldString == "" {
		return m.create(p, ed)
	}
	if t == nil {
		if t, err = m.open(p); err != nil {
			return err
		}
	}
	if err := t.before.matches(p.Path, ed.IfMatch); err != nil {
		return err
	}
	plan, err := t.apply(ed.change(m.settings.strictness))
	if err != nil {
		return err
	}
	t.made = append(t.made, made{i, plan.Edits})
	m.found = append(m.found, multiFound{Path: p.Path, Replacements: len(plan.Places), Pass: plan.Pass, PassName: plan.PassName})
	m.warn(i, plan)
	return nil
}

func (m *multi) warn(i int, plan *match.Plan) {
	for _, w := range howFound(plan) {
		at := slices.IndexFunc(m.said, func(s warning) bool { return s.text == w })
		if at < 0 {
			at, m.said = len(m.said), append(m.said, warning{text: w})
		}
		m.said[at].edits = append(m.said[at].edits, i+1)
	}
}

// A warning is what there is to say of some edits, counted from 1. Models slip in the same way again and again.
type warning struct {
	text  string
	edits []int
}

func (w warning) String() string {
	if len(w.edits) == 1 {
		return fmt.Sprintf("edit %d: %s", w.edits[0], w.text)
	}
	shown := strings.Trim(strings.ReplaceAll(fmt.Sprint(w.edits[:min(len(w.edits), 10)]), " ", ", "), "[]")
	if more := len(w.edits) - 10; more > 0 {
		shown = fmt.Sprintf("%s and %d more", shown, more)
	}
	return fmt.Sprintf("edits %s: %s", shown, w.text)
}

func (m *multi) open(p *workspace.Place) (*tracked, error) {
	b, err := m.buffer(p.Path, "")
	if err != nil {
		return nil, err
	}
	if m.bytes += len(b.before.data); m.bytes > maxTotal {
		return nil, &sdk.Error{Name: "FilesTooLarge", Message: fmt.Sprintf("the files up to %q hold more than %d bytes together; nothing was changed", p.Path, maxTotal),
			Suggestion: "Edit them in several calls."}
	}
	t := &tracked{buffer: b, original: b.text}
	return t, m.enlist(t)
}

func (m *multi) create(p *workspace.Place, ed multiEdit) error {
	if err := checkParent(p, m.CreateDirs); err != nil {
		return err
	}
	if err := (*snapshot)(nil).matches(p.Path, ed.IfMatch); err != nil {
		return err
	}
	if err := m.settings.meant(p.Path, nil, ed.NewString); err != nil {
		return err
	}
	b := &buffer{place: p, form: plainForm, text: []byte(ed.NewString), inserted: []match.Range{{End: len(ed.NewString)}}}
	m.found = append(m.found, multiFound{Path: p.Path})
	return m.enlist(&tracked{buffer: b, original: b.text})
}

func (m *multi) enlist(t *tracked) error {
	if len(m.order) == maxFiles {
		return &sdk.Error{Name: "TooManyFiles", Message: fmt.Sprintf("the edits are in more than %d files; nothing was changed", maxFiles),
			Suggestion: "Edit them in several calls."}
	}
	if other := m.sameFile(t); other != nil {
		return &sdk.Error{Name: "SameFile", Message: fmt.Sprintf("%q and %q are two names of one file, which would become two files, each with a part of the edits; nothing was changed", other.place.Path, t.place.Path),
			Suggestion: fmt.Sprintf("Make all these edits in %q.", other.place.Path)}
	}
	m.files[t.place.Real()] = t
	m.order = append(m.order, t)
	return nil
}

// sameFile finds another name of the same file among those before: a hard link, or where case does not count the other case.
func (m *multi) sameFile(t *tracked) *tracked {
	for _, other := range m.order {
		if t.before != nil && other.before != nil && os.SameFile(t.before.info, other.before.info) {
			return other
		}
	}
	return nil
}
