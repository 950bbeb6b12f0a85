package policy_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host/policy"
)

func TestTighten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, said, after policy.Effect }{
		{policy.Allow, "", policy.Allow}, {policy.Allow, policy.Allow, policy.Allow}, {policy.Allow, policy.Ask, policy.Ask},
		{policy.Allow, policy.Deny, policy.Deny},
		{policy.Ask, "", policy.Ask}, {policy.Ask, policy.Allow, policy.Ask}, {policy.Ask, policy.Ask, policy.Ask},
		{policy.Ask, policy.Deny, policy.Deny},
		{policy.Deny, "", policy.Deny}, {policy.Deny, policy.Allow, policy.Deny}, {policy.Deny, policy.Ask, policy.Deny},
		{policy.Deny, policy.Deny, policy.Deny},
		{policy.Allow, "Allow", policy.Deny}, {policy.Ask, "perhaps", policy.Deny},
	} {
		before := decide(t, query(), layer("user", rule("r", c.before)))
		step := policy.Step{Layer: "preview", Rule: "p", Source: "s", Matched: true, Effect: c.said, Reason: "why", Note: "n"}
		after := before.Tighten(step)
		want := before
		if c.after != c.before {
			want = policy.Decision{Effect: c.after, Rule: "p", Layer: "preview", Source: "s", Reason: "why"}
			step.Effect = c.after
		}
		want.Trace = []policy.Step{before.Trace[0], step}
		if diff := cmp.Diff(want, after); diff != "" {
			t.Errorf("%q after %q: %s", c.said, c.before, diff)
		}
	}
}

func TestWaive(t *testing.T) {
	t.Parallel()
	// Whatever effect the step comes with, it is a yes.
	for _, said := range []policy.Effect{"", policy.Allow, policy.Ask, policy.AlwaysAsk, policy.Deny} {
		step := policy.Step{Layer: "approvals", Rule: "always", Source: "s", Effect: said, Reason: "said before"}
		asks := decide(t, query(), layer("user", rule("r", policy.Ask)))
		done := step
		done.Matched, done.Effect = true, policy.Allow
		want := policy.Decision{Effect: policy.Allow, Rule: "always", Layer: "approvals", Source: "s", Reason: "said before",
			Trace: []policy.Step{asks.Trace[0], done}}
		if diff := cmp.Diff(want, asks.Waive(step)); diff != "" {
			t.Errorf("a waived ask with a step that says %q: %s", said, diff)
		}
		for _, e := range []policy.Effect{policy.Allow, policy.Deny} {
			before := decide(t, query(), layer("user", rule("r", e)))
			if diff := cmp.Diff(before, before.Waive(step)); diff != "" {
				t.Errorf("a waived %s: %s", e, diff)
			}
		}
		if d := (policy.Decision{}).Waive(step); d.Effect != "" {
			t.Errorf("a waived nothing is %+v", d)
		}
	}
}

// Two decisions made from one do not write into each other's trace, nor into its own.
func TestDecisionsAreValues(t *testing.T) {
	t.Parallel()
	d := decide(t, query(), layer("user", never(rule("a", policy.Deny)), never(rule("b", policy.Deny)),
		rule("c", policy.Ask)))
	room := append(make([]policy.Step, 0, 8), d.Trace...)
	d.Trace = room
	first, second := d.Tighten(policy.Step{Rule: "first"}), d.Tighten(policy.Step{Rule: "second"})
	third := d.Waive(policy.Step{Rule: "third"})
	for want, got := range map[string]policy.Decision{"first": first, "second": second, "third": third} {
		if s := got.Trace[3]; s.Rule != want {
			t.Errorf("%s became %+v", want, s)
		}
	}
	if spare := room[:4][3]; spare != (policy.Step{}) {
		t.Errorf("behind the trace stands %+v", spare)
	}
}

