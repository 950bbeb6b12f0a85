package host

import (
	"context"
	"fmt"
)

// ApproverFunc is a function that approves.
type ApproverFunc func(ctx context.Context, r *ApprovalRequest) (Answer, error)

// Approve calls f.
func (f ApproverFunc) Approve(ctx context.Context, r *ApprovalRequest) (Answer, error) {
	return f(ctx, r)
}

// MapApprover leaves the question to the approver under the tool's full name, else under the plugin's name, else under
// "*". Where there is none, nobody can be asked.
type MapApprover map[string]Approver

// Approve asks the one whose tool it is.
func (m MapApprover) Approve(ctx context.Context, r *ApprovalRequest) (Answer, error) {
	for _, key := range []string{r.Tool.Name, r.Tool.Plugin, "*"} {
		if a := m[key]; a != nil {
			return a.Approve(ctx, r)
		}
	}
	return Answer{}, fmt.Errorf("nobody approves calls of %s", r.Tool.Name)
}
