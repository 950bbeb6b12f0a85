package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/apiv1/apiv1connect"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/approvals"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// An ApprovalService serves the questions that wait in a queue, and the approvals that a host remembers.
type ApprovalService struct {
	queue   *approvals.Queue
	backend Backend
	forget  func(id string) (bool, error)
}

var _ apiv1connect.ApprovalServiceHandler = (*ApprovalService)(nil)

// NewApprovals returns the service for Options.Approvals. Forget removes an approval from where it is saved, and
// reports whether it was there; nil removes none.
func NewApprovals(q *approvals.Queue, b Backend, forget func(id string) (bool, error)) *ApprovalService {
	return &ApprovalService{q, b, forget}
}

// List returns what waits.
func (s *ApprovalService) List(context.Context, *connect.Request[apiv1.ListApprovalsRequest]) (
	*connect.Response[apiv1.ListApprovalsResponse], error) {
	return connect.NewResponse(&apiv1.ListApprovalsResponse{Approvals: convert.Approvals(s.queue.List())}), nil
}

// Watch sends what waits, and then each change.
func (s *ApprovalService) Watch(ctx context.Context, _ *connect.Request[apiv1.WatchApprovalsRequest],
	stream *connect.ServerStream[apiv1.WatchApprovalsResponse]) error {
	w := s.queue.Watch()
	defer w.End()
	for {
		c, err := w.Next(ctx)
		if errors.Is(err, approvals.ErrWatchEnded) { // the server stops too, which ends the stream
			<-ctx.Done()
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		err = stream.Send(&apiv1.WatchApprovalsResponse{Snapshot: c.Snapshot, Lost: int32(min(c.Lost, 1<<30)),
			Approvals: convert.Approvals(c.Questions)})
		if err != nil {
			return err
		}
	}
}

const maxBy = 64 // how many characters the name of the place of an answer has

// Answer answers a question.
func (s *ApprovalService) Answer(ctx context.Context, r *connect.Request[apiv1.AnswerApprovalRequest]) (
	*connect.Response[apiv1.AnswerApprovalResponse], error) {
	m := r.Msg
	if strings.ContainsFunc(strings.TrimSpace(m.By), hidden) {
		return nil, Fail(connect.CodeInvalidArgument, "", fmt.Sprintf("by has characters that cannot be seen: %.100q", m.By),
			"Name the place of the answer in plain text, such as console.")
	}
	a := approvals.Answer{ID: m.Id, Hash: m.Hash, By: answeredBy(who(ctx), m.By), Call: host.Answer{Approved: m.Approved,
		Scope: host.Scope(m.Scope), Saved: m.Saved, Reason: m.Reason, CancelRest: m.CancelRest},
		Input: convert.ToRaws(m.InputResponses)}
	if m.Arguments != "" {
		if !who(ctx).role.may(Operator) { // with other arguments it is a call of whoever answers
			return nil, Fail(connect.CodePermissionDenied, "", "changed arguments need the role operator",
				"Approve the call as it is, or reject it with a reason.")
		}
		a.Call.Arguments = json.RawMessage(m.Arguments)
	}
	o, err := s.queue.Answer(a)
	if err == nil {
		return connect.NewResponse(&apiv1.AnswerApprovalResponse{Outcome: convert.Outcome(&o)}), nil
	}
	rpc := connect.CodeInvalidArgument
	switch _, answered := errors.AsType[*approvals.AnsweredError](err); {
	case answered:
		rpc = connect.CodeFailedPrecondition
	case errors.Is(err, approvals.ErrNotFound):
		rpc = connect.CodeNotFound
	case errors.Is(err, approvals.ErrChanged):
		rpc = connect.CodeAborted
	}
	return nil, Fail(rpc, "", err.Error(), "")
}

// answeredBy names who answered: what the client says, and the token, which it cannot choose.
func answeredBy(p principal, says string) string {
	says = cmp.Or(textutil.CutRunes(strings.TrimSpace(convert.Text(says)), maxBy, ""), "api")
	if p.name == "" {
		return says
	}
	return says + " (" + p.name + ")"
}

// ListRemembered returns the approvals that cover later calls.
func (s *ApprovalService) ListRemembered(context.Context, *connect.Request[apiv1.ListRememberedRequest]) (
	*connect.Response[apiv1.ListRememberedResponse], error) {
	all := convert.Each(s.backend.Host().Remembered(), func(r host.Remembered) *apiv1.Remembered {
		return convert.Remembered(&r)
	})
	return connect.NewResponse(&apiv1.ListRememberedResponse{Remembered: all}), nil
}

// Forget revokes an approval.
func (s *ApprovalService) Forget(_ context.Context, r *connect.Request[apiv1.ForgetRequest]) (
	*connect.Response[apiv1.ForgetResponse], error) {
	found := s.backend.Host().Revoke(r.Msg.Id)
	if s.forget != nil {
		saved, err := s.forget(r.Msg.Id)
		if err != nil {
			return nil, Fail(connect.CodeInternal, sdk.CodeInternal,
				"the approval is revoked in this host, but not where it is saved: "+err.Error(), "")
		}
		found = found || saved
	}
	if !found {
		return nil, Fail(connect.CodeNotFound, "", fmt.Sprintf("there is no remembered approval %.100q", r.Msg.Id), "")
	}
	return connect.NewResponse(&apiv1.ForgetResponse{}), nil
}
