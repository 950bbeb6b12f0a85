// Command mcpfixture is a plugin for tests: it serves the tools that the MCP conformance suite calls by name, and
// some with odd definitions and results that a bridge must not change. `make build` does not ship it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

func main() {
	f := &fixture{plugin: sdk.New("mcpfixture", "1.0.0")}
	f.tools = slices.Concat(contentTools(), f.lifeTools(), questionTools(), oddTools())
	if err := f.plugin.SetTools(f.tools); err != nil {
		panic(err)
	}
	f.plugin.Cacheable(true) // clients that list once need the list at once
	sdk.Serve(f.plugin)
}

// A fixture is the plugin with the tools that it serves at the moment.
type fixture struct {
	plugin *sdk.Plugin
	mu     sync.Mutex
	tools  []sdk.BoundTool
	adds   int // how often a tool was added
}

const noArguments = `{"type":"object","properties":{}}`

// tool is a tool without side effects; tests call it without approval.
func tool(name, description, schema string, handle sdk.Handler) sdk.BoundTool {
	return sdk.BoundTool{Tool: sdk.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema),
		Hints: sdk.Hints{ReadOnly: sdk.Yes}}, Handler: handle}
}

// fixed returns the same result for every call.
func fixed(r *sdk.Result) sdk.Handler {
	return func(context.Context, *sdk.Request) (*sdk.Result, error) { return r, nil }
}

// The smallest valid files of their kinds: a red pixel, and a WAV file without samples.
var (
	redPixel = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde" +
		"\x00\x00\x00\x0cIDATx\xdac\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xf7\x03AC\x00\x00\x00\x00IEND\xaeB`\x82")
	silence = []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00" +
		"\x02\x00\x10\x00data\x00\x00\x00\x00")
)

// contentTools return each kind of content.
func contentTools() []sdk.BoundTool {
	image := sdk.ImageContent(redPixel, "image/png")
	return []sdk.BoundTool{
		tool("test_simple_text", "Returns a text.", noArguments,
			fixed(sdk.Text("This is a simple text response for testing."))),
		tool("test_image_content", "Returns an image.", noArguments, fixed(new(sdk.Result).Add(image))),
		tool("test_audio_content", "Returns an audio file.", noArguments,
			fixed(new(sdk.Result).Add(sdk.Content{Type: "audio", Data: silence, MIMEType: "audio/wav"}))),
		tool("test_embedded_resource", "Returns a resource.", noArguments, fixed(new(sdk.Result).Add(
			sdk.FileContent("test://embedded-resource", "text/plain", []byte("This is an embedded resource content."))))),
		tool("test_multiple_content_types", "Returns a text, an image and a resource.", noArguments,
			fixed(sdk.Text("Multiple content types test:").Add(image, sdk.FileContent("test://mixed-content-resource",
				"application/json", []byte(`{"test":"data","value":123}`))))),
		tool("test_error_handling", "Always fails.", noArguments,
			func(context.Context, *sdk.Request) (*sdk.Result, error) {
				return nil, &sdk.Error{Name: "Intended", Message: "This tool intentionally returns an error for testing"}
			}),
	}
}

// lifeTools report while they run, wait, and change the list of tools.
func (f *fixture) lifeTools() []sdk.BoundTool {
	const waits = `{"type":"object","properties":{"seconds":{"type":"number","minimum":0,"maximum":3600}}}`
	return []sdk.BoundTool{
		tool("test_tool_with_logging", "Logs three lines.", noArguments, logs),
		tool("test_logging_tool", "Logs three lines.", noArguments, logs),
		tool("test_tool_with_progress", "Reports progress three times.", noArguments,
			func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
				for _, done := range []float64{0, 50, 100} {
					r.Progress(done, 100, "%g of 100", done)
					if err := pause(ctx, 50*time.Millisecond); err != nil {
						return nil, err
					}
				}
				return sdk.Text("Progress was reported."), nil
			}),
		tool("test_trigger_tool_change", "Adds a tool to the list.", noArguments,
			func(context.Context, *sdk.Request) (*sdk.Result, error) { return f.add() }),
		tool("wait", "Reports progress once, waits, and returns early when the call is canceled.", waits, wait),
		tool("echo", "Returns its arguments.", `{"type":"object","properties":{"message":{"type":"string"}}}`,
			func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
				return &sdk.Result{Structured: r.Arguments, Content: []sdk.Content{sdk.TextContent(string(r.Arguments))}}, nil
			}),
	}
}

func logs(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		r.Logger().Info(line)
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return sdk.Text("Three lines were logged."), nil
}

func wait(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
	in := struct {
		Seconds float64 `json:"seconds"`
	}{}
	if err := json.Unmarshal(r.Arguments, &in); err != nil {
		return nil, err
	}
	r.Progress(0, in.Seconds, "waiting")
	if err := pause(ctx, time.Duration(in.Seconds*float64(time.Second))); err != nil {
		return nil, err
	}
	return sdk.Text("done"), nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// add puts a tool at the end of the list; the next one takes its place.
func (f *fixture) add() (*sdk.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.adds++
	name := fmt.Sprintf("added_%d", f.adds)
	added := tool(name, "Was added while the plugin ran.", noArguments, fixed(sdk.Text(name)))
	if err := f.plugin.SetTools(append(slices.Clip(f.tools), added)); err != nil {
		return nil, err
	}
	return sdk.Textf("added %s", name), nil
}

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
