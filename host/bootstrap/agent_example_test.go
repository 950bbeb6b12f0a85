package bootstrap_test

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/bootstrap"
	"github.com/toolhost/toolhost/host/modelapi"
	"github.com/toolhost/toolhost/sdk"
)

// An agent is the loop around a model: it sends the conversation and the tools, runs the calls that come back, answers
// each, and ends when the model calls nothing more.
type agent struct {
	vendor  vendor
	address string // of the vendor's API
	tools   *host.Catalog
}

// maxTurns ends an agent that calls tools for ever.
const maxTurns = 20

func (a *agent) run(ctx context.Context, prompt string) (answer string, err error) {
	messages := []any{a.vendor.user(prompt)}
	for range maxTurns {
		tools, _ := a.tools.Tools(ctx) // each turn: plugins may change them
		offered, _ := modelapi.Export(a.vendor.format, tools)
		text, calls, refused, err := a.ask(ctx, a.vendor.request(messages, offered), tools)
		if err != nil {
			return "", err
		}
		if len(calls)+len(refused) == 0 {
			return text, nil
		}
		results := append(a.tools.CallAll(ctx, calls, host.BatchOptions{}), refused...)
		for _, r := range refused { // a result needs its call in the conversation
			calls = append(calls, host.Call{ID: r.CallID, Tool: r.Tool, Arguments: json.RawMessage("{}")})
		}
		for _, r := range results {
			fmt.Printf("%s: %s\n", r.Tool, r.Text())
		}
		reply, err := modelapi.RenderResults(a.vendor.format, results)
		if err != nil {
			return "", err
		}
		messages = append(append(messages, a.vendor.assistant(text, calls)), a.vendor.replies(reply)...)
	}
	return "", fmt.Errorf("the model still calls tools after %d turns", maxTurns)
}

// ask makes one request and reads the stream that answers it.
func (a *agent) ask(ctx context.Context, body any, tools []*host.Tool) (text string, calls []host.Call,
	refused []*host.Result, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.address, bytes.NewReader(sdk.Encode(body)))
	if err != nil {
		return "", nil, nil, err
	}
	response, err := http.DefaultClient.Do(request) // with the vendor's headers and key
	if err != nil {
		return "", nil, nil, err
	}
	defer response.Body.Close()
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	assembler, err := modelapi.NewAssembler(a.vendor.format, names...)
	if err != nil {
		return "", nil, nil, err
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is {
			continue
		}
		if _, err := assembler.Add([]byte(data)); err != nil { // the calls that it breaks are refused, the rest goes on
			log.Print(err)
		}
		text += a.vendor.text([]byte(data))
	}
	assembler.End()
	return text, assembler.Calls(), assembler.Refused(), lines.Err()
}

// A vendor is what differs: the form of a conversation. The forms of tools, calls and results are modelapi's.
type vendor struct {
	format    modelapi.Format
	request   func(messages []any, tools json.RawMessage) any
	user      func(prompt string) any
	assistant func(text string, calls []host.Call) any
	replies   func(rendered json.RawMessage) []any
	text      func(chunk []byte) string // what a chunk adds to the model's text
}

type m = map[string]any

var openAI = vendor{
	format: modelapi.FormatOpenAI,
	request: func(messages []any, tools json.RawMessage) any {
		return m{"messages": messages, "tools": tools, "stream": true}
	},
	user: func(prompt string) any { return m{"role": "user", "content": prompt} },
	assistant: func(text string, calls []host.Call) any {
		var out []any
		for _, c := range calls {
			out = append(out, m{"id": c.ID, "type": "function",
				"function": m{"name": c.Tool, "arguments": string(c.Arguments)}})
		}
		return m{"role": "assistant", "content": text, "tool_calls": out}
	},
	replies: func(rendered json.RawMessage) (all []any) { // a message for each call
		_ = json.Unmarshal(rendered, &all)
		return all
	},
	text: func(chunk []byte) (out string) {
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		_ = json.Unmarshal(chunk, &c)
		for _, choice := range c.Choices {
			out += choice.Delta.Content
		}
		return out
	},
}

