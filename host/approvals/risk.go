package approvals

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
)

// Risk says how much is at stake, low, medium or high, by what the preview says, else by the rules and the tool's
// hints. It decides nothing.
func Risk(r *host.ApprovalRequest) (level, reason string) {
	var preview struct {
		Risk struct {
			Level   string
			Reasons []string
		}
	}
	if r.Preview != nil && json.Unmarshal(r.Preview.Structured, &preview) == nil &&
		slices.Contains([]string{"low", "medium", "high"}, preview.Risk.Level) {
		return preview.Risk.Level, strings.Join(preview.Risk.Reasons, "; ")
	}
	h := r.Tool.StatedHints()
	says := func(hint *bool) bool { return hint != nil && *hint }
	switch {
	case r.Decision.Effect == policy.AlwaysAsk:
		return "high", "each call must be approved by a person"
	case says(h.Destructive):
		return "high", "the tool says that it may destroy something"
	case says(h.ReadOnly) && says(h.OpenWorld):
		return "medium", "the tool says that it only reads, and reaches others"
	case says(h.ReadOnly):
		return "low", "the tool says that it only reads"
	}
	return "medium", "the tool may change something"
}
