package modelapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

// greeter is a host with one tool; an agent has plugins that run as processes, as the first example shows.
func greeter() *host.Host {
	hello := sdk.Tool{Name: "hello", Description: "Greets a person.", Hints: sdk.Hints{ReadOnly: sdk.Yes},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],
			"additionalProperties":false}`)}
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

// printJSON prints JSON in short lines, broken after commas.
func printJSON(text []byte) {
	width := 0
	for part := range strings.SplitAfterSeq(string(text), ",") {
		if width += len(part); width > 112 {
			fmt.Println()
			width = len(part)
		}
		fmt.Print(part)
	}
	fmt.Println()
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
	printJSON(list)

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
	printJSON(reply)
}

// OpenAI's chat completions, and the many servers that copy them.
func Example_openai() {
	turn(modelapi.FormatOpenAI, `{"choices":[{"message":{"role":"assistant","tool_calls":[
		{"id":"call_1","type":"function","function":{"name":"greet__hello","arguments":"{\"name\":\"Ada\"}"}},
		{"id":"call_2","type":"function","function":{"name":"greet__hello","arguments":"{\"name\":\"Alan\"}"}}]}}]}`)
	// Output:
	// [{"type":"function","function":{"name":"greet__hello","description":"Greets a person.",
	// "parameters":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],
	// "additionalProperties":false},"strict":true}}]
	// [{"role":"tool","tool_call_id":"call_1","content":"Hello, Ada."},{"role":"tool","tool_call_id":"call_2",
	// "content":"Hello, Alan."}]
}

// OpenAI's responses API.
func Example_openaiResponses() {
	turn(modelapi.FormatOpenAIResponses, `{"output":[{"type":"function_call","call_id":"call_1","name":"greet__hello",
		"arguments":"{\"name\":\"Ada\"}"}]}`)
	// Output:
	// [{"type":"function","name":"greet__hello","description":"Greets a person.","parameters":{"type":"object",
	// "properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false},"strict":true}]
	// [{"type":"function_call_output","call_id":"call_1","output":"Hello, Ada."}]
}

// Anthropic's messages API. The second call fails; the answer says how to correct it.
func Example_anthropic() {
	turn(modelapi.FormatAnthropic, `{"role":"assistant","content":[{"type":"text","text":"I greet both."},
		{"type":"tool_use","id":"toolu_1","name":"greet__hello","input":{"name":"Ada"}},
		{"type":"tool_use","id":"toolu_2","name":"greet__helo","input":{"name":"Alan"}}]}`)
	// Output:
	// [{"name":"greet__hello","description":"Greets a person.","input_schema":{"type":"object",
	// "properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}}]
	// {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"Hello,
	//  Ada."}]},{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text",
	// "text":"there is no tool \"greet__helo\"\nDid you mean greet__hello?"}],"is_error":true}]}
}

// The Gemini API. Its calls may come without ids.
func Example_gemini() {
	turn(modelapi.FormatGemini, `{"candidates":[{"content":{"role":"model",
		"parts":[{"functionCall":{"name":"greet__hello","args":{"name":"Ada"}}}]}}]}`)
	// Output:
	// [{"functionDeclarations":[{"name":"greet__hello","description":"Greets a person.",
	// "parametersJsonSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],
	// "additionalProperties":false}}]}]
	// {"role":"user","parts":[{"functionResponse":{"name":"greet__hello","response":{"output":"Hello, Ada."}}}]}
}

// Endpoints of Gemini that know only its subset of OpenAPI.
func Example_geminiOpenAPI() {
	turn(modelapi.FormatGeminiOpenAPI, `{"parts":[{"functionCall":{"id":"1","name":"greet__hello",
		"args":{"name":"Ada"}}}]}`)
	// Output:
	// [{"functionDeclarations":[{"name":"greet__hello","description":"Greets a person.","parameters":{"type":"OBJECT",
	// "properties":{"name":{"type":"STRING"}},"required":["name"]}}]}]
	// {"role":"user","parts":[{"functionResponse":{"id":"1","name":"greet__hello","response":{"output":"Hello,
	//  Ada."}}}]}
}

// A model without function calling: the text of a system message, its answer, and the text of the next user message.
func Example_text() {
	ctx := context.Background()
	h := greeter()
	defer h.Close()
	tools, _ := h.Tools(ctx)
	system, _ := modelapi.Export(modelapi.FormatText, tools)
	intro, list, _ := strings.Cut(unquote(system), "must fit.\n\n") // how to call tools, and the tools
	fmt.Println(strings.Contains(intro, "```tool_call\n"))
	printJSON([]byte(list))

	calls, err := modelapi.ParseCalls(modelapi.FormatText, []byte("I greet her.\n\n"+
		"```tool_call\n{\"name\": \"greet__hello\", \"arguments\": {\"name\": \"Ada\"}}\n```\n"))
	if err != nil {
		log.Fatal(err)
	}
	reply, err := modelapi.RenderResults(modelapi.FormatText, h.CallAll(ctx, calls, host.BatchOptions{}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(unquote(reply))
	// Output:
	// true
	// {"name":"greet__hello","description":"Greets a person.","parameters":{"type":"object",
	// "properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}}
	//
	// Call 1 of 1, greet__hello, succeeded:
	// ```tool_result
	// Hello, Ada.
	// ```
}

// unquote returns the text that a JSON string holds.
func unquote(value json.RawMessage) (text string) {
	if err := json.Unmarshal(value, &text); err != nil {
		log.Fatal(err)
	}
	return text
}

// The Model Context Protocol: the tools of tools/list, and tools/call.
func Example_mcp() {
	turn(modelapi.FormatMCP, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet__hello",
		"arguments":{"name":"Ada"}}}`)
	// Output:
	// [{"name":"greet__hello","description":"Greets a person.","inputSchema":{"type":"object",
	// "properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false},
	// "annotations":{"readOnlyHint":true}}]
	// {"content":[{"type":"text","text":"Hello, Ada."}],"isError":false}
}

// A model's stream becomes calls, and the calls are run.
func ExampleAssembler() {
	h := greeter()
	defer h.Close()

	a, err := modelapi.NewAssembler(modelapi.FormatAnthropic)
	if err != nil {
		log.Fatal(err)
	}
	for _, data := range []string{ // of the server-sent events
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"greet__hello",
			"input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"name\": \"Wo"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"rld\"}"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
	} {
		states, err := a.Add([]byte(data))
		if err != nil {
			log.Fatal(err)
		}
		for _, s := range states {
			fmt.Printf("%s %s(%s)\n", s.Status, s.Tool, s.Partial)
		}
	}
	a.End()
	for _, c := range a.Calls() {
		fmt.Println(c.ID, h.Call(context.Background(), c).Text())
	}
	// Output:
	// generating greet__hello()
	// generating greet__hello({"name": "Wo"})
	// generating greet__hello({"name": "World"})
	// generated greet__hello({"name": "World"})
	// toolu_1 Hello, World.
}

// streamedTurn is turn for an agent that streams: chunks come in, calls run together, and every call is answered. The
// agent keeps the model's own message, which goes back before the answers, as the vendor sent it.
func streamedTurn(f modelapi.Format, chunks ...string) {
	ctx := context.Background()
	h := greeter()
	defer h.Close()
	a, err := modelapi.NewAssembler(f, "greet__hello")
	if err != nil {
		log.Fatal(err)
	}
	for _, chunk := range chunks {
		if _, err := a.Add([]byte(chunk)); err != nil { // the states are for people's eyes
			log.Print(err)
		}
	}
	a.End()
	results := h.CallAll(ctx, a.Calls(), host.BatchOptions{})
	results = append(results, a.Refused()...)
	reply, err := modelapi.RenderResults(f, results)
	if err != nil {
		log.Fatal(err)
	}
	printJSON(reply)
}

// OpenAI's chat completions: two calls, whose pieces come in turns.
func Example_openaiStream() {
	streamedTurn(modelapi.FormatOpenAI,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"greet__hello",
			"arguments":""}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"call_2","function":{"name":"greet__hello",
			"arguments":"{\"name\""}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"name\":\"Ada\"}"}},{"index":1,
			"function":{"arguments":":\"Alan\"}"}}]}}]}`,
		`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`,
		`[DONE]`)
	// Output:
	// [{"role":"tool","tool_call_id":"call_1","content":"Hello, Ada."},{"role":"tool","tool_call_id":"call_2",
	// "content":"Hello, Alan."}]
}

