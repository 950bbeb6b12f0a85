package modelapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

// diffCalls compares the calls of messages. An id of "*" stands for a generated one.
func diffCalls(t *testing.T, want, got []host.Call) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		if want[i].ID == "*" && strings.HasPrefix(got[i].ID, "toolhost-") {
			got[i].ID = "*"
		}
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(host.Call{}),
		cmpopts.IgnoreFields(host.Call{}, "StopReason", "TextArguments"), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// exact are arguments that only survive as bytes.
const exact = `{"n": 12345678901234567890123,"f":1.10,"s":"\u00e9\n"}`

var messages = map[string]struct {
	format  modelapi.Format
	message string
	want    []host.Call
}{
	"chat completion": {modelapi.FormatOpenAI,
		`{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[
		{"id":"call_1","type":"function","function":{"name":"a__b","arguments":"{\"n\":1e400}"}},
		{"id":"call_2","type":"function","function":{"name":"a__c","arguments":""}}]}},
			{"message":{"tool_calls":[{"id":"other"}]}}]}`,
		[]host.Call{{ID: "call_1", Tool: "a__b", Arguments: []byte(`{"n":1e400}`)}, {ID: "call_2", Tool: "a__c"}}},
	"chat message": {modelapi.FormatOpenAI,
		`{"role":"assistant","content":"I ` +
			`look.","tool_calls":[{"id":"1","type":"function","function":{"name":"x","arguments":"{"}}]}`,
		[]host.Call{{ID: "1", Tool: "x", Arguments: []byte(`{`)}}},
	"chat text":       {modelapi.FormatOpenAI, `{"role":"assistant","content":"Hello."}`, nil},
	"chat no calls":   {modelapi.FormatOpenAI, `{"role":"assistant","content":"Hello.","tool_calls":null}`, nil},
	"chat no choices": {modelapi.FormatOpenAI, `{"choices":[]}`, nil},
	"chat one call": {modelapi.FormatOpenAI, `{"function":{"name":"x","arguments":` + exact + `}}`,
		[]host.Call{{ID: "*", Tool: "x", Arguments: []byte(exact)}}},
	"chat calls": {modelapi.FormatOpenAI,
		` [{"id":"b","function":{"name":"x"}},{"id":"a","function":{"name":"y","arguments":null}}]`,
		[]host.Call{{ID: "b", Tool: "x"}, {ID: "a", Tool: "y"}}},
	"chat older call": {modelapi.FormatOpenAI,
		`{"choices":[{"finish_reason":"function_call","message":{"role":"assistant","content":null,
		"function_call":{"name":"a__b","arguments":"{}"}}}]}`, []host.Call{{ID: "*", Tool: "a__b", Arguments: []byte(`{}`)}}},
	"chat custom call": {modelapi.FormatOpenAI,
		`{"tool_calls":[{"id":"1","type":"custom","custom":{"name":"x","input":"y"}}]}`, nil},
	"chat strange names": {modelapi.FormatOpenAI, `{"id":"","function":{"name":"no such tool!","arguments":"[1]"}}`,
		[]host.Call{{ID: "*", Tool: "no such tool!", Arguments: []byte(`[1]`)}}},
	"response": {modelapi.FormatOpenAIResponses,
		`{"id":"r","object":"response","output":[{"type":"reasoning","id":"rs","summary":[]},{"type":"message","content":[]},
		{"type":"function_call","id":"fc_1","call_id":"call_1","name":"a__b","arguments":"{\"x\": 1}","status":"completed"},
			{"type":"function_call","call_id":"call_2","name":"c","arguments":"{}"}]}`,
		[]host.Call{{ID: "call_1", Tool: "a__b", Arguments: []byte(`{"x": 1}`)},
			{ID: "call_2", Tool: "c", Arguments: []byte(`{}`)}}},
	"response item": {modelapi.FormatOpenAIResponses,
		`{"type":"function_call","call_id":"call_1","name":"a__b","arguments":"{}"}`,
		[]host.Call{{ID: "call_1", Tool: "a__b", Arguments: []byte(`{}`)}}},
	"response items": {modelapi.FormatOpenAIResponses, `[{"type":"message"}]`, nil},
	"response with an MCP server's call": {modelapi.FormatOpenAIResponses,
		`{"output":[{"type":"mcp_call","id":"mcp_1","name":"x","arguments":"{}","error":null,"output":"a text"},
		{"type":"function_call","call_id":"call_1","name":"a__b","arguments":"{}"}]}`,
		[]host.Call{{ID: "call_1", Tool: "a__b", Arguments: []byte(`{}`)}}},
	"claude message": {modelapi.FormatAnthropic,
		`{"id":"msg","type":"message","role":"assistant","content":[{"type":"text","text":"I look."},
		{"type":"tool_use","id":"toolu_1","name":"a__b","input":` + exact + `},{"type":"server_tool_use","id":"s",
			"name":"web_search","input":{}},
		{"type":"tool_use","id":"toolu_2","name":"c","input":{}}],"stop_reason":"tool_use"}`,
		[]host.Call{{ID: "toolu_1", Tool: "a__b", Arguments: []byte(exact)},
			{ID: "toolu_2", Tool: "c", Arguments: []byte(`{}`)}}},
	"claude content": {modelapi.FormatAnthropic,
		`{"content":[{"type":"tool_use","id":"t","name":"c"},{"type":"tool_result","tool_use_id":"t",` +
			`"content":[{"type":"text","text":""}]}]}`,
		[]host.Call{{ID: "t", Tool: "c"}}},
	"claude text": {modelapi.FormatAnthropic, `{"role":"assistant","content":"Hello."}`, nil},
	"claude block": {modelapi.FormatAnthropic, `{"type":"tool_use","id":"t","name":"c","input":{}}`,
		[]host.Call{{ID: "t", Tool: "c", Arguments: []byte(`{}`)}}},
	"claude blocks": {modelapi.FormatAnthropic,
		`[{"type":"thinking","thinking":""},{"type":"tool_use","id":"t","name":"c"}]`, []host.Call{{ID: "t", Tool: "c"}}},
	"bedrock response": {modelapi.FormatBedrock,
		`{"ResponseMetadata":{},"output":{"message":{"role":"assistant","content":[{"text":"I look."},
		{"toolUse":{"toolUseId":"tooluse_1","name":"a__b","input":` + exact + `}},
		{"toolUse":{"toolUseId":"s","name":"nova_grounding","type":"server_tool_use","input":{}}},
		{"toolResult":{"toolUseId":"s","content":[],"type":"nova_grounding_result"}},
		{"toolUse":{"toolUseId":"tooluse_2","name":"c","input":{}}}]}},"stopReason":"tool_use"}`,
		[]host.Call{{ID: "tooluse_1", Tool: "a__b", Arguments: []byte(exact)},
			{ID: "tooluse_2", Tool: "c", Arguments: []byte(`{}`)}}},
	"bedrock message": {modelapi.FormatBedrock,
		`{"role":"assistant","content":[{"reasoningContent":{}},{"toolUse":{"toolUseId":"t","name":"c"}}]}`,
		[]host.Call{{ID: "t", Tool: "c"}}},
	"bedrock block": {modelapi.FormatBedrock, `[{"toolUse":{"toolUseId":"t","name":"c","input":{}}}]`,
		[]host.Call{{ID: "t", Tool: "c", Arguments: []byte(`{}`)}}},
	"bedrock text": {modelapi.FormatBedrock,
		`{"output":{"message":{"role":"assistant","content":[{"text":"Hello."}]}},"stopReason":"end_turn"}`, nil},
	"cohere response": {modelapi.FormatCohere,
		`{"id":"c","finish_reason":"TOOL_CALL","message":{"role":"assistant","tool_plan":"I look.","tool_calls":[
		{"id":"1","type":"function","function":{"name":"a__b","arguments":"{\"n\":1e400}"}},
		{"id":"2","type":"function","function":{"name":"c","arguments":"{}"}}]}}`,
		[]host.Call{{ID: "1", Tool: "a__b", Arguments: []byte(`{"n":1e400}`)}, {ID: "2", Tool: "c", Arguments: []byte(`{}`)}}},
	"gemini response": {modelapi.FormatGemini,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"I look."},{"functionCall":{"name":"a__b","args":` +
			exact + `},"thoughtSignature":"x"},
		{"functionCall":{"id":"7",
			"name":"c"}}]}}]}`, []host.Call{{ID: "*", Tool: "a__b", Arguments: []byte(exact)}, {ID: "7", Tool: "c"}}},
	"gemini content": {modelapi.FormatGeminiOpenAPI,
		`{"role":"model","parts":[{"function_call":{"name":"a","args":{}}},{"functionCall":{"name":"a","args":{}}}]}`,
		[]host.Call{{ID: "*", Tool: "a", Arguments: []byte(`{}`)}, {ID: "*", Tool: "a", Arguments: []byte(`{}`)}}},
	"gemini parts": {modelapi.FormatGemini, `[{"functionCall":{"name":"a"}},{"inlineData":{}}]`,
		[]host.Call{{ID: "*", Tool: "a"}}},
	"gemini call": {modelapi.FormatGemini, `{"name":"a","args":{"x":1}}`,
		[]host.Call{{ID: "*", Tool: "a", Arguments: []byte(`{"x":1}`)}}},
	"gemini no parts": {modelapi.FormatGemini, `{"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}`,
		nil},
	"gemini no candidates": {modelapi.FormatGemini, `{"candidates":[]}`, nil},
	"mcp request": {modelapi.FormatMCP,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a__b","arguments":` + exact + `}}`,
		[]host.Call{{ID: "3", Tool: "a__b", Arguments: []byte(exact)}}},
	"mcp requests": {modelapi.FormatMCP,
		`[{"id":"x","method":"tools/call","params":{"name":"a"}},{"id":1,"method":"ping"}]`,
		[]host.Call{{ID: "x", Tool: "a"}}},
	"mcp params": {modelapi.FormatMCP, `{"name":"a__b","arguments":{}}`,
		[]host.Call{{ID: "*", Tool: "a__b", Arguments: []byte(`{}`)}}},
}

