// Package policy decides whether a call may run: rules and a query in, a decision with its trace out. It looks at
// nothing else, neither files nor the clock nor the network, so that the same query always gets the same decision.
//
// Rules stand in layers, such as the user's and the project's. In each layer the first rule that matches speaks; of the
// layers the strictest wins, whatever their order; when none speaks, the tool's own hints decide: a tool that only
// reads may run, for others a person is asked. Whatever cannot be told counts against the call.
package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
)

// A Policy is a set of layers, checked. It is safe for concurrent use.
type Policy struct{ layers []Layer }

// A Layer is an ordered list of rules by one author.
type Layer struct {
	// Name is the layer's, such as "user". Two layers may have one name; none may be called "hints", as what no rule says
	// is.
	Name string
	// TightenOnly makes the layer's allow count for nothing: its author is not trusted to loosen.
	TightenOnly bool
	Rules       []Rule
}

// New checks the rules, of which it makes copies; the error tells everything that is wrong with them. Without
// layers the hints decide.
func New(layers ...Layer) (*Policy, error) {
	var wrong []error
	for _, l := range layers {
		if l.Name == ByHints {
			wrong = append(wrong, errors.New(`a layer cannot be called "hints": decisions that no rule made are told by that `+
				`name`))
		}
		for _, r := range l.Rules {
			if err := r.check(); err != nil {
				wrong = append(wrong, fmt.Errorf("layer %q, rule %q: %w", l.Name, r.Name, err))
			}
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	own := slices.Clone(layers)
	for i := range own {
		own[i].Rules = slices.Clone(own[i].Rules)
		for j := range own[i].Rules {
			r := &own[i].Rules[j]
			r.Tools, r.Categories, r.CostTiers, r.Callers = slices.Clone(r.Tools), slices.Clone(r.Categories),
				slices.Clone(r.CostTiers), slices.Clone(r.Callers)
			r.Names = slices.Clone(r.Names)
		}
	}
	return &Policy{own}, nil
}

func (r *Rule) check() error {
	if r.Judge == nil && !r.Effect.valid() || r.Judge != nil && r.Effect != "" {
		return fmt.Errorf("it needs an effect (allow, ask, always_ask, deny) or a Judge, and not both; the effect is %q",
			r.Effect)
	}
	for _, glob := range slices.Concat(r.Tools, r.Callers) {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("the pattern %q is not well formed", glob)
		}
	}
	return nil
}

// Decide gives the decision on a call.
func (p *Policy) Decide(q *Query) Decision {
	var strictest Step
	var trace []Step
	for i := range p.layers {
		said, steps := p.layers[i].speak(q)
		trace = append(trace, steps...)
		if said.Effect.Stricter(strictest.Effect) {
			strictest = said
		}
	}
	if strictest.Effect == "" {
		strictest = byHints(q)
		trace = append(trace, strictest)
	}
	d := Decision{Effect: strictest.Effect, Rule: strictest.Rule, Layer: strictest.Layer, Source: strictest.Source,
		Reason: strictest.Reason, Trace: trace}
	switch {
	case d.Reason == "":
		d.Reason = strictest.Note // such as that the rule's condition failed
	case strictest.Note != "":
		d.Reason += " (" + strictest.Note + ")"
	}
	return d
}

// speak gives what the layer has to say, with Effect "" for nothing, and what its rules came to. What a rule only may
// say stays as the least that is said, and the rules after it are asked as well.
func (l *Layer) speak(q *Query) (said Step, steps []Step) {
	for i := range l.Rules {
		if !l.Rules[i].concerns(q) {
			continue
		}
		step := l.Rules[i].apply(q)
		step.Layer = l.Name
		if step.Effect == Allow && l.TightenOnly {
			step.Effect, step.Note = "", "would allow, but this configuration is not trusted to: it can only make rules stricter"
		}
		steps = append(steps, step)
		if step.Effect.Stricter(said.Effect) {
			said = step
		}
		if step.Matched {
			break
		}
	}
	return said, steps
}

// LooksAtPaths says whether a rule about the tool looks at the paths that its calls name, so that the decision on a
// folder and those on what is in it may differ.
func (p *Policy) LooksAtPaths(q *Query) bool {
	return slices.ContainsFunc(p.layers, func(l Layer) bool {
		return slices.ContainsFunc(l.Rules, func(r Rule) bool { return r.Paths && r.concerns(q) && r.differs(q) == "" })
	})
}

// Hides says whether a tool is denied whatever its arguments and whoever calls, so that nobody need be offered it.
func (p *Policy) Hides(q *Query) bool {
	return slices.ContainsFunc(p.layers, func(l Layer) bool { return l.hides(q) })
}

// hides looks for the first rule that may match: behind one that depends on the call nothing is sure.
func (l *Layer) hides(q *Query) bool {
	for _, r := range l.Rules {
		switch {
		case !r.concerns(q):
		case len(r.Callers) > 0:
			return false
		case r.differs(q) != "":
		default:
			return r.Effect == Deny && r.When == nil
		}
	}
	return false
}

// ByHints is the layer of a decision that no rule made.
const ByHints = "hints"

// byHints decides when no layer has: the hints of a tool are its plugin's word.
func byHints(q *Query) Step {
	if isTrue(q.Hints.ReadOnly) {
		return Step{Layer: ByHints, Rule: "read_only", Matched: true, Effect: Allow,
			Reason: "the tool only reads, says its plugin"}
	}
	return Step{Layer: ByHints, Rule: "not_read_only", Matched: true, Effect: Ask,
		Reason: "the tool may change something, and no rule speaks of it"}
}

func isTrue(b *bool) bool { return b != nil && *b }