// OpenAI's responses API.
func Example_openaiResponsesStream() {
	streamedTurn(modelapi.FormatOpenAIResponses,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1",
			"name":"greet__hello","arguments":""}}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_2","call_id":"call_2",
			"name":"greet__hello","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_2","output_index":1,"delta":"{\"name\":\"Alan\"}"}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"{\"name\":\"Ada\"}"}`,
		`{"type":"response.completed","response":{"output":[]}}`)
	// Output:
	// [{"type":"function_call_output","call_id":"call_1","output":"Hello, Ada."},{"type":"function_call_output",
	// "call_id":"call_2","output":"Hello, Alan."}]
}

// Anthropic's messages API. The answer is cut off in the second call, which is not run and still answered.
func Example_anthropicStream() {
	streamedTurn(modelapi.FormatAnthropic,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"greet__hello",
			"input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"name\":\"Ada\"}"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_2","name":"greet__hello",
			"input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"na"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`)
	// Output:
	// {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"Hello,
	//  Ada."}]},{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text",
	// "text":"the call of \"greet__hello\" is not complete,
	//  its arguments end after 4 bytes: the answer was cut off (max_tokens); nothing was run\nMake the call again,
	//  in smaller parts if it was long."}],"is_error":true}]}
}

// A model without function calling: pieces of its text, the last block cut off.
func Example_textStream() {
	streamedTurn(modelapi.FormatText, "I greet both.\n``", "`tool_call\n{\"name\": \"greet__hello\",",
		" \"arguments\": {\"name\": \"Ada\"}}\n```",
		"\n```tool_call\n{\"name\": \"greet__hello\", \"arguments\": {\"na")
	// Output:
	// "Call 1 of 2, greet__hello, succeeded:\n```tool_result\nHello, Ada.\n```\n\nCall 2 of 2, greet__hello,
	//  failed:\n```tool_result\nthe call of \"greet__hello\" is not complete,
	//  its block is not closed: the stream ended; nothing was run\nMake the call again,
	//  in smaller parts if it was long.\n```\n"
}

// The Gemini API: parallel calls without ids are answered without ids, in their order.
func Example_geminiStream() {
	streamedTurn(modelapi.FormatGemini,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"greet__hello","args":{"name":"Ada"}}},
			{"functionCall":{"name":"greet__hello","args":{"name":"Alan"}}}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}]}`)
	// Output:
	// {"role":"user","parts":[{"functionResponse":{"name":"greet__hello","response":{"output":"Hello, Ada."}}},
	// {"functionResponse":{"name":"greet__hello","response":{"output":"Hello, Alan."}}}]}
}
