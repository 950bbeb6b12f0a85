package policy_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		{"a hint that is not reported", func(r *policy.Rule) { r.Hints.ReadOnly = new(false) }, "the tool's hints differ"},
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

// The note says why a rule did not match, or has another effect than written; the rule's own reason stays.
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
		{"a judge who says nothing", judging("r", ""), nil, "it does not apply to this call", "seen; because of r"},
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
			`it could not be judged: "yes" is not an effect`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, when := range []condition{nil, answering(policy.Yes, nil), answering(policy.Unsure, nil), panicking} {
				r := policy.Rule{Name: "r", Reason: "because of r", When: when, Judge: c.judge}
				d := decide(t, query(), layer("user", r, rule("b", policy.Allow)), layer("project", rule("c", policy.Allow)))
				want := policy.Step{Layer: "user", Rule: "r", Matched: true, Effect: policy.Deny, Reason: "because of r",
					Note: c.note}
				if diff := cmp.Diff(want, stepOf(t, d, "r")); diff != "" || d.Effect != policy.Deny ||
					d.Reason != c.note+` (rule "r": because of r)` {
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

func TestMisnamedArgumentsOfRules(t *testing.T) {
	t.Parallel()
	declared := map[string]map[string]bool{
		"shell__exec": {"command": true}, "edit__write": {"path": true, "content": true}, "edit__replace": {"path": true},
		"any__thing": nil,
	}
	for name, c := range map[string]struct{ tools, names, want []string }{
		"a name that is there": {[]string{"shell__*"}, []string{"command"}, nil},
		"one that is not": {[]string{"shell__*"}, []string{"comand", "command", "cmd"},
			[]string{"comand", "cmd"}},
		"no name at all":                          {[]string{"shell__*"}, nil, nil},
		"of a tool the rule is not about":         {[]string{"edit__replace"}, []string{"content"}, []string{"content"}},
		"of one of several":                       {[]string{"edit__*", "shell__*"}, []string{"content", "command"}, nil},
		"of none of several":                      {[]string{"edit__*", "shell__*"}, []string{"pth"}, []string{"pth"}},
		"a tool that takes any":                   {[]string{"any__*", "shell__*"}, []string{"x"}, nil},
		"a pattern for what is not here":          {[]string{"shell__*", "web__*"}, []string{"url"}, nil},
		"one pattern twice":                       {[]string{"shell__*", "shell__*"}, []string{"url"}, []string{"url"}},
		"about all tools, one of which takes any": {nil, []string{"url"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := policy.Rule{Tools: c.tools, Names: c.names}
			if d := cmp.Diff(c.want, r.Misnamed(declared)); d != "" && len(c.want)+len(r.Misnamed(declared)) > 0 {
				t.Error(d)
			}
		})
	}
	r := policy.Rule{Names: []string{"url"}}
	if got := r.Misnamed(nil); got != nil {
		t.Errorf("without any tool %q are reported", got)
	}
}
