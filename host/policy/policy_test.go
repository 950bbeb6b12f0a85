package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/policy"
)

// What several layers with several rules come to.
func TestDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		layers       []policy.Layer
		effect       policy.Effect
		layer, rule  string
		traced       string // the rules in the trace, a "+" behind those that matched
		readOnlyTool bool
	}{
		{"nothing is said of a tool that only reads", nil, policy.Allow, "hints", "read_only", "read_only+", true},
		{"nothing is said of a tool that does not tell", nil, policy.Ask, "hints", "not_read_only", "not_read_only+", false},
		{"rules for other tools leave no trace", layers(layer("user", about(rule("a", policy.Deny), "q__*"))),
			policy.Ask, "hints", "not_read_only", "not_read_only+", false},
		{"one rule", layers(layer("user", rule("a", policy.Allow))), policy.Allow, "user", "a", "a+", false},
		{"a rule is stronger than a hint", layers(layer("user", rule("a", policy.Deny))), policy.Deny, "user", "a", "a+",
			true},
		{"the first match of a layer, though a later one is stricter",
			layers(layer("user", rule("a", policy.Allow), rule("b", policy.Deny))),
			policy.Allow, "user", "a", "a+", false},
		{"the first match of a layer, though an earlier rule is stricter",
			layers(layer("user", never(rule("a", policy.Deny)), rule("b", policy.Allow))),
			policy.Allow, "user", "b", "a b+", false},
		{"the strictest layer, first",
			layers(layer("user", rule("a", policy.Deny)), layer("project", rule("b", policy.Allow))),
			policy.Deny, "user", "a", "a+ b+", false},
		{"the strictest layer, last", layers(layer("user", rule("a", policy.Allow)), layer("project", rule("b", policy.Ask))),
			policy.Ask, "project", "b", "a+ b+", false},
		{"the first of equally strict layers tells why",
			layers(layer("user", rule("a", policy.Ask)), layer("project", rule("b", policy.Ask))),
			policy.Ask, "user", "a", "a+ b+", false},
		{"two layers of one name", layers(layer("user", rule("a", policy.Allow)), layer("user", rule("b", policy.Deny))),
			policy.Deny, "user", "b", "a+ b+", false},
		{"a layer without a match is silent",
			layers(layer("user", never(rule("a", policy.Deny))), layer("project", rule("b", policy.Allow))),
			policy.Allow, "project", "b", "a b+", false},
		{"no layer has a match", layers(layer("user", never(rule("a", policy.Deny)))), policy.Ask, "hints", "not_read_only",
			"a not_read_only+", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := query()
			if c.readOnlyTool {
				q.Hints.ReadOnly = new(true)
			}
			d := decide(t, q, c.layers...)
			if d.Effect != c.effect || d.Layer != c.layer || d.Rule != c.rule || d.Reason == "" {
				t.Errorf("decision %+v", d)
			}
			if got := traced(d); got != c.traced {
				t.Errorf("trace %q, not %q", got, c.traced)
			}
		})
	}
}

func TestHintsDecideWhenNoLayerDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		hints policy.Hints
		want  policy.Effect
	}{
		{"nothing noted", policy.Hints{}, policy.Ask},
		{"only reads", policy.Hints{ReadOnly: new(true)}, policy.Allow},
		{"does not only read", policy.Hints{ReadOnly: new(false)}, policy.Ask},
		{"other hints do not loosen", policy.Hints{Destructive: new(false), Idempotent: new(true), OpenWorld: new(false)},
			policy.Ask},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			q := query()
			q.Hints = c.hints
			if d := decide(t, q); d.Effect != c.want || d.Layer != "hints" {
				t.Errorf("decision %+v", d)
			}
		})
	}
}

// An author who is not trusted to loosen: allow counts for nothing, but is still the first match of its layer.
func TestTightenOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		rules  []policy.Rule
		others []policy.Layer
		want   policy.Effect
	}{
		{"allow leaves it to the hints", []policy.Rule{rule("a", policy.Allow)}, nil, policy.Ask},
		{"a judge's allow leaves it to the hints", []policy.Rule{judging("a", policy.Allow)}, nil, policy.Ask},
		{"allow leaves another layer's ask", []policy.Rule{rule("a", policy.Allow)},
			layers(layer("user", rule("b", policy.Ask))), policy.Ask},
		{"allow leaves another layer's allow", []policy.Rule{rule("a", policy.Allow)},
			layers(layer("user", rule("b", policy.Allow))), policy.Allow},
		{"ask tightens another layer's allow", []policy.Rule{rule("a", policy.Ask)},
			layers(layer("user", rule("b", policy.Allow))), policy.Ask},
		{"deny tightens", []policy.Rule{rule("a", policy.Deny)}, layers(layer("user", rule("b", policy.Allow))), policy.Deny},
		{"an exception to the layer's own deny", []policy.Rule{rule("a", policy.Allow), rule("b", policy.Deny)}, nil,
			policy.Ask},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tight := policy.Layer{Name: "project", TightenOnly: true, Rules: c.rules}
			d := decide(t, query(), append(c.others, tight)...)
			if d.Effect != c.want {
				t.Errorf("decision %+v", d)
			}
			if said := stepOf(t, d, "a"); (said.Effect == "") != strings.Contains(said.Note, "not trusted") {
				t.Errorf("step %+v", said)
			}
		})
	}
}

