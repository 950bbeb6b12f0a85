package host

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/host/internal/shelltool"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/shellcmd"
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

// Mode says what becomes of calls that a person would be asked about.
type Mode string

// modeLayer is the layer of a decision that a mode made.
const modeLayer = "approval"

// The modes.
const (
	ModeAsk      Mode = "ask"       // the approver is asked; "" is the same
	ModeAutoEdit Mode = "auto_edit" // tools of category "edit" run without, unless a rule or a preview asks
	ModePlan     Mode = "plan"      // only calls that read run, nobody is asked
	ModeNeverAsk Mode = "never_ask" // what would be asked is denied
)

func (m Mode) check() error {
	if all := []Mode{"", ModeAsk, ModeAutoEdit, ModePlan, ModeNeverAsk}; !slices.Contains(all, m) {
		return fmt.Errorf("host: there is no approval mode %q; there are ask, auto_edit, plan and never_ask", m)
	}
	return nil
}

// planned lets only those calls through that read.
var planned = must(policy.New(ReadOnlyLayer("plan mode")))

// apply gives the decision as the mode changes it. No mode loosens what a rule says.
func (m Mode) apply(d policy.Decision, q *policy.Query) policy.Decision {
	byHints := d.Layer == policy.ByHints
	switch {
	case m == ModePlan:
		return plan(d, planned.Decide(q), byHints)
	case m == ModeAutoEdit && byHints && q.Category == "edit":
		return d.Waive(policy.Step{Layer: modeLayer, Rule: string(m), Reason: "edits are not asked about in this mode"})
	}
	return d
}

// plan puts the two decisions together: what only reads runs unasked, unless a rule has more to say of it.
func plan(d, p policy.Decision, byHints bool) policy.Decision {
	step := policy.Step{Layer: p.Layer, Rule: p.Rule, Effect: p.Effect, Reason: p.Reason, Matched: true}
	if byHints && p.Effect == policy.Allow {
		return d.Waive(step)
	}
	return d.Tighten(step)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// floored denies what nobody means, such as rm -rf / or a fork bomb, whatever rules and people allow.
func (h *snapshot) floored(d policy.Decision, q *policy.Query) policy.Decision {
	if h.options.WithoutFloor {
		return d
	}
	why := shelltool.Catastrophe(q)
	if why == "" {
		return d
	}
	return d.Tighten(policy.Step{Layer: "floor", Rule: "catastrophe", Effect: policy.Deny, Matched: true, Reason: why})
}

// ReadOnlyLayer is a layer under which nothing is changed: tools whose hint says that they only read run, and shell
// commands of which every part is known to only read; all else is denied.
func ReadOnlyLayer(name string) policy.Layer {
	return policy.Layer{Name: name, Rules: []policy.Rule{
		{Name: "reads", Hints: policy.Hints{ReadOnly: sdk.Yes}, Effect: policy.Allow, Reason: "the tool only reads"},
		{Name: "commands-that-read", Categories: []string{shelltool.Category}, Judge: commandsThatRead, Reason: "only commands that read may run here"},
		{Name: "nothing-else", Effect: policy.Deny, Reason: "only calls that read are allowed here"},
	}}
}

func commandsThatRead(q *policy.Query) (policy.Judgement, error) {
	return shelltool.Judge(q, shelltool.Command, shellcmd.Rules{ReadOnly: true, Otherwise: string(policy.Deny)})
}