func TestParseCalls(t *testing.T) {
	t.Parallel()
	for name, c := range messages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := modelapi.ParseCalls(c.format, []byte(c.message))
			if err != nil {
				t.Fatal(err)
			}
			diffCalls(t, c.want, got)
		})
	}
}

func TestParseCallsErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		format        modelapi.Format
		message, want string
	}{
		"no format":       {"yaml", `{}`, `there is no format "yaml"`},
		"nothing":         {modelapi.FormatOpenAI, " \n", "the openai message is empty"},
		"cut":             {modelapi.FormatOpenAI, `{"choices":[{"message"`, "is not valid JSON, at byte 22"},
		"a list of lists": {modelapi.FormatMCP, `[[{"name":"a"}]]`, "[0] must be an object"},
		"many messages": {modelapi.FormatOpenAI, strings.Repeat(`{"message":`, 12) + `{}` + strings.Repeat("}", 12),
			"message.message is nested more than 10 levels deep"},
		"two values":   {modelapi.FormatOpenAI, `{} {}`, "has more text after its end, at byte 2"},
		"a text":       {modelapi.FormatOpenAI, `"hello"`, `the top must be an object, not "\"hello\""`},
		"null":         {modelapi.FormatGemini, `null`, "the top must be an object"},
		"twice a name": {modelapi.FormatAnthropic, `{"type":"tool_use","id":"a","id":"b","name":"x"}`, "not valid JSON"},
		"too deep": {modelapi.FormatMCP, `{"name":"a","arguments":` +
			strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}`, "nested more than 80 deep"},
		"too large": {modelapi.FormatMCP, `{"name":"` + strings.Repeat("a", 8<<20) + `"}`,
			"at most 8388608 are allowed"},
		"strange object": {modelapi.FormatOpenAI, `{"id":"x"}`, `function must be an object, not ""`},
		"chat error": {modelapi.FormatOpenAI, `{"error":{"message":"no quota"}}`,
			`the openai message has no calls: the model's vendor reports an error: "no quota"`},
		"chat error, a text": {modelapi.FormatOpenAI, `{"error":"no model"}`, `reports an error: "no model"`},
		"claude error": {modelapi.FormatAnthropic,
			`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
			`reports an error: "Overloaded"`},
		"response failed": {modelapi.FormatOpenAIResponses,
			`{"status":"failed","error":{"code":"server_error","message":"no luck"},"output":[]}`, `reports an error: "no luck"`},
		"bedrock exception":     {modelapi.FormatBedrock, `{"message":"Too many requests"}`, `reports an error: "Too many requests"`},
		"bedrock use no object": {modelapi.FormatBedrock, `[{"toolUse":1}]`, "[0].toolUse must be an object"},
		"bedrock no name": {modelapi.FormatBedrock, `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a"}}]}`,
			"content[0].toolUse.name must be a string"},
		"cohere error": {modelapi.FormatCohere, `{"message":"invalid api token"}`, `reports an error: "invalid api token"`},
		"gemini error": {modelapi.FormatGemini, `[{"error":{"code":400,"message":"bad key","status":"INVALID_ARGUMENT"}}]`,
			`reports an error: "bad key"`},
		"gemini blocked": {modelapi.FormatGemini, `{"promptFeedback":{"blockReason":"SAFETY"}}`,
			`reports an error: "the prompt was blocked: SAFETY"`},
		"gemini malformed": {modelapi.FormatGemini,
			`{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed: print(1)"}]}`,
			`reports an error: "MALFORMED_FUNCTION_CALL: Malformed: print(1)"`},
		"calls no list": {modelapi.FormatOpenAI, `{"choices":[{"message":{"tool_calls":{}}}]}`,
			"choices[0].message.tool_calls must be an array, not"},
		"call no object": {modelapi.FormatOpenAI, `{"tool_calls":[1]}`, "tool_calls[0] must be an object"},
		"no name": {modelapi.FormatOpenAI, `{"tool_calls":[{"id":"a","function":{"arguments":"{}"}}]}`,
			"tool_calls[0].function.name must be a string"},
		"empty name": {modelapi.FormatOpenAI, `{"tool_calls":[{"id":"a","function":{"name":""}}]}`,
			"tool_calls[0].function.name is empty"},
		"id no text": {modelapi.FormatOpenAI, `{"tool_calls":[{"id":1,"function":{"name":"a"}}]}`,
			"tool_calls[0].id must be a string, not \"1\""},
		"one id twice": {modelapi.FormatOpenAI,
			`[{"id":"a","function":{"name":"x"}},{"id":"a","function":{"name":"y"}}]`, `two of its calls have the id "a"`},
		"response error":      {modelapi.FormatOpenAIResponses, `{"error":{}}`, `reports an error: "{}"`},
		"response of nothing": {modelapi.FormatOpenAIResponses, `{}`, `the top has neither "type" nor "output"`},
		"output no list":      {modelapi.FormatOpenAIResponses, `{"output":1}`, "output must be an array"},
		"item of nothing":     {modelapi.FormatOpenAIResponses, `{"output":[{}]}`, `output[0] has neither "type" nor "output"`},
		"no block": {modelapi.FormatAnthropic, `{"role":"assistant","content":[{"id":"a"}]}`,
			`content[0] has neither "type" nor "content"`},
		"content no list":  {modelapi.FormatAnthropic, `{"role":"assistant","content":{}}`, "content must be an array"},
		"use without name": {modelapi.FormatAnthropic, `[{"type":"tool_use","id":"a"}]`, "[0].name must be a string"},
		"parts no list": {modelapi.FormatGemini, `{"candidates":[{"content":{"parts":1}}]}`,
			"candidates[0].content.parts must be an array"},
		"function no name": {modelapi.FormatGemini, `{"parts":[{"functionCall":{"name":3}}]}`,
			"parts[0].functionCall.name must be a string"},
		"candidate a text":  {modelapi.FormatGemini, `{"candidates":["a"]}`, "candidates[0] must be an object"},
		"request no params": {modelapi.FormatMCP, `{"id":1,"method":"tools/call"}`, "params must be an object"},
		"params no name": {modelapi.FormatMCP, `[{"id":1,"method":"tools/call","params":{}}]`,
			"[0].params.name must be a string"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls, err := modelapi.ParseCalls(c.format, []byte(c.message))
			if err == nil || !strings.Contains(err.Error(), c.want) || calls != nil {
				t.Errorf("%v, %v; want text containing %q", calls, err, c.want)
			}
		})
	}
}

