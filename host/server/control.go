package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/sdk"
)

// CancelCall cancels the running calls with an id: usually one.
func (s *hostService) CancelCall(_ context.Context, r *connect.Request[apiv1.CancelCallRequest]) (
	*connect.Response[apiv1.CancelCallResponse], error) {
	id := r.Msg.CallId
	if s.calls.cancel("", func(t *tracked) bool { return t.id == id }) == 0 {
		return nil, Fail(connect.CodeNotFound, "", "no running call has this id; it may have ended",
			"`toolhost history show ID` shows its end, if calls are recorded.")
	}
	return connect.NewResponse(&apiv1.CancelCallResponse{}), nil
}

// ListRunningCalls lists the calls that run or wait.
func (s *hostService) ListRunningCalls(context.Context, *connect.Request[apiv1.ListRunningCallsRequest]) (
	*connect.Response[apiv1.ListRunningCallsResponse], error) {
	return connect.NewResponse(&apiv1.ListRunningCallsResponse{Calls: s.calls.list()}), nil
}

const maxMessage = 200 // the most summaries of a message

// WatchCalls sends calls as they begin, change and end.
func (s *hostService) WatchCalls(ctx context.Context, _ *connect.Request[apiv1.WatchCallsRequest],
	stream *connect.ServerStream[apiv1.WatchCallsResponse]) error {
	w := s.calls.feed.Watch() // a call that begins now is in the snapshot, in a change, or in both
	defer w.End()
	if err := stream.Send(&apiv1.WatchCallsResponse{Snapshot: true, Calls: s.calls.list()}); err != nil {
		return err
	}
	for {
		changes, dropped, err := w.Next(ctx)
		if err != nil {
			return err
		}
		for len(changes) > 0 || dropped > 0 {
			n := min(len(changes), maxMessage)
			if err := stream.Send(&apiv1.WatchCallsResponse{Calls: changes[:n], Lost: int32(dropped)}); err != nil {
				return err
			}
			changes, dropped = changes[n:], 0
		}
	}
}

// ListSessions lists the sessions.
func (s *hostService) ListSessions(context.Context, *connect.Request[apiv1.ListSessionsRequest]) (
	*connect.Response[apiv1.ListSessionsResponse], error) {
	return connect.NewResponse(&apiv1.ListSessionsResponse{Sessions: s.calls.listSessions()}), nil
}

// EndSession cancels the calls of a session, and revokes the approvals that were given for it alone. Without an ID it
// is the caller's own.
func (s *hostService) EndSession(ctx context.Context, r *connect.Request[apiv1.EndSessionRequest]) (
	*connect.Response[apiv1.EndSessionResponse], error) {
	key := sessionOf(r.Msg.SessionId, who(ctx).caller())
	known := s.calls.hasSession(key)
	out := &apiv1.EndSessionResponse{Canceled: int32(s.calls.cancel("the session was ended",
		func(t *tracked) bool { return t.session() == key }))}
	h := s.options.Backend.Host()
	for _, a := range h.Remembered() {
		if !a.Saved && sessionOf(a.SessionID, a.Caller) == key && h.Revoke(a.ID) {
			out.Forgotten++
		}
	}
	if key.id != "" && !known && out.Forgotten == 0 {
		return nil, Fail(connect.CodeNotFound, "", fmt.Sprintf("no session %.100q has made calls here", key.id),
			"ListSessions has those that have.")
	}
	return connect.NewResponse(out), nil
}

// Stop has the program stop the server.
func (s *hostService) Stop(_ context.Context, r *connect.Request[apiv1.StopRequest]) (
	*connect.Response[apiv1.StopResponse], error) {
	if s.options.Stop == nil {
		return nil, connect.NewError(connect.CodeUnimplemented, nil)
	}
	var drain *time.Duration
	if in := r.Msg.Drain; in != nil {
		if in.CheckValid() != nil || in.AsDuration() < 0 {
			return nil, Fail(connect.CodeInvalidArgument, sdk.CodeInvalidArgs,
				"drain must be a time that is not negative; the host serves on", "")
		}
		drain = new(in.AsDuration())
	}
	running, _ := s.calls.Running()
	s.options.Stop(drain)
	return connect.NewResponse(&apiv1.StopResponse{RunningCalls: int32(running)}), nil
}

// Upgrade has the program start its successor.
func (s *hostService) Upgrade(ctx context.Context, _ *connect.Request[apiv1.UpgradeRequest]) (
	*connect.Response[apiv1.UpgradeResponse], error) {
	if s.options.Upgrade == nil {
		return nil, connect.NewError(connect.CodeUnimplemented, nil)
	}
	pid, err := s.options.Upgrade(ctx)
	if _, coded := errors.AsType[*connect.Error](err); coded {
		return nil, err // it says what to do
	} else if err != nil {
		return nil, Fail(connect.CodeFailedPrecondition, "", err.Error(), "This host keeps running.")
	}
	return connect.NewResponse(&apiv1.UpgradeResponse{Pid: int32(pid)}), nil
}
