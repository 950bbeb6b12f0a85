package modelapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

// greeter is a host with one tool; an agent has plugins that run as processes, as the first example shows.
func greeter() *host.Host {
	hello := sdk.Tool{Name: "hello", Description: "Greets a person.", Hints: sdk.Hints{ReadOnly: sdk.Yes}, InputSchema: json.RawMessage(
		`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`)}
	p := plugin{hello, func(r *sdk.Request) (*sdk.Result, error) {
		var in struct{ Name string }
		if err := json.Unmarshal(r.Arguments, &in); err != nil {
			return nil, err
		}
		return sdk.Textf("Hello, %s.", in.Name), nil
	}}
	h, err := host.New(map[string]host.Plugin{"greet": p}, host.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return h
}

// turn is one turn of an agent: the tools go out with the request, the model's message comes in, the results go back.
func turn(f modelapi.Format, message string) {
	ctx := context.Background()
	h := greeter()
	defer h.Close()
	tools, _ := h.Tools(ctx)
	list, problems := modelapi.Export(f, tools)
	for _, p := range problems {
		log.Print(p)
	}
	fmt.Println(string(list))

	calls, err := modelapi.ParseCalls(f, []byte(message))
	if err != nil {
		log.Fatal(err)
	}
	var results []*host.Result
	for _, c := range calls {
		results = append(results, h.Call(ctx, c))
	}
	reply, err := modelapi.RenderResults(f, results)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(reply))
}

// OpenAI's chat completions, and the many servers that copy them.
func Example_openai() {
	turn(modelapi.FormatOpenAI, `{"choices":[{"message":{"role":"assistant","tool_calls":[
		{"id":"call_1","type":"function","function":{"name":"greet__hello","arguments":"{\"name\":\"Ada\"}"}},
		{"id":"call_2","type":"function","function":{"name":"greet__hello","arguments":"{\"name\":\"Alan\"}"}}]}}]}`)
	// Output:
	// [{"type":"function","function":{"name":"greet__hello","description":"Greets a person.","parameters":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false},"strict":true}}]
	// [{"role":"tool","tool_call_id":"call_1","content":"Hello, Ada."},{"role":"tool","tool_call_id":"call_2","content":"Hello, Alan."}]
}

// OpenAI's responses API.
func Example_openaiResponses() {
	turn(modelapi.FormatOpenAIResponses, `{"output":[{"type":"function_call","call_id":"call_1","name":"greet__hello","arguments":"{\"name\":\"Ada\"}"}]}`)
	// Output:
	// [{"type":"function","name":"greet__hello","description":"Greets a person.","parameters":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false},"strict":true}]
	// [{"type":"function_call_output","call_id":"call_1","output":"Hello, Ada."}]
}

// Anthropic's messages API. The second call fails; the model is told how to mend it.
func Example_anthropic() {
	turn(modelapi.FormatAnthropic, `{"role":"assistant","content":[{"type":"text","text":"I greet both."},
		{"type":"tool_use","id":"toolu_1","name":"greet__hello","input":{"name":"Ada"}},
		{"type":"tool_use","id":"toolu_2","name":"greet__helo","input":{"name":"Alan"}}]}`)
	// Output:
	// [{"name":"greet__hello","description":"Greets a person.","input_schema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}}]
	// {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"Hello, Ada."}]},{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"there is no tool \"greet__helo\"\nDid you mean greet__hello?"}],"is_error":true}]}
}

// The Gemini API. Its calls may come without ids.
func Example_gemini() {
	turn(modelapi.FormatGemini, `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"greet__hello","args":{"name":"Ada"}}}]}}]}`)
	// Output:
	// [{"functionDeclarations":[{"name":"greet__hello","description":"Greets a person.","parametersJsonSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}}]}]
	// {"role":"user","parts":[{"functionResponse":{"name":"greet__hello","response":{"output":"Hello, Ada."}}}]}
}

// Endpoints of Gemini that know only its subset of OpenAPI.
func Example_geminiOpenAPI() {
	turn(modelapi.FormatGeminiOpenAPI, `{"parts":[{"functionCall":{"id":"1","name":"greet__hello","args":{"name":"Ada"}}}]}`)
	// Output:
	// [{"functionDeclarations":[{"name":"greet__hello","description":"Greets a person.","parameters":{"type":"OBJECT","properties":{"name":{"type":"STRING"}},"required":["name"]}}]}]
	// {"role":"user","parts":[{"functionResponse":{"id":"1","name":"greet__hello","response":{"output":"Hello, Ada."}}}]}
}

// A model without function calling: the text of a system message, its answer, and the text of the next user message.
func Example_text() {
	ctx := context.Background()
	h := greeter()
	defer h.Close()
	tools, _ := h.Tools(ctx)
	system, _ := modelapi.Export(modelapi.FormatText, tools)
	fmt.Println(unquote(system))

	calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte("I greet her.\n\n```tool_call\n{\"name\": \"greet__hello\", \"arguments\": {\"name\": \"Ada\"}}\n```\n"))
	if err != nil {
		log.Fatal(err)
	}
	reply, err := modelapi.RenderResults(modelapi.FormatText, h.CallAll(ctx, calls, host.BatchOptions{}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(unquote(reply))
	// Output:
	// You can call tools. To call one, write a block of these three lines: three backticks and the word tool_call; one JSON object, with the tool's "name" and its "arguments"; three backticks. Like this:
	//
	// ```tool_call
	// {"name": "NAME", "arguments": {"KEY": "VALUE"}}
	// ```
	//
	// Begin it at the beginning of a line and inside no other block. Several blocks are several calls. Stop after your last block: the results come in the next message. These are the tools, one a line; the "parameters" are the JSON Schema that the "arguments" must fit.
	//
	// {"name":"greet__hello","description":"Greets a person.","parameters":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}}
	//
	// Call 1 of 1, greet__hello, succeeded:
	// ```tool_result
	// Hello, Ada.
	// ```
}

// unquote gives the text that a JSON string holds.
func unquote(value json.RawMessage) (text string) {
	if err := json.Unmarshal(value, &text); err != nil {
		log.Fatal(err)
	}
	return text
}

// The Model Context Protocol: the tools of tools/list, and tools/call.
func Example_mcp() {
	turn(modelapi.FormatMCP, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet__hello","arguments":{"name":"Ada"}}}`)
	// Output:
	// [{"name":"greet__hello","description":"Greets a person.","inputSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false},"annotations":{"readOnlyHint":true}}]
	// {"content":[{"type":"text","text":"Hello, Ada."}],"isError":false}
}
