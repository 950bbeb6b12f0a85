package modelapi_test

import (
	"encoding/json"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

// A tool of an MCP server is listed as the server wrote it, except for its name: schemas byte for byte, and all
// members, also those that no version of the protocol has yet.
func TestMCPToolsKeepTheMembersOfTheirSource(t *testing.T) {
	t.Parallel()
	const input = `{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","properties":{"z":{"const":` +
		`9007199254740993,"x-mcp-header":"Region"},"a":{"pattern":"^\u0041"}},"required":["z"]}`
	const output = `{"type":["object","null"],"title":"caf\u00e9"}`
	definition := sdk.Tool{Name: "s__look", Title: "Look", Description: "a < b", InputSchema: json.RawMessage(input),
		OutputSchema: json.RawMessage(output), ForeignSchema: true, ForeignHints: true,
		Extra: json.RawMessage(`{"icons":[{"src":"data:,"}],"annotations":{"title":"T","readOnlyHint":false,"future":1},` +
			`"_meta":{"b":1e2,"a":null},"execution":{"taskSupport":"optional"},"name":"other"}`)}
	const start = `[{"name":"s__look","title":"Look","description":"a < b","inputSchema":` + input +
		`,"outputSchema":` + output + `,"annotations":{`
	const end = `"title":"T","future":1},"icons":[{"src":"data:,"}],"_meta":{"b":1e2,"a":null},` +
		`"execution":{"taskSupport":"optional"}}]`
	hints := sdk.Hints{ReadOnly: sdk.Yes, OpenWorld: sdk.No}
	for name, tool := range map[string]*host.Tool{
		"believed":     {Tool: definition},
		"not believed": {Tool: definition, Unbelieved: hints},
	} {
		if name == "believed" {
			tool.Hints = hints
		}
		got, problems := modelapi.Export(modelapi.FormatMCP, []*host.Tool{tool})
		if want := start + `"readOnlyHint":true,"openWorldHint":false,` + end; string(got) != want || problems != nil {
			t.Errorf("hints %s: got  %s\nwant %s\n%v", name, got, want, problems)
		}
	}
}

func TestMCPResultsKeepTheMembersOfTheirSource(t *testing.T) {
	t.Parallel()
	r := &host.Result{Tool: "s__look", Structured: json.RawMessage(`{"b":9007199254740993,"a":1.0}`),
		Content: []sdk.Content{{Type: "text", Text: "<x>", Extra: json.RawMessage(`{"annotations":{"priority":1.0}}`)},
			{Type: "hologram", Raw: json.RawMessage(`{"type":"hologram","depth":3}`)}},
		Extra: json.RawMessage(`{"_meta":{"z":1,"a":2},"isError":true,"future":[]}`)}
	got, err := modelapi.RenderResults(modelapi.FormatMCP, []*host.Result{r})
	const want = `{"content":[{"type":"text","text":"<x>","annotations":{"priority":1.0}},{"type":"hologram",` +
		`"depth":3}],` +
		`"structuredContent":{"b":9007199254740993,"a":1.0},"isError":false,"_meta":{"z":1,"a":2},"future":[]}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}
