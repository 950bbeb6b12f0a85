package client

import (
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
	"github.com/toolhost/toolhost/sdk"
)

const (
	// maxSessionRequest is the largest request that goes over the session: while a larger one is sent, others would wait.
	maxSessionRequest = 128 << 10
	// maxEvents is how many events of one call may wait for its caller, and maxEventBytes how large they may be together.
	// More are dropped.
	maxEvents     = 16 << 10
	maxEventBytes = 8 << 20
	// maxRequestBytes is the same for requests to the host: wire.MaxRequests with the largest arguments. There may be
	// maxRequests, each with its withdrawal. More end the call.
	maxRequestBytes = 16 << 20
	// maxStrays is how many bytes for calls that have ended may come after the last of them, besides the results of those
	// that ended without one, maxPardoned bytes at most. More end the session. A message counts as strayCost bytes more.
	maxStrays   = 64 << 20
	maxPardoned = 4 << 30
	strayCost   = 256
)

// A session is the host's end of a connection that carries many calls. Callers send by themselves; one goroutine
// receives, and never waits for a caller. A caller waits for one channel alone: what ends its call otherwise wakes it.
type session struct {
	again  bool          // calls went over gRPC without one: none waits for this one
	opened chan struct{} // closed when it is open, or has ended
	ended  chan struct{} // closed when err is set
	err    error
	frames *wire.Frames // nil: it could not be opened

	refused bool      // by the plugin
	retryAt time.Time // when the next may be opened, if this one could not

	mu     sync.Mutex
	last   uint64
	calls  map[uint64]*pendingCall
	timer  *time.Timer  // for the first deadline of all; nil before there is one
	strays atomic.Int64 // bytes for calls that are not waiting, since one has ended; below zero: that many may come yet
	expiry time.Time    // when it fires; zero: it does not
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

// OpenSession begins to open the session of a plugin that accepts sessions, ahead of the first call.
func (c *Client) OpenSession() {
	if c.dial != nil && c.sessions.Load() {
		c.openSession()
	}
}

// openSession returns the one session of the client, which may still be opening: a new one when the last has ended.
func (c *Client) openSession() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.current; s == nil || isClosed(s.ended) && !time.Now().Before(s.retryAt) {
		c.current = &session{opened: make(chan struct{}), ended: make(chan struct{}), calls: map[uint64]*pendingCall{},
			again: s != nil && s.frames == nil && !s.refused}
		go c.current.run(c.dial, c.token, c.life, c.OnFlood) // it is not the first call's, and outlives it
	}
	return c.current
}

// session returns the session, which is opened at the first call at the latest. It is nil when it could not be opened
// and the plugin need not be the cause: the call then goes over gRPC, as nothing of it was sent.
func (c *Client) session(ctx context.Context) (*session, error) {
	s := c.openSession()
	if !isClosed(s.opened) && !s.again {
		select {
		case <-s.opened:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.life.Done():
			return nil, c.life.Err()
		}
	}
	switch {
	case !isClosed(s.opened):
		return nil, nil
	case s.frames != nil:
		return s, nil
	case s.refused:
		return nil, s.err
	}
	return nil, nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

const (
	// openTime is how long the plugin may take to accept a session.
	openTime = 10 * time.Second
	// openPause is how long none is opened after one that could not be.
	openPause = time.Second
)

// run opens the session, and receives until it ends, which is with its connection.
func (s *session) run(dial Dialer, token string, life context.Context, onFlood func()) {
	defer context.AfterFunc(life, s.wakeAll)()
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	conn, err := dial(ctx)
	cancel()
	if err == nil {
		defer func() { _ = conn.Close() }()
		s.frames, err = wire.OpenSession(conn, token)
	}
	if err != nil {
		if s.refused = wire.RefusedSession(err); !s.refused {
			s.retryAt = time.Now().Add(openPause)
		}
		s.end(status.Error(codes.Unavailable, err.Error()))
		close(s.opened)
		return
	}
	close(s.opened)
	s.end(s.receive())
	if s.err == errStrays && onFlood != nil { //nolint:errorlint // itself
		onFlood()
	}
}

func (s *session) end(err error) {
	s.err = err
	close(s.ended)
	s.wakeAll()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
}

// wakeAll wakes all callers, so that each checks why its call ended.
func (s *session) wakeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range s.calls {
		call.Wake()
	}
}

// expire wakes the callers whose deadlines have passed. One timer serves all calls: a timer for each was a tenth of
// what a small call takes.
func (s *session) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, next := time.Now(), time.Time{}
	for _, call := range s.calls {
		switch {
		case call.deadline.IsZero():
		case !now.Before(call.deadline):
			call.Wake()
		case next.IsZero() || call.deadline.Before(next):
			next = call.deadline
		}
	}
	s.expiry = time.Time{}
	if soonest := now.Add(expiryPause); !next.IsZero() && next.Before(soonest) {
		next = soonest
	}
	if !next.IsZero() {
		s.expireAt(next)
	}
}

// expiryPause is how long expire pauses at least: each time it looks at all calls.
const expiryPause = time.Millisecond

