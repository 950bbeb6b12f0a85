//go:build unix

package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

// A turn is a call that runs or waits in a test.
type turn struct {
	ongoing *serverCall // nil if its caller answers nothing
	cancel  context.CancelFunc
	end     chan error
	began   chan struct{} // closed when it runs
}

// turns are the calls of one upstream whose callers take turns.
type turns struct {
	t *testing.T
	u *upstream
}

// begin makes a call of a session; "" answers nothing.
func (s *turns) begin(session string) *turn {
	ctx, cancel := context.WithCancel(s.t.Context())
	out := &turn{cancel: cancel, end: make(chan error), began: make(chan struct{})}
	c := &runningCall{session: session}
	if session != "" {
		c.ongoing = &serverCall{toolRequest: &toolRequest{request: &sdk.Request{}}, upstream: s.u, running: ctx,
			open: map[string]*question{}, done: make(chan struct{})}
		close(c.ongoing.done) // no request is made
		c.ongoing.news = make(chan struct{}, 1)
		c.ongoing.request.Capabilities = []byte(asksPeople)
		out.ongoing = c.ongoing
	}
	go func() {
		if leave, err := s.u.enter(ctx, c, func() {}); err == nil {
			close(out.began)
			leave(<-out.end)
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

// noAnswer ends the call as one that was canceled, timed out, or got no answer that can be used.
func (t *turn) noAnswer(err error) { t.end <- err; synctest.Wait() }

func (t *turn) runs() bool {
	synctest.Wait()
	select {
	case <-t.began:
		return true
	default:
		return false
	}
}

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
		asking, answered := context.WithCancel(t.Context())
		go func() { _, _ = a.ongoing.ask(asking, methodElicit, []byte(`{"message":"?"}`)) }()
		s.check("a question is open", 2, 0)
		if owner, _ := s.u.owner(); owner != b.ongoing {
			t.Error("a question of the other call would not reach its caller")
		}
		answered()
		synctest.Wait()
		if _, why := s.u.owner(); why != doubtSeveral {
			t.Error("after the answer, a question could be for both")
		}
		b.finish()
		if owner, why := s.u.owner(); why != noDoubt || owner != a.ongoing {
			t.Error("a second question would not reach its caller")
		}
		a.finish()
		s.check("all have ended", 0, 0)
	})
}

// A question after a call without an answer may be for that call. It reaches the caller of the next one if that is the
// same, and after the time in which such questions come; otherwise it is refused, and what the refusal advises works.
func TestQuestionsAfterCallsWithoutAnswer(t *testing.T) {
	failed := &client.CallError{Err: context.Canceled}
	refused := &client.RPCError{Code: client.CodeInternalError, Message: "no"}
	type ended struct {
		session string
		err     error
		ago     time.Duration // before the next one of the list, or before the question
	}
	for name, c := range map[string]struct {
		ended   []ended
		session string // of the call that asks
		refused bool
	}{
		"of the same session":      {[]ended{{"a", failed, 0}}, "a", false},
		"that timed out":           {[]ended{{"a", &client.CallError{Err: context.DeadlineExceeded}, 0}}, "a", false},
		"that were several":        {[]ended{{"a", failed, 0}, {"a", errIdle, time.Second}}, "a", false},
		"of another session":       {[]ended{{"b", failed, 0}}, "a", true},
		"almost long ago":          {[]ended{{"b", failed, settleTime - 1}}, "a", true},
		"long ago":                 {[]ended{{"b", failed, settleTime}}, "a", false},
		"that asks no one":         {[]ended{{"", failed, 0}}, "a", true},
		"of both, its own last":    {[]ended{{"b", failed, time.Second}, {"a", failed, 0}}, "a", true},
		"of both, its own first":   {[]ended{{"a", failed, time.Second}, {"b", failed, 0}}, "a", true},
		"of both, the other's old": {[]ended{{"b", failed, settleTime}, {"a", failed, 0}}, "a", false},
		"that the server refused":  {[]ended{{"b", refused, 0}}, "a", false},
		"that has an answer":       {[]ended{{"b", nil, 0}}, "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &turns{t, &upstream{left: make(chan struct{})}}
				for _, e := range c.ended {
					s.begin(e.session).noAnswer(e.err)
					time.Sleep(e.ago)
				}
				call := s.begin(c.session)
				if !call.runs() {
					t.Fatal("a call waits before any question was in doubt")
				}
				if got := s.ask(call); (got != "") != c.refused {
					t.Fatalf("refused: %q", got)
				}
				call.finish()
				if !c.refused {
					return
				}
				again := s.begin(c.session)
				if again.runs() && c.ended[0].ago < settleTime-1 {
					t.Error("the repeat does not wait")
				}
				other := s.begin("behind it")
				time.Sleep(settleTime)
				if !again.runs() {
					t.Fatal("the repeat still waits")
				}
				if got := s.ask(again); got != "" {
					t.Errorf("the repeat is refused: %s", got)
				}
				again.finish()
				other.finish()
				s.check("all have ended", 0, 0)
			})
		})
	}
}

// The next call of a caller need not wait for questions of its own canceled one.
func TestCallAfterACanceledOneOfItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &turns{t, &upstream{left: make(chan struct{}), takeTurns: true}}
		s.begin("a").noAnswer(context.Canceled)
		same := s.begin("a")
		if !same.runs() {
			t.Error("it waits")
		}
		if got := s.ask(same); got != "" {
			t.Error(got)
		}
		same.noAnswer(context.Canceled)
		gone := s.begin("b")
		gone.cancel()
		s.check("a call was canceled while it waited", 0, 0)
	})
}

// ask has the server ask a question that is for a call. It returns the error with which that is refused.
func (s *turns) ask(call *turn) (refused string) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	call.ongoing.running = ctx
	done := make(chan *client.RPCError)
	go func() {
		_, err := s.u.answer(ctx, methodElicit, []byte(`{"message":"?"}`))
		done <- err
	}()
	synctest.Wait()
	asked := call.ongoing.waits()
	cancel()
	err := <-done
	if asked {
		return ""
	}
	if !strings.HasPrefix(err.Message, "elicitation/create is refused: a call of another client ended without an answer") {
		s.t.Errorf("%s", err.Message)
	}
	return err.Message
}
