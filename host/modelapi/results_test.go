package modelapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

func textResult(c host.Call, text string) *host.Result {
	return &host.Result{CallID: c.ID, Tool: c.Tool, Status: host.StatusOK, Content: []sdk.Content{sdk.TextContent(text)}}
}

// The results that TestRenderResults renders, in this order.
var rendered = []*host.Result{
	{CallID: "1", Tool: "a__b", Status: host.StatusOK,
		Content: []sdk.Content{sdk.TextContent("<one> "), sdk.TextContent("text")}},
	{CallID: "2", Tool: "a__c", Status: host.StatusError,
		Content: []sdk.Content{sdk.TextContent("partly"), sdk.ImageContent([]byte("x"), "image/png")},
		Error:   &sdk.Error{Code: sdk.CodeTool, Message: "It broke.", Suggestion: "Repair it."}},
	{CallID: "3", Tool: "a__d", Status: host.StatusOK,
		Content: []sdk.Content{sdk.TextContent("see"), sdk.ImageContent([]byte("png"), "image/png"), sdk.TextContent("and"),
			sdk.ImageContent([]byte("tiff"), "image/tiff"), {Type: "audio", Data: []byte("wav"), MIMEType: "audio/wav"}}},
	{CallID: "4", Tool: "a__e", Status: host.StatusOK, Structured: json.RawMessage(`{"n": 12345678901234567890}`)},
	{CallID: "5", Tool: "a__f", Status: host.StatusOK},
	{CallID: "6", Tool: "a__g", Status: host.StatusOK,
		Content: []sdk.Content{sdk.FileContent("file:///a.txt", "text/plain", []byte("hello")),
			sdk.LinkContent("file:///log", "the log", "text/plain"),
			sdk.FileContent("file:///d/a.pdf", "application/pdf", []byte("pdf")),
			{Raw: json.RawMessage(`{"type":"new","x":1}`)}}},
}

// Questions of a tool are no result.
func TestRenderUnansweredQuestions(t *testing.T) {
	t.Parallel()
	asks := []*host.Result{{CallID: "1", Tool: "a__b", Status: host.StatusInputRequired, InputRequired: &sdk.InputRequired{}}}
	got, err := modelapi.RenderResults(modelapi.FormatAnthropic, asks)
	if err != nil || !strings.Contains(string(got), `"is_error":true`) || asks[0].Error != nil ||
		!strings.Contains(string(got), "were not answered") {
		t.Errorf("%s, %v", got, err)
	}
}

