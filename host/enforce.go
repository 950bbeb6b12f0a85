package host

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// A Policy decides whether a call may run. *policy.Policy is one. Decide is called by many goroutines and must not block.
type Policy interface {
	Decide(q *policy.Query) policy.Decision
}

var hintsOnly = must(policy.New())

// enforce asks the policy. What it denies goes no further.
func (h *snapshot) enforce(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		c.Decision = h.decide(c)
		if c.Decision.Effect == policy.Deny {
			return nil, denied(c)
		}
		return next(ctx, c)
	}
}

// Explain gives the decision on a call, as far as it can be told without asking the plugin for a preview or a person. The
// error is the one that the call would end with before it came to a decision.
func (c *Catalog) Explain(ctx context.Context, call Call) (policy.Decision, error) {
	call.catalog = c
	return c.host.Explain(ctx, call)
}

// Explain is Catalog.Explain for all tools.
func (h *Host) Explain(ctx context.Context, c Call) (policy.Decision, error) {
	now := h.now.Load()
	decide := func(_ context.Context, c *Call) (*sdk.Result, error) {
		c.Decision = now.waive(c, now.decide(c))
		return nil, nil
	}
	explain := chain(decide, now.guard, now.open, now.lookup, now.parse, now.validate)
	_, err := explain(ctx, now.prepare(&c))
	return c.Decision, err
}

// decide gives the policy's decision as the mode of approval changes it.
func (h *snapshot) decide(c *Call) policy.Decision {
	q := c.query()
	return h.options.Mode.apply(h.pathed(c, q, h.floored(spoken(h.options.Policy.Decide(q)), q)), q)
}

// spoken makes sure that there is a decision, since not every Policy is ours: no word asks, and a word that is no effect
// denies.
func spoken(d policy.Decision) policy.Decision {
	switch d.Effect {
	case policy.Allow, policy.Ask, policy.AlwaysAsk, policy.Deny:
	case "":
		d.Effect, d.Reason = policy.Ask, cmp.Or(d.Reason, "the policy says nothing of it")
	default:
		d.Reason = fmt.Sprintf("the policy said %.40q, which is no effect", string(d.Effect))
		d.Effect = policy.Deny
	}
	return d
}

// query is the call as the policy sees it, with arguments of its own.
func (c *Call) query() *policy.Query {
	t := c.Definition
	return &policy.Query{
		Tool: t.Name, Plugin: t.Plugin, Hints: policy.Hints(t.Hints), Category: t.Category, CostTier: string(t.CostTier),
		Caller: c.Caller, Arguments: bytes.Clone(c.Arguments), Workdir: c.Workdir, Properties: t.siblings,
	}
}

// hides says whether the policy denies every call of the tool, as far as it can tell, or the host cannot offer it.
func (h *snapshot) hides(t *Tool) bool {
	if isBuiltIn(t.plugin) { // deferred catalogs list it
		return true
	}
	if h.options.SingleCall && t.Stateful {
		return true
	}
	p, able := h.options.Policy.(interface{ Hides(*policy.Query) bool })
	return able && p.Hides((&Call{Definition: t}).query())
}

// denied words a denial. Whoever reads it should not try again, but may find another way.
func denied(c *Call) *sdk.Error {
	d := c.Decision
	by := d.By()
	if d.Reason != "" {
		by += ": " + d.Reason
	}
	e := fail(sdk.CodeDenied, "Denied", "%s was denied by %s; nothing was run", c.Tool, by)
	e.Suggestion = "Do not send the same call again. Reach the goal another way, or ask the user."
	e.Details = decisionDetails(d)
	return e
}

func decisionDetails(d policy.Decision) []byte {
	return sdk.Details(map[string]string{"rule": d.Rule, "layer": d.Layer, "source": d.Source, "reason": d.Reason})
}
