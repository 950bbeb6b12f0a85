package policy_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/policy"
)

// Why a rule did not match, or not as it is written, is told in words; the rule's own reason stays.
func TestNotesAndReasons(t *testing.T) {
	t.Parallel()
	deny, judge := rule("r", policy.Deny), judging("r", policy.Ask)
	for _, c := range []struct {
		name         string
		rule         policy.Rule
		when         condition
		note, reason string
	}{
		{"a match", deny, answering(policy.Yes, nil), "", "because of r"},
		{"no condition", deny, nil, "", "because of r"},
		{"no match", deny, answering(policy.No, nil), "its condition does not hold", ""},
		{"unsure", deny, answering(policy.Unsure, nil), "whether its condition holds is only known when the call runs",
			"because of r"},
		{"an error", deny, answering(policy.Yes, errors.New("no such thing")), "its condition failed: no such thing",
			"because of r"},
		{"a no with an error", deny, answering(policy.No, errors.New("no such thing")), "its condition failed: no such thing",
			"because of r"},
		{"a panic", deny, panicking, "its condition failed: a panic: oops", "because of r"},
		{"a judgement", judge, nil, "", "seen; because of r"},
		{"a judgement without a reason", reasoned(judge, ""), nil, "", "seen"},
		{"a judge who says nothing", judging("r", ""), nil, "it has nothing to say of this call", "seen; because of r"},
		{"a judge beside an error", judge, panicking, "its condition failed: a panic: oops", "seen; because of r"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.rule.When = c.when
			if s := stepOf(t, decide(t, query(), layer("user", c.rule)), "r"); s.Note != c.note || s.Reason != c.reason {
				t.Errorf("step %+v", s)
			}
		})
	}
}

func reasoned(r policy.Rule, reason string) policy.Rule {
	r.Reason = reason
	return r
}

// A judge who fails denies, whatever else is said and whatever the condition came to.
func TestFailingJudges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		judge func(*policy.Query) (policy.Judgement, error)
		note  string
	}{
		{"an error", func(*policy.Query) (policy.Judgement, error) { return policy.Judgement{}, errors.New("too long") },
			"it could not be judged: too long"},
		{"an error beside allow", func(*policy.Query) (policy.Judgement, error) {
			return policy.Judgement{Effect: policy.Allow}, errors.New("too long")
		}, "it could not be judged: too long"},
		{"a panic", func(*policy.Query) (policy.Judgement, error) { panic("oops") }, "it could not be judged: a panic: oops"},
		{"an index out of range", func(q *policy.Query) (policy.Judgement, error) {
			return policy.Judgement{Reason: string(q.Argument("path")[9:])}, nil
		}, "it could not be judged: a panic: runtime error: slice bounds out of range [9:3]"},
		{"an effect that there is not",
			func(*policy.Query) (policy.Judgement, error) { return policy.Judgement{Effect: "yes"}, nil },
			`it could not be judged: "yes" is no effect`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, when := range []condition{nil, answering(policy.Yes, nil), answering(policy.Unsure, nil), panicking} {
				r := policy.Rule{Name: "r", Reason: "because of r", When: when, Judge: c.judge}
				d := decide(t, query(), layer("user", r, rule("b", policy.Allow)), layer("project", rule("c", policy.Allow)))
				want := policy.Step{Layer: "user", Rule: "r", Matched: true, Effect: policy.Deny, Reason: "because of r",
					Note: c.note}
				if diff := cmp.Diff(want, stepOf(t, d, "r")); diff != "" || d.Effect != policy.Deny ||
					d.Reason != "because of r ("+c.note+")" {
					t.Errorf("decision %+v; %s", d, diff)
				}
			}
		})
	}
}

// A judge is not asked when the rule does not apply.
func TestJudgesOfOtherCallsAreNotAsked(t *testing.T) {
	t.Parallel()
	r := policy.Rule{Name: "r", Judge: func(*policy.Query) (policy.Judgement, error) { panic("asked") }}
	other := r
	other.Callers = []string{"somebody"}
	if d := decide(t, query(), layer("user", about(r, "q__*"), never(r), other)); d.Effect != policy.Ask ||
		d.Layer != "hints" {
		t.Errorf("decision %+v", d)
	}
}

// A rule that names an argument which no tool of its plugin has is a mistake, and counts against the call.
func TestMisnamedArguments(t *testing.T) {
	t.Parallel()
	const note = `its condition failed: no tool of plugin "p" has an argument "pth"`
	for _, c := range []struct {
		name    string
		rule    policy.Rule
		names   []string
		tools   []string
		unknown bool // what arguments there are
		want    policy.Effect
		matched bool
		note    string
	}{
		{"deny", rule("r", policy.Deny), []string{"path", "pth"}, []string{"p__*"}, false, policy.Deny, true, note},
		{"ask", rule("r", policy.Ask), []string{"pth"}, []string{"p__*"}, false, policy.Ask, false, note},
		{"allow", rule("r", policy.Allow), []string{"pth"}, []string{"p__run", "p__list"}, false, "", false, note},
		{"a judge's allow", judging("r", policy.Allow), []string{"pth"}, []string{"p__*"}, false, policy.Ask, false, note},
		{"a judge's silence", judging("r", ""), []string{"pth"}, []string{"p__*"}, false, policy.Ask, false, note},
		{"a judge's deny", judging("r", policy.Deny), []string{"pth"}, []string{"p__*"}, false, policy.Deny, true, note},
		{"the right names", rule("r", policy.Allow), []string{"path", "effect"}, []string{"p__*"}, false, policy.Allow, true,
			""},
		{"no names", rule("r", policy.Allow), nil, []string{"p__*"}, false, policy.Allow, true, ""},
		{"arguments that are not known", rule("r", policy.Allow), []string{"pth"}, []string{"p__*"}, true, policy.Allow, true,
			""},
		{"a rule for all tools", rule("r", policy.Allow), []string{"pth"}, nil, false, policy.Allow, true, ""},
		{"a rule for two plugins", rule("r", policy.Allow), []string{"pth"}, []string{"p__*", "q__*"}, false, policy.Allow,
			true, ""},
		{"a rule for plugins by pattern", rule("r", policy.Allow), []string{"pth"}, []string{"*__run"}, false, policy.Allow,
			true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.rule.Names, c.rule.Tools = c.names, c.tools
			q := query()
			if c.unknown {
				q.Properties = nil
			}
			if s := stepOf(t, decide(t, q, layer("user", c.rule)), "r"); s.Effect != c.want || s.Matched != c.matched ||
				s.Note != c.note {
				t.Errorf("step %+v", s)
			}
		})
	}
}

// With a plugin that declares no argument at all, every name is wrong; a condition with such a name is not even asked.
func TestMisnamedArgumentsOfAPluginWithoutAny(t *testing.T) {
	t.Parallel()
	r := about(rule("r", policy.Deny), "p__*")
	r.Names, r.When = []string{"path"}, answering(policy.No, nil)
	q := query()
	q.Properties = map[string]bool{}
	if d := decide(t, q, layer("user", r)); d.Effect != policy.Deny {
		t.Errorf("decision %+v", d)
	}
}
