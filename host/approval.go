package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

// An Approver asks a person, or decides in a person's place. The host asks one question of a session at a time, in the
// order of its calls, and those of many sessions at once, unless Options.OneQuestion is set; calls without a SessionID
// are of one session. An error or a panic counts as a refusal. The host stops waiting when ctx ends, whether or not
// Approve returns; but an Approver that does not return gets no other question of that session.
type Approver interface {
	Approve(ctx context.Context, r *ApprovalRequest) (Answer, error)
}

// ErrNobodyToAsk is the error of an Approver that cannot reach a person: the call ends with CodeApprovalUnavailable.
var ErrNobodyToAsk = errors.New("nobody can be asked here")

// An ApprovalRequest is the question whether a call may run. It is the approver's own copy.
type ApprovalRequest struct {
	CallID, Caller, SessionID, Workdir string
	// Tool is what would be called.
	Tool *Tool
	// Arguments are byte for byte what would run.
	Arguments json.RawMessage
	// Preview is what the plugin says that the call would do; nil when it says nothing.
	Preview *sdk.Preview
	// Decision is why it is asked: its Reason, and the trace of the rules.
	Decision policy.Decision
	// Prefix is the beginning of the command that an answer with ScopePrefix stands for, such as ["git", "push"]; nil when
	// there is none.
	Prefix []string
	// Problem says why the arguments that the last answer gave do not fit; "" when there were none. The question is about
	// the arguments of before.
	Problem string
	// Expires is when the host stops waiting for the answer.
	Expires time.Time
}

// Fresh says that only a person's approval to this very call counts: an automatic approver must not answer, and a Scope
// in the answer counts as ScopeOnce.
func (r *ApprovalRequest) Fresh() bool { return r.Decision.Effect == policy.AlwaysAsk }

// An Answer is what a person said. The zero Answer is a no.
type Answer struct {
	// Approved lets this call run, once.
	Approved bool
	// Scope makes a yes hold for more than this call.
	Scope Scope
	// Saved keeps the yes after the host ends, where people can read and revoke it. It needs a Scope.
	Saved bool
	// Arguments, when not nil, replace those of the call. They are validated, decided and asked about again.
	Arguments json.RawMessage
	// Reason is given to the model with a no.
	Reason string
	// CancelRest is for a no in a batch: the calls after this one are not run.
	CancelRest bool
}

// Scope says which later calls in the same work folder a yes stands for. None of them is asked about; what a rule
// denies is still denied.
type Scope string

// The scopes, from narrow to wide.
const (
	ScopeOnce      Scope = ""          // this call
	ScopeArguments Scope = "arguments" // the same tool with the same arguments
	ScopePrefix    Scope = "prefix"    // commands of the same tool that begin with the request's Prefix
	ScopeTool      Scope = "tool"      // the same tool
)

// Yes is a yes to this call.
func Yes() Answer { return Answer{Approved: true} }

// Always is a yes that also stands for later calls, until the host ends.
func Always(s Scope) Answer { return Answer{Approved: true, Scope: s} }

// No is a no with a reason that the model sees.
func No(reason string) Answer { return Answer{Reason: reason} }

// ApproverFunc is a function that approves.
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
	for _, key := range []string{r.Tool.Name, r.Tool.Plugin, "*"} {
		if a := m[key]; a != nil {
			return a.Approve(ctx, r)
		}
	}
	return Answer{}, fmt.Errorf("nobody approves calls of %s", r.Tool.Name)
}
