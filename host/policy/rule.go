package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Rule gives the calls that it matches an effect. All conditions must hold; an empty one always does.
type Rule struct {
	Name string
	// Source is where the rule is written, such as "config.hcl:12".
	Source string
	// Tools are patterns of full tool names, in the form of path.Match; one must match.
	Tools []string
	// Hints that are set must be set by the tool, to the same value.
	Hints Hints
	// Categories and CostTiers must contain the tool's.
	Categories, CostTiers []string
	// Callers are patterns of the caller's name, in the same form: a star ends at a slash.
	Callers []string
	// When is a condition on the call.
	When func(*Query) (Truth, error)
	// Paths says that When depends on the paths that a call names.
	Paths bool
	// Names are the arguments that When and Judge use: a name that no tool of the plugin has is an error.
	Names []string

	// Effect is the rule's effect, unless it has a Judge.
	Effect Effect
	// Judge returns the effect for a call. A judgement without an effect is no match.
	Judge func(*Query) (Judgement, error)
	// Reason is for the model and for people.
	Reason string
}

// Truth is the result of a condition.
type Truth int

// The three results. Unsure is for what is only known when the call runs: it counts against the call.
const (
	No Truth = iota
	Yes
	Unsure
)

// A Judgement is the result of a rule's Judge. Its Reason precedes the rule's own.
type Judgement struct {
	Effect Effect
	Reason string
}

// Hints are the hints of a tool, as in sdk.Hints; nil is not set.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld *bool }

// concerns reports whether the rule is about this tool; other rules leave no trace.
func (r *Rule) concerns(tool string) bool {
	return len(r.Tools) == 0 || matchesAny(r.Tools, tool)
}

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
	judgement, failed := r.judge(q)
	s.Effect, s.Reason = judgement.Effect, judgement.Reason
	s.Matched = s.Effect != ""
	switch {
	case failed != nil:
		s.Matched, s.Effect, s.Note = true, Deny, "it could not be judged: "+failed.Error()
	case err != nil:
		s.fail(r, "its condition failed: "+err.Error())
	case truth != Yes:
		q.unsure = q.unsure || r.Paths
		s.unsure(r)
	case !s.Matched:
		s.Note = "it does not apply to this call"
	case !r.Hints.in(q.Hints): // a server must not end the layer before a stricter rule
		s.Matched = false
		s.Note = "the tool's hints are those of a server that is not trusted, and can only make a decision stricter"
	}
	return s
}

// fail is for a condition that ended with an error: deny matches, a plain allow has no effect, and all else asks at
// least. Only a deny ends the layer, so that a condition made to fail does not hide the rules after it.
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

// unsure is for a condition that is unknown: at least ask, and the rules after it are evaluated too.
func (s *Step) unsure(r *Rule) {
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

// differs names the first of the rule's conditions on the tool and the caller that does not hold, or "".
func (r *Rule) differs(q *Query) string {
	switch {
	case !r.Hints.in(q.Hints) && (!r.Effect.Stricter(Allow) || !r.Hints.in(q.Unbelieved)):
		if r.Hints.in(q.Unbelieved) {
			return "the tool's hints are those of a server that is not trusted (trust_hints = true in the block of its plugin " +
				"believes them)"
		}
		return "the tool's hints differ"
	case len(r.Categories) > 0 && !slices.Contains(r.Categories, q.Category):
		return fmt.Sprintf("the tool's category is %q", q.Category)
	case len(r.CostTiers) > 0 && !slices.Contains(r.CostTiers, q.CostTier):
		return fmt.Sprintf("the tool's cost tier is %q", q.CostTier)
	case len(r.Callers) > 0 && !matchesAny(r.Callers, q.Caller) && (q.Via == "" || !matchesAny(r.Callers, q.Via)):
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
		err = fmt.Errorf("%q is not an effect", j.Effect)
	}
	return j, err
}

func caught(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("a panic: %v", cause)
	}
}

// misnamed finds an argument that no tool of the plugin has. Only rules for one plugin are checked: one for several may
// name arguments that some do not have.
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

// names reports whether all of the rule's tools are the plugin's.
func (r *Rule) names(plugin string) bool {
	return len(r.Tools) > 0 &&
		!slices.ContainsFunc(r.Tools, func(glob string) bool { return !strings.HasPrefix(glob, plugin+"__") })
}

func matchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return matches(g, name) })
}

// matches is path.Match of a pattern that is well formed. Most patterns differ from most names in a plain byte.
func matches(glob, name string) bool {
	i := 0
	for i < len(glob) && !strings.ContainsRune(`*?[\`, rune(glob[i])) {
		if i == len(name) || glob[i] != name[i] {
			return false
		}
		i++
	}
	ok, err := path.Match(glob[i:], name[i:])
	return ok && err == nil
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// Misnamed returns those of the rule's Names that no tool it is about has. Declared has the arguments of every known
// tool by its full name, nil for a tool that takes any. The result is empty where the rule may be about other tools
// too.
func (r *Rule) Misnamed(declared map[string]map[string]bool) (names []string) {
	own := map[string]bool{}
	known := len(declared) > 0
	seen := map[string]bool{}
	for tool, arguments := range declared {
		if !r.about(tool, seen) {
			continue
		}
		known = known && arguments != nil
		for name := range arguments {
			own[name] = true
		}
	}
	if !known || slices.ContainsFunc(r.Tools, func(glob string) bool { return !seen[glob] }) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Names), func(name string) bool { return own[name] })
}

// about reports whether the rule is about a tool, and marks the patterns that match it.
func (r *Rule) about(tool string, seen map[string]bool) bool {
	is := len(r.Tools) == 0
	for _, glob := range r.Tools {
		if matchesAny([]string{glob}, tool) {
			is, seen[glob] = true, true
		}
	}
	return is
}
