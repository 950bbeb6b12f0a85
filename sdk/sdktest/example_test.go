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
