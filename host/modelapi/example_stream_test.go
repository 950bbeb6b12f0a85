package modelapi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/modelapi"
)

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
	fmt.Println(string(reply))
}

// OpenAI's chat completions: two calls, whose pieces come in turns.
func Example_openaiStream() {
	streamedTurn(modelapi.FormatOpenAI,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"greet__hello","arguments":""}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"call_2","function":{"name":"greet__hello","arguments":"{\"name\""}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"name\":\"Ada\"}"}},{"index":1,"function":{"arguments":":\"Alan\"}"}}]}}]}`,
		`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`,
		`[DONE]`)
	// Output:
	// [{"role":"tool","tool_call_id":"call_1","content":"Hello, Ada."},{"role":"tool","tool_call_id":"call_2","content":"Hello, Alan."}]
}

// OpenAI's responses API.
func Example_openaiResponsesStream() {
	streamedTurn(modelapi.FormatOpenAIResponses,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"greet__hello","arguments":""}}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_2","call_id":"call_2","name":"greet__hello","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_2","output_index":1,"delta":"{\"name\":\"Alan\"}"}`,
		`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"{\"name\":\"Ada\"}"}`,
		`{"type":"response.completed","response":{"output":[]}}`)
	// Output:
	// [{"type":"function_call_output","call_id":"call_1","output":"Hello, Ada."},{"type":"function_call_output","call_id":"call_2","output":"Hello, Alan."}]
}

// Anthropic's messages API. The answer is cut off in the second call, which is not run and still answered.
func Example_anthropicStream() {
	streamedTurn(modelapi.FormatAnthropic,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"greet__hello","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"name\":\"Ada\"}"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_2","name":"greet__hello","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"na"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`)
	// Output:
	// {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"Hello, Ada."}]},{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"the call of \"greet__hello\" is not complete, its arguments end after 4 bytes: the answer was cut off (max_tokens); nothing was run\nMake the call again, in smaller parts if it was long."}],"is_error":true}]}
}

// A model without function calling: pieces of its text, the last block cut off.
func Example_textStream() {
	streamedTurn(modelapi.FormatText, "I greet both.\n``", "`tool_call\n{\"name\": \"greet__hello\",", " \"arguments\": {\"name\": \"Ada\"}}\n```",
		"\n```tool_call\n{\"name\": \"greet__hello\", \"arguments\": {\"na")
	// Output:
	// "Call 1 of 2, greet__hello, succeeded:\n```tool_result\nHello, Ada.\n```\n\nCall 2 of 2, greet__hello, failed:\n```tool_result\nthe call of \"greet__hello\" is not complete, its block is not closed: the stream ended; nothing was run\nMake the call again, in smaller parts if it was long.\n```\n"
}

// The Gemini API: parallel calls without ids are answered without ids, in their order.
func Example_geminiStream() {
	streamedTurn(modelapi.FormatGemini,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"greet__hello","args":{"name":"Ada"}}},{"functionCall":{"name":"greet__hello","args":{"name":"Alan"}}}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}]}`)
	// Output:
	// {"role":"user","parts":[{"functionResponse":{"name":"greet__hello","response":{"output":"Hello, Ada."}}},{"functionResponse":{"name":"greet__hello","response":{"output":"Hello, Alan."}}}]}
}
