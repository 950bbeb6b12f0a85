package sdk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

type settings struct {
	Shell string `json:"shell,omitempty" default:"sh"`
	Limit int    `json:"limit,omitempty" minimum:"1"`
}

func TestConfigure(t *testing.T) {
	var got settings
	p := with(returns(nil, nil))
	sdk.Configure(p, func(_ context.Context, _ *sdk.Request, s settings) error {
		switch got = s; s.Shell {
		case "bad":
			return errors.New("no such shell")
		case "worse":
			panic("ouch")
		}
		return nil
	})
	c := sdktest.Start(t, p).Unchecked()
	log := ownLog(t)
	d, err := c.Describe(t.Context())
	want := `{"type":"object","properties":{"shell":{"type":"string","default":"sh"},"limit":{"type":"integer",` +
		`"minimum":1}},"additionalProperties":false}`
	if err != nil || string(d.ConfigSchema) != want || d.Dynamic {
		t.Errorf("the description is %+v, %v, and the schema %s", d, err, d.ConfigSchema)
	}
	c.MustConfigure(t, `{"shell":"bash","limit":3}`)
	if diff := cmp.Diff(settings{"bash", 3}, got); diff != "" {
		t.Error(diff)
	}
	c.MustConfigure(t, ``)
	if diff := cmp.Diff(settings{}, got); diff != "" {
		t.Error(diff)
	}
	for config, want := range map[string]string{
		`{"shell":"bad"}`:   "no such shell",
		`{"shell":"worse"}`: "the plugin's configuration panicked: ouch (configure_test.go:",
		`{"colour":1}`:      `the configuration does not fit: json: unknown field "colour"`,
		`{"limit":"many"}`:  "the configuration does not fit: limit: must be a whole number, got a string",
	} {
		err := c.Configure(t.Context(), json.RawMessage(config), "/w")
		if e, ok := errors.AsType[*sdk.Error](err); !ok || !strings.HasPrefix(e.Message, want) {
			t.Errorf("%s gives %v, want %s", config, err, want)
		}
	}
	if !strings.Contains(log.String(), "configure_test.go") {
		t.Errorf("the log does not say where the panic came from: %s", log)
	}
}

// ownLog redirects the process log, which has panics outside of calls, to a buffer.
func ownLog(t *testing.T) *bytes.Buffer {
	var log bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(old) })
	return &log
}

func TestConfigureWithoutAny(t *testing.T) {
	c := sdktest.Start(t, with(returns(nil, nil)))
	if d, err := c.Describe(t.Context()); err != nil || d.ConfigSchema != nil {
		t.Errorf("the description is %+v, %v", d, err)
	}
	if err := c.Configure(t.Context(), json.RawMessage(`{}`), "/w"); err == nil ||
		err.Error() != "this plugin takes no configuration" {
		t.Errorf("error is %v", err)
	}
}

func TestPreview(t *testing.T) {
	type args struct {
		Do string `json:"do,omitempty"`
	}
	p := sdk.New("p", "1.0.0")
	p.Dynamic()
	p.AddRawTool(tool("plain"), returns(nil, nil))
	sdk.AddTool(p, sdk.Tool{Name: "x", Description: "For tests."},
		func(context.Context, *sdk.Request, args) (*sdk.Result, error) {
			t.Error("the preview has run the tool")
			return nil, nil
		})
	sdk.AddPreview(p, "x", func(_ context.Context, r *sdk.Request, in args) (*sdk.Preview, error) {
		switch in.Do {
		case "fail":
			return nil, errors.New("no idea")
		case "explain":
			return &sdk.Preview{Content: sdk.Text("this is why").Content}, errors.New("no idea")
		case "panic":
			panic("ouch")
		case "nothing":
			return nil, nil
		}
		return &sdk.Preview{Content: sdk.Text("would do " + r.CallID).Content, Effect: "ask", Reason: "it is much"}, nil
	})
	c := sdktest.Start(t, p)
	log := ownLog(t)
	tools, err := c.Tools(t.Context())
	if err != nil || tools[0].Previews || !tools[1].Previews {
		t.Errorf("the tools are %+v, %v", tools, err)
	}
	for name, c := range map[string]struct {
		tool, args string
		want       *sdk.Preview
		err        string
		code       sdk.Code
	}{
		"works": {"x", `{}`, &sdk.Preview{Content: sdk.Text("would do 7").Content, Effect: "ask",
			Reason: "it is much"}, "", ""},
		"says nothing": {"x", `{"do":"nothing"}`, &sdk.Preview{}, "", ""},
		"is not there": {"plain", `{}`, &sdk.Preview{}, "", ""},
		"has no tool":  {"y", `{}`, &sdk.Preview{}, "", ""},
		"fails":        {"x", `{"do":"fail"}`, nil, "no idea", sdk.CodeTool},
		"explains": {"x", `{"do":"explain"}`, &sdk.Preview{Content: sdk.Text("this is why").Content}, "no idea",
			sdk.CodeTool},
		"panics":         {"x", `{"do":"panic"}`, nil, "the preview of x panicked: ouch", sdk.CodeTool},
		"finds no sense": {"x", `{"undo":1}`, nil, "the arguments do not fit", sdk.CodeInvalidArgs},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sdktest.Start(t, p).Preview(t.Context(), &sdk.Request{CallID: "7", Tool: c.tool,
				Arguments: json.RawMessage(c.args)})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if c.err != "" && (sdk.CodeOf(err) != c.code || !strings.HasPrefix(err.Error(), c.err)) {
				t.Errorf("error is %v with code %q", err, sdk.CodeOf(err))
			}
		})
	}
	if !strings.Contains(log.String(), "configure_test.go") {
		t.Errorf("the log does not say where the panic came from: %s", log)
	}
}
