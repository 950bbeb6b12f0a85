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
