package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// many are tools with descriptions and schemas of the usual size.
func many(n int) (tools []sdk.Tool) {
	for i := range n {
		tool := readOnly(fmt.Sprintf("tool%d", i))
		tool.Description = fmt.Sprintf("Handles records of kind %d. ", i) + strings.Repeat("It says more about itself. ", 10)
		tool.InputSchema = json.RawMessage(`{"type":"object","properties":{"record":{"type":"string"},` +
			`"n":{"type":"integer"}}}`)
		tools = append(tools, tool)
	}
	return tools
}

// 500 tools cost a client less than 2,000 tokens at first.
func TestDeferredListIsSmall(t *testing.T) {
	plugins := map[string]*fake{}
	for i := range 5 {
		plugins[fmt.Sprintf("p%d", i)] = &fake{tools: many(100)}
	}
	w := (&setup{plugins: plugins, options: Options{Deferred: true}}).stdio(t)
	w.handshake("2025-11-25", "{}")
	r := w.request("tools/list", "")
	if got := names(t, r); !slices.Equal(got, []string{"toolhost__call", "toolhost__search"}) {
		t.Errorf("listed %q", got)
	}
	if tokens := len(r.Result) / 3; tokens > 2000 { // a token has about four characters
		t.Errorf("about %d tokens: %s", tokens, r.Result)
	}
	found := w.request("tools/call", `{"name":"toolhost__search","arguments":{"query":"p3__tool77"}}`)
	var result struct {
		StructuredContent struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal(found.Result, &result); err != nil || len(result.StructuredContent.Tools) == 0 ||
		result.StructuredContent.Tools[0].Name != "p3__tool77" {
		t.Errorf("found %s", found.Result)
	}
	got := w.request("tools/call",
		`{"name":"toolhost__call","arguments":{"tool":"p3__tool77","arguments":{"n":9007199254740993}}}`)
	if !strings.Contains(string(got.Result), `tool77 {\"n\":9007199254740993}`) {
		t.Errorf("got %s", got.Result)
	}
	if r := w.request("tools/call", `{"name":"p3__tool77"}`); r.Error == nil ||
		!strings.Contains(r.Error.Message, "toolhost__call") {
		t.Errorf("a tool that is not listed was called: %s", r.Result)
	}
	for _, wrong := range []string{`{}`, `{"tool":5}`, `{"tool":"p3__tool77","arguments":[]}`, `{"tool":"p3__tool7777"}`,
		`{"tool":"toolhost__call"}`, `{"tool":"p3__tool77","arguments":{"n":"x"}}`} {
		got := string(w.request("tools/call", `{"name":"toolhost__call","arguments":`+wrong+`}`).Result)
		if !strings.Contains(got, `"isError":true`) {
			t.Errorf("%s: got %s", wrong, got)
		}
	}
}

// Approval is about the tool that is called, not about the call tool.
func TestDeferredCallIsApprovedAsItsTool(t *testing.T) {
	p := &fake{tools: []sdk.Tool{changing("write"), readOnly("read")},
		call: func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
			return sdk.Text("did " + r.Tool), nil
		}}
	w := (&setup{plugins: map[string]*fake{"p": p}, options: Options{Deferred: true, List: []string{"p__r*"}}}).stdio(t)
	w.handshake("2025-11-25", canElicit)
	if got := names(t, w.request("tools/list", "")); !slices.Equal(got,
		[]string{"p__read", "toolhost__call", "toolhost__search"}) {
		t.Errorf("listed %q", got)
	}
	if got := string(w.request("tools/call", `{"name":"p__read"}`).Result); !strings.Contains(got, "did read") {
		t.Errorf("got %s", got)
	}
	const call = `"name":"toolhost__call","arguments":{"tool":"p__write","arguments":{"path":"x"}}`
	id := w.begin("tools/call", "{"+call+"}")
	if asked := string(w.answerNext("elicitation/create", yes)); !strings.Contains(asked, "p__write") ||
		!strings.Contains(asked, `{\"path\":\"x\"}`) {
		t.Errorf("asked %s", asked)
	}
	if got := string(w.await(id).Result); !strings.Contains(got, "did write") {
		t.Errorf("got %s", got)
	}
	_, state := required(t, w.request("tools/call", modernParams("{"+call+"}", canElicit)))
	r := w.request("tools/call", modernParams(answered(call, approvalKey, yes, state), canElicit))
	if !strings.Contains(string(r.Result), "did write") {
		t.Errorf("got %s", r.Result)
	}
}