// expireAt has expire called at a time, or before. The lock is held.
func (s *session) expireAt(at time.Time) {
	if !s.expiry.IsZero() && !at.Before(s.expiry) {
		return
	}
	s.expiry = at
	if s.timer == nil {
		s.timer = time.AfterFunc(time.Until(at), s.expire)
		return
	}
	s.timer.Reset(time.Until(at))
}

// receive hands out what the plugin sends. Messages for calls that are no longer waiting are dropped, unless there is
// no end of them.
func (s *session) receive() error {
	answered := false // a caller was woken, and may not have run yet
	for {
		frame, err := s.frames.Next()
		if err != nil {
			return err
		}
		var call *pendingCall
		if answer, ok := decodePlain(frame); ok {
			if call = s.call(answer.id); call != nil && call.deliverPlain(answer) {
				answered = true
				continue
			}
		}
		if id, data, ok := decodePiece(frame); ok {
			if answered { // it runs before large results of others are read, of which there may be no end
				runtime.Gosched()
				answered = false
			}
			if call = s.call(id); call != nil {
				call.deliverPiece(data)
				continue
			}
		} else {
			m := &pluginv1.SessionEvent{}
			if err := wire.Decode(frame, m); err != nil {
				return err
			}
			if call = s.call(m.GetId()); call != nil {
				call.deliver(m)
				continue
			}
		}
		if s.strays.Add(int64(len(frame)+strayCost)) > maxStrays {
			return errStrays
		}
	}
}

var errStrays = status.Error(codes.Internal, "it sends without end to calls that have ended")

func (s *session) call(id uint64) *pendingCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[id]
}

// deliverPlain takes the first message of a call, and reports false if it is not the first.
func (c *pendingCall) deliverPlain(a plainAnswer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun {
		return false
	}
	c.begun, c.plain = true, a
	c.Wake()
	return true
}

// A pendingCall is a call that waits for its events. The goroutine that receives puts its result together, so that a
// result of many pieces wakes the caller once.
type pendingCall struct {
	id       uint64
	request  *sdk.Request
	deadline time.Time     // zero: none
	wake     chan struct{} // receives when there is something to take, or to look for

	mu     sync.Mutex
	closed bool                  // the caller has gone
	begun  bool                  // a message has come
	plain  plainAnswer           // that was the first message, and all that the call takes, if it has a result
	in     *inbox                // nil before any other message
	events []*pluginv1.CallEvent // not taken yet
	result *pluginv1.Result
	failed error // why there is no result: what the plugin has sent
	ended  error // likewise: the plugin's status
}

// An inbox is what a call receives with, and how much of that its caller has not handled yet.
type inbox struct {
	wire.Receiver
	waiting held
}

// held are events that are in memory, with their bytes, and the requests to the host apart from others.
type held struct{ events, bytes, requests, requestBytes int }

func (h *held) subtract(o held) {
	h.events -= o.events
	h.bytes -= o.bytes
	h.requests -= o.requests
	h.requestBytes -= o.requestBytes
}

// admit counts an event if there is room for it.
func (h *held) admit(e *pluginv1.CallEvent, size int) bool {
	count, bytes, most, mostBytes := &h.events, &h.bytes, maxEvents, maxEventBytes
	if e.GetRequest() != nil {
		count, bytes, most, mostBytes = &h.requests, &h.requestBytes, 2*maxRequests, maxRequestBytes
	}
	if *count >= most || *bytes+size > mostBytes {
		return false
	}
	*count++
	*bytes += size
	return true
}

func (c *pendingCall) deliver(m *pluginv1.SessionEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin()
	for _, e := range m.GetEvents() {
		if c.over() {
			return
		}
		event, result, err := c.in.Take(e)
		if event != nil && err == nil {
			// What comes with the result says how many were dropped before.
			if size := proto.Size(event); c.in.waiting.admit(event, size) || result != nil {
				c.events = append(c.events, event)
				c.Wake()
			} else {
				err = c.in.Drop(event, size)
			}
		}
		c.finish(result, err)
	}
	if st := m.GetStatus(); st != nil && !c.over() {
		c.ended = status.Error(codes.Code(uint32(st.GetCode())), st.GetMessage())
		if st.GetCode() == int32(codes.OK) {
			c.ended = io.EOF
		}
		c.Wake()
	}
}

func (c *pendingCall) deliverPiece(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begin(); !c.over() {
		c.finish(nil, c.in.More(data))
	}
}

func (c *pendingCall) begin() {
	if !c.begun {
		c.begun, c.in = true, &inbox{Receiver: newReceiver(c.request)}
	}
}

// close returns how many bytes of a result may come yet.
func (c *pendingCall) close() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.in != nil {
		c.in.Close()
	}
	if c.plain.result != nil || c.result != nil || c.ended != nil {
		return 0
	}
	return wire.MaxResult + c.request.MaxLarge
}

// over reports whether nothing of the call is expected any more.
func (c *pendingCall) over() bool {
	return c.closed || c.plain.result != nil || c.result != nil || c.failed != nil || c.ended != nil
}

