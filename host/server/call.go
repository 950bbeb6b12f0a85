package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

var processID = os.Getpid()

const (
	maxID     = 256     // bytes of names that callers choose
	maxQueued = 1 << 20 // bytes of events that wait for a slow client
)

// CallOnce runs one call without events.
func (s *hostService) CallOnce(ctx context.Context, r *connect.Request[apiv1.CallRequest]) (
	*connect.Response[apiv1.CallResult], error) {
	calls, entries, end, err := s.enter(ctx, r.Msg)
	if err != nil {
		return nil, err
	}
	defer end()
	result := s.run(entries[0], calls[0])
	out := convert.Result(result)
	out.Text = convert.Text(result.Text())
	return connect.NewResponse(out), nil
}

func (s *hostService) run(e *entry, c host.Call) *host.Result {
	result := s.options.Backend.Catalog().Call(e.ctx, c)
	e.end(result)
	return result
}

// Call runs one call with its events.
func (s *hostService) Call(ctx context.Context, r *connect.Request[apiv1.CallRequest],
	stream *connect.ServerStream[apiv1.CallResponse]) error {
	calls, entries, end, err := s.enter(ctx, r.Msg)
	if err != nil {
		return err
	}
	defer end()
	c, e := calls[0], entries[0]
	err = stream.Send(&apiv1.CallResponse{Message: &apiv1.CallResponse_Accepted{Accepted: accepted(c.ID)}})
	if err != nil {
		return err
	}
	if r.Msg.WithoutEvents {
		result := convert.Result(s.run(e, c))
		return stream.Send(&apiv1.CallResponse{Message: &apiv1.CallResponse_Result{Result: result}})
	}
	q := newEventQueue()
	c.Events = func(e sdk.Event) { q.add(0, &e) }
	var result *host.Result
	err = q.sendDuring(func() { result = s.run(e, c) }, e.cancel, func(one queuedEvent) error {
		return stream.Send(&apiv1.CallResponse{Message: &apiv1.CallResponse_Event{Event: one.event}})
	})
	if err != nil {
		return err
	}
	return stream.Send(&apiv1.CallResponse{Message: &apiv1.CallResponse_Result{Result: convert.Result(result)}})
}

func accepted(id string) *apiv1.CallAccepted {
	return &apiv1.CallAccepted{CallId: id, Time: timestamppb.New(time.Now())}
}

// newCall checks the request, and returns its call, whose tool may be an address.
func newCall(ctx context.Context, in *apiv1.CallRequest) (c host.Call, err error) {
	p := who(ctx)
	invalid := func(format string, a ...any) (host.Call, error) {
		return c, Fail(connect.CodeInvalidArgument, sdk.CodeInvalidArgs, fmt.Sprintf(format+"; nothing was run", a...), "")
	}
	for _, text := range []string{in.Tool, in.CallId, in.SessionId, in.Caller, in.StopReason} {
		if len(text) > maxID {
			return invalid("a name in the request is longer than %d bytes", maxID)
		}
		if strings.ContainsFunc(text, hidden) {
			return invalid("the name %q in the request has characters that cannot be seen", text)
		}
	}
	for _, text := range []string{in.Meta, in.Capabilities} {
		if raw := []byte(text); text != "" && (rawjson.Kind(raw) != "an object" || !json.Valid(raw)) {
			return invalid("meta and capabilities must be JSON objects")
		}
	}
	for _, text := range in.InputResponses {
		if !json.Valid([]byte(text)) {
			return invalid("input_responses must be JSON texts")
		}
	}
	timeout := in.Timeout.AsDuration()
	switch {
	case in.Caller != "" && in.Caller != p.caller() && !p.local:
		return c, Fail(connect.CodePermissionDenied, sdk.CodeDenied,
			"only callers on the Unix socket may name another caller; nothing was run", "Leave out caller.")
	case in.Timeout != nil && (in.Timeout.CheckValid() != nil || timeout < 0):
		return invalid("the timeout must not be negative")
	case timeout > host.MaxTimeout:
		return invalid("the timeout is %s; the limit is %s", timeout, host.MaxTimeout)
	}
	return host.Call{ID: cmp.Or(in.CallId, rand.Text()), Tool: in.Tool, Arguments: json.RawMessage(in.Arguments),
		TextArguments: in.TextArguments, StopReason: in.StopReason, Caller: cmp.Or(in.Caller, p.caller()),
		SessionID: in.SessionId, Timeout: timeout, Meta: convert.Raw(in.Meta),
		Capabilities: convert.Raw(in.Capabilities), ReturnInput: in.ReturnInput,
		InputResponses: convert.ToRaws(in.InputResponses), RequestState: in.RequestState}, nil
}

// hidden reports characters that no name has: people decide by what they see.
func hidden(r rune) bool { return unicode.IsControl(r) || textutil.Invisible(r) }

// An eventQueue has the events that wait for the client. When too many do, the oldest output, progress and log lines
// are dropped, and the next event says how many.
type eventQueue struct {
	ready chan struct{} // holds a token while events wait

	mu      sync.Mutex
	waiting []queuedEvent
	bytes   int
	dropped map[int]int32 // by call
}

type queuedEvent struct {
	index int // of the call in its batch
	size  int
	event *apiv1.Event
	reply *apiv1.CallBatchResponse // of a batch, in place of an event
}

