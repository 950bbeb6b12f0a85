package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Rule says one thing of the calls that it matches. All conditions must hold; one that is empty always does.
type Rule struct {
	Name string
	// Source is where people find the rule, such as "config.hcl:12".
	Source string
	// Tools are patterns of full tool names, in the form of path.Match; one must match.
	Tools []string
	// Hints that are set must be told by the tool, and be the same.
	Hints Hints
	// Categories and CostTiers hold the tool's.
	Categories, CostTiers []string
	// Callers are patterns of the caller's name, in the same form: a star ends at a slash.
	Callers []string
	// When looks at the arguments.
	When func(*Query) (Truth, error)
	// Paths says that When looks at the paths that a call names.
	Paths bool
	// Names are the arguments that When and Judge look at, so that a name which no tool knows is found.
	Names []string

	// Effect is what the rule says, unless it has a Judge.
	Effect Effect
	// Judge finds the effect by looking at the arguments. A judgement without an effect is no match.
	Judge func(*Query) (Judgement, error)
	// Reason is for the model and for people.
	Reason string
}

// Truth is the answer of a condition.
type Truth int

// The three answers. Unsure is for what is only known when the call runs: it counts against the call.
const (
	No Truth = iota
	Yes
	Unsure
)

// A Judgement is what a rule's Judge found. Reason goes before the rule's own.
type Judgement struct {
	Effect Effect
	Reason string
}

// Hints are the hints of a tool; nil is not told. They are those of sdk.Hints.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld *bool }

// concerns says whether the rule is about this tool at all; rules that are not leave no trace.
func (r *Rule) concerns(q *Query) bool {
	return len(r.Tools) == 0 || matchesAny(r.Tools, q.Tool)
}

// apply gives what the rule came to.
func (r *Rule) apply(q *Query) Step {
	s := Step{Rule: r.Name, Source: r.Source}
	if why := r.differs(q); why != "" {
		s.Note = why
		return s
	}
	truth, err := r.when(q)
	if truth == No && err == nil {
		s.Note = "its condition does not hold"
		return s
	}
	said, judged := r.judge(q)
	s.Effect, s.Reason = said.Effect, said.Reason
	s.Matched = s.Effect != ""
	switch {
	case judged != nil:
		s.Matched, s.Effect, s.Note = true, Deny, "it could not be judged: "+judged.Error()
	case err != nil:
		s.fail(r, "its condition failed: "+err.Error())
	case truth != Yes:
		q.unsure = q.unsure || r.Paths
		s.doubt(r)
	case !s.Matched:
		s.Note = "it has nothing to say of this call"
	}
	return s
}

// fail settles a condition that ended with an error: a match for deny, at least ask for all else but a plain allow,
// which it keeps from holding. Only a deny ends the layer: whoever makes a condition fail must not hide a rule behind
// it.
func (s *Step) fail(r *Rule, note string) {
	s.Note = note
	if s.Effect == Deny {
		return
	}
	plainAllow := s.Effect == Allow && r.Judge == nil
	s.Matched, s.Effect = false, Strictest(Ask, s.Effect)
	if plainAllow {
		s.Effect = ""
	}
}

// doubt settles a condition that is not known: at least ask, and other rules may have more to say.
func (s *Step) doubt(r *Rule) {
	s.Note = "whether its condition holds is only known when the call runs"
	switch {
	case s.Effect == Allow && r.Judge == nil:
		s.Effect = ""
	case s.Effect == AlwaysAsk:
	case s.Effect != "" && (r.Judge == nil || s.Effect == Allow):
		s.Effect = Ask
	}
	s.Matched = false
}

// differs tells which of the rule's plain conditions does not hold, or "".
func (r *Rule) differs(q *Query) string {
	switch {
	case !r.Hints.in(q.Hints):
		return "the tool's hints differ"
	case len(r.Categories) > 0 && !slices.Contains(r.Categories, q.Category):
		return fmt.Sprintf("the tool's category is %q", q.Category)
	case len(r.CostTiers) > 0 && !slices.Contains(r.CostTiers, q.CostTier):
		return fmt.Sprintf("the tool's cost tier is %q", q.CostTier)
	case len(r.Callers) > 0 && !matchesAny(r.Callers, q.Caller):
		return fmt.Sprintf("the caller is %q", q.Caller)
	}
	return ""
}

func (h Hints) in(other Hints) bool {
	same := func(want, got *bool) bool { return want == nil || (got != nil && *want == *got) }
	return same(h.ReadOnly, other.ReadOnly) && same(h.Destructive, other.Destructive) &&
		same(h.Idempotent, other.Idempotent) && same(h.OpenWorld, other.OpenWorld)
}

func (r *Rule) when(q *Query) (t Truth, err error) {
	if err := r.misnamed(q); err != nil {
		return No, err
	}
	if r.When == nil {
		return Yes, nil
	}
	defer caught(&err)
	return r.When(q)
}

func (r *Rule) judge(q *Query) (j Judgement, err error) {
	if r.Judge == nil {
		return Judgement{r.Effect, r.Reason}, nil
	}
	defer func() { j.Reason = joined(j.Reason, r.Reason) }() // also after a panic
	defer caught(&err)
	j, err = r.Judge(q)
	if j.Effect != "" && !j.Effect.valid() {
		err = fmt.Errorf("%q is no effect", j.Effect)
	}
	return j, err
}

func caught(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("a panic: %v", cause)
	}
}

// misnamed finds an argument that no tool of the plugin has. It asks only of rules that name the plugin: one for tools
// of many plugins may well name what some do not have.
func (r *Rule) misnamed(q *Query) error {
	if q.Properties == nil || !r.names(q.Plugin) {
		return nil
	}
	for _, n := range r.Names {
		if !q.Properties[n] {
			return fmt.Errorf("no tool of plugin %q has an argument %q", q.Plugin, n)
		}
	}
	return nil
}

// names says whether all of the rule's tools are the plugin's.
func (r *Rule) names(plugin string) bool {
	return len(r.Tools) > 0 &&
		!slices.ContainsFunc(r.Tools, func(glob string) bool { return !strings.HasPrefix(glob, plugin+"__") })
}

func matchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		ok, err := path.Match(g, name)
		return ok && err == nil
	})
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
