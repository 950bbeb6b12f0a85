package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/sdk"
	"github.com/toolhost/toolhost/sdk/sdktest"
)

// What an author reads in a test is what a model reads from a host.
func TestSdktestRefusesInTheWordsOfTheHost(t *testing.T) {
	p := sdk.New("p", "1.0.0")
	sdk.AddTool(p, sdk.Tool{Name: "x", Description: "For tests.", Hints: sdk.Hints{ReadOnly: sdk.Yes}}, func(context.Context, *sdk.Request, struct {
		Count int      `json:"count" minimum:"1" maximum:"5"`
		Mode  string   `json:"mode,omitempty" enum:"a|b"`
		Words []string `json:"words,omitempty"`
	}) (*sdk.Result, error) {
		return sdk.Textf("done"), nil
	})
	c := sdktest.Start(t, p)
	h, err := host.New(map[string]host.Plugin{"p": c}, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, arguments := range []string{`{}`, `{"count":"1"}`, `{"count":6}`, `{"count":0,"mode":"c"}`, `{"count":1,"words":[1,null]}`, `{"count":1,"cuont":2}`, `{"count":1.5}`, `{"count":3}`, ``} {
		author := c.Run(t, "x", arguments)
		h.Call(t.Context(), host.Call{Tool: "p__x", Arguments: json.RawMessage(`{"count":1}`)}) // ends the row of misses
		model := h.Call(t.Context(), host.Call{Tool: "p__x", Arguments: json.RawMessage(arguments)})
		if (author.Error == nil) != (model.Error == nil) {
			t.Errorf("%s: %v for the author, %v for the model", arguments, author.Error, model.Error)
		} else if model.Error != nil && (author.Error.Code != model.Error.Code || author.Error.Message != strings.Replace(model.Error.Message, "p__x", "x", 1)) {
			t.Errorf("%s:\n%s\n%s", arguments, author.Error.Message, model.Error.Message)
		}
	}
}
