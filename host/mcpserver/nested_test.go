package mcpserver

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/nesting"
	"github.com/toolhost/toolhost/sdk"
)

// nestedSetup has the plugin p, whose tools call those of q.
func nestedSetup() *setup {
	relay := func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		return r.CallTool(ctx, "q__"+r.Tool, json.RawMessage("{}"))
	}
	target := func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		if r.Tool == "ask" {
			return askingTool(ctx, r)
		}
		return sdk.Text("written"), nil
	}
	s := &setup{plugins: map[string]*fake{
		"p": {tools: []sdk.Tool{readOnly("write"), readOnly("ask")}, call: relay},
		"q": {tools: []sdk.Tool{changing("write"), readOnly("ask")}, call: target}}}
	s.host.Plugins = map[string]host.PluginOptions{"p": {MayCall: []string{"q__*"}}}
	return s
}

// A client of the handshake revisions is asked about the calls of plugins, and learns which plugin makes them.
func TestNestedCallsAreAskedAbout(t *testing.T) {
	w := nestedSetup().stdio(t)
	w.handshake("2025-11-25", canElicit)
	id := w.begin("tools/call", `{"name":"p__write"}`)
	asked := string(w.answerNext("elicitation/create", yes))
	if !strings.Contains(asked, `Allow the tool q__write to run?`) || !strings.Contains(asked,
		`Called by: plugin p, during a call of p__write`) || strings.Contains(asked, "from now on") {
		t.Errorf("asked %s", asked)
	}
	if got := string(w.await(id).Result); !strings.Contains(got, "written") {
		t.Errorf("got %s", got)
	}
	id = w.begin("tools/call", `{"name":"p__ask"}`)
	asked = string(w.answerNext("elicitation/create", `{"action":"accept","content":{"name":"Ann"}}`))
	if !strings.Contains(asked, `"message":"The tool q__ask asks, which plugin p called: Who?"`) {
		t.Errorf("asked %s", asked)
	}
	if got := string(w.await(id).Result); !strings.Contains(got, `\"name\":\"Ann\"`) {
		t.Errorf("got %s", got)
	}
}

// A client that answers by making its call again cannot be asked about another one: an approval of its own call is none
// of that.
func TestNestedCallsOfClientsThatAnswerLater(t *testing.T) {
	w := nestedSetup().stdio(t)
	for tool, want := range map[string]string{"write": "ApprovalUnavailable: q__write", "ask": "no one can be asked here"} {
		got := string(w.request("tools/call", modernParams(`{"name":"p__`+tool+`"}`, canElicit)).Result)
		if !strings.Contains(got, want) || strings.Contains(got, `"inputRequests"`) || strings.Contains(got, "written") {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

// A plugin of this process does not get this server's list, which would have its own tools in it.
func TestServerOfItsOwnPlugin(t *testing.T) {
	w := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")}}}}).listen(t)
	config, plugin := t.TempDir()+"/config.hcl", `plugin "own"`
	nesting.Own(config, plugin)
	variable := nesting.Below(nil, config, plugin, true)[0]
	_, words, _ := strings.Cut(variable, "=")
	for words, want := range map[string]int{
		strings.ReplaceAll(words, "?", ""):           http.StatusForbidden, // a server that the plugin has started
		strings.ReplaceAll(words, "?", "") + " 0102": http.StatusForbidden, // and what that has started
		words + " 0102": http.StatusOK, // of a call
		"0102":          http.StatusOK,
	} {
		out := w.post(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
			`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nesting.Header, words)
		_ = out.Body.Close()
		if out.StatusCode != want {
			t.Errorf("%q: %d, want %d", words, out.StatusCode, want)
		}
	}
}
