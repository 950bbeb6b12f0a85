package sdk

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// A session is the plugin's end of a connection that carries many calls.
type session struct {
	server *server
	frames *wire.Frames
	ctx    context.Context // ends with the connection, and with the plugin
	last   wire.Repeated   // of the goroutine that receives
	calls  sync.WaitGroup
	idle   chan *servedCall // to goroutines that calls have left; closed when no call follows
	left   atomic.Int32     // such goroutines
	count  atomic.Int32     // calls that run

	mu      sync.Mutex
	running map[uint64]*servedCall
	begun   []*servedCall // of which the host may not know yet that they have started, oldest first
	timer   *time.Timer   // runs while begun has some
}

// serveSession serves calls until the connection or the plugin ends, and returns when their handlers have.
func (s *server) serveSession(frames *wire.Frames) {
	ctx, cancel := context.WithCancel(s.base)
	defer context.AfterFunc(ctx, frames.EndNext)() // handlers that end then may still send their results
	c := &session{server: s, frames: frames, ctx: ctx, idle: make(chan *servedCall), running: map[uint64]*servedCall{}}
	c.timer = time.AfterFunc(time.Hour, c.sendStarted)
	s.cpus.start()
	defer s.overdue.addSession(c)()
	c.receive()
	cancel()
	close(c.idle)
	c.calls.Wait()
	c.timer.Stop()
	_ = frames.Close()
}

// receive begins calls, and cancels them. A message that it cannot take ends the session.
func (c *session) receive() {
	for {
		frame, err := c.frames.Next()
		if err != nil {
			return
		}
		call := &servedCall{session: c}
		m, plain := wire.DecodeSessionCall(frame, &call.plain, &c.last)
		if !plain {
			var other pluginv1.SessionRequest
			if proto.Unmarshal(frame, &other) != nil {
				return
			}
			if other.GetCall() == nil {
				c.cancel(other.GetId())
				continue
			}
			m = wire.SessionCall{ID: other.GetId(), Call: other.GetCall(),
				Timeout: time.Duration(other.GetTimeoutUs()) * time.Microsecond}
		}
		call.id, call.request = m.ID, m.Call
		if !c.begin(call, m.Timeout) {
			return // two calls have one id
		}
	}
}

func (c *session) cancel(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.running[id]; call != nil {
		_ = call.ctx.Err() // if its deadline has passed, that is why it ends
		call.ctx.Cancel()
		call.handler.notice()
	}
}

// begin has a goroutine run a call.
func (c *session) begin(call *servedCall, timeout time.Duration) bool {
	call.began = time.Now()
	deadline := time.Time{}
	if timeout > 0 {
		deadline = call.began.Add(timeout)
	}
	call.ctx.Init(c.ctx, deadline)
	call.handler.ctx = &call.ctx
	c.mu.Lock()
	_, known := c.running[call.id]
	if !known {
		c.running[call.id] = call
		c.begun = append(c.begun, call)
		if len(c.begun) == 1 {
			c.timer.Reset(startedDelay)
		}
	}
	c.mu.Unlock()
	if known {
		return false
	}
	c.count.Add(1)
	select {
	case c.idle <- call:
	default:
		c.calls.Go(func() { c.work(call) })
	}
	return true
}

// maxIdle is how many goroutines wait for the next call. The collector shrinks their stacks to a few KiB each.
const maxIdle = 64

// work runs a call, and then waits for others: the stack of a goroutine that has run one need not grow again, which is
// a tenth of the cost of a small call.
func (c *session) work(call *servedCall) {
	for more := true; more; {
		call.run()
		if c.left.Add(1) > maxIdle {
			more = false
		} else {
			call, more = <-c.idle
		}
		c.left.Add(-1)
	}
}

// startedDelay is how long the first event of a call waits for the next, twice that at most: most calls have ended by
// then, and take one message.
const startedDelay = time.Millisecond

// sendStarted sends the first event of calls that began a while ago. One timer serves all calls.
func (c *session) sendStarted() {
	now := time.Now()
	c.mu.Lock()
	n := 0
	for n < len(c.begun) && now.Sub(c.begun[n].began) >= startedDelay {
		n++
	}
	late := c.begun[:n:n]
	c.begun = slices.Clone(c.begun[n:])
	c.mu.Unlock()
	waiting := slices.DeleteFunc(late, (*servedCall).late)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range waiting {
		call.began = now
	}
	c.begun = append(c.begun, waiting...)
	if len(c.begun) > 0 && c.ctx.Err() == nil {
		c.timer.Reset(startedDelay)
	}
}

// A servedCall is a call of a session, and sends its events.
type servedCall struct {
	session *session
	id      uint64
	request *pluginv1.CallRequest
	plain   pluginv1.CallRequest // the request of most calls
	ctx     callctx.Context
	handler handlerRun // in place of what server.begin does for other requests: one context for a call is enough
	began   time.Time

	mu   sync.Mutex // held to send
	sent bool       // the first event, or it is held
	held bool       // it waits for the next
	over bool       // no event follows
	long bool       // it has run for a while, and is counted by processors
	bulk bool       // a piece of the result was sent; the rest follows it
	next *pluginv1.CallEvent
}

func (c *servedCall) run() {
	s := c.session
	s.server.running.RLock()
	defer c.end() // also after runtime.Goexit
	err := s.server.call(&c.ctx, c.request, wire.NewSessionSender(c))
	if err != nil && s.ctx.Err() == nil {
		st := status.Convert(err)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held = false
		_ = c.send(wire.Proto{Message: &pluginv1.SessionEvent{Id: c.id, // a broken connection ends the call's context too
			Status: &pluginv1.Status{Code: int32(st.Code()), Message: st.Message()}}})
	}
}

func (c *servedCall) end() {
	s := c.session
	s.mu.Lock()
	delete(s.running, c.id)
	s.mu.Unlock()
	c.ctx.Cancel()
	c.mu.Lock()
	c.held, c.over = false, true
	if c.long {
		s.server.cpus.end()
	}
	c.mu.Unlock()
	s.count.Add(-1)
	s.server.running.RUnlock()
}

// Send sends an event with the first, if that is held.
func (c *servedCall) Send(e *pluginv1.CallEvent) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.sent { // it says that the call has started
		c.sent, c.held = true, true
		return nil
	}
	c.bulk = c.bulk || e.GetPart() != nil
	c.next = e
	return c.send(c)
}

// late sends the event that is held, of a call that has run for a while. It reports false for a call that waits for a
// processor.
func (c *servedCall) late() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.sent || c.over {
		return c.over
	}
	c.long = true
	c.session.server.cpus.begin()
	if c.held {
		c.held = false
		c.next = startedEvent
		_ = c.send(c) // a broken connection ends the call's context too
	}
	return true
}

// AppendTo appends the message with the next event.
func (c *servedCall) AppendTo(out []byte) ([]byte, error) {
	out, err := wire.AppendSessionEvent(out, c.id, c.held, c.next)
	c.held, c.next = false, nil
	return out, err
}

func (c *servedCall) send(m wire.Appender) error {
	var err error
	if c.bulk { // either waits for a host that does not read
		err = c.session.frames.SendBulk(context.Background(), m)
	} else {
		err = c.session.frames.Send(context.Background(), nil, m, c.session.count.Load() > 1)
	}
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	return nil
}
