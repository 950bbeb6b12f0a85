package host_test

import (
	"context"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/wire/client"
	"github.com/toolhost/toolhost/sdk"
)

// A plugin is told by which definition a call was decided on, as it gave it. When it has become another without a word,
// nothing runs, and it is listed again.
func TestWhatACallWasDecidedBy(t *testing.T) {
	t.Parallel()
	now := tool("run")
	p := calling(nil)
	p.list = func(context.Context) ([]sdk.Tool, error) { return []sdk.Tool{now}, nil }
	p.call = func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		if r.Listed == nil || r.Listed.Name != "run" || r.Listed.Description != now.Description {
			return nil, &sdk.Error{Code: sdk.CodePluginUnavailable, Name: client.NameListedOtherwise, Outcome: sdk.OutcomeNotSent, Message: "another"}
		}
		return sdk.Text("done"), nil
	}
	var told []string
	h := single(t, p, host.Options{OnToolsChanged: func(plugin string) { told = append(told, plugin) },
		Tools: map[string]host.ToolOptions{"test__run": {Description: "the user's words"}}})
	succeeded(t, h.Call(t.Context(), call("test__run", "")))
	now.Description = "something else"
	if r := h.Call(t.Context(), call("test__run", "")); r.Error == nil || r.Error.Outcome != sdk.OutcomeNotSent {
		t.Errorf("a call of what was listed ends with %+v", r.Error)
	}
	succeeded(t, h.Call(t.Context(), call("test__run", "")))
	diff(t, []string{"test"}, told)
}