// The whole of a trace, as people see it.
func TestTrace(t *testing.T) {
	t.Parallel()
	cheap := sourced(rule("cheap", policy.Deny), "config.hcl:3")
	cheap.CostTiers = []string{"cheap"}
	user := layer("user", cheap, sourced(when(rule("ask", policy.Ask), policy.Unsure), "config.hcl:7"),
		sourced(rule("free", policy.Allow), "config.hcl:9"),
		rule("not reached", policy.Deny))
	project := policy.Layer{Name: "project", TightenOnly: true, Rules: []policy.Rule{rule("all", policy.Allow)}}
	want := policy.Decision{Effect: policy.Ask, Rule: "ask", Layer: "user", Source: "config.hcl:7",
		Reason: `whether the condition of a rule holds is only known when the call runs (rule "ask": because of ask)`,
		Trace: []policy.Step{
			{Layer: "user", Rule: "cheap", Source: "config.hcl:3", Note: `the tool's cost tier is "free"`},
			{Layer: "user", Rule: "ask", Source: "config.hcl:7", Effect: policy.Ask, Reason: "because of ask",
				Note: "whether its condition holds is only known when the call runs"},
			{Layer: "user", Rule: "free", Source: "config.hcl:9", Matched: true, Effect: policy.Allow,
				Reason: "because of free"},
			{Layer: "project", Rule: "all", Matched: true, Reason: "because of all",
				Note: "would allow, but this configuration is not trusted to: it can only make rules stricter"},
		}}
	if diff := cmp.Diff(want, decide(t, query(), user, project)); diff != "" {
		t.Error(diff)
	}
}

// Whatever a server that is not trusted says of a tool, the decision is at least as strict as if it said nothing; a rule
// that asks or denies by what it says holds.
func TestForeignHintsOnlyTighten(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	effects := []policy.Effect{policy.Allow, policy.Ask, policy.AlwaysAsk, policy.Deny}
	all := []policy.Hints{{}, {Destructive: &yes}, {ReadOnly: &yes}, {ReadOnly: &no, OpenWorld: &no}}
	for _, first := range effects {
		for _, second := range effects {
			for _, of := range all {
				for _, said := range all {
					one, other := rule("one", first), rule("other", second)
					one.Hints = of
					silent, q := query(), query()
					q.Unbelieved = said
					without, with := decide(t, silent, layer("user", one, other)), decide(t, q, layer("user", one, other))
					least := without.Effect
					if of != (policy.Hints{}) && of == said && first != policy.Allow {
						least = policy.Strictest(first, least)
					}
					if with.Effect != least {
						t.Errorf("%s by %+v, then %s: %s for %+v, and %s without", first, of, second, with.Effect, said,
							without.Effect)
					}
					p, err := policy.New(layer("user", one, other))
					if err != nil {
						t.Fatal(err)
					}
					if p.Hides(q) && with.Effect != policy.Deny || !p.Hides(q) && p.Hides(silent) {
						t.Errorf("%s by %+v, then %s: hidden %v for %+v", first, of, second, p.Hides(q), said)
					}
				}
			}
		}
	}
}

// The reason of a rule that is not known to match comes after what made it count.
func TestCauseComesFirst(t *testing.T) {
	t.Parallel()
	push := rule("push", policy.Deny)
	push.Reason = "force pushes are made by people"
	unsure, failing, judged := when(push, policy.Unsure), push, judging("push", policy.Allow)
	failing.When = func(*policy.Query) (policy.Truth, error) {
		return policy.No, errors.New("it is longer than 16384 bytes")
	}
	judged.Judge = func(*policy.Query) (policy.Judgement, error) { return policy.Judgement{}, errors.New("too long") }
	judged.Reason = push.Reason
	silent := failing
	silent.Reason = ""
	for name, c := range map[string]struct {
		rule policy.Rule
		want string
	}{
		"a match": {push, "force pushes are made by people"},
		"unsure": {unsure, "whether the condition of a rule holds is only known when the call runs " +
			`(rule "push": force pushes are made by people)`},
		"failed": {failing, "the condition of a rule failed: it is longer than 16384 bytes " +
			`(rule "push": force pushes are made by people)`},
		"not judged":            {judged, `it could not be judged: too long (rule "push": force pushes are made by people)`},
		"failed without reason": {silent, "its condition failed: it is longer than 16384 bytes"},
	} {
		if d := decide(t, query(), layer("user", c.rule)); d.Reason != c.want {
			t.Errorf("%s: %q, want %q", name, d.Reason, c.want)
		}
	}
}