// What `policy explain` prints: the fields that people's scripts read.
func TestDecisionAsJSON(t *testing.T) {
	t.Parallel()
	d := decide(t, query(), layer("user", never(rule("a", policy.Deny)), sourced(rule("b", policy.Allow), "config.hcl:2")))
	got, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"effect":"allow","rule":"b","layer":"user","source":"config.hcl:2","reason":"because of b","trace":[` +
		`{"layer":"user","rule":"a","matched":false,"note":"its condition does not hold"},` +
		`{"layer":"user","rule":"b","source":"config.hcl:2","matched":true,"effect":"allow","reason":"because of b"}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestStrictest(t *testing.T) {
	t.Parallel()
	order := []policy.Effect{"", policy.Allow, policy.Ask, policy.AlwaysAsk, policy.Deny}
	for i, a := range order {
		for j, b := range order {
			if a.Stricter(b) != (i > j) {
				t.Errorf("%q is stricter than %q: %v", a, b, a.Stricter(b))
			}
			if got := policy.Strictest(a, b); got != order[max(i, j)] {
				t.Errorf("the strictest of %q and %q is %q", a, b, got)
			}
		}
		if unknown := policy.Effect("perhaps"); a.Stricter(unknown) || unknown.Stricter(a) != (a != policy.Deny) {
			t.Errorf("an effect that there is not is not as strict as deny, beside %q", a)
		}
	}
	if got := policy.Strictest(); got != "" {
		t.Errorf("the strictest of none is %q", got)
	}
}

func TestWhy(t *testing.T) {
	t.Parallel()
	d := policy.Decision{Rule: "r", Layer: "user"}
	if got := d.Why(); got != `rule "r" of the user layer` {
		t.Errorf("without a reason: %q", got)
	}
	d.Reason = "it is late"
	if got := d.Why(); got != "it is late" {
		t.Errorf("with one: %q", got)
	}
}

// always_ask stands between ask and deny, and nothing loosens it: no waiver, no failed or unsure condition.
func TestAlwaysAsk(t *testing.T) {
	t.Parallel()
	always := rule("always", policy.AlwaysAsk)
	failing := always
	failing.When = func(*policy.Query) (policy.Truth, error) { return policy.No, errors.New("too much") }
	for name, c := range map[string]struct {
		layers []policy.Layer
		want   policy.Effect
	}{
		"alone": {layers(layer("user", always)), policy.AlwaysAsk},
		"beside allow": {layers(layer("user", always), layer("project", rule("r", policy.Allow))),
			policy.AlwaysAsk},
		"beside ask": {layers(layer("user", rule("r", policy.Ask)), layer("project", always)),
			policy.AlwaysAsk},
		"beside deny": {layers(layer("user", always), layer("project", rule("r", policy.Deny))), policy.Deny},
		"unsure": {layers(layer("user", when(always, policy.Unsure), rule("r", policy.Allow))),
			policy.AlwaysAsk},
		"a condition that fails":    {layers(layer("user", failing, rule("r", policy.Allow))), policy.AlwaysAsk},
		"a deny behind the failure": {layers(layer("user", failing, rule("r", policy.Deny))), policy.Deny},
		"not met":                   {layers(layer("user", never(always), rule("r", policy.Allow))), policy.Allow},
		"a judge's":                 {layers(layer("user", judging("r", policy.AlwaysAsk))), policy.AlwaysAsk},
		"a judge's, unsure": {layers(layer("user", when(judging("r", policy.AlwaysAsk), policy.Unsure))),
			policy.AlwaysAsk},
		"of a layer that is a guest": {layers(policy.Layer{Name: "project", TightenOnly: true, Rules: []policy.Rule{always}}),
			policy.AlwaysAsk},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := decide(t, query(), c.layers...)
			if d.Effect != c.want {
				t.Fatalf("decision %+v, want %s", d, c.want)
			}
			waived := d.Waive(policy.Step{Layer: "answers", Rule: "1"})
			if d.Effect == policy.AlwaysAsk && (waived.Effect != policy.AlwaysAsk || len(waived.Trace) != len(d.Trace)) {
				t.Errorf("an earlier answer makes %+v of it", waived)
			}
		})
	}
}
