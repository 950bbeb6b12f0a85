package queue

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A plainQueue is a straightforward model of a Queue: one list, searched each time.
type plainQueue struct {
	waiting []*Waiter
	round   int
}

func (p *plainQueue) add(c *Waiter) {
	round := p.round
	for _, other := range p.waiting {
		if other.caller == c.caller {
			round = max(round, other.round)
		}
	}
	round++
	i := slices.IndexFunc(p.waiting, func(other *Waiter) bool { return other.round > round })
	if i < 0 {
		i = len(p.waiting)
	}
	p.waiting = slices.Insert(p.waiting, i, c)
	c.round = round
}

// excess is the last call of the caller who has most waiting at a limiter.
func (p *plainQueue) excess(l *limiter, by Caller) *Waiter {
	calls := map[Caller]int{}
	var last *Waiter
	for _, c := range p.waiting {
		if !slices.Contains(c.limiters[:], l) {
			continue
		}
		if calls[c.caller]++; last == nil || calls[c.caller] >= calls[last.caller] {
			last = c
		}
	}
	if last == nil || calls[last.caller] <= calls[by]+1 {
		return nil
	}
	return last
}

// For any sequence of calls, a queue runs and refuses the same ones as the model.
func TestQueueKeepsItsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		q, plain := New("plugin", "tool"), &plainQueue{}
		q.SetLimits(Limits{Concurrency: rapid.IntRange(1, 4).Draw(rt, "all"), Queue: 100},
			map[string]Limits{"a": {Concurrency: rapid.IntRange(0, 2).Draw(rt, "a")},
				"b": {Concurrency: rapid.IntRange(0, 2).Draw(rt, "b")}})
		var running []*Waiter
		check := func() {
			if q.group.waiting != len(plain.waiting) || len(q.group.ranks) != len(q.group.shares) {
				rt.Fatalf("%d wait, want %d; %d and %d callers", q.group.waiting, len(plain.waiting), len(q.group.ranks),
					len(q.group.shares))
			}
			for _, l := range []*limiter{q.group, q.others, (*q.members.Load())["a"], (*q.members.Load())["b"]} {
				for _, name := range []string{"x", "y", "z", "new"} {
					if got, want := l.excess(Caller{Name: name}), plain.excess(l, Caller{Name: name}); got != want {
						rt.Fatalf("for %s of %q the call %+v is refused, want %+v", name, l.of, got, want)
					}
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { check() },
			"join": func(rt *rapid.T) {
				by := Caller{Name: rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "caller")}
				p, refusal := q.Join(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "tool"), by)
				if refusal != nil {
					rt.Skip("full")
				}
				if p.Immediate() {
					running = append(running, p)
					return
				}
				round := p.round
				if plain.add(p); p.round != round {
					rt.Fatalf("round %d, want %d", round, p.round)
				}
			},
			"end": func(rt *rapid.T) {
				if len(running) == 0 {
					rt.Skip("nothing runs")
				}
				i := rapid.IntRange(0, len(running)-1).Draw(rt, "running")
				running[i].Leave()
				running[i].Leave() // which does nothing
				running = slices.Delete(running, i, i+1)
				plain.waiting = slices.DeleteFunc(plain.waiting, func(p *Waiter) bool {
					select {
					case <-p.ready:
						running, plain.round = append(running, p), max(plain.round, p.round)
						return true
					default:
						return false
					}
				})
				for _, p := range plain.waiting {
					if p.free() {
						rt.Fatalf("a call of %s waits that could run", p.caller.Name)
					}
				}
			},
			"give up": func(rt *rapid.T) {
				if len(plain.waiting) == 0 {
					rt.Skip("no call waits")
				}
				i := rapid.IntRange(0, len(plain.waiting)-1).Draw(rt, "waiting")
				plain.waiting[i].Leave()
				plain.waiting = slices.Delete(plain.waiting, i, i+1)
			},
		})
	})
}
