package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// Limits of an approval.
const (
	defaultApprovalTimeout = 10 * time.Minute
	approvalLife           = 2 * time.Minute // from the yes to the run: a call may have to wait in line
	maxEdits               = 20              // rounds of changing the arguments of one call
)

// approve asks about calls that the policy wants asked about, unless an earlier answer stands for them.
func (h *snapshot) approve(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		c.Decision = h.waive(c, c.Decision)
		if c.Decision.Effect == policy.Allow {
			c.approved = time.Time{}
			return next(ctx, c)
		}
		question := h.consent(c)
		if question.covered(c) {
			return next(ctx, c)
		}
		answer, err := h.ask(ctx, c)
		c.askedFor(answer, err)
		switch {
		case err != nil:
			return nil, err
		case answer.Arguments != nil:
			return h.again(ctx, c, answer)
		case !answer.Approved:
			return nil, rejected(c, answer)
		}
		c.approved, c.consent = time.Now(), consent{}
		if c.Decision.Effect.Asks() { // else it is an answer to another question that stands for this one
			c.consent = question
		}
		return next(ctx, c)
	}
}

// ask puts the question when it is this call's turn, and waits for the answer.
func (h *snapshot) ask(ctx context.Context, c *Call) (Answer, error) {
	switch {
	case h.options.Mode == ModeNeverAsk || h.options.Mode == ModePlan:
		c.Decision = c.Decision.Tighten(policy.Step{Layer: modeLayer, Rule: string(h.options.Mode), Effect: policy.Deny, Matched: true,
			Reason: "it would have to be asked about (" + c.Decision.Why() + "), and nobody is asked in this mode"})
		return Answer{}, denied(c)
	case h.options.Approver == nil:
		return Answer{}, unaskable(c, ErrNobodyToAsk.Error())
	}
	c.leave() // it joins the queues again when it may run
	c.tell(AwaitingApproval)
	turns, err := h.takeTurn(ctx, c)
	if err != nil {
		return Answer{}, err
	}
	return h.inTurn(ctx, c, turns)
}

// inTurn puts the question, unless the answer to the one before stands for this call too.
func (h *snapshot) inTurn(ctx context.Context, c *Call, turns questionTurns) (Answer, error) {
	handedOn := false
	defer func() {
		if !handedOn { // also by a panic
			turns.leave()
		}
	}()
	if c.Decision = h.waive(c, c.Decision); c.Decision.Effect == policy.Allow {
		return Yes(), nil
	}
	asking, cancel := context.WithTimeout(ctx, h.options.ApprovalTimeout)
	defer cancel()
	request, asked := h.request(asking, c), *c
	handedOn = true
	turns.show()
	answer, err := h.question(asking, &asked, request, turns)
	return answer, h.approverFailed(ctx, asking, c, err)
}

// questionTurns are those that a question needs: that of its session, and where only one question may be open, that of all.
type questionTurns []*questionTurn

func (all questionTurns) show() {
	for _, t := range all {
		t.show()
	}
}

func (all questionTurns) leave() {
	for _, t := range all {
		t.leave()
	}
}

// takeTurn waits until no other question of the session is open, and then, if need be, until none is.
func (h *snapshot) takeTurn(ctx context.Context, c *Call) (turns questionTurns, err error) {
	by := []asker{{session: c.SessionID}}
	if h.options.OneQuestion { // in this order, so that each session has one in the queue of all
		by = append(by, asker{all: true})
	}
	for _, a := range by {
		t, err := h.asking.enter(ctx, a, h.options.ApprovalTimeout)
		switch {
		case errors.Is(err, errStuckQuestion):
			turns.leave()
			return nil, unasked(c)
		case err != nil:
			turns.leave()
			return nil, canceledBefore(ctx, c)
		}
		turns = append(turns, t)
	}
	return turns, nil
}

// question asks the approver, and gives the turns back when he has returned, also long after nobody waits any more.
func (h *snapshot) question(ctx context.Context, c *Call, r *ApprovalRequest, turns questionTurns) (Answer, error) {
	type reply struct {
		Answer
		error
	}
	replied := make(chan reply, 1)
	go func() {
		defer turns.leave()
		answer, err := h.approver(ctx, c, r)
		replied <- reply{answer, err}
	}()
	select {
	case r := <-replied:
		return r.Answer, r.error
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// approver calls the approver, whose panic is a refusal. What his answer means for other calls is settled before one of
// them is asked about.
func (h *snapshot) approver(ctx context.Context, c *Call, r *ApprovalRequest) (a Answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			logPanic(h.log, cause, "call_id", r.CallID)
			err = fmt.Errorf("the approver panicked: %v", cause)
		}
	}()
	a, err = h.options.Approver.Approve(ctx, r)
	switch {
	case err != nil || ctx.Err() != nil || a.Arguments != nil:
		return a, err
	case a.Approved:
		if c.Decision.Effect == policy.AlwaysAsk { // which no answer to another call stands for, nor this one for others
			a.Scope, a.Saved = ScopeOnce, false
		}
		return a, h.remember(c, a)
	}
	c.reject(a)
	return a, nil
}

// approverFailed words why there is no answer. Codes of approvals that the approver gives himself stay.
func (h *snapshot) approverFailed(ctx, asking context.Context, c *Call, err error) error {
	e, coded := errors.AsType[*sdk.Error](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return canceledBefore(ctx, c)
	case coded && (e.Code == sdk.CodeRejected || e.Code == sdk.CodeApprovalTimeout || e.Code == sdk.CodeApprovalUnavailable || e.Code == sdk.CodeCanceled):
		return err
	case asking.Err() != nil:
		return unanswered(c, h.options.ApprovalTimeout)
	case errors.Is(err, ErrNobodyToAsk):
		return unaskable(c, err.Error())
	}
	failed := unaskable(c, "asking failed: "+err.Error())
	failed.Name = "AskingFailed"
	return failed
}

