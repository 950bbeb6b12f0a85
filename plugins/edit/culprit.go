package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/plugins/edit/internal/match"
	"github.com/toolhost/toolhost/sdk"
)

// multiDetails tell which edit failed, and why it did if that is another one's doing.
type multiDetails struct {
	Index         *int `json:"index,omitempty"`          // of the edit, from 0
	InvalidatedBy *int `json:"invalidated_by,omitempty"` // likewise
}

// with gives the details of an error with these added.
func (d multiDetails) with(details json.RawMessage) json.RawMessage {
	all := map[string]any{}
	_ = json.Unmarshal(details, &all) // an error may have none
	_ = json.Unmarshal(sdk.Details(d), &all)
	return sdk.Details(all)
}

// failed words the failure of edit i.
func (m *multi) failed(ctx context.Context, i int, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return err
	}
	e = new(*e)
	more := multiDetails{Index: &i}
	if by := m.culprit(ctx, i, e); by < 0 {
		e.Message = m.name(i) + ": " + e.Message
	} else {
		more.InvalidatedBy = &by
		e.Message = fmt.Sprintf("%s was invalidated by edit %d: it fits the file as it was before this call. %s", m.name(i), by+1, e.Message)
		e.Suggestion = fmt.Sprintf("Give as old_string of edit %d the text as edit %d leaves it, or make one edit of both.", i+1, by+1)
	}
	e.Details = more.with(e.Details)
	if r, ok := errors.AsType[*refusal](err); ok {
		return fitted(e, r.text)
	}
	return fitted(e, "")
}

// culprit finds the edit after which edit i does not fit any more; -1 when it never did.
func (m *multi) culprit(ctx context.Context, i int, e *sdk.Error) int {
	p, err := m.find(m.pathOf(m.Edits[i]))
	if err != nil || !fromMatcher(e) {
		return -1
	}
	t := m.files[p.Real()]
	if t == nil || len(t.made) == 0 || t.before == nil {
		return -1
	}
	return t.culprit(func(text []byte) bool {
		return ctx.Err() == nil && fits(p.Path, text, m.Edits[i].change(m.settings.strictness))
	})
}

// culprit finds the edit of the call after which something does not fit the text any more; -1 when it never did.
func (t *tracked) culprit(fits func(text []byte) bool) int {
	if !fits(t.original) {
		return -1
	}
	good, bad, text := 0, len(t.made), t.original // text is after the first edits, as many as good says
	for bad-good > 1 {
		middle := (good + bad) / 2
		next := text
		for _, made := range t.made[good:middle] {
			next = (&match.Plan{Edits: made.edits}).Apply(next)
		}
		if fits(next) {
			good, text = middle, next
		} else {
			bad = middle
		}
	}
	return t.made[good].index
}

const maxJudged = 1 << 20 // bytes of a text; in a larger one fits looks for what is exact only, as the rest takes long

func fits(path string, text []byte, c match.Change) bool {
	if len(text) > maxJudged {
		c.Strictness = match.Exact
	}
	_, err := match.NewText(path, text).Plan(c)
	return err == nil
}

func fromMatcher(e *sdk.Error) bool {
	for _, name := range names {
		if e.Name == name {
			return true
		}
	}
	return false
}
