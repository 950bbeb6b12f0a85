// Package policy decides whether a call may run: rules and a query in, a decision with its trace out. It uses no files,
// clock or network, so the same query always gets the same decision.
//
// Rules are in layers, such as the user's and the project's. In each layer the first rule that matches gives the
// layer's effect; of the layers the strictest wins, whatever their order. When no layer has an effect, the tool's own
// hints decide: a tool that only reads may run, for others a person is asked. Anything that is unknown is treated as if
// it were dangerous.
package policy

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A Policy is a set of layers, checked. It is safe for concurrent use.
type Policy struct {
	layers []Layer
	byTool sync.Map // by a tool's name, a []Layer with the rules that are about it: most are about others
	tools  atomic.Int64
}

// maxTools is for how many tools a Policy keeps which rules are about them: a server may list ever new ones.
const maxTools = 10_000

// A Layer is an ordered list of rules by one author.
type Layer struct {
	// Name is such as "user". Two layers may have one name; "hints" is reserved for ByHints.
	Name string
	// TightenOnly ignores the layer's allow: its author is not trusted to loosen.
	TightenOnly bool
	Rules       []Rule
}

// New checks the rules and copies them; the error lists everything that is wrong with them. Without layers the hints
// decide.
func New(layers ...Layer) (*Policy, error) {
	var wrong []error
	for _, l := range layers {
		if l.Name == ByHints {
			wrong = append(wrong, errors.New(`a layer cannot be called "hints", the name for decisions that no rule made`))
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
			r.Tools, r.Callers, r.Names = slices.Clone(r.Tools), slices.Clone(r.Callers), slices.Clone(r.Names)
			r.Categories, r.CostTiers = slices.Clone(r.Categories), slices.Clone(r.CostTiers)
		}
	}
	return &Policy{layers: own}, nil
}

// about returns the layers with the rules that are about a tool alone.
func (p *Policy) about(tool string) []Layer {
	if found, ok := p.byTool.Load(tool); ok {
		return found.([]Layer)
	}
	list := slices.Clone(p.layers)
	for i, l := range p.layers {
		list[i].Rules = slices.DeleteFunc(slices.Clone(l.Rules), func(r Rule) bool { return !r.concerns(tool) })
	}
	if p.tools.Load() < maxTools {
		p.tools.Add(1)
		p.byTool.Store(strings.Clone(tool), list)
	}
	return list
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

// Decide returns the decision on a call.
func (p *Policy) Decide(q *Query) Decision {
	var strictest Step
	var trace []Step
	layers := p.about(q.Tool)
	if !q.Brief {
		n := 1
		for i := range layers {
			n += len(layers[i].Rules)
		}
		trace = make([]Step, 0, n)
	}
	for i := range layers {
		var step Step
		step, trace = layers[i].decide(q, trace)
		if step.Effect.Stricter(strictest.Effect) {
			strictest = step
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
		d.Reason = strictest.cause()
	}
	return d
}

// cause says why a rule has an effect although it is not known to match: the rule's own reason may have nothing to do
// with the call, and so comes last.
func (s *Step) cause() string {
	note := strings.Replace(s.Note, "its condition", "the condition of a rule", 1)
	return fmt.Sprintf("%s (rule %q: %s)", note, s.Rule, s.Reason)
}

// decide returns the step that decides for the layer, with Effect "" for none, and the trace with the steps of its
// rules. An effect without a match is the least that holds, and the rules after it are
// evaluated too.
func (l *Layer) decide(q *Query, trace []Step) (decisive Step, _ []Step) {
	for i := range l.Rules {
		step := l.Rules[i].apply(q)
		step.Layer = l.Name
		if step.Effect == Allow && l.TightenOnly {
			step.Effect, step.Note = "", "would allow, but this configuration is not trusted to: it can only make rules stricter"
		}
		if !q.Brief || step.Matched || step.Effect != "" {
			trace = append(trace, step)
		}
		if step.Effect.Stricter(decisive.Effect) {
			decisive = step
		}
		if step.Matched {
			break
		}
	}
	return decisive, trace
}

// LooksAtPaths reports whether a rule about the tool depends on the paths that a call names, so that the decision on
// a folder and those on its content may differ.
func (p *Policy) LooksAtPaths(q *Query) bool {
	for _, l := range p.about(q.Tool) {
		for i := range l.Rules { // a Rule is large to copy
			if r := &l.Rules[i]; r.Paths && r.differs(q) == "" {
				return true
			}
		}
	}
	return false
}

// Hides reports whether a tool is denied for all arguments and callers, so that it need not be listed.
func (p *Policy) Hides(q *Query) bool {
	return slices.ContainsFunc(p.about(q.Tool), func(l Layer) bool { return l.hides(q) })
}

// hides looks at the first rule that may match; rules after one that depends on the call are not certain to apply.
func (l *Layer) hides(q *Query) bool {
	for _, r := range l.Rules {
		switch {
		case len(r.Callers) > 0:
			return false
		case r.differs(q) != "", r.Effect != Deny && !r.Hints.in(q.Hints):
		default:
			return r.Effect == Deny && r.When == nil
		}
	}
	return false
}

// The layers of decisions that no configured rule made.
const (
	ByHints = "hints" // the tool's own hints
	Floor   = "floor" // what toolhost denies whatever rules and people allow
)

// byHints decides when no layer does.
func byHints(q *Query) Step {
	if isTrue(q.Hints.ReadOnly) {
		return Step{Layer: ByHints, Rule: "read_only", Matched: true, Effect: Allow,
			Reason: "the tool is marked read-only by its plugin"}
	}
	s := Step{Layer: ByHints, Rule: "not_read_only", Matched: true, Effect: Ask,
		Reason: "the tool may change something, and no rule matches"}
	if isTrue(q.Unbelieved.ReadOnly) {
		s.Reason = "the tool is marked read-only by a server that is not trusted to say so, and no rule matches; " +
			"trust_hints = true in the block of its plugin believes it"
	}
	return s
}

func isTrue(b *bool) bool { return b != nil && *b }

// AskFor makes a layer that asks about the tools that match one of the patterns, and allows all others.
func AskFor(tools ...string) Layer {
	const none = "" // matches no tool, where an empty list would stand for all
	return Layer{Name: "session", Rules: []Rule{
		{Name: "listed", Tools: append([]string{none}, tools...), Effect: Ask, Reason: "the tool is listed for approval"},
		{Name: "others", Effect: Allow},
	}}
}
