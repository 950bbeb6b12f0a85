package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/api/convert"
	"github.com/toolhost/toolhost/host/bootstrap"
)

// terminalName is how answers of this terminal are named to the other approvers.
const terminalName = "terminal"

// A waitingQuestion is a question of the running host.
type waitingQuestion struct {
	*apiv1.Approval
	ended chan *apiv1.ApprovalOutcome // of the question when another approver has answered it, or nobody has
}

// questions follows what waits at the running host, those that wanted accepts, until ctx ends or the host is lost. Once
// the channel is closed, ended returns why.
func (r *runningHost) questions(ctx context.Context, wanted func(*apiv1.Approval) bool) (all <-chan waitingQuestion,
	ended func() error, err error) {
	stream, err := apiv1.NewApprovalServiceClient(r.conn).Watch(ctx, &apiv1.WatchApprovalsRequest{})
	if err != nil {
		return nil, nil, err
	}
	first, err := stream.Recv() // from here on nothing is missed
	if err != nil {
		return nil, nil, err
	}
	out := make(chan waitingQuestion, 1000) // as many as the host lets wait
	var last error
	go func() {
		defer close(out)
		known := map[string]waitingQuestion{}
		defer func() {
			for _, q := range known { // a prompt does not outlive its host
				q.ended <- &apiv1.ApprovalOutcome{}
			}
		}()
		for m := first; last == nil; m, last = stream.Recv() {
			open := map[string]bool{}
			for _, a := range m.Approvals {
				open[a.Id] = true
				q, is := known[a.Id]
				switch {
				case a.Outcome != nil && is:
					q.ended <- a.Outcome
					delete(known, a.Id)
				case a.Outcome == nil && !is && wanted(a):
					q = waitingQuestion{a, make(chan *apiv1.ApprovalOutcome, 1)}
					known[a.Id] = q
					select {
					case out <- q:
					case <-ctx.Done():
						return
					}
				}
			}
			for id, q := range known {
				if m.Snapshot && !open[id] { // its end is among what was lost
					q.ended <- &apiv1.ApprovalOutcome{}
					delete(known, id)
				}
			}
		}
	}()
	return out, func() error { return last }, nil
}

// answer asks the person at the terminal, unless another approver is faster, and sends the answer.
func (g *options) answer(ctx context.Context, r *runningHost, p *prompter, q waitingQuestion) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan *apiv1.ApprovalOutcome, 1)
	go func() {
		select {
		case o := <-q.ended:
			ended <- o
			cancel()
		case <-asking.Done():
		}
	}()
	m, err := g.answerOf(asking, p, q.Approval)
	select {
	case o := <-ended:
		fmt.Fprintln(g.err, indentRest(replaceForTerminal(outcomeText(o))))
		return nil
	default:
	}
	if err != nil {
		return err
	}
	g.send(ctx, r, m)
	return nil
}

// send sends an answer to the host.
func (g *options) send(ctx context.Context, r *runningHost, m *apiv1.AnswerApprovalRequest) {
	_, err := apiv1.NewApprovalServiceClient(r.conn).Answer(ctx, m)
	if err != nil && ctx.Err() == nil { // such as another answer that came first
		fmt.Fprintf(g.err, "toolhost: the answer does not count: %s\n",
			indentRest(replaceForTerminal(remoteError(err).Error())))
	}
}

// answerOf asks a question at the terminal.
func (g *options) answerOf(ctx context.Context, p *prompter, a *apiv1.Approval) (*apiv1.AnswerApprovalRequest, error) {
	m := &apiv1.AnswerApprovalRequest{Id: a.Id, Hash: a.Hash, By: terminalName}
	if a.Kind == apiv1.Approval_KIND_INPUT {
		answers, err := p.AnswerInput(ctx, convert.ToInputRequest(a))
		m.InputResponses = convert.Raws(answers)
		return m, err
	}
	answer, err := p.Approve(ctx, convert.ToApprovalRequest(a))
	m.Approved, m.Scope, m.Saved, m.Reason = answer.Approved, string(answer.Scope), answer.Saved, answer.Reason
	m.Arguments, m.CancelRest = string(answer.Arguments), answer.CancelRest
	return m, err
}

// outcomeText says how a question ended that was not answered here.
func outcomeText(o *apiv1.ApprovalOutcome) string {
	switch o.Answer {
	case "":
		return "It no longer waits."
	case "expired":
		return "Nobody answered in time: the call is refused."
	case "withdrawn":
		return "The call has ended."
	}
	text := "It is " + o.Answer
	if o.By != "" {
		text += ", by " + o.By
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text + "."
}

// An answerer answers what one call waits for, where the call was made.
type answerer struct {
	approve    bootstrap.Approve
	prompter   *prompter // nil without a terminal
	unanswered func()    // called for a question that only others can answer
}

// settled is the answer that --approve gives in place of a person; nil where a person is needed.
func (w answerer) settled(a *apiv1.Approval) *apiv1.AnswerApprovalRequest {
	m := &apiv1.AnswerApprovalRequest{Id: a.Id, Hash: a.Hash, By: w.approve.By()}
	switch {
	case a.Kind != apiv1.Approval_KIND_CALL:
		return nil
	case w.approve == bootstrap.ApproveAlways && !convert.ToApprovalRequest(a).Fresh():
		m.Approved = true
	case w.approve == bootstrap.ApproveNever:
		m.Reason = "the call was made with --approve never"
	default:
		return nil
	}
	return m
}

// approveHere answers what a call waits for, and what plugins call during it, until ctx ends. Whatever keeps it from
// that is said once: others can answer.
func (g *options) approveHere(ctx context.Context, r *runningHost, w answerer, callID string) error {
	all, _, err := r.questions(ctx, func(a *apiv1.Approval) bool { return a.CallId == callID || a.ViaCallId == callID })
	if err != nil {
		return remoteError(err)
	}
	go func() {
		for q := range all {
			if m := w.settled(q.Approval); m != nil {
				g.send(ctx, r, m)
				continue
			}
			if w.prompter == nil {
				w.unanswered()
				continue
			}
			if err := g.answer(ctx, r, w.prompter, q); err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
				fmt.Fprintf(g.err, "toolhost: %s\n", indentRest(replaceForTerminal(err.Error())))
				return
			}
		}
	}()
	return nil
}