func TestRenderResults(t *testing.T) {
	t.Parallel()
	want := map[modelapi.Format]string{
		modelapi.FormatOpenAI: `[{"role":"tool","tool_call_id":"1","content":"<one> text"},
			{"role":"tool","tool_call_id":"2","content":"partly\n{png}\nIt broke.\nRepair it."},
			{"role":"tool","tool_call_id":"3",
				"content":"see\n[image image/png, 3 bytes, which cannot be shown here]\nand\n{tiff}\n{wav}"},
			{"role":"tool","tool_call_id":"4","content":"{\"n\": 12345678901234567890}"},
			{"role":"tool","tool_call_id":"5","content":""},
			{"role":"tool","tool_call_id":"6",
				"content":"{file}\nhello\n{link}\n{pdf}\n{\"type\":\"new\",\"x\":1}"}]`,
		modelapi.FormatOpenAIResponses: `[{"type":"function_call_output","call_id":"1","output":"<one> text"},
			{"type":"function_call_output","call_id":"2","output":"partly\n{png}\nIt broke.\nRepair it."},
			{"type":"function_call_output","call_id":"3","output":[{"type":"input_text","text":"see"},{"type":"input_image",
				"image_url":"data:image/png;base64,cG5n"},
			 {"type":"input_text",
				"text":"and\n{tiff}\n{wav}"}]},
			{"type":"function_call_output","call_id":"4","output":"{\"n\": 12345678901234567890}"},
			{"type":"function_call_output","call_id":"5","output":""},
			{"type":"function_call_output","call_id":"6","output":[{"type":"input_text",
				"text":"{file}\nhello\n{link}"},
			 {"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,cGRm"},{"type":"input_text",
				"text":"{\"type\":\"new\",\"x\":1}"}]}]`,
		modelapi.FormatAnthropic: `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1",
			"content":[{"type":"text","text":"<one> text"}]},
			{"type":"tool_result","tool_use_id":"2","content":[{"type":"text","text":"partly\n{png}\nIt broke.\nRepair it."}],
				"is_error":true},
			{"type":"tool_result","tool_use_id":"3","content":[{"type":"text","text":"see"},{"type":"image",
				"source":{"type":"base64","media_type":"image/png","data":"cG5n"}},
			 {"type":"text","text":"and\n{tiff}\n{wav}"}]},
			{"type":"tool_result","tool_use_id":"4","content":[{"type":"text","text":"{\"n\": 12345678901234567890}"}]},
			{"type":"tool_result","tool_use_id":"5"},
			{"type":"tool_result","tool_use_id":"6","content":[{"type":"text",
				"text":"{file}\nhello\n{link}"},
			 {"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"cGRm"}},{"type":"text",
				"text":"{\"type\":\"new\",\"x\":1}"}]}]}`,
		modelapi.FormatBedrock: `{"role":"user","content":[{"toolResult":{"toolUseId":"1","content":[{"text":"<one> text"}]}},
			{"toolResult":{"toolUseId":"2","content":[{"text":"partly\n{png}\nIt broke.\nRepair it."}],"status":"error"}},
			{"toolResult":{"toolUseId":"3","content":[{"text":"see"},{"image":{"format":"png","source":{"bytes":"cG5n"}}},
			 {"text":"and\n{tiff}\n{wav}"}]}},
			{"toolResult":{"toolUseId":"4","content":[{"text":"{\"n\": 12345678901234567890}"}]}},
			{"toolResult":{"toolUseId":"5","content":[]}},
			{"toolResult":{"toolUseId":"6","content":[{"text":"{file}\nhello\n{link}"},
			 {"document":{"format":"pdf","name":"file 7d670353345489f5","source":{"bytes":"cGRm"}}},{"text":"{\"type\":\"new\",\"x\":1}"}]}}]}`,
		modelapi.FormatCohere: `[{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"<one> text"}]},
			{"role":"tool","tool_call_id":"2","content":[{"type":"text","text":"partly\n{png}\nIt broke.\nRepair it."}]},
			{"role":"tool","tool_call_id":"3",
				"content":[{"type":"text","text":"see\n[image image/png, 3 bytes, which cannot be shown here]\nand\n{tiff}\n{wav}"}]},
			{"role":"tool","tool_call_id":"4","content":[{"type":"text","text":"{\"n\": 12345678901234567890}"}]},
			{"role":"tool","tool_call_id":"5","content":[{"type":"text","text":""}]},
			{"role":"tool","tool_call_id":"6",
				"content":[{"type":"text","text":"{file}\nhello\n{link}\n{pdf}\n{\"type\":\"new\",\"x\":1}"}]}]`,
		modelapi.FormatGemini: `{"role":"user","parts":[{"functionResponse":{"id":"1","name":"a__b",
			"response":{"output":"<one> text"}}},
			{"functionResponse":{"id":"2","name":"a__c","response":{"error":"partly\n{png}\nIt broke.\nRepair it."}}},
			{"functionResponse":{"id":"3","name":"a__d",
				"response":{"output":"see\nand\n{tiff}\n{wav}"},
			 "parts":[{"inlineData":{"mimeType":"image/png","data":"cG5n"}}]}},
			{"functionResponse":{"id":"4","name":"a__e","response":{"output":"{\"n\": 12345678901234567890}"}}},
			{"functionResponse":{"id":"5","name":"a__f","response":{"output":""}}},
			{"functionResponse":{"id":"6","name":"a__g",
				"response":{"output":"{file}\nhello\n{link}\n{\"type\":\"new\",\"x\":1}"},
			 "parts":[{"inlineData":{"mimeType":"application/pdf","data":"cGRm"}}]}}]}`,
		modelapi.FormatMCP: `[{"content":[{"type":"text","text":"<one> "},{"type":"text","text":"text"}],"isError":false},
			{"content":[{"type":"text","text":"partly"},{"type":"image","data":"eA==","mimeType":"image/png"},{"type":"text",
				"text":"It broke.\nRepair it."}],"isError":true},
			{"content":[{"type":"text","text":"see"},{"type":"image","data":"cG5n","mimeType":"image/png"},{"type":"text",
				"text":"and"},
			 {"type":"image","data":"dGlmZg==","mimeType":"image/tiff"},{"type":"audio","data":"d2F2","mimeType":"audio/wav"}],
				"isError":false},
			{"content":[{"type":"text","text":"{\"n\": 12345678901234567890}"}],"structuredContent":{"n": 12345678901234567890},
				"isError":false},
			{"content":[],"isError":false},
			{"content":[{"type":"resource","resource":{"uri":"file:///a.txt","mimeType":"text/plain","text":"hello"}},
			 {"type":"resource_link","uri":"file:///log","name":"the log","mimeType":"text/plain"},
			 {"type":"resource","resource":{"uri":"file:///d/a.pdf","mimeType":"application/pdf","blob":"cGRm"}},{"type":"new",
				"x":1}],"isError":false}]`,
	}
	described := strings.NewReplacer("{png}", "[image image/png, 1 byte, which cannot be shown here]",
		"{tiff}", "[image image/tiff, 4 bytes, which cannot be shown here]",
		"{wav}", "[audio audio/wav, 3 bytes, which cannot be shown here]", "{file}", "[file file:///a.txt text/plain]",
		"{pdf}", "[file file:///d/a.pdf application/pdf, 3 bytes, which cannot be shown here]",
		"{link}", "[link the log file:///log text/plain]")
	for f, text := range want {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			got, err := modelapi.RenderResults(f, rendered)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, decoded(t, described.Replace(text)), decoded(t, string(got)))
			if f != modelapi.FormatMCP && strings.Contains(string(got), `\u003c`) {
				t.Error("escaped for a browser")
			}
		})
	}
}