// Ids that are made differ from each other.
func TestParseCallsMakesIDs(t *testing.T) {
	t.Parallel()
	message := "[" + strings.Repeat(`{"functionCall":{"name":"a"}},`, 99) + `{"functionCall":{"name":"a"}}]`
	calls, err := modelapi.ParseCalls(modelapi.FormatGemini, []byte(message))
	seen := map[string]bool{}
	for _, c := range calls {
		seen[c.ID] = true
	}
	if err != nil || len(seen) != 100 || seen[""] {
		t.Errorf("%d ids, %v", len(seen), err)
	}
}

// wrapped puts calls into a message of the format.
func wrapped(f modelapi.Format, calls []host.Call) string {
	var items []string
	for _, c := range calls {
		id, name, text := quoted(c.ID), quoted(c.Tool), quoted(string(c.Arguments))
		items = append(items, map[modelapi.Format]string{
			modelapi.FormatOpenAI: fmt.Sprintf(`{"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}`, id,
				name, text),
			modelapi.FormatOpenAIResponses: fmt.Sprintf(`{"type":"function_call","call_id":%s,"name":%s,"arguments":%s}`, id,
				name, text),
			modelapi.FormatAnthropic: fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":%s}`, id, name,
				c.Arguments),
			modelapi.FormatBedrock: fmt.Sprintf(`{"toolUse":{"toolUseId":%s,"name":%s,"input":%s}}`, id, name, c.Arguments),
			modelapi.FormatCohere: fmt.Sprintf(`{"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}`, id,
				name, text),
			modelapi.FormatGemini:        fmt.Sprintf(`{"functionCall":{"id":%s,"name":%s,"args":%s}}`, id, name, c.Arguments),
			modelapi.FormatGeminiOpenAPI: fmt.Sprintf(`{"functionCall":{"id":%s,"name":%s,"args":%s}}`, id, name, c.Arguments),
			modelapi.FormatMCP: fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%s,`+
				`"arguments":%s}}`, id, name, c.Arguments),
			modelapi.FormatText: fmt.Sprintf("I look.\n```tool_call\n{\"name\": %s, \"arguments\": %s}\n```\n", name,
				c.Arguments),
		}[f])
	}
	list := "[" + strings.Join(items, ",") + "]"
	return map[modelapi.Format]string{
		modelapi.FormatOpenAI:          `{"choices":[{"message":{"tool_calls":` + list + `}}]}`,
		modelapi.FormatOpenAIResponses: `{"output":` + list + `}`,
		modelapi.FormatAnthropic:       `{"role":"assistant","content":` + list + `}`,
		modelapi.FormatBedrock:         `{"output":{"message":{"role":"assistant","content":` + list + `}}}`,
		modelapi.FormatCohere:          `{"message":{"tool_calls":` + list + `}}`,
		modelapi.FormatGemini:          `{"candidates":[{"content":{"parts":` + list + `}}]}`,
		modelapi.FormatGeminiOpenAPI:   `{"parts":` + list + `}`, modelapi.FormatMCP: list,
		modelapi.FormatText: strings.Join(items, ""),
	}[f]
}