var anthropic = vendor{
	format:  modelapi.FormatAnthropic,
	request: openAI.request, // and max_tokens
	user:    openAI.user,
	assistant: func(text string, calls []host.Call) any {
		var parts []any
		if text != "" { // which vendors refuse
			parts = append(parts, m{"type": "text", "text": text})
		}
		for _, c := range calls {
			parts = append(parts, m{"type": "tool_use", "id": c.ID, "name": c.Tool, "input": c.Arguments})
		}
		return m{"role": "assistant", "content": parts}
	},
	replies: func(rendered json.RawMessage) []any { return []any{rendered} }, // one message for all calls
	text: func(chunk []byte) string {
		var c struct{ Delta struct{ Text string } }
		_ = json.Unmarshal(chunk, &c)
		return c.Delta.Text
	},
}

var gemini = vendor{
	format: modelapi.FormatGemini,
	request: func(messages []any, tools json.RawMessage) any {
		return m{"contents": messages, "tools": tools}
	},
	user: func(prompt string) any { return m{"role": "user", "parts": []any{m{"text": prompt}}} },
	assistant: func(text string, calls []host.Call) any {
		var parts []any
		if text != "" {
			parts = append(parts, m{"text": text})
		}
		for _, c := range calls {
			parts = append(parts, m{"functionCall": m{"name": c.Tool, "args": c.Arguments}})
		}
		return m{"role": "model", "parts": parts}
	},
	replies: anthropic.replies,
	text: func(chunk []byte) (out string) {
		var c struct {
			Candidates []struct {
				Content struct{ Parts []struct{ Text string } }
			}
		}
		_ = json.Unmarshal(chunk, &c)
		for _, candidate := range c.Candidates {
			for _, part := range candidate.Content.Parts {
				out += part.Text
			}
		}
		return out
	},
}

// Tests run in another folder.
//
//go:embed testdata/agent
var streams embed.FS

// recorded stands for the vendor: it answers with recorded streams, one after the other, and prints the last message of
// each request but the first, without what does not fit on a line.
func recorded(name string) *httptest.Server {
	turn := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Messages, Contents []json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			log.Fatal(err)
		}
		if all := append(body.Messages, body.Contents...); turn > 0 {
			fmt.Printf("to the model: %.90s\n", all[len(all)-1])
		}
		turn++
		stream, err := streams.ReadFile(fmt.Sprintf("testdata/agent/%s-%d.sse", name, turn))
		if err != nil {
			log.Fatal(err)
		}
		_, _ = w.Write(stream)
	}))
}

// runAgent has the agent of a vendor greet Ada.
func runAgent(name string, v vendor) {
	ctx := context.Background()
	i, err := bootstrap.Open(ctx, bootstrap.Options{Config: "config.hcl", TrustNamed: true})
	if err != nil {
		log.Fatal(err)
	}
	defer i.Close()
	server := recorded(name)
	defer server.Close()
	a := agent{vendor: v, address: server.URL, tools: i.Catalog()}
	answer, err := a.run(ctx, "Greet Ada.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
}

// A whole agent with OpenAI's chat completions.
func ExampleInstance_agentOpenAI() {
	runAgent("openai", openAI)
	// Output:
	// greet__hello: Hello, Ada.
	// to the model: {"content":"Hello, Ada.","role":"tool","tool_call_id":"call_1"}
	// Ada has been greeted.
}

// The same agent with Anthropic's messages.
func ExampleInstance_agentAnthropic() {
	runAgent("anthropic", anthropic)
	// Output:
	// greet__hello: Hello, Ada.
	// to the model: {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type"
	// Ada has been greeted.
}

// The same agent with Gemini's generateContent.
func ExampleInstance_agentGemini() {
	runAgent("gemini", gemini)
	// Output:
	// greet__hello: Hello, Ada.
	// to the model: {"role":"user","parts":[{"functionResponse":{"name":"greet__hello","response":{"output":"H
	// Ada has been greeted.
}
