package host

import (
	"github.com/toolhost/toolhost/host/internal/shelltool"
	"github.com/toolhost/toolhost/host/policy"
)

// floored denies what nobody means, such as rm -rf / or a fork bomb, whatever rules and people allow.
func (h *snapshot) floored(d policy.Decision, q *policy.Query) policy.Decision {
	if h.options.WithoutFloor {
		return d
	}
	why := shelltool.Catastrophe(q)
	if why == "" {
		return d
	}
	return d.Tighten(policy.Step{Layer: "floor", Rule: "catastrophe", Effect: policy.Deny, Matched: true, Reason: why})
}
