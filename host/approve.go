package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callback"
	"github.com/toolhost/toolhost/internal/textutil"
	"github.com/toolhost/toolhost/sdk"
)

// Limits of an approval.
const (
	defaultApprovalTimeout = 10 * time.Minute
	approvalLife           = 2 * time.Minute // from the approval to the run: a call may have to wait for its slot
	maxEdits               = 20              // changes of the arguments of one call
	settleTime             = time.Second     // for an answer that comes when the time is over
	maxAnsweredBy          = 100             // characters of Answer.By
	maxRejectionReason     = 4 << 10         // characters of Answer.Reason
)

// approve asks for approval of calls that the policy wants approved, unless an earlier approval covers them.
func (h *snapshot) approve(next CallFunc) CallFunc {
	return func(ctx context.Context, c *Call) (*sdk.Result, error) {
		c.Decision = h.applyApprovals(c, c.Decision)
		if c.Decision.Effect == policy.Allow {
			c.approved = time.Time{}
			return next(ctx, c)
		}
		asked := h.newQuestion(c)
		if !c.approved.IsZero() && c.checkApprovalAge() == nil && c.question != nil && c.question.same(asked) {
			c.approval = c.question.answer
			return next(ctx, c)
		}
		c.approved, c.question = time.Time{}, nil // an approval ends with the next question
		answer, err := h.ask(ctx, c)
		c.noteAnswer(answer, err)
		switch {
		case err != nil:
			return nil, err
		case answer.Arguments != nil:
			return h.runEdited(ctx, c, answer)
		case !answer.Approved:
			return nil, rejected(c, answer)
		}
		c.approved = time.Now()
		if c.Decision.Effect.Asks() { // otherwise an answer to another question would count for this one
			asked.answer = c.approval
			c.question = asked
		}
		return next(ctx, c)
	}
}

// A question is what a person was asked, by which approver, and what the approval permits. An approval still holds when
// a call that has not run is decided on again, such as after a Reload, and the question is the same.
type question struct {
	approver                 Approver
	mode                     Mode
	definition               string
	caller, session, workdir string
	arguments                []byte
	preview                  *sdk.Preview
	decision                 policy.Decision
	leaveOut, roots          []string
	answer                   *audit.Approval // for the record
}

// newQuestion is what would be asked about the call now.
func (h *snapshot) newQuestion(c *Call) *question {
	return &question{approver: h.options.Approver, mode: h.options.Mode, definition: c.Definition.hash(), caller: c.Caller,
		session: c.SessionID, workdir: c.Workdir, arguments: c.Arguments, preview: c.preview, decision: c.Decision,
		leaveOut: c.leaveOut, roots: c.roots}
}

// same compares all that newRequest shows but what belongs to the call for all of its life, what follows from the rest,
// and where rules are written.
func (q *question) same(other *question) bool {
	a, b := &q.decision, &other.decision
	steps := func(x, y policy.Step) bool {
		x.Source, y.Source = "", ""
		return x == y
	}
	return sameValue(q.approver, other.approver) && q.mode == other.mode && q.definition == other.definition &&
		q.caller == other.caller && q.session == other.session && q.workdir == other.workdir &&
		bytes.Equal(q.arguments, other.arguments) && reflect.DeepEqual(q.preview, other.preview) &&
		a.Effect == b.Effect && a.Rule == b.Rule && a.Layer == b.Layer && a.Reason == b.Reason &&
		slices.EqualFunc(a.Trace, b.Trace, steps) &&
		slices.Equal(q.leaveOut, other.leaveOut) && slices.Equal(q.roots, other.roots)
}

// checkApprovalAge refuses to use an approval older than approvalLife.
func (c *Call) checkApprovalAge() error {
	if c.approved.IsZero() || time.Since(c.approved) < approvalLife {
		return nil
	}
	return fail(sdk.CodeApprovalTimeout, "ApprovalExpired",
		"the approval of %s is more than %s old, because the call had to wait; nothing was run", c.Tool, approvalLife)
}

