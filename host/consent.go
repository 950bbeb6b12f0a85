package host

import (
	"reflect"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/sdk"
)

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
