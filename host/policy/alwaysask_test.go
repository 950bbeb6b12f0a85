package policy_test

import (
	"errors"
	"testing"

	"github.com/toolhost/toolhost/host/policy"
)

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
