package policy_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host/policy"
)

// The layers together say the strictest of what each says alone, in whatever order they stand.
func TestLayersInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, all := anyQuery().Draw(t, "query"), anyLayers(4).Draw(t, "layers")
		want := policy.Effect("")
		for _, l := range all {
			if alone := drawn(t, q, l); alone.Layer != "hints" {
				want = policy.Strictest(want, alone.Effect)
			}
		}
		if want == "" {
			want = drawn(t, q).Effect
		}
		for _, order := range [][]policy.Layer{all, rapid.Permutation(all).Draw(t, "order")} {
			if d := drawn(t, q, order...); d.Effect != want {
				t.Fatalf("%s instead of %s: %+v", d.Effect, want, d)
			}
		}
	})
}

// Where one layer denies, no other layer, no order, no preview and no remembered answer makes anything else of it.
func TestDenyHoldsInEveryLayer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, others := anyQuery().Draw(t, "query"), anyLayers(3).Draw(t, "others")
		denies := anyDeny(q).Draw(t, "deny")
		if d := drawn(t, q, denies); d.Effect != policy.Deny {
			t.Fatalf("the layer alone: %+v", d)
		}
		for i := range others {
			others[i].Rules = rapid.Permutation(others[i].Rules).Draw(t, "rules")
		}
		d := drawn(t, q, rapid.Permutation(append(others, denies)).Draw(t, "order")...)
		for _, s := range rapid.SliceOfN(anyStep(), 0, 5).Draw(t, "steps") {
			if d.Effect != policy.Deny {
				break
			}
			d = rapid.SampledFrom([]policy.Decision{d.Tighten(s), d.Waive(s)}).Draw(t, "after")
		}
		if d.Effect != policy.Deny {
			t.Fatalf("decision %+v", d)
		}
	})
}

func TestTightenAndWaiveProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, s := drawn(t, anyQuery().Draw(t, "query"), anyLayers(3).Draw(t, "layers")...), anyStep().Draw(t, "step")
		if after := d.Tighten(s); d.Effect.Stricter(after.Effect) || s.Effect.Stricter(after.Effect) ||
			len(after.Trace) != len(d.Trace)+1 {
			t.Fatalf("tightened by %+v: %+v", s, after)
		}
		after := d.Waive(s)
		if d.Effect == policy.Ask {
			if after.Effect != policy.Allow || after.Layer != s.Layer || len(after.Trace) != len(d.Trace)+1 {
				t.Fatalf("waived by %+v: %+v", s, after)
			}
		} else if diff := cmp.Diff(d, after); diff != "" {
			t.Fatal(diff)
		}
	})
}

// One more layer loosens nothing but the hints' word, and not even that where it can only tighten.
func TestOneMoreLayerDoesNotLoosen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, all, more := anyQuery().Draw(t, "query"), anyLayers(3).Draw(t, "layers"), anyLayer().Draw(t, "more")
		before := drawn(t, q, all...)
		at := rapid.IntRange(0, len(all)).Draw(t, "at")
		after := drawn(t, q, slices.Insert(slices.Clone(all), at, more)...)
		if before.Effect.Stricter(after.Effect) && (before.Layer != "hints" || more.TightenOnly) {
			t.Fatalf("%s became %+v", before.Effect, after)
		}
		more.TightenOnly = true
		if after := drawn(t, q, slices.Insert(slices.Clone(all), at, more)...); before.Effect.Stricter(after.Effect) {
			t.Fatalf("with a layer that can only tighten %s became %+v", before.Effect, after)
		}
	})
}

// A condition that is unsure or fails never gives less than the looser of yes and no would; one that is unsure never
// gives less than no.
func TestUncertaintyCountsAgainstTheCall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, all := anyQuery().Draw(t, "query"), anyLayers(3).Draw(t, "layers")
		l := anyLayer().Draw(t, "with doubt")
		at := rapid.IntRange(0, len(l.Rules)).Draw(t, "at")
		r := anyRule().Draw(t, "doubtful")
		with := func(c condition) policy.Effect {
			r, l := r, l
			r.When = c
			l.Rules = slices.Insert(slices.Clone(l.Rules), at, r)
			return drawn(t, q, append(slices.Clone(all), l)...).Effect
		}
		yes, no := with(conditions["yes"]), with(conditions["no"])
		looser := yes
		if yes.Stricter(no) {
			looser = no
		}
		for _, doubt := range []string{"unsure", "failing", "panicking"} {
			if got := with(conditions[doubt]); looser.Stricter(got) || (doubt == "unsure" && no.Stricter(got)) {
				t.Fatalf("%s gives %s, yes %s, no %s", doubt, got, yes, no)
			}
		}
	})
}

// The same query gets the same decision, trace and all, from many goroutines at once.
func TestTheSameQueryTheSameDecision(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, err := policy.New(anyLayers(4).Draw(t, "layers")...)
		if err != nil {
			t.Fatal(err)
		}
		q := anyQuery().Draw(t, "query")
		first := p.Decide(new(*q))
		var group sync.WaitGroup
		decisions := make([]policy.Decision, 4)
		for i := range decisions {
			mine := *q
			group.Go(func() { p.Decide(&mine); decisions[i] = p.Decide(&mine) })
		}
		group.Wait()
		for _, d := range decisions {
			if diff := cmp.Diff(first, d); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func drawn(t *rapid.T, q *policy.Query, l ...policy.Layer) policy.Decision {
	p, err := policy.New(l...)
	if err != nil {
		t.Fatal(err)
	}
	return p.Decide(new(*q))
}

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

// anyHints draws hints of which most are not reported: else few rules would match.
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
