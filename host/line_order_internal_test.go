package host

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A plainLine is what a line of waiting calls has to do, in the plainest words: one list, looked through each time.
type plainLine struct {
	waiting []*waiter
	round   int
}

func (p *plainLine) add(w *waiter) {
	round := p.round
	for _, other := range p.waiting {
		if other.caller == w.caller {
			round = max(round, other.round)
		}
	}
	round++
	i := slices.IndexFunc(p.waiting, func(other *waiter) bool { return other.round > round })
	if i < 0 {
		i = len(p.waiting)
	}
	p.waiting = slices.Insert(p.waiting, i, w)
	w.round = round
}

// excess is the last call of the caller who has most in line of a bound.
func (p *plainLine) excess(b *bound, by caller) *waiter {
	calls := map[caller]int{}
	var last *waiter
	for _, w := range p.waiting {
		if !slices.Contains(w.pair[:], b) {
			continue
		}
		if calls[w.caller]++; last == nil || calls[w.caller] >= calls[last.caller] {
			last = w
		}
	}
	if last == nil || calls[last.caller] <= calls[by]+1 {
		return nil
	}
	return last
}

// Whatever comes and goes, a line has the same calls next, and the same to refuse, as one that is looked through.
func TestLineKeepsItsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limits := map[string]Limits{"test__a": {Concurrency: rapid.IntRange(0, 2).Draw(rt, "a")}, "test__b": {Concurrency: rapid.IntRange(0, 2).Draw(rt, "b")}}
		l, plain := newLine("test", Limits{}), &plainLine{}
		l.adopt(Limits{Concurrency: rapid.IntRange(1, 4).Draw(rt, "all"), Queue: 100}, limits)
		var turns []turn
		check := func() {
			if l.plugin.waiting != len(plain.waiting) || len(l.plugin.ranks) != len(l.plugin.callers) {
				rt.Fatalf("%d wait, want %d; %d and %d callers", l.plugin.waiting, len(plain.waiting), len(l.plugin.ranks), len(l.plugin.callers))
			}
			for _, b := range []*bound{l.plugin, l.others, l.tools["test__a"], l.tools["test__b"]} {
				for _, name := range []string{"x", "y", "z", "new"} {
					if got, want := b.excess(caller{name: name}), plain.excess(b, caller{name: name}); got != want {
						rt.Fatalf("for %s of %q the call %+v is refused, want %+v", name, b.of, got, want)
					}
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { check() },
			"come": func(rt *rapid.T) {
				by := caller{name: rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "caller")}
				p := l.pair("test__" + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "tool"))
				w, e := l.join(p, by)
				if e != nil {
					rt.Skip("full")
				}
				if w == nil {
					turns = append(turns, turn{pair: p})
					return
				}
				round := w.round
				if plain.add(w); w.round != round {
					rt.Fatalf("round %d, want %d", round, w.round)
				}
			},
			"end": func(rt *rapid.T) {
				if len(turns) == 0 {
					rt.Skip("nothing runs")
				}
				i := rapid.IntRange(0, len(turns)-1).Draw(rt, "turn")
				l.leave(turns[i])
				turns = slices.Delete(turns, i, i+1)
				plain.waiting = slices.DeleteFunc(plain.waiting, func(w *waiter) bool {
					select {
					case <-w.ready:
						turns, plain.round = append(turns, turn{pair: w.pair}), max(plain.round, w.round)
						return true
					default:
						return false
					}
				})
				for _, w := range plain.waiting {
					if w.free() {
						rt.Fatalf("a call of %s waits that could run", w.caller.name)
					}
				}
			},
			"give up": func(rt *rapid.T) {
				if len(plain.waiting) == 0 {
					rt.Skip("nobody waits")
				}
				i := rapid.IntRange(0, len(plain.waiting)-1).Draw(rt, "waiter")
				if e := l.giveUp(plain.waiting[i], plain.waiting[i].waitedTooLong); e == nil || e.Name != "WaitedTooLong" {
					rt.Fatalf("gave up with %v", e)
				}
				plain.waiting = slices.Delete(plain.waiting, i, i+1)
			},
		})
	})
}
