package policy_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host/policy"
)

// conditions are all that a condition can come to. "by argument" is yes, no or unsure, as the call wants it.
var conditions = map[string]condition{
	"yes": answering(policy.Yes, nil), "no": answering(policy.No, nil), "unsure": answering(policy.Unsure, nil),
	"failing": answering(policy.Yes, errors.New("no such thing")), "panicking": panicking, "none": nil,
	"by argument": byArgument,
}

func byArgument(q *policy.Query) (policy.Truth, error) {
	var truth policy.Truth
	err := json.Unmarshal(q.Argument("truth"), &truth)
	return truth, err
}

type judge = func(*policy.Query) (policy.Judgement, error)

// judges are all that a judge can come to.
var judges = map[string]judge{
	"allow": judging("", policy.Allow).Judge, "ask": judging("", policy.Ask).Judge,
	"always_ask": judging("", policy.AlwaysAsk).Judge, "deny": judging("", policy.Deny).Judge,
	"nothing":   judging("", "").Judge,
	"no effect": judging("", "perhaps").Judge,
	"panicking": func(*policy.Query) (policy.Judgement, error) { panic("oops") },
	"failing": func(*policy.Query) (policy.Judgement, error) {
		return policy.Judgement{Effect: policy.Allow}, errors.New("too long")
	},
	"by argument": func(q *policy.Query) (j policy.Judgement, err error) {
		err = json.Unmarshal(q.Argument("effect"), &j.Effect)
		return j, err
	},
}

func oneOf[T any](values ...T) *rapid.Generator[T] { return rapid.SampledFrom(values) }

// oneNamed draws a value by its name, so that a failure can be read.
func oneNamed[T any](t *rapid.T, label string, values map[string]T) T {
	return values[rapid.SampledFrom(slices.Sorted(maps.Keys(values))).Draw(t, label)]
}

func anyEffect() *rapid.Generator[policy.Effect] {
	return oneOf(policy.Allow, policy.Ask, policy.AlwaysAsk, policy.Deny)
}

// anyHints draws hints of which most are not told: else few rules would match.
func anyHints() *rapid.Generator[policy.Hints] {
	hint := oneOf(nil, nil, new(true), new(false))
	return rapid.Custom(func(t *rapid.T) policy.Hints {
		return policy.Hints{ReadOnly: hint.Draw(t, "read only"), Destructive: hint.Draw(t, "destructive")}
	})
}

func anyQuery() *rapid.Generator[*policy.Query] {
	return rapid.Custom(func(t *rapid.T) *policy.Query {
		q := query()
		q.Tool = oneOf("p__run", "p__list").Draw(t, "tool")
		q.Hints = anyHints().Draw(t, "hints")
		q.Category, q.CostTier = oneOf("", "files").Draw(t, "category"), oneOf("", "free").Draw(t, "cost tier")
		q.Caller = oneOf("", "agent").Draw(t, "caller")
		q.Arguments = json.RawMessage(oneOf(`{"truth":0,"effect":"allow"}`, `{"effect":"ask","truth":1}`,
			`{"truth":2,"effect":"deny"}`,
			`{"truth":1,"effect":""}`, `{}`).Draw(t, "arguments"))
		q.Properties = oneOf(nil, map[string]bool{"truth": true, "effect": true}).Draw(t, "properties")
		return q
	})
}

func anyRule() *rapid.Generator[policy.Rule] {
	return rapid.Custom(func(t *rapid.T) policy.Rule {
		r := rule(oneOf("a", "b", "c").Draw(t, "name"), anyEffect().Draw(t, "effect"))
		if rapid.Bool().Draw(t, "judges") {
			r.Effect, r.Judge = "", oneNamed(t, "judge", judges)
		}
		r.Tools = oneOf(nil, []string{"p__*"}, []string{"p__run"}, []string{"q__*", "*__list"}).Draw(t, "tools")
		r.When = oneNamed(t, "when", conditions)
		r.Names = oneOf(nil, nil, []string{"truth"}, []string{"misnamed"}).Draw(t, "names")
		if rapid.IntRange(0, 3).Draw(t, "particular") == 0 {
			r.Hints = anyHints().Draw(t, "hints")
			r.Categories = oneOf(nil, []string{"files"}).Draw(t, "categories")
			r.CostTiers = oneOf(nil, []string{"free", "high"}).Draw(t, "cost tiers")
			r.Callers = oneOf(nil, []string{"ag*"}).Draw(t, "callers")
		}
		return r
	})
}

func anyLayer() *rapid.Generator[policy.Layer] {
	return rapid.Custom(func(t *rapid.T) policy.Layer {
		return policy.Layer{Name: oneOf("user", "project").Draw(t, "name"), TightenOnly: rapid.Bool().Draw(t, "tighten only"),
			Rules: rapid.SliceOfN(anyRule(), 0, 4).Draw(t, "rules")}
	})
}

func anyLayers(most int) *rapid.Generator[[]policy.Layer] {
	return rapid.SliceOfN(anyLayer(), 0, most)
}

// anyDeny draws a layer that denies the call: rules that do not match it, one that denies, and any others.
func anyDeny(q *policy.Query) *rapid.Generator[policy.Layer] {
	return rapid.Custom(func(t *rapid.T) policy.Layer {
		l := anyLayer().Draw(t, "layer")
		before := rapid.SliceOfN(anyRule(), 0, 3).Draw(t, "before")
		for i := range before {
			before[i].When, before[i].Names = answering(policy.No, nil), nil
		}
		deny := rule("deny", policy.Deny)
		deny.Tools, deny.Names = []string{q.Tool}, oneOf(nil, []string{"misnamed"}).Draw(t, "names")
		deny.When = oneNamed(t, "when",
			map[string]condition{"none": nil, "yes": conditions["yes"], "failing": conditions["failing"],
				"panicking": panicking})
		if rapid.Bool().Draw(t, "judges") {
			deny.Effect, deny.Judge = "",
				oneNamed(t, "judge", map[string]judge{"deny": judges["deny"], "failing": judges["failing"],
					"panicking": judges["panicking"]})
		}
		l.Rules = slices.Concat(before, []policy.Rule{deny}, l.Rules)
		return l
	})
}

// anyStep draws what a preview or a remembered answer may say, effects that there are not among it.
func anyStep() *rapid.Generator[policy.Step] {
	return rapid.Custom(func(t *rapid.T) policy.Step {
		return policy.Step{Layer: oneOf("preview", "approvals").Draw(t, "layer"), Rule: "step",
			Matched: rapid.Bool().Draw(t, "matched"),
			Effect: oneOf(policy.Effect(""), policy.Allow, policy.Ask, policy.AlwaysAsk, policy.Deny, "perhaps").Draw(t,
				"effect")}
	})
}
