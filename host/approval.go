package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// An Approver approves or rejects calls, by asking a person or by itself. The host asks one question of a session at a
// time, in the order of the session's calls, and questions of different sessions concurrently, unless
// Options.OneQuestion or AllQuestions is set. Calls without a SessionID share one session. An error or a panic counts
// as a rejection. When ctx ends, Approve has a second to return: an answer then still counts, such as one that came at
// the last moment. After that the host does not wait; but while Approve has not returned, the session gets no other
// question.
type Approver interface {
	Approve(ctx context.Context, r *ApprovalRequest) (Answer, error)
}

// An AutomaticApprover is an Approver that can answer without a person. ApproveAtOnce is called first, concurrently and
// for any number of calls of a session: it must not block. It reports false for calls that Approve decides.
type AutomaticApprover interface {
	Approver
	ApproveAtOnce(r *ApprovalRequest) (Answer, bool)
}

// ErrNoApprover is the error of an Approver that cannot reach a person: the call ends with CodeApprovalUnavailable.
var ErrNoApprover = errors.New("no one can be asked here")

// An ApprovalRequest asks whether a call may run. It is the approver's own copy.
type ApprovalRequest struct {
	CallID, Caller, SessionID, Workdir string
	// Via is the call on behalf of which a plugin makes this one; nil for a call of an agent or a person.
	Via *Via
	// Tool is the tool that would be called.
	Tool *Tool
	// Arguments are the bytes that the plugin would receive.
	Arguments json.RawMessage
	// Preview is the plugin's description of what the call would do; nil when it gives none.
	Preview *sdk.Preview
	// Decision says why approval is needed: its Reason, and the trace of the rules.
	Decision policy.Decision
	// Prefix is the beginning of the command that ScopePrefix would approve, such as ["git", "push"]; nil when there is
	// none.
	Prefix []string
	// Problem says why the arguments in the previous answer were invalid; "" when it had none. The question is about
	// the arguments before that edit.
	Problem string
	// Expires is when the host stops waiting for the answer.
	Expires time.Time
}

// Fresh requires a person's approval of this call alone: an automatic approver must not answer, and a Scope in the
// answer counts as ScopeOnce.
func (r *ApprovalRequest) Fresh() bool { return r.Decision.Effect == policy.AlwaysAsk }

// PluginAsks reports whether the plugin's own preview asks about the call, also where a rule allows it.
func (r *ApprovalRequest) PluginAsks() bool {
	return r.Preview != nil && policy.Effect(r.Preview.Effect).Asks() && !r.Preview.UnlessAllowed
}

// Once reports whether a Scope in the answer counts as ScopeOnce: the approval is Fresh, or of a call that a plugin
// makes.
func (r *ApprovalRequest) Once() bool { return r.Fresh() || r.Via != nil }

// An Answer is the reply to an ApprovalRequest. The zero Answer rejects the call.
type Answer struct {
	// Approved lets this call run, once.
	Approved bool
	// Scope extends the approval to later calls.
	Scope Scope
	// Saved keeps the approval after the host ends, where people can read and revoke it. It needs a Scope.
	Saved bool
	// Arguments, when not nil, replace those of the call. They are validated, decided on and, if necessary, approved
	// again: Approved is for the Arguments of the ApprovalRequest.
	Arguments json.RawMessage
	// Reason explains a rejection to the model; 4096 characters of it are kept.
	Reason string
	// CancelRest cancels the later calls of the batch when this one is rejected.
	CancelRest bool
	// By is who or what answered, such as "terminal", for the record; 100 characters of it are kept.
	By string
}

// Scope says which later calls in the same work folder an approval covers. No question is asked about them; what a
// rule denies is still denied.
type Scope string

// The scopes, from narrow to wide.
const (
	ScopeOnce      Scope = ""          // this call
	ScopeArguments Scope = "arguments" // the same tool with the same arguments
	ScopePrefix    Scope = "prefix"    // commands of the same tool that begin with the request's Prefix
	ScopeTool      Scope = "tool"      // the same tool
)

// Yes approves this call.
func Yes() Answer { return Answer{Approved: true} }

// Always approves this call and later ones within a scope, until the host ends.
func Always(s Scope) Answer { return Answer{Approved: true, Scope: s} }

// No rejects the call, with a reason that the model reads.
func No(reason string) Answer { return Answer{Reason: reason} }

// ApproverFunc is a function that implements Approver.
type ApproverFunc func(ctx context.Context, r *ApprovalRequest) (Answer, error)

// Approve calls f.
func (f ApproverFunc) Approve(ctx context.Context, r *ApprovalRequest) (Answer, error) {
	return f(ctx, r)
}

// MapApprover passes the question to the approver under the tool's full name, else under the plugin's name, else under
// "*". If there is none, the call is refused.
type MapApprover map[string]Approver

// Approve calls the approver of the tool.
func (m MapApprover) Approve(ctx context.Context, r *ApprovalRequest) (Answer, error) {
	if a := m.of(r); a != nil {
		return a.Approve(ctx, r)
	}
	return Answer{}, fmt.Errorf("no approver handles calls of %s", r.Tool.Name)
}

// ApproveAtOnce calls the approver of the tool, if that is an AutomaticApprover.
func (m MapApprover) ApproveAtOnce(r *ApprovalRequest) (Answer, bool) {
	if a, is := m.of(r).(AutomaticApprover); is {
		return a.ApproveAtOnce(r)
	}
	return Answer{}, false
}

func (m MapApprover) of(r *ApprovalRequest) Approver {
	return cmp.Or(m[r.Tool.Name], m[r.Tool.Plugin], m["*"])
}
