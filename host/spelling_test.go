package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

// Whatever names a call has, a plugin in Go reads the values that stand under the exact ones, or the call is refused.
func TestPluginsReadTheExactNames(t *testing.T) {
	t.Parallel()
	definition := tool("run")
	definition.InputSchema = json.RawMessage(`{"type":"object","properties":{"path":{"type":"integer"},"sizeKind":{"type":"integer"}}}`)
	var got json.RawMessage
	h := single(t, calling(func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		got = r.Arguments
		return sdk.Text(""), nil
	}, definition), host.Options{})
	names := []string{"path", "Path", "PATH", `p\u0061th`, `p\u0041th`, "sizeKind", "sizekind", "SizeKind", "ſizeKind", "size\u212aind", "other", "Other"}
	ran := 0
	rapid.Check(t, func(t *rapid.T) {
		var members []string
		for _, n := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, "names") {
			members = append(members, `"`+n+`":`+rapid.StringMatching(`[1-9]`).Draw(t, "value"))
		}
		got = nil
		r := h.Call(context.Background(), host.Call{Tool: "test__run", Arguments: []byte("{" + strings.Join(members, ",") + "}")})
		if r.Error != nil {
			return
		}
		ran++
		var exact map[string]int
		var plugin struct {
			Path     int `json:"path"`
			SizeKind int `json:"sizeKind"`
		}
		if json.Unmarshal(got, &exact) != nil || json.Unmarshal(got, &plugin) != nil || plugin.Path != exact["path"] || plugin.SizeKind != exact["sizeKind"] {
			t.Errorf("of %s the plugin reads %+v", got, plugin)
		}
	})
	if ran == 0 {
		t.Error("nothing ran")
	}
}