// answered are the ids, or for MCP and in a text the texts, of rendered results, in order.
func answered(t rapid.TB, f modelapi.Format, message json.RawMessage) (ids []string) {
	var items []map[string]any
	list := message
	switch f {
	case modelapi.FormatAnthropic:
		var m struct{ Content json.RawMessage }
		unmarshal(t, message, &m)
		list = m.Content
	case modelapi.FormatBedrock:
		var m struct {
			Content []struct{ ToolResult struct{ ToolUseID string } }
		}
		unmarshal(t, message, &m)
		for _, b := range m.Content {
			ids = append(ids, b.ToolResult.ToolUseID)
		}
		return ids
	case modelapi.FormatGemini, modelapi.FormatGeminiOpenAPI:
		var m struct {
			Parts []struct{ FunctionResponse struct{ ID, Name string } }
		}
		unmarshal(t, message, &m)
		for _, p := range m.Parts {
			ids = append(ids, p.FunctionResponse.ID)
		}
		return ids
	case modelapi.FormatText:
		return framedIn(textOf(t, message))
	case modelapi.FormatMCP:
		if message[0] == '{' {
			list = json.RawMessage("[" + string(message) + "]")
		}
	}
	unmarshal(t, list, &items)
	key := map[modelapi.Format]string{modelapi.FormatOpenAI: "tool_call_id", modelapi.FormatOpenAIResponses: "call_id",
		modelapi.FormatAnthropic: "tool_use_id", modelapi.FormatCohere: "tool_call_id"}[f]
	for _, item := range items {
		if f == modelapi.FormatMCP {
			ids = append(ids, item["content"].([]any)[0].(map[string]any)["text"].(string))
			continue
		}
		ids = append(ids, item[key].(string))
	}
	return ids
}

