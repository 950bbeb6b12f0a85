package host_test

import (
	"context"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// Whatever is called with whatever, there is a result, and a plugin sees nothing but JSON that fits.
func FuzzCall(f *testing.F) {
	f.Add("test__open", []byte(`{"a":1}`))
	f.Add("test__strict", []byte(`{"path":"a","count":3}`))
	f.Add("test__strict", []byte(`{"path":"a","count":30}`))
	f.Add("test__opne", []byte(`{}`))
	f.Add("", []byte(``))
	f.Add("test__", []byte("{}\x00"))
	f.Add("\xff__\xff", []byte(`{"a":"\ud800"}`))
	strict := tool("strict")
	strict.InputSchema = json.RawMessage(`{"type":"object","required":["path"],"additionalProperties":false,
		"properties":{"path":{"type":"string"},"count":{"type":"integer","minimum":1,"maximum":9}}}`)
	var got *sdk.Request
	h := single(f, calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		got = r
		return sdk.Text("ran"), nil
	}, tool("open"), strict), host.Options{})
	f.Fuzz(func(t *testing.T, name string, arguments []byte) {
		got = nil
		r := h.Call(t.Context(), host.Call{Tool: name, Arguments: arguments})
		switch {
		case (r.Error == nil) != (r.Status == host.StatusOK) || (r.Error == nil) != (got != nil):
			t.Errorf("result %+v, though the plugin got %+v", r, got)
		case r.Error != nil && r.Error.Code != sdk.CodeToolNotFound && r.Error.Code != sdk.CodeInvalidArgs:
			t.Errorf("error %+v", r.Error)
		case r.Error != nil && !utf8.ValidString(r.Error.Message+r.Error.Suggestion):
			t.Errorf("error %+v", r.Error)
		case got != nil && !json.Valid(got.Arguments):
			t.Errorf("the plugin got %q", got.Arguments)
		}
		if got != nil && got.Tool == "strict" {
			var in struct {
				Path  *string
				Count float64
			}
			if err := json.Unmarshal(got.Arguments, &in); err != nil || in.Path == nil || in.Count < 0 || in.Count > 9 {
				t.Errorf("the strict tool got %s", got.Arguments)
			}
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	})
}
