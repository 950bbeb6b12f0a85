package client

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"github.com/toolhost/toolhost/sdk"
)

const (
	// maxSessionRequest is the largest request that goes over the session: while a larger one is sent, others would wait.
	maxSessionRequest = 128 << 10
	// maxInbox is how many messages of one call may wait for its caller, and maxInboxBytes how much of its result. Events
	// over it are dropped; a result over it ends the call.
	maxInbox      = 16 << 10
	maxInboxBytes = 2 * wire.MaxResult
)

// A session is the host's end of a connection that carries many calls. Callers send by themselves; one goroutine
// receives, and never waits for a caller.
type session struct {
	opened chan struct{} // closed when it is open, or has ended
	ended  chan struct{} // closed when err is set
	err    error
	frames *wire.Frames

	mu    sync.Mutex
	last  uint64
	calls map[uint64]*sessionCall
}

// A Dialer opens another connection to the plugin, and knows who is at its other end.
type Dialer func(ctx context.Context) (net.Conn, error)

// UseSessions has small calls of a plugin that accepts sessions go over one. It is called before the first call.
func (c *Client) UseSessions(dial Dialer, token string) { c.dial, c.token = dial, token }

// Close ends the session, if there is one. The connection that New got stays open.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.current; s != nil {
		<-s.opened
		if s.frames != nil {
			_ = s.frames.Close()
		}
	}
}

// session returns the one session of the client, which is opened at the first call, and again after it has ended.
func (c *Client) session(ctx context.Context) (*session, error) {
	c.mu.Lock()
	s := c.current
	if s == nil || isClosed(s.ended) {
		s = &session{opened: make(chan struct{}), ended: make(chan struct{}), calls: map[uint64]*sessionCall{}}
		c.current = s
		go s.run(c.dial, c.token) //nolint:gosec // the session is not the first call's, and outlives it
	}
	c.mu.Unlock()
	select {
	case <-s.opened:
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// openTime is how long the plugin may take to accept a session.
const openTime = 10 * time.Second

// run opens the session, and receives until it ends, which is with its connection.
func (s *session) run(dial Dialer, token string) {
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	conn, err := dial(ctx)
	cancel()
	if err == nil {
		defer conn.Close()
		s.frames, err = wire.OpenSession(conn, token)
	}
	if err != nil {
		s.end(status.Error(codes.Unavailable, err.Error()))
		close(s.opened)
		return
	}
	close(s.opened)
	s.end(s.receive())
}

func (s *session) end(err error) {
	s.err = err
	close(s.ended)
}

// receive hands out what the plugin sends. What is for no call that waits is late, and dropped.
func (s *session) receive() error {
	for {
		frame, err := s.frames.Next()
		if err != nil {
			return err
		}
		if answer, ok := decodePlain(frame); ok && s.deliverPlain(answer) {
			continue
		}
		m := &pluginv1.SessionEvent{}
		if err := wire.Decode(frame, m); err != nil {
			return err
		}
		s.mu.Lock()
		if call := s.calls[m.GetId()]; call != nil {
			call.deliver(m)
		}
		s.mu.Unlock()
	}
}

// deliverPlain hands out the first message of a call, and reports false if it is not the first.
func (s *session) deliverPlain(a plainAnswer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := s.calls[a.id]
	if call == nil {
		return true
	}
	call.mu.Lock()
	defer call.mu.Unlock()
	if call.begun {
		return false
	}
	call.begun, call.plain = true, a
	call.wakeUp()
	return true
}

// A sessionCall is a call that waits for its events.
type sessionCall struct {
	id   uint64
	wake chan struct{} // receives when there is something in the inbox

	mu    sync.Mutex
	begun bool        // a message has come
	plain plainAnswer // that was the first message, and all that the call takes, if it has a result
	inbox []*pluginv1.SessionEvent
	bytes int
	full  bool // more of the result came than the inbox takes
}

func (c *sessionCall) deliver(m *pluginv1.SessionEvent) {
	c.mu.Lock()
	c.begun = true
	if c.bytes += resultBytes(m); c.bytes > maxInboxBytes {
		c.full = true
	}
	if !c.full && (len(c.inbox) < maxInbox || !isEvent(m)) {
		c.inbox = append(c.inbox, m)
	}
	c.mu.Unlock()
	c.wakeUp()
}

func (c *sessionCall) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// isEvent reports whether a message has no part of the call's result.
func isEvent(m *pluginv1.SessionEvent) bool {
	for _, e := range m.GetEvents() {
		if e.GetPart() != nil || e.GetMore() != nil || e.GetResult() != nil {
			return false
		}
	}
	return m.GetStatus() == nil
}

// resultBytes is how much a message holds of a result that comes in pieces; each counts, however little is in it.
func resultBytes(m *pluginv1.SessionEvent) (n int) {
	const head = 64
	for _, e := range m.GetEvents() {
		if e.GetMore() != nil || e.GetPart() != nil {
			n += head + len(e.GetMore().GetData()) + len(e.GetPart().GetContent().GetText()) +
				len(e.GetPart().GetContent().GetData())
		}
	}
	return n
}

// take returns what has come since the last time, and whether more of the result came than the inbox takes.
func (c *sessionCall) take() (all []*pluginv1.SessionEvent, full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, c.inbox, c.bytes = c.inbox, nil, 0
	return all, c.full
}

// takePlain returns the answer if it came in one message.
func (c *sessionCall) takePlain() plainAnswer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.plain
}

func (s *session) add() *sessionCall {
	c := &sessionCall{wake: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	c.id = s.last
	s.calls[c.id] = c
	return c
}

func (s *session) remove(c *sessionCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c.id)
}

// cancel notifies the plugin that the caller has given up, and waits for nothing.
func (s *session) cancel(c *sessionCall) {
	_ = s.frames.Post(&pluginv1.SessionRequest{Id: c.id,
		Request: &pluginv1.SessionRequest_Cancel{Cancel: &pluginv1.Cancel{}}}) // a broken connection ends the call as well
}

// busy reports whether other calls run, whose requests may go with this one's.
func (s *session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls) > 1
}