func (c *pendingCall) finish(result *pluginv1.Result, err error) {
	if result == nil && err == nil {
		return
	}
	c.result, c.failed = result, err
	c.Wake()
}

// Wake implements callctx.Waiter.
func (c *pendingCall) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// take passes what has come since the last time on, and returns the result or the error once it is there. Ctx is the
// caller's.
func (c *pendingCall) take(ctx context.Context, out *receiver) (*sdk.Result, error) {
	c.mu.Lock()
	plain, waiting, result, failed, ended := c.plain, c.events, c.result, c.failed, c.ended
	c.events = nil
	var handling held
	if c.in != nil {
		handling = c.in.waiting
	}
	c.mu.Unlock()
	if plain.result != nil {
		if plain.started && out.request.Events != nil {
			out.request.Events(sdk.Event{Type: sdk.EventStarted})
		}
		return plain.result, nil
	}
	for _, e := range waiting {
		if err := out.take(e); err != nil {
			return nil, receiveError(err)
		}
	}
	if len(waiting) > 0 { // a caller that was slow with them had them in memory meanwhile
		c.mu.Lock()
		c.in.waiting.subtract(handling)
		c.mu.Unlock()
	}
	switch {
	case result != nil:
		return resultFromWire(result), nil
	case failed != nil:
		return nil, receiveError(failed)
	case ended != nil:
		return nil, setOutcome(broken(ctx, ended, true), sdk.OutcomeUnknown)
	}
	return nil, nil
}

// wakes is a pool of channels. A late wake-up meant for an earlier call is harmless: the receiver checks, and waits on.
var wakes = sync.Pool{New: func() any { return make(chan struct{}, 1) }}

func (s *session) add(deadline time.Time, r *sdk.Request) *pendingCall {
	c := &pendingCall{wake: wakes.Get().(chan struct{}), deadline: deadline, request: r}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	c.id = s.last
	s.calls[c.id] = c
	if !deadline.IsZero() {
		s.expireAt(deadline)
	}
	return c
}

func (s *session) remove(c *pendingCall) {
	pardoned := c.close()
	s.mu.Lock()
	delete(s.calls, c.id)
	strays := s.strays.Load()
	s.strays.Add(max(min(strays, 0)-pardoned, -maxPardoned) - strays)
	s.mu.Unlock()
	select {
	case <-c.wake:
	default:
	}
	wakes.Put(c.wake)
}

// cancel notifies the plugin that the caller has given up, and waits for nothing.
func (s *session) cancel(c *pendingCall) {
	_ = s.frames.Post(wire.Proto{Message: &pluginv1.SessionRequest{Id: c.id,
		Request: &pluginv1.SessionRequest_Cancel{Cancel: &pluginv1.Cancel{}}}}) // a broken connection ends the call as well
}

// busy reports whether other calls run, whose requests may go with this one's.
func (s *session) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls) > 1
}

// notSent is the error of a call of which nothing was sent.
func notSent(ctx context.Context, err error) error {
	return setOutcome(broken(ctx, err, false), sdk.OutcomeNotSent)
}

// callSession is Call over a session that was opened.
func (c *Client) callSession(ctx context.Context, s *session, r *sdk.Request, m *wire.SessionCall) (
	*sdk.Result, error) {
	deadline, _ := ctx.Deadline()
	call := s.add(deadline, r)
	defer s.remove(call)
	m.ID = call.id
	if !deadline.IsZero() {
		m.Timeout = max(time.Microsecond, time.Until(deadline))
	}
	callerEnded := callctx.Watch(ctx, call)
	defer callctx.Unwatch(ctx, call)
	err := s.frames.Send(ctx, c.life.Done(), m, s.busy())
	m.Call.Reset()
	requests.Put(m.Call)
	if err != nil {
		return nil, notSent(ctx, err)
	}
	out := receiver{client: c, ctx: ctx, request: r}
	defer out.end()
	for woken := false; ; woken = true {
		var end error // of the session, the caller or all calls; a result may have come before
		switch {
		case isClosed(s.ended):
			end = s.err
		case isClosed(c.life.Done()):
			end = c.life.Err()
		case woken:
			end = ctx.Err()
		}
		result, err := call.take(ctx, &out)
		if result == nil && err == nil && end != nil {
			err = setOutcome(broken(ctx, end, true), sdk.OutcomeUnknown)
		}
		if err != nil {
			s.cancel(call) // it may run on
		}
		if result != nil || err != nil {
			return result, err
		}
		call.wait(callerEnded)
	}
}

func (c *pendingCall) wait(callerEnded <-chan struct{}) {
	if callerEnded == nil {
		<-c.wake
		return
	}
	select {
	case <-c.wake:
	case <-callerEnded:
	}
}

// takeEvent takes one event of a call over Call.
func takeEvent(in *wire.Receiver, m *pluginv1.CallEvent, out *receiver) (*sdk.Result, error) {
	event, result, err := in.Take(m)
	if event != nil && err == nil {
		err = out.take(event)
	}
	switch {
	case err != nil:
		return nil, receiveError(err)
	case result != nil:
		return resultFromWire(result), nil
	}
	return nil, nil
}
