package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolhost/toolhost/host/internal/shelltool"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// A Remembered is a yes that stands for later calls. It turns ask into allow and nothing else.
type Remembered struct {
	// ID names it, to revoke it.
	ID string
	// Tool is the full name, Definition the hash of the definition that the person saw: another one is asked about again.
	Tool, Definition string
	Caller           string
	Scope            Scope
	// Arguments belong to ScopeArguments: to the byte, or, if Saved, whatever their blanks and escapes.
	Arguments json.RawMessage
	// Workdir is the work folder that it holds in, the one where it was given; with "" it holds nowhere.
	Workdir string
	// Prefix belongs to ScopePrefix.
	Prefix []string
	// SessionID is the session that it holds for, unless it is Saved.
	SessionID string
	Saved     bool
	Created   time.Time
}

// A memory holds the answers that stand for later calls.
type memory struct {
	mu      sync.Mutex
	answers []Remembered
}

// Remembered lists the answers that stand for later calls, the oldest first.
func (h *Host) Remembered() []Remembered {
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	return copies(h.memory.answers)
}

// copies are answers that share nothing with the given ones. Nil stays nil.
func copies(answers []Remembered) []Remembered {
	out := slices.Clone(answers)
	for i := range out {
		out[i] = out[i].clone()
	}
	return out
}

func (r Remembered) clone() Remembered {
	r.Arguments, r.Prefix = bytes.Clone(r.Arguments), slices.Clone(r.Prefix)
	return r
}

// Revoke forgets an answer; false means that there is none with this id. A saved one is also to be removed from where it
// is saved, else the next host has it again.
func (h *Host) Revoke(id string) bool {
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	before := len(h.memory.answers)
	h.memory.answers = slices.DeleteFunc(h.memory.answers, func(r Remembered) bool { return r.ID == id })
	return len(h.memory.answers) < before
}

// replaceSaved puts other saved answers in the place of those that there are; nil leaves them.
func (m *memory) replaceSaved(by []Remembered) {
	if by == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(m.answers), func(r Remembered) bool {
		return r.Saved || slices.ContainsFunc(by, func(b Remembered) bool { return b.ID == r.ID })
	})
	m.answers = slices.Concat(by, kept)
}

// remember keeps an answer with a scope. One that cannot be saved is an error, so that nobody trusts in it.
func (h *snapshot) remember(c *Call, a Answer) error {
	if a.Scope == ScopeOnce {
		return nil
	}
	r := Remembered{ID: newID()[:8], Tool: c.Tool, Definition: c.Definition.hash(), Caller: c.Caller, Scope: a.Scope, Workdir: c.Workdir, SessionID: c.SessionID,
		Saved: a.Saved, Created: time.Now().UTC().Truncate(time.Second)}
	switch a.Scope {
	case ScopeTool:
	case ScopeArguments:
		r.Arguments = bytes.Clone(c.Arguments)
	case ScopePrefix:
		r.Prefix = prefixOf(c)
	}
	if !r.Scope.known() || (a.Scope == ScopePrefix && r.Prefix == nil) {
		return fail(sdk.CodeApprovalUnavailable, "BadAnswer", "the approver's answer to %s has scope %q, which this call does not have; nothing was run", c.Tool, a.Scope)
	}
	if err := h.save(r); err != nil {
		return err
	}
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	h.memory.answers = append(h.memory.answers, r)
	return nil
}

func (s Scope) known() bool {
	return slices.Contains([]Scope{ScopeArguments, ScopePrefix, ScopeTool}, s)
}

func (h *snapshot) save(r Remembered) error {
	if !r.Saved {
		return nil
	}
	err := error(fail("", "", "this host has no place to save answers"))
	if h.options.SaveAnswer != nil {
		err = h.options.SaveAnswer(r.clone())
	}
	if err != nil {
		return fail(sdk.CodeApprovalUnavailable, "NotSaved", "the answer to %s could not be saved: %s; nothing was run", r.Tool, err)
	}
	return nil
}

// waive turns ask into allow when an earlier answer stands for the call. What a preview asks about is covered only by an
// answer to these very arguments.
func (h *Host) waive(c *Call, d policy.Decision) policy.Decision {
	if d.Effect != policy.Ask {
		return d
	}
	stands := h.standing(c)
	if i := slices.IndexFunc(stands, func(r Remembered) bool { return r.Scope == ScopeArguments && r.sameArguments(c) }); i >= 0 {
		return d.Waive(stands[i].step())
	}
	if c.doubted {
		return d
	}
	if i := slices.IndexFunc(stands, func(r Remembered) bool { return r.Scope == ScopeTool }); i >= 0 {
		return d.Waive(stands[i].step())
	}
	if prefixes := prefixes(stands); len(prefixes) > 0 && shelltool.Allows(c.query(), prefixes) {
		return d.Waive(policy.Step{Layer: "answers", Rule: "prefix", Reason: fmt.Sprintf("commands that begin so were said yes to: %q", prefixes)})
	}
	return d
}

// standing are the answers about this tool, for this caller and session.
func (h *Host) standing(c *Call) []Remembered {
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	if len(h.memory.answers) == 0 {
		return nil
	}
	hash := c.Definition.hash()
	var out []Remembered
	for _, r := range h.memory.answers {
		here := r.Workdir == c.Workdir && (r.Saved || r.SessionID == c.SessionID)
		if here && r.Tool == c.Tool && r.Definition == hash && r.Caller == c.Caller {
			out = append(out, r)
		}
	}
	return out
}

func (r Remembered) sameArguments(c *Call) bool {
	return bytes.Equal(r.Arguments, c.Arguments) || r.Saved && bytes.Equal(plain(r.Arguments), plain(c.Arguments))
}

// plain writes arguments in one way, whatever their blanks and escapes: where an answer is saved, it keeps its meaning and
// not its bytes. Numbers stay as they are.
func plain(arguments json.RawMessage) jsontext.Value {
	v := jsontext.Value(bytes.Clone(arguments))
	if v.Format() != nil {
		return jsontext.Value(arguments)
	}
	return v
}

func (r Remembered) step() policy.Step {
	return policy.Step{Layer: "answers", Rule: r.ID, Reason: fmt.Sprintf("a person said yes to this, for %s", r.Scope)}
}

func prefixes(answers []Remembered) (out [][]string) {
	for _, r := range answers {
		if r.Scope == ScopePrefix && len(r.Prefix) > 0 {
			out = append(out, r.Prefix)
		}
	}
	return out
}

// offered is the Prefix of a request: none where no answer is remembered.
func offered(c *Call) []string {
	if c.Decision.Effect == policy.AlwaysAsk {
		return nil
	}
	return prefixOf(c)
}

// prefixOf is the beginning of the call's command that an answer may stand for, or nil.
func prefixOf(c *Call) []string { return shelltool.Prefix(c.query()) }