// callSession is Call for a small request to a plugin that has sessions.
func (c *Client) callSession(ctx context.Context, request *pluginv1.CallRequest, events func(sdk.Event)) (*sdk.Result,
	error) {
	notSent := func(err error) error { return withOutcome(broken(ctx, err, false), sdk.OutcomeNotSent) }
	s, err := c.session(ctx)
	if err != nil {
		return nil, notSent(err)
	}
	if s.frames == nil { // it could not be opened
		return nil, notSent(s.err)
	}
	call := s.add()
	defer s.remove(call)
	m := &pluginv1.SessionRequest{Id: call.id, Request: &pluginv1.SessionRequest_Call{Call: request}}
	if deadline, ok := ctx.Deadline(); ok {
		m.TimeoutUs = max(1, time.Until(deadline).Microseconds())
	}
	if err := s.frames.Send(ctx, m, s.busy()); err != nil {
		return nil, notSent(err)
	}
	in := wire.NewReceiver()
	for {
		var end error // of the session, or of the caller; a result may have come before
		select {
		case <-call.wake:
		case <-s.ended:
			end = s.err
		case <-ctx.Done():
			end = ctx.Err()
		}
		if plain := call.takePlain(); plain.result != nil {
			if plain.started && events != nil {
				events(sdk.Event{Type: sdk.EventStarted})
			}
			return plain.result, nil
		}
		messages, full := call.take()
		result, err := takeMessages(ctx, &in, messages, events)
		switch {
		case result != nil:
			return result, nil
		case err == nil && full:
			err = errorFromWire(wire.TooLarge("the plugin sent more of a result than fits"))
		case err == nil && end != nil:
			err = withOutcome(broken(ctx, end, true), sdk.OutcomeUnknown)
		}
		if err != nil {
			s.cancel(call) // it may run on
			return nil, err
		}
	}
}

// takeMessages takes messages of a call; both results are nil while it goes on.
func takeMessages(ctx context.Context, in *wire.Receiver, messages []*pluginv1.SessionEvent, events func(sdk.Event)) (
	*sdk.Result, error) {
	for _, m := range messages {
		for _, e := range m.GetEvents() {
			if result, err := takeEvent(in, e, events); result != nil || err != nil {
				return result, err
			}
		}
		if st := m.GetStatus(); st != nil {
			err := status.Error(codes.Code(uint32(st.GetCode())), st.GetMessage())
			if st.GetCode() == int32(codes.OK) {
				err = io.EOF
			}
			return nil, withOutcome(broken(ctx, err, true), sdk.OutcomeUnknown)
		}
	}
	return nil, nil
}

// takeEvent takes one event of a call, over Call or a session.
func takeEvent(in *wire.Receiver, m *pluginv1.CallEvent, events func(sdk.Event)) (*sdk.Result, error) {
	event, result, err := in.Take(m)
	if event != nil && events != nil {
		if e, known := eventFromWire(event); known {
			events(e)
		}
	}
	if exceeded, ok := errors.AsType[*wire.ExceededError](err); ok {
		return nil, errorFromWire(exceeded.Failure)
	}
	if err != nil {
		return nil, &BrokenError{Delivered: true, Err: err}
	}
	if result != nil {
		return resultFromWire(result), nil
	}
	return nil, nil
}

// small reports whether a request may go over the session.
func small(r *pluginv1.CallRequest) bool {
	return len(r.GetArguments()) <= maxSessionRequest && proto.Size(r) <= maxSessionRequest
}
