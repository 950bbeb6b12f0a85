package host_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// A schema that was written for other clients costs its own checks, never the tool.
func TestForeignSchemas(t *testing.T) {
	t.Parallel()
	with := func(name, schema string) sdk.Tool {
		d := tool(name)
		d.InputSchema, d.ForeignSchema = json.RawMessage(schema), true
		return d
	}
	h := single(t, answering(sdk.Text("fine"), nil,
		with("pattern", `{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!x)"},"d":{"type":"string","format":"date"}},"required":["a"]}`),
		with("broken", `{"type":"object","properties":{"a":{"$ref":"#/gone"}}}`)), host.Options{})
	tools, problems := h.Tools(t.Context())
	diff(t, []string{"test__broken", "test__pattern"}, names(tools))
	if len(problems) > 0 {
		t.Error(problems)
	}
	for i, want := range []string{"its arguments are not checked, since its schema cannot be used: #/properties/a/$ref", "#/properties/a/pattern: "} {
		if notes := tools[i].Unchecked; len(notes) != 1 || !strings.HasPrefix(notes[0], want) {
			t.Errorf("%s: %q", tools[i].Name, notes)
		}
	}
	succeeded(t, h.Call(t.Context(), call("test__broken", `{"a":5,"b":true}`)))
	succeeded(t, h.Call(t.Context(), call("test__pattern", `{"a":"x"}`)))
	failed(t, h.Call(t.Context(), call("test__pattern", `{}`)), sdk.CodeInvalidArgs)
	if e := failed(t, h.Call(t.Context(), call("test__pattern", `{"a":"x","d":"soon"}`)), sdk.CodeInvalidArgs); !strings.Contains(e.Message, "d: must be a date such as") {
		t.Errorf("error %+v", e)
	}
}

// OpenAPI's nullable is a union with null.
func TestNullable(t *testing.T) {
	t.Parallel()
	d := tool("x")
	d.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","nullable":true}}}`)
	h := single(t, answering(sdk.Text("fine"), nil, d), host.Options{})
	succeeded(t, h.Call(t.Context(), call("test__x", `{"a":null}`)))
}
