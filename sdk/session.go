package sdk

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/internal/wire/pluginv1"
)

// A session is the plugin's end of one stream that carries many calls.
type session struct {
	server *server
	ctx    context.Context // ends with the stream, and with the plugin
	calls  sync.WaitGroup
	idle   chan func()  // to goroutines of earlier calls
	left   atomic.Int32 // the number of those goroutines

	sending sync.Mutex // held to send: each call has its own goroutine
	stream  grpc.BidiStreamingServer[pluginv1.SessionRequest, pluginv1.SessionEvent]

	mu      sync.Mutex
	running map[uint64]context.CancelFunc // nil once no call may begin
}

// Session serves calls until the stream or the plugin ends, and returns after their handlers.
func (s *server) Session(stream grpc.BidiStreamingServer[pluginv1.SessionRequest, pluginv1.SessionEvent]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer context.AfterFunc(s.base, cancel)()
	c := &session{server: s, ctx: ctx, stream: stream, idle: make(chan func()), running: map[uint64]context.CancelFunc{}}
	ended := make(chan error, 1)
	go func() { ended <- c.receive() }() // Recv returns when this function has returned
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	cancel()
	c.mu.Lock()
	c.running = nil
	c.mu.Unlock()
	c.calls.Wait()
	return err
}

// receive begins calls, and cancels them.
func (c *session) receive() error {
	for {
		m, err := c.stream.Recv()
		if err != nil {
			return err
		}
		c.mu.Lock()
		cancel, known := c.running[m.GetId()]
		r := m.GetCall()
		switch {
		case c.running == nil:
			c.mu.Unlock()
			return nil
		case r == nil:
			if known {
				cancel()
			}
		case known:
			c.mu.Unlock()
			return status.Errorf(codes.InvalidArgument, "two calls of the session have the id %d", m.GetId())
		default:
			c.begin(m.GetId(), r, time.Duration(m.GetTimeoutUs())*time.Microsecond)
		}
		c.mu.Unlock()
	}
}

func (c *session) begin(id uint64, r *pluginv1.CallRequest, timeout time.Duration) {
	var ctx context.Context
	var cancel context.CancelFunc
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(c.ctx, timeout)
	} else {
		ctx, cancel = context.WithCancel(c.ctx)
	}
	c.running[id] = cancel
	c.run(func() {
		out := &sessionSender{session: c, id: id}
		err := c.server.call(ctx, r, wire.NewSender(out))
		cancel()
		c.mu.Lock()
		delete(c.running, id)
		c.mu.Unlock()
		if err != nil && c.ctx.Err() == nil {
			out.end(err)
		}
	})
}

// maxIdle is how many goroutines wait for the next call.
const maxIdle = 8

// run runs a call in a goroutine of an earlier one, if there is any: its stack need not grow again, which is a tenth
// of the cost of a small call.
func (c *session) run(call func()) {
	select {
	case c.idle <- call:
		return
	default:
	}
	c.calls.Go(func() {
		for {
			call()
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
	})
}

// startedDelay is how long the first event of a call waits for the next: most calls have ended by then, and take one
// message.
const startedDelay = time.Millisecond

// A sessionSender sends the events of one call. Its fields are guarded by session.sending.
type sessionSender struct {
	session *session
	id      uint64
	begun   bool
	held    *pluginv1.CallEvent // the first event, delayed
	timer   *time.Timer
}

// Send sends an event together with the delayed one.
func (s *sessionSender) Send(e *pluginv1.CallEvent) error {
	s.session.sending.Lock()
	defer s.session.sending.Unlock()
	if !s.begun {
		s.begun, s.held = true, e
		s.timer = time.AfterFunc(startedDelay, s.flush)
		return nil
	}
	m := &pluginv1.SessionEvent{Id: s.id, Events: []*pluginv1.CallEvent{e}}
	if s.held != nil {
		m.Events = []*pluginv1.CallEvent{s.held, e}
		s.release()
	}
	return s.session.stream.Send(m)
}

func (s *sessionSender) release() {
	s.held = nil
	s.timer.Stop()
}

func (s *sessionSender) flush() {
	s.session.sending.Lock()
	defer s.session.sending.Unlock()
	if s.held != nil {
		m := &pluginv1.SessionEvent{Id: s.id, Events: []*pluginv1.CallEvent{s.held}}
		s.release()
		_ = s.session.stream.Send(m) // a broken stream ends the call's context too
	}
}

// end ends the call with a status.
func (s *sessionSender) end(err error) {
	s.session.sending.Lock()
	defer s.session.sending.Unlock()
	if s.held != nil {
		s.release()
	}
	st := status.Convert(err)
	_ = s.session.stream.Send(&pluginv1.SessionEvent{Id: s.id,
		Status: &pluginv1.Status{Code: int32(st.Code()), Message: st.Message()}}) // as above
}
