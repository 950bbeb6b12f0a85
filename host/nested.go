package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/toolhost/toolhost/internal/toolname"
	"github.com/toolhost/toolhost/sdk"
)

// A Via says which call a nested call is part of: a plugin may call other tools on behalf of a call of its own, as far
// as PluginOptions.MayCall allows.
type Via struct {
	// Plugin is the label of the plugin that makes the nested call.
	Plugin string
	// Tool is the full name of its tool whose call makes it, CallID that call.
	Tool, CallID string
}

// Limits of nested calls.
const (
	maxNesting      = 4    // calls in each other, below the first one
	maxNestedAtOnce = 64   // that run below one call
	maxNestedInAll  = 1000 // in the life of one call
)

// A nesting is the extra state of a nested call.
type nesting struct {
	parent *Call // as it was dispatched; it does not change any more
	via    Via
	depth  int // 1 for a call of a call that is not nested
	tree   *callTree
}

// A callTree counts the nested calls below one top-level call.
type callTree struct {
	mu             sync.Mutex
	running, total int
}

// Via returns the call on behalf of which a plugin makes this one, or nil for a call of an agent or a person.
func (c *Call) Via() *Via {
	if c.callState == nil || c.nested == nil {
		return nil
	}
	return new(c.nested.via)
}

// services are what the host does for the handler of a call.
type services Call

// CallTool makes a nested call: it has the caller, the session, the work folder and the catalog of the call that makes
// it, and passes the whole chain.
func (s *services) CallTool(ctx context.Context, tool string, arguments json.RawMessage) (*sdk.Result, error) {
	c := (*Call)(s)
	n := &nesting{parent: c, via: Via{Plugin: c.Definition.Plugin, Tool: c.Tool, CallID: c.ID}, depth: 1}
	if outer := c.nested; outer != nil {
		n.depth, n.tree = outer.depth+1, outer.tree
	} else {
		n.tree = c.ownTree()
	}
	nested := Call{Tool: tool, Arguments: bytes.Clone(arguments), Caller: c.Caller, SessionID: c.SessionID,
		Workdir: c.Workdir, Capabilities: c.Capabilities, catalog: c.catalog}
	if c.ReturnInput { // the caller answers questions of the first call alone, by making it again
		nested.Capabilities = json.RawMessage("{}")
	}
	r := c.snapshot.call(ctx, nested, nil, n)
	return &sdk.Result{Content: r.Content, Structured: r.Structured, Error: r.Error, Truncated: r.Truncated,
		Extra: r.Extra}, nil
}

// ownTree returns the call tree of a call that is not nested.
func (c *Call) ownTree() *callTree {
	c.events.Lock()
	defer c.events.Unlock()
	if c.tree == nil {
		c.tree = &callTree{}
	}
	return c.tree
}

// nested refuses nested calls that the configuration does not allow, and those that never end.
func (h *snapshot) nested(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		n := c.nested
		if n == nil {
			return next(ctx, c)
		}
		e := h.checkNesting(c, n)
		if e == nil {
			e = n.tree.begin(c)
		}
		if e != nil {
			c.Definition = h.knownTool(c) // for record and metrics
			return nil, e
		}
		defer n.tree.end()
		return next(ctx, c)
	}
}

func (h *snapshot) checkNesting(c *Call, n *nesting) *sdk.Error {
	if !toolname.MatchesAny(h.options.Plugins[n.via.Plugin].MayCall, c.Tool) {
		return advise(fail(sdk.CodeDenied, "NotGranted", "plugin %q may not call %.100q; nothing was run", n.via.Plugin,
			c.Tool), fmt.Sprintf("The user can allow it in the configuration: plugin %q { may_call = [%q] }.", n.via.Plugin,
			cutText(c.Tool, 100)))
	}
	for p := n.parent; ; p = p.nested.parent {
		if p.Tool == c.Tool {
			return advise(fail(sdk.CodeLimit, "CallCycle", "call cycle: %s called itself through %s; nothing was run",
				c.Tool, n.via.Tool), "Report this to the authors of the plugins, or change arguments that cause the cycle.")
		}
		if p.nested == nil {
			break
		}
	}
	if n.depth > maxNesting {
		return fail(sdk.CodeLimit, "NestedTooDeep", "%s is called by a call that is %d deep already, at most %d are "+
			"allowed; nothing was run", c.Tool, n.depth-1, maxNesting)
	}
	return nil
}

func (t *callTree) begin(c *Call) *sdk.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.total >= maxNestedInAll:
		return fail(sdk.CodeLimit, "TooManyNested",
			"%d nested calls were made for one call, which is the limit; %s was not run", maxNestedInAll, c.Tool)
	case t.running >= maxNestedAtOnce:
		e := fail(sdk.CodeLimit, "TooManyNested",
			"%d nested calls already run for one call, which is the limit; %s was not run", maxNestedAtOnce, c.Tool)
		e.Retryable = true
		return e
	}
	t.running++
	t.total++
	return nil
}

func (t *callTree) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
}

// waitsForItself reports whether one of the calls that a nested call is part of runs in the plugin: it may hold the
// slot that the nested call would wait for.
func (c *Call) waitsForItself(plugin string) bool {
	for n := c.nested; n != nil; n = n.parent.nested {
		if n.via.Plugin == plugin {
			return true
		}
	}
	return false
}

// Ask asks for plugins in the host's own process. Others end their call with the question, and are called again with
// the answer, see input.
func (s *services) Ask(ctx context.Context, question json.RawMessage) (json.RawMessage, error) {
	const key = "question"
	c, in := (*Call)(s), &sdk.InputRequired{Requests: map[string]json.RawMessage{key: question}}
	if e := checkQuestions(c, in); e != nil {
		return nil, e
	}
	if c.ReturnInput {
		return nil, advise(fail(sdk.CodeTool, "NoOneToAsk",
			"%s asks a question, and its caller answers none during a call", c.Tool), unaskedAdvice)
	}
	answers, err := c.snapshot.current.Load().answer(ctx, c, in)
	return answers[key], err
}