func newEventQueue() *eventQueue { return &eventQueue{ready: make(chan struct{}, 1)} }

// add never waits. The event's data is copied: a plugin's buffer may be used again.
func (q *eventQueue) add(index int, e *sdk.Event) {
	one := queuedEvent{index: index, size: 100 + len(e.Message) + len(e.Attributes) + len(e.Data),
		event: convert.Event(e, time.Now())}
	one.event.Data = append([]byte(nil), e.Data...)
	q.mu.Lock()
	q.put(one)
	q.mu.Unlock()
	q.signal()
}

// reply adds a message of a batch, which is never dropped.
func (q *eventQueue) reply(r *apiv1.CallBatchResponse) {
	q.mu.Lock()
	q.waiting = append(q.waiting, queuedEvent{reply: r})
	q.mu.Unlock()
	q.signal()
}

func (q *eventQueue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// put makes room for the event. The caller holds the lock.
func (q *eventQueue) put(one queuedEvent) {
	for i := 0; q.bytes+one.size > maxQueued && i < len(q.waiting); {
		old := q.waiting[i]
		if old.reply != nil || old.event.Type == string(sdk.EventStatus) {
			i++
			continue
		}
		if q.dropped == nil {
			q.dropped = map[int]int32{}
		}
		q.dropped[old.index] += 1 + old.event.Lost
		q.bytes -= old.size
		q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
	}
	one.event.Lost = q.dropped[one.index]
	delete(q.dropped, one.index)
	q.bytes += one.size
	q.waiting = append(q.waiting, one)
}

func (q *eventQueue) take() []queuedEvent {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.waiting
	q.waiting, q.bytes = nil, 0
	return out
}

// sendDuring runs calls, and sends what waits until they end. If that fails, it cancels them: none outlives its stream.
func (q *eventQueue) sendDuring(run, cancel func(), send func(queuedEvent) error) error {
	done := make(chan struct{})
	go func() { defer close(done); run() }()
	for ended := false; !ended; {
		select {
		case <-q.ready:
		case <-done:
			ended = true
		}
		for _, one := range q.take() {
			if err := send(one); err != nil {
				cancel()
				<-done
				return err
			}
		}
	}
	return nil
}

// Preview describes what a call would do.
func (s *hostService) Preview(ctx context.Context, r *connect.Request[apiv1.PreviewRequest]) (
	*connect.Response[apiv1.PreviewResponse], error) {
	c, err := newCall(ctx, &apiv1.CallRequest{Tool: r.Msg.Tool, Arguments: r.Msg.Arguments, Caller: r.Msg.Caller,
		SessionId: r.Msg.SessionId})
	if err != nil {
		return nil, err
	}
	if c.Tool, err = s.resolve(ctx, c.Tool); err != nil {
		return nil, err
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.inFlight.Done()
	d, preview, err := s.options.Backend.Catalog().Preview(ctx, c)
	out := &apiv1.PreviewResponse{Preview: convert.Preview(preview), Error: convert.Error(failure(nil, err))}
	if d.Effect != "" {
		out.Decision = convert.Decision(d)
	}
	return connect.NewResponse(out), nil
}

const maxBatch = 128 // the most calls of a batch, as in the host

// CallBatch runs the calls of one turn.
func (s *hostService) CallBatch(ctx context.Context, r *connect.Request[apiv1.CallBatchRequest],
	stream *connect.ServerStream[apiv1.CallBatchResponse]) error {
	if n := len(r.Msg.Calls); n > maxBatch {
		return Fail(connect.CodeInvalidArgument, sdk.CodeLimit,
			fmt.Sprintf("the batch has %d calls, at most %d are allowed; nothing was run", n, maxBatch), "Make smaller batches.")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	calls, entries, end, err := s.enter(ctx, r.Msg.Calls...)
	if err != nil {
		return err
	}
	defer end()
	q := newEventQueue()
	for i, c := range calls {
		if !r.Msg.Calls[i].WithoutEvents {
			calls[i].Events = func(e sdk.Event) { q.add(i, &e) }
		}
		err := stream.Send(&apiv1.CallBatchResponse{Index: int32(i),
			Message: &apiv1.CallBatchResponse_Accepted{Accepted: accepted(c.ID)}})
		if err != nil {
			return err
		}
	}
	run := func() {
		s.options.Backend.Catalog().CallAll(ctx, calls, host.BatchOptions{Parallel: int(r.Msg.Parallel),
			StopOnRejection: r.Msg.StopOnRejection, MaxResultBytes: r.Msg.MaxResultBytes,
			Context: func(_ context.Context, i int) context.Context { return entries[i].ctx },
			Ended: func(i int, result *host.Result) {
				entries[i].end(result)
				q.reply(&apiv1.CallBatchResponse{Index: int32(i),
					Message: &apiv1.CallBatchResponse_Result{Result: convert.Result(result)}})
			}})
	}
	return q.sendDuring(run, cancel, func(one queuedEvent) error {
		reply := one.reply
		if reply == nil {
			reply = &apiv1.CallBatchResponse{Index: int32(one.index),
				Message: &apiv1.CallBatchResponse_Event{Event: one.event}}
		}
		return stream.Send(reply)
	})
}