// request is the approver's own copy of what he decides on.
func (h *snapshot) request(ctx context.Context, c *Call) *ApprovalRequest {
	expires, _ := ctx.Deadline()
	d := c.Decision
	d.Trace = slices.Clone(d.Trace)
	return &ApprovalRequest{
		CallID: c.ID, Caller: c.Caller, SessionID: c.SessionID, Workdir: c.Workdir, Tool: c.Definition.clone(),
		Arguments: bytes.Clone(c.Arguments), Preview: clonePreview(c.preview), Decision: d, Prefix: offered(c), Problem: c.problem, Expires: expires,
	}
}

// clonePreview copies a preview that the host goes on to compare with others.
func clonePreview(p *sdk.Preview) *sdk.Preview {
	if p == nil {
		return nil
	}
	out := *p
	out.Structured, out.Content = bytes.Clone(p.Structured), slices.Clone(p.Content)
	for i, c := range out.Content {
		out.Content[i].Data, out.Content[i].Raw = bytes.Clone(c.Data), bytes.Clone(c.Raw)
	}
	return &out
}

// again runs the call with the arguments that the person gave: they are decided and asked about like the first. Those that
// do not fit are not taken, and the person is told.
func (h *snapshot) again(ctx context.Context, c *Call, a Answer) (*sdk.Result, error) {
	if c.edits++; c.edits > maxEdits {
		return nil, rejected(c, No(fmt.Sprintf("the arguments were changed %d times", maxEdits)))
	}
	changed := *c
	changed.Arguments = bytes.Clone(a.Arguments)
	if _, err := h.fitting(ctx, &changed); err != nil {
		c.problem = err.Error()
		return h.edited(ctx, c)
	}
	c.Arguments, c.preview, c.doubted, c.problem = changed.Arguments, nil, false, ""
	return h.edited(ctx, c)
}

func rejected(c *Call, a Answer) *sdk.Error {
	e := fail(sdk.CodeRejected, "Rejected", "the user said no to %s; nothing was run", c.Tool)
	if a.Reason != "" {
		e.Message = fmt.Sprintf("the user said no to %s: %s; nothing was run", c.Tool, a.Reason)
	}
	e.Suggestion = "Do not send this call again unless the user asks for it. Do as the user says, or ask."
	e.Details = sdk.Details(map[string]any{"reason": a.Reason, "cancel_rest": a.CancelRest})
	return e
}

func unaskable(c *Call, why string) *sdk.Error {
	e := fail(sdk.CodeApprovalUnavailable, "ApprovalUnavailable", "%s needs a person's yes (%s), and %s; nothing was run", c.Tool, c.Decision.Why(), why)
	e.Suggestion = "Use a tool that only reads, or have the user allow this call by a rule."
	if c.Decision.Effect == policy.AlwaysAsk {
		e.Suggestion = "Only a person can say yes to this call, each time: ask the user to make it at a terminal, or reach the goal another way."
	}
	e.Details = decisionDetails(c.Decision)
	return e
}

func unanswered(c *Call, waited time.Duration) *sdk.Error {
	e := fail(sdk.CodeApprovalTimeout, "ApprovalTimeout", "%s needs a person's yes, and nobody answered within %s; nothing was run", c.Tool, waited)
	e.Suggestion, e.Retryable = "This is not a no. Go on with something else, or ask the user.", true
	return e
}

// unasked is for a call whose question could not be put.
func unasked(c *Call) *sdk.Error {
	e := fail(sdk.CodeApprovalTimeout, "ApprovalTimeout", "%s needs a person's yes, and could not be asked about: %s; nothing was run", c.Tool, errStuckQuestion)
	e.Suggestion, e.Retryable = "This is not a no. Go on with something else, or ask the user.", true
	return e
}

func canceledBefore(ctx context.Context, c *Call) *sdk.Error {
	e := sdk.EndedError(ctx)
	e.Message = fmt.Sprintf("the call of %s ended while a person was asked about it; nothing was run", c.Tool)
	return e
}

// fresh refuses a yes that is too old to still be meant.
func (c *Call) fresh() error {
	if c.approved.IsZero() || time.Since(c.approved) < approvalLife {
		return nil
	}
	return fail(sdk.CodeApprovalTimeout, "ApprovalExpired", "the yes to %s is more than %s old, because the call had to wait; nothing was run", c.Tool, approvalLife)
}

// A consent is what a person was asked about, and who was to answer.
type consent struct {
	approver   Approver
	mode       Mode
	definition string
	preview    *sdk.Preview
	decision   policy.Decision
}

func (h *snapshot) consent(c *Call) consent {
	return consent{h.options.Approver, h.options.Mode, c.Definition.hash(), c.preview, c.Decision}
}

// covered says whether the yes that the call has is the answer to this question too.
func (q consent) covered(c *Call) bool {
	given := c.consent
	a, b := q.decision, given.decision
	return !c.approved.IsZero() && c.fresh() == nil && same(q.approver, given.approver) && q.mode == given.mode && q.definition == given.definition &&
		a.Effect == b.Effect && a.Rule == b.Rule && a.Layer == b.Layer && a.Reason == b.Reason && reflect.DeepEqual(q.preview, given.preview)
}
