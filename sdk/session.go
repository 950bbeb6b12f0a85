package sdk

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// A session is the plugin's end of a connection that carries many calls.
type session struct {
	server *server
	frames *wire.Frames
	ctx    context.Context // ends with the connection, and with the plugin
	calls  sync.WaitGroup
	idle   chan *sessionCall // to goroutines that calls have left
	left   atomic.Int32      // such goroutines

	mu      sync.Mutex
	running map[uint64]*sessionCall // nil once no call may begin
	begun   []*sessionCall          // whose first event may wait, oldest first
	timer   *time.Timer             // runs while begun has some
}

// serveSession serves calls until the connection or the plugin ends, and returns when their handlers have.
func (s *server) serveSession(frames *wire.Frames) {
	ctx, cancel := context.WithCancel(s.base)
	defer context.AfterFunc(ctx, frames.EndNext)() // handlers that end then may still send their results
	c := &session{server: s, frames: frames, ctx: ctx, idle: make(chan *sessionCall), running: map[uint64]*sessionCall{}}
	c.timer = time.AfterFunc(time.Hour, c.sendStarted)
	s.cpus.start()
	c.receive()
	cancel()
	c.mu.Lock()
	c.running = nil
	c.timer.Stop()
	c.mu.Unlock()
	c.calls.Wait()
	_ = frames.Close()
}

// receive begins calls, and cancels them. A message that it cannot take ends the session.
func (c *session) receive() {
	for {
		frame, err := c.frames.Next()
		if err != nil {
			return
		}
		var m pluginv1.SessionRequest
		if proto.Unmarshal(frame, &m) != nil {
			return
		}
		c.mu.Lock()
		call, known := c.running[m.GetId()]
		switch r := m.GetCall(); {
		case r == nil && known:
			call.cancel()
			c.server.overdue.notice(&call.handler)
		case r != nil && known:
			c.mu.Unlock()
			return // two calls have one id
		case r != nil:
			c.begin(m.GetId(), r, time.Duration(m.GetTimeoutUs())*time.Microsecond)
		}
		c.mu.Unlock()
	}
}

// begin has a goroutine run a call.
func (c *session) begin(id uint64, r *pluginv1.CallRequest, timeout time.Duration) {
	call := &sessionCall{session: c, id: id, request: r}
	if timeout > 0 {
		call.ctx, call.cancel = context.WithTimeout(c.ctx, timeout)
	} else {
		call.ctx, call.cancel = context.WithCancel(c.ctx)
	}
	call.handler.ctx = call.ctx
	c.server.overdue.add(&call.handler)
	c.running[id] = call
	select {
	case c.idle <- call:
	default:
		c.calls.Go(func() { c.work(call) })
	}
}

// maxIdle is how many goroutines wait for the next call. The collector shrinks their stacks to a few KiB each.
const maxIdle = 32

// work runs a call, and then waits for others: the stack of a goroutine that has run one need not grow again, which is
// a tenth of the cost of a small call.
func (c *session) work(call *sessionCall) {
	for {
		call.run()
		if c.left.Add(1) > maxIdle {
			c.left.Add(-1)
			return
		}
		select {
		case call = <-c.idle:
			c.left.Add(-1)
		case <-c.ctx.Done():
			return
		}
	}
}

// startedDelay is how long the first event of a call waits for the next, twice that at most: most calls have ended by
// then, and take one message.
const startedDelay = time.Millisecond

// sendStarted sends the first event of calls that began a while ago. One timer serves all calls.
func (c *session) sendStarted() {
	c.mu.Lock()
	var late []*sessionCall
	for len(c.begun) > 0 && time.Since(c.begun[0].began) >= startedDelay {
		late = append(late, c.begun[0])
		c.begun[0] = nil
		c.begun = c.begun[1:]
	}
	if len(c.begun) > 0 && c.running != nil {
		c.timer.Reset(startedDelay)
	}
	c.mu.Unlock()
	for _, call := range late {
		call.flush()
	}
}

// A sessionCall is a call of a session, and sends its events.
type sessionCall struct {
	session *session
	id      uint64
	request *pluginv1.CallRequest
	ctx     context.Context
	cancel  context.CancelFunc
	handler handlerRun // in place of what server.begin does for other requests: one context for a call is enough
	began   time.Time  // when the first event came

	mu   sync.Mutex // held to send
	sent bool       // the first event, or it waits
	bulk bool       // a piece of the result; the rest follows it
	held *pluginv1.CallEvent
	long bool // counted by processors
}

func (c *sessionCall) run() {
	s := c.session
	s.server.running.RLock()
	defer c.end() // also after runtime.Goexit
	err := s.server.call(c.ctx, c.request, wire.NewSessionSender(c))
	if err != nil && s.ctx.Err() == nil {
		st := status.Convert(err)
		_ = c.send(&pluginv1.SessionEvent{Id: c.id, // a broken connection ends the call's context too
			Status: &pluginv1.Status{Code: int32(st.Code()), Message: st.Message()}})
	}
}

func (c *sessionCall) end() {
	s := c.session
	c.cancel()
	s.server.overdue.remove(&c.handler)
	c.mu.Lock()
	c.held = nil
	if c.long {
		s.server.cpus.end()
	}
	c.mu.Unlock()
	s.mu.Lock()
	delete(s.running, c.id)
	s.mu.Unlock()
	s.server.running.RUnlock()
}

// Send sends an event with the one that waits.
func (c *sessionCall) Send(e *pluginv1.CallEvent) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.sent {
		c.sent, c.held = true, e
		c.hold()
		return nil
	}
	c.bulk = c.bulk || e.GetPart() != nil
	m := &pluginv1.SessionEvent{Id: c.id, Events: []*pluginv1.CallEvent{e}}
	if c.held != nil {
		m.Events = []*pluginv1.CallEvent{c.held, e}
		c.held = nil
	}
	return c.send(m)
}

// hold has the first event sent in time.
func (c *sessionCall) hold() {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	c.began = time.Now()
	s.begun = append(s.begun, c)
	if len(s.begun) == 1 {
		s.timer.Reset(startedDelay)
	}
}

// flush sends the event that waits.
func (c *sessionCall) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held != nil {
		m := &pluginv1.SessionEvent{Id: c.id, Events: []*pluginv1.CallEvent{c.held}}
		c.held, c.long = nil, true
		c.session.server.cpus.begin()
		_ = c.send(m) // likewise
	}
}

func (c *sessionCall) send(m *pluginv1.SessionEvent) error {
	var err error
	if c.bulk { // either waits for a host that does not read
		err = c.session.frames.SendBulk(context.Background(), m)
	} else {
		err = c.session.frames.Send(context.Background(), nil, m, c.session.busy())
	}
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	return nil
}

// busy reports whether other calls run, whose messages may go with this one's.
func (c *session) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.running) > 1
}
