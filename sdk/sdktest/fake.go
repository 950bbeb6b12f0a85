package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// A Host stands in for what a host does for plugins.
type Host struct {
	// Tools are the tools that the plugin may call, by full name. A call of any other is denied, as by a host whose
	// configuration does not grant it; arguments are not checked.
	Tools map[string]func(arguments json.RawMessage) *sdk.Result
}

// With is the same plugin, whose Run and RunIn offer the handlers what h has.
func (p *Plugin) With(h Host) *Plugin {
	out := *p
	out.host = &h
	return &out
}

// CallTool calls one of the tools.
func (h *Host) CallTool(_ context.Context, tool string, arguments json.RawMessage) (*sdk.Result, error) {
	if f := h.Tools[tool]; f != nil {
		return f(objectOf(arguments)), nil
	}
	return &sdk.Result{Error: &sdk.Error{Code: sdk.CodeDenied, Name: "NotGranted", Outcome: sdk.OutcomeNotSent,
		Message: fmt.Sprintf("the plugin may not call %q, only %s; nothing was run", tool,
			strings.Join(slices.Sorted(maps.Keys(h.Tools)), ", "))}}, nil
}
