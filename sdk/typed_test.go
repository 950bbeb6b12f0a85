package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

type (
	sum struct {
		Total int    `json:"total" maximum:"9"`
		Note  string `json:"note,omitempty"`
	}
	spoken      struct{ Total int }
	spokenByPtr struct{ Total int }
	unwritable  struct{ C any }
)

func (s spoken) ToolContent() []sdk.Content       { return []sdk.Content{sdk.TextContent("the total")} }
func (s *spokenByPtr) ToolContent() []sdk.Content { return []sdk.Content{sdk.TextContent("the total")} }

// typed is a plugin with one tool that returns out and err.
func typed[Out any](out Out, err error) *sdk.Plugin {
	p := sdk.New("p", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "x", Description: "For tests."},
		func(context.Context, *sdk.Request, none) (Out, error) { return out, err })
	return p
}

func TestTypedResults(t *testing.T) {
	for name, c := range map[string]struct {
		plugin           *sdk.Plugin
		structured, text string
		schema, failure  string
	}{
		"a struct": {plugin: typed(sum{Total: 3, Note: "<3"}, nil), structured: `{"total":3,"note":"<3"}`,
			text: `{"total":3,"note":"<3"}`, schema: `{"type":"object","properties":{"total":{"type":"integer","maximum":9},` +
				`"note":{"type":"string"}},"required":["total"],"additionalProperties":false}`},
		"a pointer": {plugin: typed(&sum{Total: 3}, nil), structured: `{"total":3}`, text: `{"total":3}`,
			schema: `{"type":"object","properties":{"total":`},
		"a map": {plugin: typed(map[string]int{"a": 1}, nil), structured: `{"a":1}`, text: `{"a":1}`,
			schema: `{"type":"object","additionalProperties":{"type":"integer"}}`},
		"with content of its own": {plugin: typed(spoken{3}, nil), structured: `{"Total":3}`, text: "the total",
			schema: `{"type":"object"`},
		"with content of its own, by pointer": {plugin: typed(spokenByPtr{3}, nil), structured: `{"Total":3}`,
			text: "the total", schema: `{"type":"object"`},
		"a pointer with content of its own": {plugin: typed(&spokenByPtr{3}, nil), structured: `{"Total":3}`,
			text: "the total", schema: `{"type":"object"`},
		"a nil pointer": {plugin: typed[*sum](nil, nil), schema: `{"type":"object"`,
			failure: "E_TOOL NoResult: the tool x has run, but returned neither a result nor an error"},
		"a nil map": {plugin: typed[map[string]int](nil, nil), structured: `{}`, text: `{}`, schema: `{"type":"object"`},
		"a pointer to a nil map": {plugin: typed(new(map[string]int), nil), structured: `{}`, text: `{}`,
			schema: `{"type":"object"`},
		"a nil pointer to a map": {plugin: typed[*map[string]int](nil, nil), schema: `{"type":"object"`,
			failure: "E_TOOL NoResult: the tool x has run"},
		"no JSON form": {plugin: typed(unwritable{make(chan int)}, nil), schema: `{"type":"object"`,
			failure: "E_TOOL BadResult: the result has no JSON form: json: unsupported type: chan int"},
		"an error": {plugin: typed(sum{Total: 3}, &sdk.Error{Name: "NoTotal", Message: "there is none"}),
			schema: `{"type":"object"`, failure: "E_TOOL NoTotal: there is none"},
		"any error": {plugin: typed(sum{Total: 3}, errors.New("broken")), schema: `{"type":"object"`,
			failure: "E_TOOL Error: broken"},
		"a result": {plugin: typed(sdk.Text("hello"), nil), text: "hello"},
	} {
		t.Run(name, func(t *testing.T) {
			p := sdktest.Start(t, c.plugin)
			tools, err := p.Tools(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := string(tools[0].OutputSchema); !strings.HasPrefix(got, c.schema) || (got == "") != (c.schema == "") {
				t.Errorf("the output schema is %s, want %s", got, c.schema)
			}
			if want := c.schema != "" && !strings.Contains(name, "content of its own"); tools[0].TextIsJSON != want {
				t.Errorf("its text is its JSON: %v, want %v", !want, want)
			}
			r := p.Run(t, "x", `{}`)
			text, failure := "", ""
			if len(r.Content) > 0 {
				text = r.Content[0].Text
			}
			if r.Error != nil {
				failure = string(r.Error.Code) + " " + r.Error.Name + ": " + r.Error.Message
			}
			if string(r.Structured) != c.structured || text != c.text || !strings.HasPrefix(failure, c.failure) ||
				(failure == "") != (c.failure == "") {
				t.Errorf("structured %s, text %q, failure %q", r.Structured, text, failure)
			}
		})
	}
}

// An author who brings a schema is free in the type.
func TestTypedResultWithASchemaOfItsOwn(t *testing.T) {
	for want, out := range map[string][]int{`[1]`: {1}, `[]`: nil} {
		p := sdk.New("p", "1.0.0")
		sdk.AddTool(p, sdk.Tool{Name: "x", Description: "For tests.", OutputSchema: json.RawMessage(`{"type":"array"}`)},
			func(context.Context, *sdk.Request, none) ([]int, error) { return out, nil })
		if r := sdktest.Start(t, p).Run(t, "x", `{}`); string(r.Structured) != want {
			t.Errorf("structured %s, error %v, want %s", r.Structured, r.Error, want)
		}
	}
}

func TestResultTypesThatAreNoObjects(t *testing.T) {
	const noObject = `is not an object in JSON; return a struct with it as a field, or *sdk.Result`
	for name, c := range map[string]struct {
		wrong func()
		want  string
	}{
		"a text":            {func() { typed("hello", nil) }, `sdk: tool "x": the result: string ` + noObject},
		"a list":            {func() { typed([]sum{}, nil) }, `the result: []sdk_test.sum ` + noObject},
		"anything":          {func() { typed[any](nil, nil) }, `the result: interface {} ` + noObject},
		"raw JSON":          {func() { typed(json.RawMessage(`{}`), nil) }, `the result: json.RawMessage ` + noObject},
		"a result by value": {func() { typed(sdk.Result{}, nil) }, `the result: sdk.Result ` + noObject},
		"a time":            {func() { typed(time.Time{}, nil) }, `the result: time.Time ` + noObject},
		"an error inside": {func() { typed(struct{ Err error }{}, nil) },
			`sdk: tool "x": the result: Err: error has no JSON form that says anything; use its text`},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, c.want) {
					t.Errorf("it panics with %q, want %q", got, c.want)
				}
			}()
			c.wrong()
		})
	}
}

// Code that was written when AddTool had one type parameter compiles: Out is inferred from the handler.
func TestFormsOfAddTool(t *testing.T) {
	type handler func(context.Context, *sdk.Request, none) (*sdk.Result, error)
	hello := func(context.Context, *sdk.Request, none) (*sdk.Result, error) { return sdk.Text("hello"), nil }
	p := sdk.New("p", "1.0.0")
	sdk.AddTool[none](p, tool("a"), hello)
	sdk.AddTool(p, tool("b"), handler(hello))
	addTo(p, tool("c"), hello)
	c := sdktest.Start(t, p)
	for _, name := range []string{"a", "b", "c"} {
		if r := c.Run(t, name, `{}`); r.Content[0].Text != "hello" {
			t.Errorf("%s gives %+v", name, r)
		}
	}
}

func addTo[In any](p *sdk.Plugin, t sdk.Tool, f func(context.Context, *sdk.Request, In) (*sdk.Result, error)) {
	sdk.AddTool(p, t, f)
}
