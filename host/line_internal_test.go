package host

import (
	"context"
	"testing"
)

// A call whose turn comes in the moment in which its context ends has the turn, and so gives it back.
func TestTurnAtTheLastMoment(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 { // either may be noticed first
		l := newLine("test", Limits{Concurrency: 1})
		p := l.pair("test__run")
		first, e := l.enter(t.Context(), p, caller{})
		if e != nil {
			t.Fatal(e)
		}
		w, e := l.join(p, caller{})
		if e != nil || w == nil {
			t.Fatalf("the second call does not wait: %v", e)
		}
		l.leave(first)
		if e := l.await(ended, w); e != nil {
			t.Fatalf("the call has its turn and does not know: %v", e)
		}
	}
}