func TestNewReportsEveryMistake(t *testing.T) {
	t.Parallel()
	callers := rule("callers", policy.Allow)
	callers.Callers = []string{"fine", `\`}
	both := judging("both", policy.Allow)
	both.Effect = policy.Allow
	bogus := judging("bogus beside a judge", policy.Allow)
	bogus.Effect = "perhaps"
	_, err := policy.New(
		layer("user", rule("fine", policy.Ask), rule("no effect", ""), rule("bogus", "Deny"), both, bogus),
		layer("project", about(rule("tools", policy.Deny), "p__*", "[", "*x[a"), callers), layer("hints"))
	want := []string{
		`layer "user", rule "no effect": it needs an effect (allow, ask, always_ask, deny) or a Judge, and not both; the ` +
			`effect is ""`,
		`layer "user", rule "bogus": it needs an effect (allow, ask, always_ask, deny) or a Judge, and not both; the ` +
			`effect is "Deny"`,
		`layer "user", rule "both": it needs an effect (allow, ask, always_ask, deny) or a Judge, and not both; the effect ` +
			`is "allow"`,
		`layer "user", rule "bogus beside a judge": it needs an effect (allow, ask, always_ask, deny) or a Judge, and not ` +
			`both; the effect is "perhaps"`,
		`layer "project", rule "tools": the pattern "[" is not well formed`,
		`layer "project", rule "callers": the pattern "\\" is not well formed`,
		`a layer cannot be called "hints", the name for decisions that no rule made`,
	}
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

// Every pattern that New lets through can be matched, and those it refuses are reported.
func TestPatternsAreCheckedToTheirEnd(t *testing.T) {
	t.Parallel()
	for glob, fine := range map[string]bool{"": true, "*": true, "p__*": true, "p__[a-z]?": true, `p\__x`: true,
		"[": false, "[]": false, "p__[a-": false, "*x[": false, "a*b*[^": false, `p__\`: false, "zzz[b-]": false} {
		_, err := policy.New(layer("user", about(rule("a", policy.Deny), glob)))
		if (err == nil) != fine {
			t.Errorf("%q: error %v", glob, err)
		}
	}
}

func TestLayersAreCopied(t *testing.T) {
	t.Parallel()
	given := layers(layer("user", rule("a", policy.Deny)))
	p, err := policy.New(given...)
	if err != nil {
		t.Fatal(err)
	}
	given[0] = layer("user", rule("b", policy.Allow))
	if d := p.Decide(query()); d.Effect != policy.Deny {
		t.Errorf("decision %+v", d)
	}
}

func TestAskFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listed []string
		want   policy.Effect
	}{{nil, policy.Allow}, {[]string{"p__run"}, policy.Ask}, {[]string{"p__*"}, policy.Ask},
		{[]string{"p__list"}, policy.Allow}} {
		if d := decide(t, query(), policy.AskFor(c.listed...)); d.Effect != c.want {
			t.Errorf("%q: %+v", c.listed, d)
		}
	}
}

// What is done to the rules after New changes nothing.
func TestRulesAreCopied(t *testing.T) {
	layer := policy.Layer{Name: "user",
		Rules: []policy.Rule{{Name: "never", Tools: []string{"a__*"}, Callers: []string{"cli"}, Effect: policy.Deny}}}
	p, err := policy.New(layer)
	if err != nil {
		t.Fatal(err)
	}
	layer.Rules[0].Tools[0], layer.Rules[0].Callers[0], layer.Rules[0].Effect = "b__*", "nobody", policy.Allow
	if d := p.Decide(&policy.Query{Tool: "a__b", Caller: "cli", Arguments: []byte(`{}`)}); d.Effect != policy.Deny {
		t.Errorf("decision %+v", d)
	}
}

// Which rules are about a tool is kept for some tools; the decision is the same for all others.
func TestDecisionsOnManyTools(t *testing.T) {
	t.Parallel()
	p, err := policy.New(policy.Layer{Name: "user", Rules: []policy.Rule{
		{Name: "odd", Tools: []string{"p__*[13579]"}, Effect: policy.Deny},
		{Name: "even", Tools: []string{"p__*[02468]"}, Effect: policy.Allow}}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for i := range 12_000 {
			q := policy.Query{Tool: fmt.Sprint("p__", i)}
			want := []policy.Effect{policy.Allow, policy.Deny}[i%2]
			if d := p.Decide(&q); d.Effect != want || len(d.Trace) != 1 || p.Hides(&q) != (want == policy.Deny) {
				t.Fatalf("%s: %+v", q.Tool, d)
			}
		}
	}
}