func unmarshal(t rapid.TB, data []byte, v any) {
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
}

// Calls made in parallel come back under their ids, in their order, with their arguments byte for byte.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(modelapi.Formats()).Draw(t, "format")
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}[^\x00-\x1f]{0,20}`), 1, 8, rapid.ID[string]).Draw(t,
			"ids")
		var calls []host.Call
		for _, id := range ids {
			arguments := rapid.SampledFrom([]string{`{}`, exact, `{"a":{"b":[1.0,-0,1E+2]}}`, `{"x":"<>&"}`}).Draw(t,
				"arguments")
			calls = append(calls, host.Call{ID: id, Tool: "p__t", Arguments: []byte(arguments)})
		}
		got, err := modelapi.ParseCalls(f, []byte(wrapped(f, calls)))
		if err != nil {
			t.Fatal(err)
		}
		var results []*host.Result
		for i, c := range got {
			if f != modelapi.FormatText && c.ID != calls[i].ID || string(c.Arguments) != string(calls[i].Arguments) {
				t.Fatalf("%s: call %d is %+v, not %+v", f, i, c, calls[i])
			}
			results = append(results, textResult(c, calls[i].ID))
		}
		message, err := modelapi.RenderResults(f, results)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(ids, answered(t, f, message)); d != "" {
			t.Errorf("%s: (-want +got):\n%s", f, d)
		}
	})
}

// Whatever a model writes, reading it ends, and every call has a name and an id of its own.
func FuzzParseCalls(f *testing.F) {
	for _, m := range messages {
		f.Add(string(m.format), []byte(m.message))
	}
	for _, m := range textMessages {
		f.Add(string(modelapi.FormatText), []byte(m.text))
	}
	f.Fuzz(func(t *testing.T, format string, message []byte) {
		calls, err := modelapi.ParseCalls(modelapi.Format(format), message)
		seen := map[string]bool{}
		for _, c := range calls {
			if err != nil || c.ID == "" || c.Tool == "" || seen[c.ID] {
				t.Errorf("%+v, %v", c, err)
			}
			seen[c.ID] = true
		}
	})
}

// Half a surrogate pair, which models write, is a mistake in arguments only: the other calls of the message run.
func TestInvalidUnicode(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		format  modelapi.Format
		message string
		refused []bool
	}{
		"chat": {modelapi.FormatOpenAI, `{"content":"\ud83d half","tool_calls":[
			{"id":"1","function":{"name":"p__a","arguments":"{}"}},
			{"id":"2","function":{"name":"p__a","arguments":"{\"a\":\"\ud83d\"}"}},
			{"id":"3","function":{"name":"p__a","arguments":"{\"a\":\"\\ud83d\"}"}}]}`, []bool{false, true, true}},
		"claude": {modelapi.FormatAnthropic, `[{"type":"text","text":"\ud83d half"},
			{"type":"tool_use","id":"1","name":"p__a","input":{}},
			{"type":"tool_use","id":"2","name":"p__a","input":{"a":"\ud83d"}}]`, []bool{false, true}},
		"bytes": {modelapi.FormatGemini, `{"parts":[{"text":"` + "\xff" + `"},{"functionCall":{"id":"1","name":"p__a"}},
			{"functionCall":{"id":"2","name":"p__a","args":{"a":"` + "\xff" + `"}}}]}`, []bool{false, true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refuses(t, c.format, c.message, c.refused)
		})
	}
}

// A message that was cut off in a call may have it with {} or incomplete arguments. Such a call is never run; the
// ones before it are.
func TestCutOffCallIsRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		format  modelapi.Format
		message string
		refused []bool
	}{
		"claude, in a call": {modelapi.FormatAnthropic,
			`{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"p__a","input":{}},
			{"type":"tool_use","id":"2","name":"p__a","input":{}}],"stop_reason":"max_tokens"}`, []bool{false, true}},
		"claude, in a text": {modelapi.FormatAnthropic,
			`{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"p__a","input":{}},
			{"type":"text","text":"Now I"}],"stop_reason":"max_tokens"}`, []bool{false}},
		"claude, good": {modelapi.FormatAnthropic,
			`{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"p__a","input":{}}],
			"stop_reason":"tool_use"}`, []bool{false}},
		"bedrock, in a call": {modelapi.FormatBedrock, `{"output":{"message":{"content":[
			{"toolUse":{"toolUseId":"1","name":"p__a","input":{}}},
			{"toolUse":{"toolUseId":"2","name":"p__a","input":{"x":1}}}]}},"stopReason":"max_tokens"}`, []bool{false, true}},
		"bedrock, in a text": {modelapi.FormatBedrock, `{"output":{"message":{"content":[
			{"toolUse":{"toolUseId":"1","name":"p__a","input":{}}},{"text":"Now I"}]}},"stopReason":"max_tokens"}`, []bool{false}},
		"bedrock, good": {modelapi.FormatBedrock, `{"output":{"message":{"content":[
			{"toolUse":{"toolUseId":"1","name":"p__a","input":{}}}]}},"stopReason":"tool_use"}`, []bool{false}},
		"cohere, cut": {modelapi.FormatCohere, `{"finish_reason":"MAX_TOKENS","message":{"tool_calls":[
			{"id":"1","function":{"name":"p__a","arguments":"{}"}}]}}`, []bool{true}},
		"cohere, good": {modelapi.FormatCohere, `{"finish_reason":"TOOL_CALL","message":{"tool_calls":[
			{"id":"1","function":{"name":"p__a","arguments":"{}"}}]}}`, []bool{false}},
		"chat, before the arguments": {modelapi.FormatOpenAI, `{"choices":[{"finish_reason":"length","message":{"tool_calls":[
			{"id":"1","function":{"name":"p__a","arguments":""}},{"id":"2","function":{"name":"p__a",
				"arguments":""}}]}}]}`, []bool{false, true}},
		"chat, in the arguments": {modelapi.FormatOpenAI, `{"choices":[{"finish_reason":"length","message":{"tool_calls":[
			{"id":"1","function":{"name":"p__a","arguments":"{\"a\":"}}]}}]}`, []bool{true}},
		"chat, after the arguments": {modelapi.FormatOpenAI, `{"choices":[{"finish_reason":"length","message":{"tool_calls":[
			{"id":"1","function":{"name":"p__a","arguments":"{}"}}]}}]}`, []bool{true}},
		"chat, with arguments": {modelapi.FormatOpenAI, `{"choices":[{"finish_reason":"length","message":{"tool_calls":[
			{"id":"1","function":{"name":"p__a","arguments":"{\"a\":1}"}}]}}]}`, []bool{false}},
		"chat, good": {modelapi.FormatOpenAI, `{"choices":[{"finish_reason":"tool_calls","message":{"tool_calls":[
			{"id":"1","function":{"name":"p__a","arguments":""}}]}}]}`, []bool{false}},
		"response item with {}": {modelapi.FormatOpenAIResponses,
			`{"status":"incomplete","output":[{"type":"function_call","call_id":"1","name":"p__a","arguments":"{}",
			"status":"incomplete"}]}`, []bool{true}},
		"response, its items have no status": {modelapi.FormatOpenAIResponses,
			`{"status":"incomplete","output":[{"type":"function_call","call_id":"1","name":"p__a","arguments":"{}"},
			{"type":"function_call","call_id":"2","name":"p__a","arguments":"{}"}]}`, []bool{false, true}},
		"response, its last item is complete": {modelapi.FormatOpenAIResponses,
			`{"status":"incomplete","output":[{"type":"function_call","call_id":"1","name":"p__a","arguments":"{}",
			"status":"completed"}]}`, []bool{false}},
		"response item": {modelapi.FormatOpenAIResponses,
			`{"output":[{"type":"function_call","call_id":"1","name":"p__a","arguments":"","status":"completed"},
			{"type":"function_call","call_id":"2","name":"p__a","arguments":"","status":"incomplete"}]}`, []bool{false, true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refuses(t, c.format, c.message, c.refused)
		})
	}
}

// refuses checks which calls of a message a host refuses.
func refuses(t *testing.T, f modelapi.Format, message string, want []bool) {
	t.Helper()
	h := doer(t)
	calls, err := modelapi.ParseCalls(f, []byte(message))
	if err != nil || len(calls) != len(want) {
		t.Fatal(calls, err)
	}
	for i, call := range calls {
		r := h.Call(t.Context(), call)
		if refused := r.Error != nil; refused != want[i] || refused && r.Error.Code != sdk.CodeInvalidArgs {
			t.Errorf("call %d: %v", i, r.Error)
		}
	}
}

// A result of the Responses API has an output too, and is no response.
func TestResponsesResultIsNoResponse(t *testing.T) {
	t.Parallel()
	for _, output := range []string{`"x"`, `[{"type":"function_call","call_id":"d","name":"p__a","arguments":"{}"}]`} {
		calls, err := modelapi.ParseCalls(modelapi.FormatOpenAIResponses, []byte(`{"call_id":"c","output":`+output+`}`))
		if err != nil || len(calls) > 0 {
			t.Errorf("%v, %v of %s", calls, err, output)
		}
	}
}
