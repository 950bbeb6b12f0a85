package sdktest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

type sumArgs struct {
	Numbers []int  `json:"numbers" jsonschema:"What to add"`
	Unit    string `json:"unit,omitempty" enum:"m|km"`
}

// summing is a plugin whose tool counts the calls that reach it.
func summing(calls *int, output string, result *sdk.Result) *sdk.Plugin {
	p := sdk.New("p", "1.0.0")
	t := sdk.Tool{Name: "sum", Description: "Adds numbers."}
	if output != "" {
		t.OutputSchema = json.RawMessage(output)
	}
	sdk.AddTool(p, t, func(context.Context, *sdk.Request, sumArgs) (*sdk.Result, error) {
		*calls++
		return result, nil
	})
	return p
}

func TestRunValidatesAsAHostDoes(t *testing.T) {
	calls := 0
	p := Start(t, summing(&calls, "", sdk.Textf("done")))
	for arguments, want := range map[string]string{
		``:                             `required property "numbers" is missing`,
		`{}`:                           `required property "numbers" is missing`,
		`{"numbers":["1"]}`:            `numbers[0]: must be an integer, got string "1"`,
		`{"numbers":null}`:             `numbers: must be an array, got null`,
		`{"numbers":[1],"unit":"mm"}`:  `unit: must be one of "m", "km"`,
		`{"numbers":[1],"units":"km"}`: `unknown property "units"; allowed: numbers, unit (did you mean "unit"?)`,
		`[1]`:                          `must be an object`,
		`{"numbers":`:                  `not valid JSON: the text ends too early`,
	} {
		r := p.Run(t, "sum", arguments)
		if r.Error == nil || r.Error.Code != sdk.CodeInvalidArgs || !strings.Contains(r.Error.Message, want) ||
			!strings.HasSuffix(r.Error.Message, "; nothing was run") {
			t.Errorf("%s gives %v, want %s", arguments, r.Error, want)
		}
	}
	if calls != 0 {
		t.Errorf("the handler ran %d times", calls)
	}
	if r := p.Run(t, "sum", `{"numbers":[1,2]}`); r.Error != nil || calls != 1 {
		t.Errorf("arguments that fit give %v, after %d calls", r.Error, calls)
	}
	if r := p.Unchecked().Run(t, "sum", `{"numbers":[1],"unit":"mm"}`); r.Error != nil || calls != 2 {
		t.Errorf("unchecked arguments give %v, after %d calls", r.Error, calls)
	}
}

func TestRunFailsForAResultThatAHostDrops(t *testing.T) {
	const output = `{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}`
	for _, c := range []struct {
		name, output string
		result       *sdk.Result
		want         string
	}{
		{"fits", output, sdk.JSON(map[string]int{"sum": 3}), ""},
		{"wrong type", output, sdk.JSON(map[string]string{"sum": "3"}),
			`calling sum: a host would drop its structured result, which does not fit the output schema: sum: must be an ` +
				`integer, got string "3"`},
		{"nothing", output, sdk.Textf("3"),
			"calling sum: it has an output schema, but its result has nothing in Structured; return sdk.JSON(value), or " +
				"declare no OutputSchema"},
		{"an error promises nothing", output, &sdk.Result{Error: &sdk.Error{Name: "Broken", Message: "it broke"}}, ""},
		{"a broken schema", `{"type":"objekt"}`, sdk.JSON(map[string]int{}),
			"calling sum: a host would leave it out: its output schema "},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Start(t, summing(new(int), c.output, c.result))
			if got := fails(t, func(t testing.TB) { p.Run(t, "sum", `{"numbers":[]}`) }); !strings.HasPrefix(got, c.want) ||
				(got == "") != (c.want == "") {
				t.Errorf("the test fails with %q, want %q", got, c.want)
			}
		})
	}
}

func TestRunFailsForATextThatIsNotItsJSON(t *testing.T) {
	for text, want := range map[string]string{`{"a":1}`: "",
		"One.": "calling x: it has TextIsJSON, and the text of its result is not the JSON of Structured; return " +
			"sdk.JSON(value), or leave out TextIsJSON"} {
		p := sdk.New("p", "1.0.0")
		p.AddRawTool(sdk.Tool{Name: "x", Description: "For tests.", InputSchema: json.RawMessage(`{"type":"object"}`),
			OutputSchema: json.RawMessage(`{"type":"object"}`), TextIsJSON: true},
			func(context.Context, *sdk.Request) (*sdk.Result, error) {
				return &sdk.Result{Structured: json.RawMessage(`{"a":1}`), Content: sdk.Text(text).Content}, nil
			})
		c := Start(t, p)
		if got := fails(t, func(t testing.TB) { c.Run(t, "x", "{}") }); got != want {
			t.Errorf("%s: the test fails with %q, want %q", text, got, want)
		}
	}
}

func TestRunFailsForAToolThatAHostLeavesOut(t *testing.T) {
	p := sdk.New("p", "1.0.0")
	p.AddRawTool(sdk.Tool{Name: "x", Description: "For tests.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"text"}}}`)},
		func(context.Context, *sdk.Request) (*sdk.Result, error) { return sdk.Textf("done"), nil })
	c := Start(t, p)
	if got := fails(t, func(t testing.TB) { c.Run(t, "x", "{}") }); !strings.HasPrefix(got,
		"calling x: a host would leave it out: its input schema ") {
		t.Errorf("the test fails with %q", got)
	}
}

func TestConfigureChecksAsAHostDoes(t *testing.T) {
	type settings struct {
		Level int `json:"level,omitempty" minimum:"1" maximum:"9"`
	}
	got := settings{}
	p := sdk.New("p", "1.0.0")
	sdk.Configure(p, func(_ context.Context, _ *sdk.Request, s settings) error { got = s; return nil })
	c := Start(t, p)
	for config, want := range map[string]string{
		`{"level":0}`:   "its configuration is wrong: level: must be at least 1, got 0",
		`{"level":"3"}`: `its configuration is wrong: level: must be an integer, got string "3"`,
		`{"lvel":3}`:    `its configuration is wrong: unknown property "lvel"`,
	} {
		if err := c.Configure(t.Context(), json.RawMessage(config), t.TempDir()); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s gives %v, want %s", config, err, want)
		}
		if got.Level != 0 {
			t.Errorf("%s reached the plugin", config)
		}
	}
	if c.MustConfigure(t, `{"level":3}`); got.Level != 3 {
		t.Errorf("the plugin got %+v", got)
	}
}

// A host would not use a plugin that lacks its configuration: neither does a test that checks as a host does.
func TestRunFailsWithoutAConfigurationThatIsNeeded(t *testing.T) {
	type needed struct {
		City string `json:"city"`
	}
	calls := 0
	p := summing(&calls, "", sdk.Textf("done"))
	sdk.Configure(p, func(context.Context, *sdk.Request, needed) error { return nil })
	c := Start(t, p)
	run := func(c *Plugin) string { return fails(t, func(t testing.TB) { c.Run(t, "sum", `{"numbers":[]}`) }) }
	if got := run(c); got != `calling sum: it has no configuration, and a host would not use it: required property "city" is `+
		`missing; call MustConfigure first` || calls > 0 {
		t.Errorf("the test fails with %q, after %d calls", got, calls)
	}
	if got := run(c.Unchecked()); got != "" || calls != 1 {
		t.Errorf("unchecked, it fails with %q, after %d calls", got, calls)
	}
	c.MustConfigure(t, `{"city":"Lima"}`)
	if got := run(c.With(Host{})); got != "" || calls != 2 {
		t.Errorf("the test fails with %q, after %d calls", got, calls)
	}
}
