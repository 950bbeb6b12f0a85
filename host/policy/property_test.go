package policy_test

import (
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
func TestADenyStays(t *testing.T) {
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
func TestDoubtCountsAgainstTheCall(t *testing.T) {
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
