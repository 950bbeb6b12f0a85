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

// A Policy decides whether a call may run. *policy.Policy is one. Decide is called concurrently and must not block.
type Policy interface {
	Decide(q *policy.Query) policy.Decision
}

var hintsOnly = must(policy.New())

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// enforce asks the policy. A call that it denies goes no further.
func (h *snapshot) enforce(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		c.Decision = h.decide(c)
		if c.Decision.Effect == policy.Deny {
			return nil, denied(c)
		}
		return next(ctx, c)
	}
}

// decide returns the policy's decision as paths, the limits of every host and the mode of approval change it.
func (h *snapshot) decide(c *Call) policy.Decision {
	q := c.query()
	d := validDecision(h.options.Policy.Decide(q))
	if !h.options.WithoutFloor {
		if why := shelltool.Catastrophe(q); why != "" { // such as rm -rf / or a fork bomb, whatever rules and people allow
			d = d.Tighten(policy.Step{Layer: policy.Floor, Rule: "catastrophe", Effect: policy.Deny, Matched: true, Reason: why})
		}
	}
	return h.options.Mode.apply(h.decidePaths(c, q, d), q)
}

// validDecision handles policies that are not ours: no effect asks, and an unknown one denies.
func validDecision(d policy.Decision) policy.Decision {
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

// query is the call as the policy sees it, with its own copy of the arguments.
func (c *Call) query() *policy.Query {
	t := c.Definition
	return &policy.Query{
		Tool: t.Name, Plugin: t.Plugin, Hints: policy.Hints(t.Hints), Unbelieved: policy.Hints(t.Unbelieved),
		Category: t.Category, CostTier: string(t.CostTier), Caller: c.Caller, Arguments: bytes.Clone(c.Arguments),
		Workdir: c.Workdir, Properties: t.siblings,
	}
}

// Explain returns the decision on a call as far as it is known without a preview or a person. The error is the one that
// the call would end with before it came to a decision.
func (c *Catalog) Explain(ctx context.Context, call Call) (policy.Decision, error) {
	call.catalog = c
	return c.host.Explain(ctx, call)
}

// Explain is Catalog.Explain for all tools.
func (h *Host) Explain(ctx context.Context, c Call) (policy.Decision, error) {
	now := h.now.Load()
	decide := func(_ context.Context, c *Call) (*sdk.Result, error) {
		c.Decision = now.applyApprovals(c, now.decide(c))
		return nil, nil
	}
	explain := wrap(decide, now.guard, now.open, now.lookup, now.parse, now.validate)
	_, err := explain(ctx, now.prepare(&c))
	return c.Decision, err
}

// hides reports tools that are not offered: those of which the policy denies every call, and those that this host
// cannot run.
func (h *snapshot) hides(t *Tool) bool {
	if isBuiltIn(t.plugin) || h.options.SingleCall && t.Stateful { // deferred catalogs list the built-in one
		return true
	}
	p, able := h.options.Policy.(interface{ Hides(*policy.Query) bool })
	return able && p.Hides((&Call{Definition: t}).query())
}

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

// The modes.
const (
	ModeAsk      Mode = "ask"       // the approver is asked; "" is the same
	ModeAutoEdit Mode = "auto_edit" // tools of category "edit" run unasked, unless a rule or a preview asks
	ModePlan     Mode = "plan"      // only calls that read run, and no person is asked
	ModeNeverAsk Mode = "never_ask" // what would be asked is denied
)

// modeLayer is the layer of a decision that a mode made.
const modeLayer = "approval"

func (m Mode) check() error {
	if all := []Mode{"", ModeAsk, ModeAutoEdit, ModePlan, ModeNeverAsk}; !slices.Contains(all, m) {
		return fmt.Errorf("host: there is no approval mode %q; there are ask, auto_edit, plan and never_ask", m)
	}
	return nil
}

var planPolicy = must(policy.New(ReadOnlyLayer("plan mode")))

// apply changes a decision by the mode. No mode loosens what a rule says.
func (m Mode) apply(d policy.Decision, q *policy.Query) policy.Decision {
	byHints := d.Layer == policy.ByHints
	switch {
	case m == ModePlan:
		p := planPolicy.Decide(q)
		step := policy.Step{Layer: p.Layer, Rule: p.Rule, Effect: p.Effect, Reason: p.Reason, Matched: true}
		if byHints && p.Effect == policy.Allow {
			return d.Waive(step)
		}
		return d.Tighten(step)
	case m == ModeAutoEdit && byHints && q.Category == "edit":
		return d.Waive(policy.Step{Layer: modeLayer, Rule: string(m), Reason: "edits are not asked about in this mode"})
	}
	return d
}

// ReadOnlyLayer is a layer under which nothing is changed: tools whose hint says that they only read run, and shell
// commands of which every part is known to only read; all else is denied.
func ReadOnlyLayer(name string) policy.Layer {
	return policy.Layer{Name: name, Rules: []policy.Rule{
		{Name: "reads", Hints: policy.Hints{ReadOnly: sdk.Yes}, Effect: policy.Allow, Reason: "the tool only reads"},
		{Name: "commands-that-read", Categories: []string{shelltool.Category}, Judge: judgeReading,
			Reason: "only commands that read may run here"},
		{Name: "nothing-else", Effect: policy.Deny, Reason: "only calls that read are allowed here"},
	}}
}

func judgeReading(q *policy.Query) (policy.Judgement, error) {
	return shelltool.Judge(q, shelltool.Command, shellcmd.Rules{ReadOnly: true, Otherwise: string(policy.Deny)})
}
