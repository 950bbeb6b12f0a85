package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
)

type inProcessConfig struct {
	Greeting string `json:"greeting" enum:"Hello|Bye"`
	Refuse   bool   `json:"refuse,omitempty"`
}

// configurable is a plugin with a tool that greets as its configuration says.
func configurable() *sdk.Plugin {
	p := sdk.New("greet", "1.0.0")
	var now inProcessConfig
	sdk.Configure(p, func(_ context.Context, r *sdk.Request, c inProcessConfig) error {
		if now = c; c.Refuse {
			return errors.New("not today")
		}
		return nil
	})
	sdk.AddTool(p, writes("hello"), func(_ context.Context, r *sdk.Request, in struct {
		Do string `json:"do,omitempty"`
	}) (*sdk.Result, error) {
		switch in.Do {
		case "panic":
			panic("oh no")
		case "add":
			return sdk.Text("added"), p.SetTools([]sdk.BoundTool{{Tool: tool("more"), Handler: nothing}})
		}
		r.Progress(1, 2, "half")
		return sdk.Text(now.Greeting), nil
	})
	sdk.AddPreview(p, "hello", func(context.Context, *sdk.Request, any) (*sdk.Preview, error) {
		return &sdk.Preview{Effect: "allow", Reason: "it is harmless"}, nil
	})
	return p
}

func nothing(context.Context, *sdk.Request) (*sdk.Result, error) { return sdk.Text("nothing"), nil }

// A plugin in the process of the host does all that one in a process of its own does.
func TestInProcess(t *testing.T) {
	t.Parallel()
	p, err := host.InProcess(t.Context(), configurable(), json.RawMessage(`{"greeting":"Bye"}`))
	if err != nil {
		t.Fatal(err)
	}
	changed := make(chan string, 10)
	h := newHost(t, map[string]host.Plugin{"greet": p}, host.Options{Approver: approveFunc(
		func(_ context.Context, r *host.ApprovalRequest) (host.Answer, error) {
			if r.Preview == nil {
				return host.No("there is no preview"), nil
			}
			return host.Yes(), nil
		}), OnToolsChanged: func(plugin string) { changed <- plugin }})
	var events []sdk.EventType
	c := call("greet__hello", "")
	c.Events = func(e sdk.Event) { events = append(events, e.Type) }
	if r := h.Call(t.Context(), c); r.Text() != "Bye" {
		t.Errorf("%+v", r)
	}
	if len(events) == 0 {
		t.Error("there were no events")
	}
	if e := failed(t, h.Call(t.Context(), call("greet__hello", `{"do":"panic"}`)), sdk.CodeTool); e.Name != "Panic" {
		t.Errorf("%+v", e)
	}
	succeeded(t, h.Call(t.Context(), call("greet__hello", `{"do":"add"}`)))
	for h.Call(t.Context(), call("greet__more", "")).Error != nil {
		await(t, 10*time.Second, "the change", changed)
	}
}

func TestInProcessConfiguration(t *testing.T) {
	t.Parallel()
	plain := sdk.New("plain", "1.0.0")
	plain.AddRawTool(tool("x"), nothing)
	for _, c := range []struct {
		plugin       *sdk.Plugin
		config, want string
	}{
		{plain, ``, ""},
		{plain, ` {} `, ""},
		{plain, `{"a":1}`, `plugin "plain" takes no configuration`},
		{configurable(), ``, `plugin "greet": its configuration is wrong: required property "greeting" is missing`},
		{configurable(), `{"greeting":"Hi"}`, `plugin "greet": its configuration is wrong: greeting: must be one of "Hello"`},
		{configurable(), `{"greeting":"Bye","refuse":true}`, `plugin "greet" refused its configuration: not today`},
		{configurable(), `{"greeting":"Bye"}`, ""},
	} {
		p, err := host.InProcess(t.Context(), c.plugin, json.RawMessage(c.config))
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.config, err, c.want)
		}
		if err == nil {
			for range 2 {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