// notAsked says when a call ended, for notBegun.
const notAsked = "before a person was asked about it"

// ask waits for this call's turn, asks the approver, and waits for the answer.
func (h *snapshot) ask(ctx context.Context, c *Call) (_ Answer, err error) {
	switch {
	case h.options.Mode.asksNoOne():
		c.Decision = h.options.Mode.unasked(c.Decision)
		return Answer{}, denied(c)
	case h.options.Approver == nil:
		return Answer{}, unavailable(c, ErrNoApprover.Error())
	case ctx.Err() != nil:
		return Answer{}, notBegun(ctx, notAsked)
	}
	if automatic, is := h.options.Approver.(AutomaticApprover); is {
		r, answer, ok := h.newRequest(ctx, c), Answer{}, false
		if !callback.Run(h.log, "ApproveAtOnce", func() { answer, ok = automatic.ApproveAtOnce(r) }) {
			return answer, h.approvalError(ctx, ctx, c, errors.New("the approver panicked; the host's log has the stack"))
		}
		if ok {
			c.setStatus(AwaitingApproval) // callers see the same whoever answers
			return h.settle(c, r, answer)
		}
	}
	c.leaveQueues() // the call joins the queues again before it runs
	c.setStatus(AwaitingApproval)
	h.approving.Add(1)
	ctx, waiting := c.enter(ctx, stageApproval)
	defer func() {
		h.approving.Add(-1)
		waiting.end(asError(err), 0)
	}()
	turns, err := h.takeTurns(ctx, c)
	if err != nil {
		return Answer{}, err
	}
	asking := false
	defer func() {
		if !asking { // also after a panic
			turns.end()
		}
	}()
	// the answer to the previous question may cover this call
	if c.Decision = h.applyApprovals(c, c.Decision); c.Decision.Effect == policy.Allow {
		return Yes(), nil
	}
	if ctx.Err() != nil {
		return Answer{}, notBegun(ctx, notAsked)
	}
	limited, cancel := context.WithTimeout(ctx, h.options.ApprovalTimeout)
	defer cancel()
	request := h.newRequest(limited, c)
	asking = true
	turns.show()
	answer, err := h.awaitAnswer(ctx, limited, c, request, turns)
	return answer, h.approvalError(ctx, limited, c, err)
}

// unasked denies what would be asked about, in a mode that asks no one.
func (m Mode) unasked(d policy.Decision) policy.Decision {
	if !d.Effect.Asks() || !m.asksNoOne() {
		return d
	}
	return d.Tighten(policy.Step{Layer: modeLayer, Rule: string(m), Effect: policy.Deny, Matched: true,
		Reason: "it would have to be asked about (" + d.Why() + "), and this mode asks no one"})
}

// turns are the turns that a question needs: its session's, and with Options.OneQuestion also the host's.
type turns []*questionTurn

func (all turns) show() {
	for _, t := range all {
		t.show()
	}
}

func (all turns) end() {
	for _, t := range all {
		t.end()
	}
}

// takeTurns waits until no other question of the session is open and, with Options.OneQuestion, no other question at
// all. With Options.AllQuestions it does not wait.
func (h *snapshot) takeTurns(ctx context.Context, c *Call) (all turns, err error) {
	if h.options.AllQuestions {
		return nil, nil
	}
	by := []questionScope{{session: c.SessionID}}
	if h.options.OneQuestion { // in this order, so that each session has at most one question in the host's queue
		by = append(by, questionScope{all: true})
	}
	for _, a := range by {
		t, err := h.asking.enter(ctx, a, h.options.ApprovalTimeout)
		if err == nil {
			all = append(all, t)
			continue
		}
		all.end()
		if !errors.Is(err, errStuckQuestion) {
			return nil, notBegun(ctx, notAsked)
		}
		return nil, noAnswer(c, "could not be asked about: "+errStuckQuestion.Error())
	}
	return all, nil
}

