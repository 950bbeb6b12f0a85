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

// A Policy decides whether a call may run. *policy.Policy implements it. Decide is called concurrently and must not
// block. A policy that also has the method
//
//	Hides(q *policy.Query) bool
//
// says which tools are not listed, and one that has
//
//	LooksAtPaths(q *policy.Query) bool
//
// is asked again about the targets of links and what is below the folders that a call names, if that is true.
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

// enforce asks the policy, and refuses a call that it denies.
func (h *snapshot) enforce(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		c.Decision = h.decide(c, true)
		if c.Decision.Effect == policy.Deny {
			return nil, denied(c)
		}
		return next(ctx, c)
	}
}

// decide returns the policy's decision, adjusted for paths, the floor and the approval mode. brief, for calls, leaves
// rules that do not apply out of the trace: they take a sixth of what a call allocates with ten rules.
func (h *snapshot) decide(c *Call, brief bool) policy.Decision {
	return h.decideIn(h.options.Mode, c, brief)
}

func (h *snapshot) decideIn(m Mode, c *Call, brief bool) policy.Decision {
	q := c.query()
	q.Brief = brief
	if _, ours := h.options.Policy.(*policy.Policy); !ours { // ours does not change the arguments
		q.Arguments = bytes.Clone(q.Arguments)
	}
	d := validDecision(h.options.Policy.Decide(q))
	if !h.options.WithoutFloor {
		// such as rm -rf / or a fork bomb: denied whatever rules and people allow
		if why := shelltool.Catastrophe(q, h.options.Plugins[c.Definition.Plugin].Env); why != "" {
			d = d.Tighten(policy.Step{Layer: policy.Floor, Rule: "catastrophe", Effect: policy.Deny, Matched: true, Reason: why})
		}
	}
	return m.apply(h.decidePaths(c, q, d), q)
}

// validDecision handles decisions of an embedder's policy: no effect counts as ask, and an unknown one as deny.
func validDecision(d policy.Decision) policy.Decision {
	switch d.Effect {
	case policy.Allow, policy.Ask, policy.AlwaysAsk, policy.Deny:
	case "":
		d.Effect, d.Reason = policy.Ask, cmp.Or(d.Reason, "the policy says nothing of it")
	default:
		d.Reason = fmt.Sprintf("the policy said %.40q, which is not an effect", string(d.Effect))
		d.Effect = policy.Deny
	}
	return d
}

// query describes the call to a policy. The arguments are the call's own.
func (c *Call) query() *policy.Query {
	q := c.Definition.query()
	q.Caller, q.Arguments, q.Workdir = c.Caller, c.Arguments, c.Workdir
	q.Properties = c.Definition.siblings()
	if c.nested != nil {
		q.Via = "plugin:" + c.nested.via.Plugin
	}
	return q
}

// query is the tool as the policy sees it, without a call: of that no arguments are known.
func (t *Tool) query() *policy.Query {
	return &policy.Query{
		Tool: t.Name, Plugin: t.Plugin, Hints: policy.Hints(t.Hints), Unbelieved: policy.Hints(t.Unbelieved),
		Category: t.Category, CostTier: string(t.CostTier),
	}
}

// Explain returns the decision on a call without making a preview or asking a person. The error is the one that the
// call would end with before a decision.
func (c *Catalog) Explain(ctx context.Context, call Call) (policy.Decision, error) {
	call.catalog = c
	return c.host.Explain(ctx, call)
}

// Explain explains a call as Catalog.Explain does, with all tools.
func (h *Host) Explain(ctx context.Context, c Call) (policy.Decision, error) {
	return h.explain(ctx, c, h.current.Load().options.Mode)
}

// ExplainMode is Explain as if the host had another approval mode.
func (c *Catalog) ExplainMode(ctx context.Context, call Call, m Mode) (policy.Decision, error) {
	if err := m.check(); err != nil {
		return policy.Decision{}, err
	}
	call.catalog = c
	return c.host.explain(ctx, call, m)
}

func (h *Host) explain(ctx context.Context, c Call, m Mode) (policy.Decision, error) {
	now := h.current.Load()
	own := now.prepare(c)
	_, err := now.explainChain(m)(ctx, own)
	return own.Decision, err
}

// Preview returns the decision on a call, and the plugin's description of what it would do, nil when there is none. The
// plugin is asked, but the call is not made, and no person is asked. The error is the one that the call would end with
// before a person is asked.
func (c *Catalog) Preview(ctx context.Context, call Call) (policy.Decision, *sdk.Preview, error) {
	call.catalog = c
	now := c.host.current.Load()
	own := now.prepare(call)
	_, err := now.previewChain()(ctx, own)
	return own.Decision, own.preview, err
}

// hides reports whether a tool is not offered: the policy or the mode denies every call of it, or this host cannot run
// it. In mode never_ask no tool is hidden: an answer that is remembered may allow it.
func (h *snapshot) hides(t *Tool) bool {
	if isBuiltIn(t.plugin) || h.options.SingleCall && t.Stateful { // only deferred catalogs list the built-in tool
		return true
	}
	if h.options.Mode == ModePlan && planPolicy.Hides(t.query()) {
		return true
	}
	p, able := h.options.Policy.(interface{ Hides(*policy.Query) bool })
	return able && p.Hides(t.query())
}

func denied(c *Call) *sdk.Error {
	d := c.Decision
	by := d.By()
	if d.Reason != "" {
		by += ": " + d.Reason
	}
	e := advise(fail(sdk.CodeDenied, "Denied", "%s was denied by %s; nothing was run", c.Tool, by),
		"Do not send the same call again. Reach the goal another way, or ask the user.")
	e.Details = decisionDetails(d)
	return e
}

func decisionDetails(d policy.Decision) []byte {
	return sdk.Details(map[string]string{"rule": d.Rule, "layer": d.Layer, "source": d.Source, "reason": d.Reason})
}

// Mode is the approval mode in use.
func (h *Host) Mode() Mode { return h.current.Load().options.Mode }

// Mode says what happens to calls that need approval.
type Mode string

// The modes.
const (
	ModeAsk Mode = "ask" // the approver is asked; "" is the same
	// tools of category "edit" run without approval, unless a rule or a preview asks for it
	ModeAutoEdit Mode = "auto_edit"
	ModePlan     Mode = "plan"      // only calls that read run, and no one is asked
	ModeNeverAsk Mode = "never_ask" // calls that need approval are denied
)

const modeLayer = "approval" // the layer of a decision made by a mode

func (m Mode) asksNoOne() bool { return m == ModeNeverAsk || m == ModePlan }

func (m Mode) check() error {
	if all := []Mode{"", ModeAsk, ModeAutoEdit, ModePlan, ModeNeverAsk}; !slices.Contains(all, m) {
		return fmt.Errorf("host: there is no approval mode %q; there are ask, auto_edit, plan and never_ask", m)
	}
	return nil
}

var planPolicy = must(policy.New(ReadOnlyLayer("plan mode")))

// apply adjusts a decision to the mode. No mode loosens a rule.
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

// ReadOnlyLayer is a layer that allows tools with the read-only hint, and shell commands whose every part is known to
// only read; it denies all else.
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
