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

type sureForm struct {
	Sure bool `json:"sure" jsonschema:"All versions of it go"`
}

func dropTable(ctx context.Context, r *sdk.Request, in tableArgs) (*sdk.Result, error) {
	answer, err := sdk.Ask[sureForm](ctx, r, "Drop the table "+in.Table+"?")
	if err != nil {
		return nil, err // no one can be asked here, or no one answered
	}
	if answer.Action != sdk.Accepted || !answer.Value.Sure {
		return sdk.Text("The person said no; nothing was dropped."), nil
	}
	return sdk.Text("Dropped " + in.Table + "."), nil
}

type tableArgs struct {
	Table string `json:"table"`
}

func TestDropTable(t *testing.T) {
	p := sdk.New("database", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "drop", Description: "Drops a table."}, dropTable)
	c := sdktest.Start(t, p)

	yes := c.With(sdktest.Host{Answer: func(q sdk.Question) sdk.Answer[json.RawMessage] {
		return sdktest.Accept(sureForm{Sure: strings.Contains(q.Message, "logs")})
	}})
	for table, want := range map[string]string{"logs": "Dropped logs.", "users": "The person said no; nothing was dropped."} {
		if r := yes.Run(t, "drop", `{"table":"`+table+`"}`); r.Error != nil || r.Content[0].Text != want {
			t.Errorf("%+v %v, want %s", r, r.Error, want)
		}
	}
	no := c.With(sdktest.Host{Answer: func(sdk.Question) sdk.Answer[json.RawMessage] {
		return sdk.Answer[json.RawMessage]{Action: sdk.Canceled}
	}})
	if r := no.Run(t, "drop", `{"table":"logs"}`); r.Error != nil || strings.HasPrefix(r.Content[0].Text, "Dropped") {
		t.Errorf("%+v %v", r, r.Error)
	}
	if r := c.Run(t, "drop", `{"table":"logs"}`); r.Error == nil || r.Error.Name != "NoOneToAsk" {
		t.Errorf("%+v", r)
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