// newRequest makes the approver's own copy of what it decides on.
func (h *snapshot) newRequest(ctx context.Context, c *Call) *ApprovalRequest {
	r := &ApprovalRequest{CallID: c.ID, Caller: c.Caller, SessionID: c.SessionID, Workdir: c.Workdir,
		Tool:      c.Definition.clone(),
		Arguments: bytes.Clone(c.Arguments), Decision: c.Decision, Problem: c.problem}
	r.Expires, _ = ctx.Deadline()
	r.Decision.Trace, r.Via = slices.Clone(r.Decision.Trace), c.Via()
	if !r.Once() { // otherwise no answer is remembered
		r.Prefix = commandPrefix(c)
	}
	if c.preview != nil {
		p := *c.preview
		p.Structured, p.Content = bytes.Clone(p.Structured), slices.Clone(p.Content)
		for i, part := range p.Content {
			p.Content[i].Data, p.Content[i].Raw = bytes.Clone(part.Data), bytes.Clone(part.Raw)
			p.Content[i].Extra = bytes.Clone(part.Extra)
		}
		r.Preview = &p
	}
	return r
}

// awaitAnswer calls the approver, and releases the turns when it has returned, even long after the caller stopped
// waiting, and its answer has taken effect on other calls, so that no needless question is asked about them. An answer
// that comes too late has none.
func (h *snapshot) awaitAnswer(ctx, asking context.Context, c *Call, r *ApprovalRequest, turns turns) (Answer, error) {
	replied, settled := make(chan reply[Answer], 1), make(chan struct{})
	defer close(settled)
	go func() {
		defer turns.end()
		respond(h, replied, "the approver", r.CallID, func() (Answer, error) { return h.options.Approver.Approve(asking, r) })
		<-settled
	}()
	a, err := await(ctx, asking, replied)
	if err != nil {
		return a, err
	}
	return h.settle(c, r, a)
}

// settle has an answer take effect on other calls.
func (h *snapshot) settle(c *Call, r *ApprovalRequest, a Answer) (Answer, error) {
	if a.Approved && bytes.Equal(a.Arguments, c.Arguments) { // a form sends what it showed
		a.Arguments = nil
	}
	switch {
	case a.Arguments != nil:
		return a, nil
	case a.Approved:
		if r.Once() { // the answer holds for this call only
			a.Scope, a.Saved = ScopeOnce, false
		}
		return a, h.remember(c, a)
	}
	c.cancelRest(a)
	return a, nil
}

type reply[T any] struct {
	is  T
	err error
}

// respond calls one, and passes on what it returns. A panic of it is an error, as is the end of its goroutine.
func respond[T any](h *snapshot, to chan<- reply[T], who, callID string, ask func() (T, error)) {
	out := reply[T]{err: errors.New(who + " ended its goroutine")}
	defer func() {
		if cause := recover(); cause != nil {
			logPanic(h.log, cause, "call_id", callID)
			out.err = fmt.Errorf("%s panicked: %v", who, cause)
		}
		to <- out
	}()
	out.is, out.err = ask()
}

// await returns the reply to a question, or why there is none. When its time is over, but the caller still waits, the
// reply may take settleTime: it says whether an answer came just before, as its person was told.
func await[T any](ctx, asking context.Context, replied <-chan reply[T]) (none T, err error) {
	var over <-chan time.Time
	asked := asking.Done()
	for {
		select {
		case r := <-replied:
			if ctx.Err() != nil {
				return none, ctx.Err()
			}
			return r.is, r.err
		case <-ctx.Done():
			return none, ctx.Err()
		case <-asked:
			asked, over = nil, time.After(settleTime)
		case <-over:
			return none, asking.Err()
		}
	}
}