// Older endpoints have no place for bytes.
func TestRenderResultsGeminiOpenAPI(t *testing.T) {
	t.Parallel()
	got, err := modelapi.RenderResults(modelapi.FormatGeminiOpenAPI, rendered[2:3])
	if err != nil {
		t.Fatal(err)
	}
	diff(t, `{"role":"user","parts":[{"functionResponse":{"id":"3","name":"a__d","response":{"output":"see\n[image `+
		`image/png, 3 bytes, which cannot be shown here]\nand\n`+
		`[image image/tiff, 4 bytes, which cannot be shown here]\n[audio audio/wav, 3 bytes, which cannot be shown `+
		`here]"}}}]}`, string(got))
}

// Gemini must not get an id back that it never gave; the others need one.
func TestRenderResultsMadeIDs(t *testing.T) {
	t.Parallel()
	calls, err := modelapi.ParseCalls(modelapi.FormatGemini,
		[]byte(`[{"functionCall":{"name":"a"}},{"functionCall":{"name":"b"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	results := []*host.Result{textResult(calls[0], "1"), textResult(calls[1], "2")}
	got, err := modelapi.RenderResults(modelapi.FormatGemini, results)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, `{"role":"user","parts":[{"functionResponse":{"name":"a","response":{"output":"1"}}},`+
		`{"functionResponse":{"name":"b","response":{"output":"2"}}}]}`, string(got))
	got, err = modelapi.RenderResults(modelapi.FormatOpenAI, results)
	if err != nil || !strings.Contains(string(got), calls[0].ID) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestRenderResultsErrors(t *testing.T) {
	t.Parallel()
	anonymous := &host.Result{Tool: "a__b"}
	cases := map[string]struct {
		format  modelapi.Format
		results []*host.Result
		want    string
	}{
		"no format":        {"yaml", nil, "there is no format"},
		"nil":              {modelapi.FormatMCP, []*host.Result{rendered[0], nil}, "result 1 is nil"},
		"openai, no id":    {modelapi.FormatOpenAI, []*host.Result{anonymous}, "the result of a__b has no call id"},
		"responses, no id": {modelapi.FormatOpenAIResponses, []*host.Result{anonymous}, "has no call id"},
		"bedrock, no id":   {modelapi.FormatBedrock, []*host.Result{anonymous}, "has no call id"},
		"cohere, no id":    {modelapi.FormatCohere, []*host.Result{anonymous}, "has no call id"},
		"anthropic, no id": {modelapi.FormatAnthropic, []*host.Result{anonymous}, "has no call id"},
		"mcp, no structured": {modelapi.FormatMCP, []*host.Result{{Tool: "a__b", Structured: json.RawMessage(`{`)}},
			"of a__b is not valid JSON"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := modelapi.RenderResults(c.format, c.results); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %v; want text containing %q", got, err, c.want)
			}
		})
	}
}

// One MCP result is the answer of tools/call; a list that is no object has only its text there.
func TestRenderResultsMCPOne(t *testing.T) {
	t.Parallel()
	got, err := modelapi.RenderResults(modelapi.FormatMCP, []*host.Result{{Tool: "a", Structured: json.RawMessage(`[1]`)}})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, `{"content":[{"type":"text","text":"[1]"}],"isError":false}`, string(got))
}

func TestRenderNothing(t *testing.T) {
	t.Parallel()
	want := map[modelapi.Format]string{modelapi.FormatOpenAI: `[]`, modelapi.FormatOpenAIResponses: `[]`,
		modelapi.FormatAnthropic: `{"role":"user","content":[]}`,
		modelapi.FormatBedrock:   `{"role":"user","content":[]}`, modelapi.FormatCohere: `[]`,
		modelapi.FormatGemini: `{"role":"user","parts":[]}`, modelapi.FormatGeminiOpenAPI: `{"role":"user","parts":[]}`,
		modelapi.FormatMCP: `[]`, modelapi.FormatText: `""`}
	for _, f := range modelapi.Formats() {
		got, err := modelapi.RenderResults(f, nil)
		if err != nil || string(got) != want[f] {
			t.Errorf("%s: %s, %v", f, got, err)
		}
	}
}

// A generated id is not sent where the vendor gave none, whichever way the call came.
func TestMadeIDOfAStreamIsNotSent(t *testing.T) {
	t.Parallel()
	a, err := modelapi.NewAssembler(modelapi.FormatGemini)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Add([]byte(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"p__a"}},` +
		`{"functionCall":{"name":"p__a"}}]}}]}`)); err != nil {
		t.Fatal(err)
	}
	a.End()
	var results []*host.Result
	for _, c := range a.Calls() {
		results = append(results, textResult(c, "done"))
	}
	got, err := modelapi.RenderResults(modelapi.FormatGemini, results)
	if err != nil || len(results) != 2 || results[0].CallID == results[1].CallID {
		t.Fatal(results, err)
	}
	if strings.Contains(string(got), `"id"`) {
		t.Error(string(got))
	}
}

// Anthropic's API refuses a text of white space: https://github.com/anthropics/claude-code/issues/23440
func TestBlankTextIsNoBlock(t *testing.T) {
	t.Parallel()
	got, err := modelapi.RenderResults(modelapi.FormatAnthropic,
		[]*host.Result{textResult(host.Call{ID: "1", Tool: "a__b"}, "\n")})
	if want := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
