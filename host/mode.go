package host

import (
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/host/policy"
)

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
