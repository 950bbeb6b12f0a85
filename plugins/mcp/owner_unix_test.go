//go:build unix

package main

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/toolhost/toolhost/sdk"
)

// A turn is a call that runs or waits in a test.
type turn struct {
	ongoing *serverCall // nil if its caller answers nothing
	cancel  context.CancelFunc
	end     chan struct{}
}

// turns are the calls of one upstream whose callers take turns.
type turns struct {
	t *testing.T
	u *upstream
}

// begin makes a call of a session; "" answers nothing.
func (s *turns) begin(session string) *turn {
	ctx, cancel := context.WithCancel(s.t.Context())
	out := &turn{cancel: cancel, end: make(chan struct{})}
	c := &runningCall{session: session}
	if session != "" {
		c.ongoing = &serverCall{toolRequest: &toolRequest{request: &sdk.Request{}}, upstream: s.u,
			open: map[string]*question{}}
		out.ongoing = c.ongoing
	}
	go func() {
		if leave, err := s.u.enter(ctx, c, func() {}); err == nil {
			<-out.end
			leave(nil)
		}
	}()
	synctest.Wait()
	return out
}

// running checks how many calls run and wait.
func (s *turns) check(when string, running, waiting int) {
	s.t.Helper()
	synctest.Wait()
	s.u.mu.Lock()
	defer s.u.mu.Unlock()
	if len(s.u.running) != running || len(s.u.waiting) != waiting {
		s.t.Errorf("%s: %d calls run and %d wait, want %d and %d", when, len(s.u.running), len(s.u.waiting), running, waiting)
	}
}

func (t *turn) finish() { close(t.end); synctest.Wait() }

// Once a question could have been for several callers, calls of one caller still run side by side, those of others wait
// in the order in which they came, and none for ever.
func TestCallersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turns{t, &upstream{left: make(chan struct{}), takeTurns: true}}
		a1, a2 := s.begin("a"), s.begin("a")
		s.check("two calls of one caller", 2, 0)
		b1 := s.begin("b")
		silent := s.begin("")
		a3 := s.begin("a") // behind those that came before it
		s.check("three others", 2, 3)
		a1.finish()
		s.check("one of the first two has ended", 1, 3)
		a2.finish()
		s.check("both have ended", 1, 2)
		b1.finish()
		s.check("the second caller has ended", 1, 1)
		silent2 := s.begin("")
		s.check("another one that answers nothing", 1, 2)
		silent.finish()
		s.check("the third has ended", 1, 1)
		silent2.cancel()
		s.check("one has given up", 1, 0)
		a3.finish()
		s.check("all have ended", 0, 0)
	})
}

// A call whose person is being asked keeps no other waiting.
func TestCallThatWaitsForAPersonGivesUpItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turns{t, &upstream{left: make(chan struct{}), takeTurns: true}}
		a := s.begin("a")
		b := s.begin("b")
		s.check("before the question", 1, 1)
		a.ongoing.news = make(chan struct{}, 1)
		a.ongoing.request.Capabilities = []byte(asksPeople)
		asking, answered := context.WithCancel(t.Context())
		go func() { _, _ = a.ongoing.ask(asking, methodElicit, []byte(`{"message":"?"}`)) }()
		s.check("a question is open", 2, 0)
		if owner, _, _ := s.u.owner(); owner != b.ongoing {
			t.Error("a question of the other call would not reach its caller")
		}
		answered()
		synctest.Wait()
		if _, several, _ := s.u.owner(); !several {
			t.Error("after the answer, a question could be for both")
		}
		b.finish()
		if owner, several, _ := s.u.owner(); several || owner != a.ongoing {
			t.Error("a second question would not reach its caller")
		}
		a.finish()
		s.check("all have ended", 0, 0)
	})
}