// approvalError says why there is no answer. An approver may itself return an error with an approval code.
func (h *snapshot) approvalError(ctx, asking context.Context, c *Call, err error) error {
	e, coded := errors.AsType[*sdk.Error](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		ended := sdk.EndedError(ctx)
		ended.Message = fmt.Sprintf("the call of %s ended while a person was asked about it; nothing was run", c.Tool)
		return ended
	case coded && slices.Contains([]sdk.Code{sdk.CodeRejected, sdk.CodeApprovalTimeout, sdk.CodeApprovalUnavailable,
		sdk.CodeCanceled}, e.Code):
		return err
	case asking.Err() != nil:
		return noAnswer(c, fmt.Sprintf("no one answered within %s", h.options.ApprovalTimeout))
	case errors.Is(err, ErrNoApprover):
		return unavailable(c, err.Error())
	}
	failed := unavailable(c, "asking failed: "+err.Error())
	failed.Name = "AskingFailed"
	return failed
}

// runEdited runs the call with the arguments that the person gave: they are decided on and approved like the first
// ones. If they are invalid, the person is asked again about the previous ones.
func (h *snapshot) runEdited(ctx context.Context, c *Call, a Answer) (*sdk.Result, error) {
	if c.edits++; c.edits > maxEdits {
		return nil, rejected(c, No(fmt.Sprintf("the arguments were changed %d times", maxEdits)))
	}
	changed := *c
	changed.Arguments = bytes.Clone(a.Arguments)
	if _, err := h.checkArgs(ctx, &changed); err != nil {
		c.problem = err.Error()
		return h.chainFromRefresh(ctx, c)
	}
	c.Arguments, c.problem = changed.Arguments, ""
	return h.chainFromRefresh(ctx, c)
}

func (c *Call) noteAnswer(a Answer, err error) {
	word := "rejected"
	switch {
	case err != nil:
		word = string(sdk.CodeOf(err))
	case a.Arguments != nil:
		word = "changed"
	case a.Approved:
		word = "approved"
	}
	c.approval = &audit.Approval{Answer: word, Scope: string(a.Scope)}
	if err == nil {
		c.approval.By = textutil.CutRunes(a.By, maxAnsweredBy, "")
	}
}

func rejected(c *Call, a Answer) *sdk.Error {
	a.Reason = cutText(a.Reason, maxRejectionReason)
	e := fail(sdk.CodeRejected, "Rejected", "the user rejected %s; nothing was run", c.Tool)
	if a.Reason != "" {
		e.Message = fmt.Sprintf("the user rejected %s: %s; nothing was run", c.Tool, a.Reason)
	}
	e.Suggestion = "Do not send this call again unless the user asks for it. Do as the user says, or ask."
	e.Details = sdk.Details(map[string]any{"reason": a.Reason, "cancel_rest": a.CancelRest})
	return e
}

func unavailable(c *Call, why string) *sdk.Error {
	e := fail(sdk.CodeApprovalUnavailable, "ApprovalUnavailable",
		"%s needs a person's approval (%s), and %s; nothing was run", c.Tool, c.Decision.Why(), why)
	e.Suggestion = "Use a tool that only reads, or have the user allow this call by a rule."
	switch {
	case c.Decision.Effect == policy.AlwaysAsk:
		e.Suggestion = "Each such call needs a person's approval: ask the user to make it at a terminal, or reach the goal " +
			"another way."
	case c.previewAsks && !c.preview.UnlessAllowed: // a rule would be written in vain
		e.Suggestion = "Use another tool, or ask the user. The plugin itself asks, and a rule does not change that: its " +
			"README has what does."
	}
	e.Details = decisionDetails(c.Decision)
	return e
}

func noAnswer(c *Call, why string) *sdk.Error {
	e := fail(sdk.CodeApprovalTimeout, "ApprovalTimeout", "%s needs a person's approval, and %s; nothing was run", c.Tool,
		why)
	e.Suggestion, e.Retryable = "This is not a no. Go on with something else, or ask the user.", true
	return e
}
