package convert

import (
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/api/apiv1"
	"github.com/toolhost/toolhost/host/approvals"
	"github.com/toolhost/toolhost/sdk"
)

// Approvals returns the messages of questions.
func Approvals(all []*approvals.Question) []*apiv1.Approval {
	out := make([]*apiv1.Approval, len(all))
	for i, q := range all {
		out[i] = Approval(q)
	}
	return out
}

// Approval returns the message of a question.
func Approval(q *approvals.Question) *apiv1.Approval {
	out := &apiv1.Approval{Id: q.ID, Hash: q.Hash, CallId: Text(q.CallID()), Asked: Time(q.Asked),
		Expires: Time(q.Expires),
		Outcome: Outcome(q.Outcome)}
	via := (*host.Via)(nil)
	if r := q.Input; r != nil {
		out.Kind, via = apiv1.Approval_KIND_INPUT, r.Via
		out.Caller, out.SessionId, out.Tool = Text(r.Caller), Text(r.SessionID), Tool(r.Tool, false)
		out.Input = InputRequired(&sdk.InputRequired{Requests: r.Requests})
	}
	if r := q.Call; r != nil {
		out.Kind, via = apiv1.Approval_KIND_CALL, r.Via
		out.Caller, out.SessionId, out.Tool = Text(r.Caller), Text(r.SessionID), Tool(r.Tool, false)
		out.Workdir, out.Arguments, out.Preview = Text(r.Workdir), Text(r.Arguments), Preview(r.Preview)
		out.Decision, out.Prefix, out.Problem = Decision(r.Decision), Texts(r.Prefix), Text(r.Problem)
		out.OnceOnly = r.Once()
		level, reason := approvals.Risk(r)
		out.Risk, out.RiskReason = level, Text(reason)
	}
	if via != nil {
		out.ViaTool, out.ViaCallId = Text(via.Tool), Text(via.CallID)
	}
	return out
}

// ToApprovalRequest is the reverse of Approval, for who shows the question at a terminal.
func ToApprovalRequest(a *apiv1.Approval) *host.ApprovalRequest {
	r := &host.ApprovalRequest{CallID: a.CallId, Caller: a.Caller, SessionID: a.SessionId, Workdir: a.Workdir,
		Tool: toTool(a.Tool), Arguments: raw(a.Arguments), Decision: ToDecision(a.Decision), Prefix: a.Prefix,
		Problem: a.Problem, Via: toVia(a)}
	if a.Preview != nil {
		r.Preview = &sdk.Preview{Content: toContents(a.Preview.Content), Effect: a.Preview.Effect,
			Reason: a.Preview.Reason, Structured: raw(a.Preview.Structured)}
	}
	if a.Expires != nil {
		r.Expires = a.Expires.AsTime()
	}
	return r
}

// ToInputRequest is the same for the questions of a tool.
func ToInputRequest(a *apiv1.Approval) *host.InputRequest {
	return &host.InputRequest{CallID: a.CallId, Caller: a.Caller, SessionID: a.SessionId, Tool: toTool(a.Tool),
		Via: toVia(a), Requests: ToRaws(a.Input.GetRequests())}
}

func toTool(t *apiv1.Tool) *host.Tool {
	return &host.Tool{Tool: sdk.Tool{Name: t.GetName(), Title: t.GetTitle(), Description: t.GetDescription(),
		Category: t.GetCategory(), CostTier: sdk.CostTier(t.GetCostTier())}, Plugin: t.GetPlugin()}
}

// toVia is the call of the plugin that makes the call; the plugin is the first part of its tool's name.
func toVia(a *apiv1.Approval) *host.Via {
	if a.ViaTool == "" && a.ViaCallId == "" {
		return nil
	}
	plugin, _, _ := strings.Cut(a.ViaTool, "__")
	return &host.Via{Plugin: plugin, Tool: a.ViaTool, CallID: a.ViaCallId}
}

// Outcome is nil for nil.
func Outcome(o *approvals.Outcome) *apiv1.ApprovalOutcome {
	if o == nil {
		return nil
	}
	return &apiv1.ApprovalOutcome{Answer: string(o.Result), By: Text(o.By), Scope: string(o.Scope), Reason: Text(o.Reason),
		Time: Time(o.Time)}
}

// Remembered returns the message of an approval that covers later calls.
func Remembered(r *host.Remembered) *apiv1.Remembered {
	return &apiv1.Remembered{Id: r.ID, Tool: r.Tool, Caller: Text(r.Caller), Scope: string(r.Scope),
		Arguments: Text(r.Arguments), Prefix: Texts(r.Prefix), Workdir: Text(r.Workdir), SessionId: Text(r.SessionID),
		Saved: r.Saved, Created: Time(r.Created)}
}
