package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host/internal/shelltool"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/sdk"
)

// A Remembered is an approval that covers later calls. It turns ask into allow and nothing else.
type Remembered struct {
	// ID identifies it for Revoke.
	ID string
	// Tool is the full name, Definition the hash of the definition that the person saw: for another definition approval
	// is needed again.
	Tool, Definition string
	Caller           string
	Scope            Scope
	// Arguments belong to ScopeArguments: they match byte for byte or, if Saved, regardless of white space and escapes.
	Arguments json.RawMessage
	// Workdir is the work folder in which the approval was given and holds; with "" the approval is ignored.
	Workdir string
	// Prefix belongs to ScopePrefix.
	Prefix []string
	// SessionID is the session that it holds for, unless it is Saved.
	SessionID string
	Saved     bool
	Created   time.Time
}

func (r Remembered) clone() Remembered {
	r.Arguments, r.Prefix = bytes.Clone(r.Arguments), slices.Clone(r.Prefix)
	return r
}

// cloneAll keeps nil as nil.
func cloneAll(answers []Remembered) []Remembered {
	out := slices.Clone(answers)
	for i := range out {
		out[i] = out[i].clone()
	}
	return out
}

// approvals are those that cover later calls.
type approvals struct {
	mu  sync.Mutex
	all []Remembered
}

// Remembered returns the approvals that cover later calls, the oldest first.
func (h *Host) Remembered() []Remembered {
	h.approvals.mu.Lock()
	defer h.approvals.mu.Unlock()
	return cloneAll(h.approvals.all)
}

// Revoke forgets an approval; false means that there is none with this id. Remove a saved one also from where it is
// saved, otherwise the next host has it again.
func (h *Host) Revoke(id string) bool {
	h.approvals.mu.Lock()
	defer h.approvals.mu.Unlock()
	before := len(h.approvals.all)
	h.approvals.all = slices.DeleteFunc(h.approvals.all, func(r Remembered) bool { return r.ID == id })
	return len(h.approvals.all) < before
}

// replaceSaved replaces the saved approvals; nil leaves them.
func (a *approvals) replaceSaved(by []Remembered) {
	if by == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(a.all), func(r Remembered) bool {
		return r.Saved || slices.ContainsFunc(by, func(b Remembered) bool { return b.ID == r.ID })
	})
	a.all = slices.Concat(by, kept)
}

// remember stores an approval with a scope. One that cannot be saved is an error, so that no one relies on it.
func (h *snapshot) remember(c *Call, a Answer) error {
	if a.Scope == ScopeOnce {
		return nil
	}
	r := Remembered{ID: newID()[:8], Tool: c.Tool, Definition: c.Definition.hash(), Caller: c.Caller, Scope: a.Scope,
		Workdir: c.Workdir, SessionID: c.SessionID, Saved: a.Saved, Created: time.Now().UTC().Truncate(time.Second)}
	known := true
	switch a.Scope {
	case ScopeTool:
	case ScopeArguments:
		r.Arguments = bytes.Clone(c.Arguments)
	case ScopePrefix:
		r.Prefix = commandPrefix(c)
		known = r.Prefix != nil
	default:
		known = false
	}
	if !known {
		return fail(sdk.CodeApprovalUnavailable, "BadAnswer",
			"the approver's answer to %s has scope %q, which this call does not have; nothing was run", c.Tool, a.Scope)
	}
	if r.Saved {
		err := errors.New("this host has no place to save answers")
		if h.options.SaveAnswer != nil {
			err = errors.New("saving it panicked; the host's log has the stack")
			callback.Run(h.log, "Options.SaveAnswer", func() { err = h.options.SaveAnswer(r.clone()) })
		}
		if err != nil {
			return fail(sdk.CodeApprovalUnavailable, "NotSaved", "the answer to %s could not be saved: %s; nothing was run",
				r.Tool, err)
		}
	}
	h.approvals.mu.Lock()
	defer h.approvals.mu.Unlock()
	h.approvals.all = append(h.approvals.all, r)
	return nil
}

// applyApprovals turns ask into allow when an earlier approval covers the call. If the preview requested approval,
// only an approval of exactly these arguments does.
func (h *Host) applyApprovals(c *Call, d policy.Decision) policy.Decision {
	if d.Effect != policy.Ask || c.nested != nil { // it is of calls that a model makes
		return d
	}
	var tool *Remembered
	var prefixes [][]string
	for _, r := range h.approvalsFor(c) {
		switch {
		case r.Scope == ScopeArguments && r.sameArguments(c):
			return d.Waive(r.step())
		case r.Scope == ScopeTool && tool == nil:
			tool = &r
		case r.Scope == ScopePrefix && len(r.Prefix) > 0:
			prefixes = append(prefixes, r.Prefix)
		}
	}
	switch {
	case c.previewAsks:
		return d
	case tool != nil:
		return d.Waive(tool.step())
	case len(prefixes) > 0 && shelltool.Allows(c.query(), prefixes):
		return d.Waive(policy.Step{Layer: "answers", Rule: "prefix",
			Reason: fmt.Sprintf("commands that begin so were said yes to: %q", prefixes)})
	}
	return d
}

// approvalsFor returns the approvals of this tool, caller and session in this work folder.
func (h *Host) approvalsFor(c *Call) (out []Remembered) {
	h.approvals.mu.Lock()
	defer h.approvals.mu.Unlock()
	if len(h.approvals.all) == 0 {
		return nil
	}
	hash := c.Definition.hash()
	for _, r := range h.approvals.all {
		here := r.Workdir == c.Workdir && (r.Saved || r.SessionID == c.SessionID)
		if here && r.Tool == c.Tool && r.Definition == hash && r.Caller == c.Caller {
			out = append(out, r)
		}
	}
	return out
}

// sameArguments compares the meaning of saved arguments, and the bytes of others. Numbers keep their digits.
func (r Remembered) sameArguments(c *Call) bool {
	plain := func(arguments json.RawMessage) jsontext.Value {
		v := jsontext.Value(bytes.Clone(arguments))
		if v.Format() != nil {
			return jsontext.Value(arguments)
		}
		return v
	}
	return bytes.Equal(r.Arguments, c.Arguments) || r.Saved && bytes.Equal(plain(r.Arguments), plain(c.Arguments))
}

func (r Remembered) step() policy.Step {
	return policy.Step{Layer: "answers", Rule: r.ID, Reason: fmt.Sprintf("a person said yes to this, for %s", r.Scope)}
}

// commandPrefix is the beginning of the call's command that an approval may cover, or nil.
func commandPrefix(c *Call) []string { return shelltool.Prefix(c.query()) }
