package policy_test

import (
	"errors"
	"testing"

	"github.com/toolhost/toolhost/host/policy"
)

// Each plain condition, and what the trace says when it does not hold. The rule denies; without it a person is asked.
func TestConditions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*policy.Rule)
		note   string // "" when the rule matches
	}{
		{"none", func(*policy.Rule) {}, ""},
		{"the tool's name", func(r *policy.Rule) { r.Tools = []string{"p__run"} }, ""},
		{"one of several patterns", func(r *policy.Rule) { r.Tools = []string{"q__*", "p__r?n"} }, ""},
		{"all tools of all plugins", func(r *policy.Rule) { r.Tools = []string{"*"} }, ""},
		{"a hint that is the same", func(r *policy.Rule) { r.Hints.Destructive = new(true) }, ""},
		{"a hint that differs", func(r *policy.Rule) { r.Hints.Destructive = new(false) }, "the tool's hints differ"},
		{"a hint that is not told", func(r *policy.Rule) { r.Hints.ReadOnly = new(false) }, "the tool's hints differ"},
		{"hints of which one differs",
			func(r *policy.Rule) { r.Hints = policy.Hints{Destructive: new(true), Idempotent: new(true)} },
			"the tool's hints differ"},
		{"a hint of the world that differs", func(r *policy.Rule) { r.Hints.OpenWorld = new(true) },
			"the tool's hints differ"},
		{"the category", func(r *policy.Rule) { r.Categories = []string{"net", "files"} }, ""},
		{"another category", func(r *policy.Rule) { r.Categories = []string{"net"} }, `the tool's category is "files"`},
		{"categories are no patterns", func(r *policy.Rule) { r.Categories = []string{"*"} },
			`the tool's category is "files"`},
		{"the cost tier", func(r *policy.Rule) { r.CostTiers = []string{"free"} }, ""},
		{"another cost tier", func(r *policy.Rule) { r.CostTiers = []string{"high"} }, `the tool's cost tier is "free"`},
		{"the caller", func(r *policy.Rule) { r.Callers = []string{"x", "ag*"} }, ""},
		{"another caller", func(r *policy.Rule) { r.Callers = []string{"agent?"} }, `the caller is "agent"`},
		{"the arguments", func(r *policy.Rule) { r.When = argumentIs("path", `"a"`) }, ""},
		{"other arguments", func(r *policy.Rule) { r.When = argumentIs("path", `"b"`) }, "its condition does not hold"},
		{"all hold but one", func(r *policy.Rule) {
			r.Callers, r.Categories, r.CostTiers = []string{"agent"}, []string{"files"}, []string{"high"}
		}, `the tool's cost tier is "free"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := rule("r", policy.Deny)
			c.change(&r)
			q := query()
			q.Hints = policy.Hints{Destructive: new(true), Idempotent: new(false), OpenWorld: new(false)}
			d := decide(t, q, layer("user", r))
			if s := stepOf(t, d, "r"); s.Note != c.note || s.Matched != (c.note == "") ||
				(d.Effect == policy.Deny) != s.Matched {
				t.Errorf("decision %+v", d)
			}
		})
	}
}

func argumentIs(name, text string) func(*policy.Query) (policy.Truth, error) {
	return func(q *policy.Query) (policy.Truth, error) {
		if string(q.Argument(name)) == text {
			return policy.Yes, nil
		}
		return policy.No, nil
	}
}

func TestToolPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		glob, tool string
		want       bool
	}{
		{"p__*", "p__run", true}, {"p__*", "pp__run", false}, {"p__*", "p__", true}, {"*__run", "p__run", true},
		{"p__run", "p__running", false},
		{"p__run", "P__run", false}, {"p__[rs]un", "p__sun", true}, {"p__[^rs]un", "p__sun", false}, {"", "p__run", false},
	} {
		q := query()
		q.Tool = c.tool
		if d := decide(t, q, layer("user", about(rule("r", policy.Deny), c.glob))); (d.Effect == policy.Deny) != c.want {
			t.Errorf("%q on %q: %+v", c.glob, c.tool, d)
		}
	}
}

// What a condition with each answer makes of each effect, the rules after it, and the hints.
func TestAnswers(t *testing.T) {
	t.Parallel()
	yes, no, unsure := answering(policy.Yes, nil), answering(policy.No, nil), answering(policy.Unsure, nil)
	failing, strange := answering(policy.Yes, errors.New("no such thing")), answering(policy.Truth(7), nil)
	said, judged := func(e policy.Effect) policy.Rule { return rule("r", e) },
		func(e policy.Effect) policy.Rule { return judging("r", e) }
	for _, c := range []struct {
		name    string
		rule    policy.Rule
		when    condition
		want    policy.Effect // with nothing behind the rule, and a tool that only reads
		matched bool
	}{
		{"allow, yes", said(policy.Allow), yes, policy.Allow, true},
		{"allow, no", said(policy.Allow), no, "", false},
		{"allow, unsure", said(policy.Allow), unsure, "", false},
		{"allow, no answer there is", said(policy.Allow), strange, "", false},
		{"allow, error", said(policy.Allow), failing, "", false},
		{"allow, panic", said(policy.Allow), panicking, "", false},
		{"ask, yes", said(policy.Ask), yes, policy.Ask, true},
		{"ask, no", said(policy.Ask), no, "", false},
		{"ask, unsure", said(policy.Ask), unsure, policy.Ask, false},
		{"ask, error", said(policy.Ask), failing, policy.Ask, false},
		{"ask, panic", said(policy.Ask), panicking, policy.Ask, false},
		{"deny, yes", said(policy.Deny), yes, policy.Deny, true},
		{"deny, no", said(policy.Deny), no, "", false},
		{"deny, unsure", said(policy.Deny), unsure, policy.Ask, false},
		{"deny, no answer there is", said(policy.Deny), strange, policy.Ask, false},
		{"deny, error", said(policy.Deny), failing, policy.Deny, true},
		{"deny, panic", said(policy.Deny), panicking, policy.Deny, true},
		{"a judge's allow, yes", judged(policy.Allow), yes, policy.Allow, true},
		{"a judge's allow, no", judged(policy.Allow), no, "", false},
		{"a judge's allow, unsure", judged(policy.Allow), unsure, policy.Ask, false},
		{"a judge's allow, error", judged(policy.Allow), failing, policy.Ask, false},
		{"a judge's ask, unsure", judged(policy.Ask), unsure, policy.Ask, false},
		{"a judge's ask, error", judged(policy.Ask), failing, policy.Ask, false},
		{"a judge's deny, yes", judged(policy.Deny), yes, policy.Deny, true},
		{"a judge's deny, unsure", judged(policy.Deny), unsure, policy.Deny, false},
		{"a judge's deny, error", judged(policy.Deny), failing, policy.Deny, true},
		{"a judge's silence, yes", judged(""), yes, "", false},
		{"a judge's silence, unsure", judged(""), unsure, "", false},
		{"a judge's silence, error", judged(""), failing, policy.Ask, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.rule.When = c.when
			for _, next := range []policy.Effect{"", policy.Allow, policy.Ask, policy.Deny} {
				rules := []policy.Rule{c.rule, rule("next", next)}
				if next == "" {
					rules = rules[:1]
				}
				checkAnswer(t, rules, c.want, c.matched, next)
			}
		})
	}
}

// checkAnswer checks what the first rule came to, and that the next one is asked if and only if the first did not
// match.
func checkAnswer(t *testing.T, rules []policy.Rule, want policy.Effect, matched bool, next policy.Effect) {
	t.Helper()
	q := query()
	q.Hints.ReadOnly = new(true)
	d := decide(t, q, layer("user", rules...))
	if s := stepOf(t, d, "r"); s.Effect != want || s.Matched != matched {
		t.Errorf("then %q: step %+v", next, s)
	}
	all := want
	if !matched {
		all = policy.Strictest(want, next)
	}
	if all == "" {
		all = policy.Allow // the hint
	}
	if d.Effect != all {
		t.Errorf("then %q: decision %+v", next, d)
	}
}

type condition = func(*policy.Query) (policy.Truth, error)

func answering(answer policy.Truth, err error) condition {
	return func(*policy.Query) (policy.Truth, error) { return answer, err }
}

func panicking(*policy.Query) (policy.Truth, error) { panic("oops") }
