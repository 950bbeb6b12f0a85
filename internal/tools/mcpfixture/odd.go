package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/sdk"
)

// schema202012 is the one that the conformance suite compares with what a client receives.
const schema202012 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"$defs":{"address":{"$anchor":"addressDef","type":"object",` +
	`"properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
	`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},` +
	`"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},` +
	`"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],` +
	`"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},` +
	`"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

// Keys that are not in the order of the alphabet, integers that no float64 holds, and members that no field has.
const (
	oddStructured = `{"zebra":9007199254740993,"alpha":[1.0,1e3,-0.0,18446744073709551615],` +
		`"nested":{"b":null,"a":"<&>\u2028"},"empty":{}}`
	oddMeta       = `{"_meta":{"example.org/z":1,"example.org/a":9007199254740993}}`
	oddAnnotation = `{"annotations":{"priority":0.5,"audience":["user","assistant"]},"_meta":{"example.org/part":true}}`
	oddLink       = `{"title":"A link","description":"Of some size","size":9007199254740993,"_meta":{"example.org/l":[]}}`
	oddResource   = `{"annotations":{"audience":["user"]},"resource":{"_meta":{"example.org/inner":{"z":1,"a":2}}}}`
	unknownPart   = `{"type":"example.org/chart","values":[9007199254740993,2],"axis":{"y":1,"x":2}}`
)

// oddTools have definitions and results that implementations of the protocol tend to change.
func oddTools() []sdk.BoundTool {
	foreign := tool("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", schema202012,
		fixed(sdk.Text("fits")))
	foreign.ForeignSchema = true
	annotated := tool("odd_result", "Returns what implementations tend to change.", noArguments, fixed(oddResult()))
	annotated.Title, annotated.ForeignSchema = "Odd result", true // as what an MCP server returns
	annotated.Extra = json.RawMessage(`{"icons":[{"src":"data:image/png;base64,AAAA"}],"_meta":{"example.org/t":1}}`)
	return []sdk.BoundTool{
		foreign, annotated,
		tool("test_custom_headers", "Takes an argument that HTTP clients also send as a header.",
			`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},`+
				`"query":{"type":"string"}}}`, fixed(sdk.Text("seen"))),
		tool("structured_error", "Fails with structured content.", noArguments,
			fixed(&sdk.Result{Structured: json.RawMessage(`{"z":1,"a":9007199254740993}`),
				Content: []sdk.Content{sdk.TextContent("it failed")},
				Error:   &sdk.Error{Name: "Odd", Message: "it failed"}})),
		tool("environment", "Returns the names and values of the plugin's environment.", noArguments,
			func(context.Context, *sdk.Request) (*sdk.Result, error) {
				environment := os.Environ()
				slices.Sort(environment)
				return sdk.Text(strings.Join(environment, "\n")), nil
			}),
	}
}

func oddResult() *sdk.Result {
	return &sdk.Result{
		Structured: json.RawMessage(oddStructured), Extra: json.RawMessage(oddMeta),
		Content: []sdk.Content{
			{Type: "text", Text: "<b>&amp; \u2028 \U0001F600</b>", Extra: json.RawMessage(oddAnnotation)},
			{Type: "image", Data: redPixel, MIMEType: "image/png", Extra: json.RawMessage(oddAnnotation)},
			{Type: "resource_link", URI: "file:///a%20b?c=d", Name: "link", MIMEType: "text/plain",
				Extra: json.RawMessage(oddLink)},
			{Type: "resource", URI: "test://r", MIMEType: "text/plain", Text: "inner", Extra: json.RawMessage(oddResource)},
			{Type: "resource", URI: "test://b", MIMEType: "application/octet-stream", Data: []byte{0, 255, 1}},
			{Type: "example.org/chart", Raw: json.RawMessage(unknownPart)},
		},
	}
}
