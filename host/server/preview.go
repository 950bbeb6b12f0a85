package server

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/sdk"
)

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

// maxBatch is the most calls of a batch, as in the host.
const maxBatch = 128

// CallBatch runs the calls of one turn.
func (s *hostService) CallBatch(ctx context.Context, r *connect.Request[apiv1.CallBatchRequest],
	stream *connect.ServerStream[apiv1.CallBatchResponse]) error {
	if n := len(r.Msg.Calls); n > maxBatch {
		return fail(connect.CodeInvalidArgument, sdk.CodeLimit,
			fmt.Sprintf("the batch has %d calls, at most %d are allowed; nothing was run", n, maxBatch), "Make smaller batches.")
	}
	var calls []host.Call
	q := newEventQueue()
	for i, in := range r.Msg.Calls {
		c, err := newCall(ctx, in)
		if err != nil {
			return err
		}
		if !in.WithoutEvents {
			c.Events = func(e sdk.Event) { q.add(i, &e) }
		}
		calls = append(calls, c)
	}
	if err := s.begin(); err != nil {
		return err
	}
	defer s.inFlight.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	entries, err := s.enter(ctx, calls)
	if err != nil {
		return err
	}
	defer endAll(entries)
	for i, c := range calls {
		err := stream.Send(&apiv1.CallBatchResponse{Index: int32(i),
			Message: &apiv1.CallBatchResponse_Accepted{Accepted: accepted(c.ID)}})
		if err != nil {
			return err
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.options.Backend.Catalog().CallAll(ctx, calls, host.BatchOptions{Parallel: int(r.Msg.Parallel),
			StopOnRejection: r.Msg.StopOnRejection, MaxResultBytes: r.Msg.MaxResultBytes,
			Context: func(_ context.Context, i int) context.Context { return entries[i].ctx },
			Ended: func(i int, result *host.Result) {
				entries[i].end(result)
				q.reply(&apiv1.CallBatchResponse{Index: int32(i),
					Message: &apiv1.CallBatchResponse_Result{Result: convert.Result(result)}})
			}})
	}()
	for ended := false; !ended; {
		select {
		case <-q.ready:
		case <-done:
			ended = true
		}
		for _, one := range q.take() {
			reply := one.reply
			if reply == nil {
				reply = &apiv1.CallBatchResponse{Index: int32(one.index),
					Message: &apiv1.CallBatchResponse_Event{Event: one.event}}
			}
			if err := stream.Send(reply); err != nil {
				cancel()
				<-done // so that no call outlives its stream
				return err
			}
		}
	}
	return nil
}
