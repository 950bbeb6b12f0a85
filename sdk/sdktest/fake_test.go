package sdktest_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

type fileArgs struct {
	Path string `json:"path"`
}

func countFile(ctx context.Context, r *sdk.Request, in fileArgs) (*sdk.Result, error) {
	file, err := r.CallTool(ctx, "readfile__read", map[string]string{"path": in.Path})
	if err != nil {
		return nil, err // this host lets no plugin call tools, or the call has ended
	}
	if file.Error != nil {
		return nil, file.Error // denied, not there, failed
	}
	return sdk.JSON(map[string]int{"words": len(strings.Fields(file.Content[0].Text))}), nil
}

func counter() *sdk.Plugin {
	p := sdk.New("words", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "count_file", Description: "Counts the words of a file."}, countFile)
	return p
}

func TestCountFile(t *testing.T) {
	p := sdktest.Start(t, counter()).With(sdktest.Host{Tools: map[string]func(json.RawMessage) *sdk.Result{
		"readfile__read": func(json.RawMessage) *sdk.Result { return sdk.Text("one two three") },
	}})
	if r := p.Run(t, "count_file", `{"path":"a.txt"}`); string(r.Structured) != `{"words":3}` {
		t.Errorf("the result is %+v, the error %v", r, r.Error)
	}
}

func TestHostStandsIn(t *testing.T) {
	var got string
	p := sdktest.Start(t, counter())
	reads := p.With(sdktest.Host{Tools: map[string]func(json.RawMessage) *sdk.Result{
		"readfile__read": func(arguments json.RawMessage) *sdk.Result { got = string(arguments); return sdk.Text("") }}})
	if r := reads.Run(t, "count_file", `{"path":"a"}`); r.Error != nil || got != `{"path":"a"}` {
		t.Errorf("%+v %v, the tool got %s", r, r.Error, got)
	}
	for name, p := range map[string]*sdktest.Plugin{"NotGranted": p.With(sdktest.Host{}), "NoHostServices": p} {
		if r := p.Run(t, "count_file", `{"path":"a"}`); r.Error == nil || r.Error.Name != name {
			t.Errorf("%+v, want %s", r, name)
		}
	}
}
