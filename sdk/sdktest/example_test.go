package sdktest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

type wordsArgs struct {
	Text string `json:"text" jsonschema:"What to count in"`
}

// newPlugin is what an author's main serves: func main() { sdk.Serve(newPlugin()) }.
func newPlugin() *sdk.Plugin {
	p := sdk.New("words", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "count", Description: "Counts the words of a text."},
		func(_ context.Context, _ *sdk.Request, in wordsArgs) (*sdk.Result, error) {
			if in.Text == "" {
				return nil, &sdk.Error{Name: "NoText", Message: "there is nothing to count", Suggestion: "Pass a text."}
			}
			return sdk.JSON(map[string]int{"words": len(strings.Fields(in.Text))}), nil
		})
	return p
}

// How an author tests a plugin: every call goes over the real wire, in memory, with no process to build or start.
func TestCount(t *testing.T) {
	p := sdktest.Start(t, newPlugin())
	for arguments, want := range map[string]string{
		`{"text":"one two  three"}`: `{"words":3}`,
		`{"text":" "}`:              `{"words":0}`,
	} {
		if result := p.Run(t, "count", arguments); string(result.Structured) != want {
			t.Errorf("%s gives %s and the error %v, want %s", arguments, result.Structured, result.Error, want)
		}
	}
}

// A tool that fails is a result too: its error is what the model reads.
func TestCountNothing(t *testing.T) {
	result := sdktest.Start(t, newPlugin()).Run(t, "count", `{"text":""}`)
	if result.Error == nil || result.Error.Name != "NoText" {
		t.Errorf("the result is %+v", result)
	}
}

type searchArgs struct {
	Query string   `json:"query" jsonschema:"What to look for, as a person would say it" minLength:"1" maxLength:"200"`
	Since string   `json:"since,omitempty" jsonschema:"Only what is newer" format:"date"`
	Kinds []string `json:"kinds,omitempty" jsonschema:"Only these kinds" enum:"page|issue|file" minItems:"1"`
	Repo  string   `json:"repo,omitempty" pattern:"^[a-z]+/[a-z]+$"`
	Limit int      `json:"limit,omitempty" minimum:"1" maximum:"100" default:"10"`
}

// Keywords of the schema are tags of the fields: what does not fit them never reaches the handler.
func TestSearchArguments(t *testing.T) {
	p := sdk.New("search", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "find", Description: "Finds pages."},
		func(_ context.Context, _ *sdk.Request, in searchArgs) (*sdk.Result, error) {
			return sdk.Text(in.Query), nil
		})
	c := sdktest.Start(t, p)
	for arguments, want := range map[string]string{
		`{"query":"x","since":"2026-11-22","kinds":["page"],"repo":"a/b","limit":5}`: "",
		`{"query":""}`:                      "query: must not be empty",
		`{"query":"x","kinds":[]}`:          "kinds: must have at least 1 item",
		`{"query":"x","kinds":["picture"]}`: `kinds[0]: must be one of "page", "issue", "file"`,
		`{"query":"x","repo":"a"}`:          "repo: must match the pattern",
		`{"query":"x","limit":0}`:           "limit: must be at least 1, got 0",
	} {
		result, message := c.Run(t, "find", arguments), ""
		if result.Error != nil {
			message = result.Error.Message
		}
		if !strings.Contains(message, want) || (message == "") != (want == "") {
			t.Errorf("%s gives %q, want %q", arguments, message, want)
		}
	}
}

// A forecast is a result type: its JSON is the structured result, and its schema is the tool's output schema.
type forecast struct {
	City  string `json:"city"`
	Hours []int  `json:"hours" jsonschema:"Degrees Celsius, hour by hour" maxItems:"24"`
}

func weather(_ context.Context, _ *sdk.Request, in weatherArgs) (*forecast, error) {
	if in.City == "" {
		return nil, &sdk.Error{Name: "NoCity", Message: "there is no city", Suggestion: "Name a city."}
	}
	return &forecast{City: in.City, Hours: []int{7, 9, 12}}, nil
}

type weatherArgs struct {
	City string `json:"city"`
}

func TestResultType(t *testing.T) {
	p := sdk.New("weather", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "forecast", Description: "The weather of a city today."}, weather)
	c := sdktest.Start(t, p)
	for arguments, want := range map[string]string{
		`{"city":"Oslo"}`: `{"city":"Oslo","hours":[7,9,12]}`,
		`{"city":""}`:     "",
	} {
		if r := c.Run(t, "forecast", arguments); string(r.Structured) != want || (r.Error != nil) != (want == "") {
			t.Errorf("%s gives %s and the error %v", arguments, r.Structured, r.Error)
		}
	}
}

type area interface{ contains(x, y float64) bool }

type circle struct {
	_      struct{} `jsonschema:"All points within a distance of 0, 0"`
	Radius float64  `json:"radius" exclusiveMinimum:"0"`
}

type box struct {
	Width  float64 `json:"width" exclusiveMinimum:"0"`
	Height float64 `json:"height" exclusiveMinimum:"0"`
}

func init() {
	sdk.RegisterOneOf("kind", map[string]area{"circle": circle{}, "box": box{}})
}

type countArgs struct {
	Within sdk.OneOf[area] `json:"within" jsonschema:"Where to count"`
}

func (c circle) contains(x, y float64) bool { return x*x+y*y <= c.Radius*c.Radius }
func (b box) contains(x, y float64) bool    { return x >= 0 && y >= 0 && x <= b.Width && y <= b.Height }

// One of several types: the member kind says which, and the handler gets a value of the right Go type.
func TestOneOfSeveralTypes(t *testing.T) {
	p := sdk.New("points", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "count", Description: "Counts points."},
		func(_ context.Context, _ *sdk.Request, in countArgs) (*sdk.Result, error) {
			return sdk.Textf("%T %v", in.Within.Value, in.Within.Value.contains(2, 2)), nil
		})
	c := sdktest.Start(t, p)
	for arguments, want := range map[string]string{
		`{"within":{"kind":"circle","radius":2}}`:           "sdktest_test.circle false",
		`{"within":{"width":2,"height":2,"kind":"box"}}`:    "sdktest_test.box true",
		`{"within":{"kind":"circle","radius":0}}`:           "within.radius: must be more than 0, got 0",
		`{"within":{"kind":"box","width":2}}`:               `within: required property "height" is missing`,
		`{"within":{"kind":"box","width":2,"radius":2}}`:    `within: unknown property "radius"`,
		`{"within":{"kind":"star"}}`:                        `object with kind "box", width, height; object with kind "circle", radius`,
		`{"within":{"radius":2}}`:                           `must be one of: object with kind "box"`,
		`{"within":{"kind":"circle","radius":2,"width":1}}`: `within: unknown property "width"`,
	} {
		r := c.Run(t, "count", arguments)
		var got string
		if r.Error != nil {
			got = r.Error.Message
		} else {
			got = r.Content[0].Text
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s gives %q, want %q", arguments, got, want)
		}
	}
}
