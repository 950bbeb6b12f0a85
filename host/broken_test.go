package host_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// A result that cannot be read is an error, and never a success without content, also of plugins in this process.
func TestBrokenResults(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*sdk.Result{
		"structured": {Structured: json.RawMessage(`{"a":`)},
		"too deep":   {Structured: json.RawMessage(strings.Repeat("[", 100) + strings.Repeat("]", 100))},
		"a part":     {Content: []sdk.Content{{Type: "chart", Raw: json.RawMessage(`{`)}}},
		"an image":   {Content: []sdk.Content{{Type: "image"}}},
		"beside":     {Content: []sdk.Content{{Type: "image"}, sdk.TextContent("good")}, Structured: json.RawMessage(`{"a":1}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := single(t, answering(r, nil), host.Options{})
			got := h.Call(t.Context(), call("test__run", ""))
			e := failed(t, got, sdk.CodeProtocol)
			if e.Name != "BrokenResult" || e.Outcome != sdk.OutcomeFailed || name == "beside" && (got.Content[0].Text != "good" || string(got.Structured) != `{"a":1}`) {
				t.Errorf("error %+v of %+v", e, got)
			}
			if _, err := json.Marshal(got); err != nil {
				t.Error(err)
			}
		})
	}
}
