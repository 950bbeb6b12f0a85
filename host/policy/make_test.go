package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/policy"
)

// query is a call of p__run, on behalf of no one.
func query() *policy.Query {
	return &policy.Query{Tool: "p__run", Plugin: "p", Category: "files", CostTier: "free", Caller: "agent",
		Arguments: json.RawMessage(`{"path":"a","effect":"ask"}`), Workdir: "/w",
		Properties: map[string]bool{"path": true, "effect": true}}
}

func layers(l ...policy.Layer) []policy.Layer { return l }

func layer(name string, rules ...policy.Rule) policy.Layer {
	return policy.Layer{Name: name, Rules: rules}
}

func rule(name string, e policy.Effect) policy.Rule {
	return policy.Rule{Name: name, Effect: e, Reason: "because of " + name}
}

// judging is a rule with a judge who always says e.
func judging(name string, e policy.Effect) policy.Rule {
	return policy.Rule{Name: name, Reason: "because of " + name, Judge: func(*policy.Query) (policy.Judgement, error) {
		return policy.Judgement{Effect: e, Reason: "seen"}, nil
	}}
}

func about(r policy.Rule, tools ...string) policy.Rule {
	r.Tools = tools
	return r
}

func sourced(r policy.Rule, source string) policy.Rule {
	r.Source = source
	return r
}

func when(r policy.Rule, answer policy.Truth) policy.Rule {
	r.When = func(*policy.Query) (policy.Truth, error) { return answer, nil }
	return r
}

func never(r policy.Rule) policy.Rule { return when(r, policy.No) }

func decide(t *testing.T, q *policy.Query, l ...policy.Layer) policy.Decision {
	t.Helper()
	p, err := policy.New(l...)
	if err != nil {
		t.Fatal(err)
	}
	return p.Decide(q)
}

// traced names the rules in a trace, with a "+" behind those that matched.
func traced(d policy.Decision) string {
	var names []string
	for _, s := range d.Trace {
		if s.Matched {
			s.Rule += "+"
		}
		names = append(names, s.Rule)
	}
	return strings.Join(names, " ")
}

func stepOf(t *testing.T, d policy.Decision, rule string) policy.Step {
	t.Helper()
	for _, s := range d.Trace {
		if s.Rule == rule {
			return s
		}
	}
	t.Fatalf("no rule %q in the trace %+v", rule, d.Trace)
	return policy.Step{}
}
