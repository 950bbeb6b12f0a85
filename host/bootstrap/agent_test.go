package bootstrap_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/bootstrap"
)

// Vendors refuse a conversation with an empty text, and one with a result whose call is not in it: here the model says
// nothing but a call, or a call that is cut off.
func TestConversationsOfTheAgent(t *testing.T) {
	i, err := bootstrap.Open(t.Context(), bootstrap.Options{Config: "config.hcl", TrustNamed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	anthropicCall := `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_1",` +
		`"name":"greet__hello","input":{}}}` + "\n" +
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":%q}}` + "\n"
	openAICall := `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function",` +
		`"function":{"name":"greet__hello","arguments":%q}}]}}]}` + "\n"
	for name, c := range map[string]struct {
		vendor vendor
		first  string
		calls  []string // of which each is twice in the conversation: the call, and its result
	}{
		"anthropic":          {anthropic, fmt.Sprintf(anthropicCall, `{"name":"Ada"}`), []string{`"call_1"`}},
		"anthropic, cut off": {anthropic, fmt.Sprintf(anthropicCall, `{"name":"A`), []string{`"call_1"`}},
		"openai, cut off":    {openAI, fmt.Sprintf(openAICall, `{"name":"A`), []string{`"call_1"`}},
		"gemini": {gemini, `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"greet__hello",` +
			`"args":{"name":"Ada"}}}]}}]}`, []string{`{"functionCall":`, `{"functionResponse":`}},
	} {
		t.Run(name, func(t *testing.T) {
			var last []byte
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				first := last == nil
				var body struct{ Messages, Contents json.RawMessage }
				if text, _ := io.ReadAll(r.Body); json.Unmarshal(text, &body) == nil {
					last = append(body.Messages, body.Contents...)
				}
				for line := range strings.Lines(c.first) {
					if first {
						fmt.Fprintf(w, "data: %s\n", line)
					}
				}
			}))
			defer server.Close()
			a := agent{vendor: c.vendor, address: server.URL, tools: i.Catalog()}
			if _, err := a.run(t.Context(), "Greet Ada."); err != nil {
				t.Fatal(err)
			}
			count := 0
			for _, call := range c.calls {
				count += strings.Count(string(last), call)
			}
			if count != 2 || strings.Contains(string(last), `"text":""`) {
				t.Errorf("the conversation is %s", last)
			}
		})
	}
}
