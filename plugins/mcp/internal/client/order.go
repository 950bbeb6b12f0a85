package client

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// At revisions with a handshake a server's question names no call, unless the transport knows on whose stream it came.
// It must not reach the wrong person. So, if the handshake declares capabilities to be asked:
//
//   - A call whose caller answers questions begins when no other call is in its first seconds, and none begins in its
//     own. Most questions come then. A question is for a call when no other runs.
//   - When several run, the question waits until all but one have ended: a call that asks does not end before it has
//     the answer. If that takes too long, or one of them is canceled, Options.Request gets the question, and no caller.
//   - After a call that was canceled others wait until the server has answered a ping. Questions of the canceled call
//     that are on their way come before that, and reach no caller. One that comes still later is taken for the next
//     call's.
const (
	firstTime   = 5 * time.Second  // how long others wait for a call that has begun
	parkLimit   = 30 * time.Second // how long a question waits for calls to end
	settleLimit = 2 * time.Second  // how long calls wait for the answer to a ping
	allTurns    = math.MaxInt32    // the weight of a call that begins alone
)

// order waits until a call may begin. Others need not wait for it after leave is called.
func (s *Session) order(ctx context.Context, o *CallOptions) (leave func(), err error) {
	if !s.asks {
		return func() {}, nil
	}
	weight := int64(1)
	if o.Request != nil {
		weight = allTurns
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(s.endError()) })()
	if s.turns.Acquire(ctx, weight) != nil {
		return nil, context.Cause(ctx)
	}
	release := sync.OnceFunc(func() { s.turns.Release(weight) })
	timer := time.AfterFunc(firstTime, release)
	return func() {
		timer.Stop()
		release()
	}, nil
}

// afterCall lets others run.
func (s *Session) afterCall(c *call, leave func()) {
	if c.canceled == nil || !s.asks {
		leave()
		return
	}
	go func() {
		defer leave()
		<-c.canceled
		ctx, cancel := context.WithTimeout(s.ctx, settleLimit)
		defer cancel()
		_, _ = s.request(ctx, &call{method: "ping", revision: c.revision}, nil)
		s.mu.Lock()
		s.settling--
		s.mu.Unlock()
	}()
}

// someAnswer reports whether a call that runs answers questions. If none does, Options.Request knows whose they are, or
// nobody. It is called with mu held.
func (s *Session) someAnswer() bool {
	for _, c := range s.pending {
		if c.byCall && c.options.Request != nil {
			return true
		}
	}
	return false
}

// park lets a question wait until it is known whose it is. It is called with mu held.
func (s *Session) park(r *serverRequest) {
	s.parked = append(s.parked, r)
	time.AfterFunc(parkLimit, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if slices.Contains(s.parked, r) {
			s.unpark(nil)
		}
	})
}

// unpark gives the questions that wait to a call, or to nobody. It is called with mu held.
func (s *Session) unpark(c *call) {
	for _, r := range s.parked {
		s.deliver(r, c)
	}
	s.parked = nil
}

// deliver gives a question to a call, or to whom answers those of no call. It is called with mu held.
func (s *Session) deliver(r *serverRequest, c *call) {
	switch {
	case r.ctx.Err() != nil: // the server has canceled it
		go s.reply(r, nil, nil)
	case c != nil && c.options.Request != nil:
		s.push(c, event{request: r})
	default:
		go s.answer(r.ctx, r, s.options.Request)
	}
}

// left notes that a call of Call has ended. It is called with mu held.
func (s *Session) left(canceled bool) {
	s.running--
	switch {
	case canceled && s.asks:
		s.settling++ // afterCall ends it
		s.unpark(nil)
	case s.running <= 1:
		s.unpark(s.owner(""))
	}
}
