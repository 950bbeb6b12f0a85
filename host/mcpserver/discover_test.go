package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/sdk"
)

// A client of two eras asks with server/discover first, and may still choose the handshake, on the same stream.
func TestHandshakeAfterDiscover(t *testing.T) {
	s := &setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")}}}, options: Options{Instructions: "Hi."}}
	w := s.stdio(t)
	type told struct {
		ResultType        string
		SupportedVersions []string
		ProtocolVersion   string
		Instructions      string
		CacheScope        string
		Capabilities      json.RawMessage
	}
	read := func(r reply) (out told) {
		t.Helper()
		if r.Error != nil {
			t.Fatalf("got %+v", r.Error)
		}
		if err := json.Unmarshal(r.Result, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	var first told
	for range 2 {
		first = read(w.request("server/discover", modernParams("", "{}")))
	}
	if !slices.Equal(first.SupportedVersions, mcp.SupportedProtocolVersions()) || first.Instructions != "Hi." ||
		first.ResultType != "complete" || first.CacheScope != "public" {
		t.Errorf("got %+v", first)
	}
	if r := w.request("server/discover", "{}"); r.Error == nil || r.Error.Code != -32601 {
		t.Errorf("server/discover of an older revision: %+v", r)
	}
	if r := w.request("tools/list", "{}"); r.Error == nil || !strings.Contains(r.Error.Message, "send initialize first") {
		t.Errorf("a request of an older revision before the handshake: %+v", r)
	}
	second := read(w.request("initialize",
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
	if second.ProtocolVersion != "2025-11-25" || string(first.Capabilities) != string(second.Capabilities) {
		t.Errorf("the handshake says %+v, server/discover %+v", second, first)
	}
	w.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if got := names(t, w.request("tools/list", "{}")); !slices.Equal(got, []string{"p__t"}) {
		t.Errorf("listed: %q", got)
	}
}

// What follows server/discover in its own revision needs no handshake: lists, calls and notifications of changes.
func TestRequestsAfterDiscover(t *testing.T) {
	p := &fake{tools: []sdk.Tool{readOnly("t")}}
	w := (&setup{plugins: map[string]*fake{"p": p}}).stdio(t)
	_ = w.request("server/discover", modernParams("", "{}"))
	if got := names(t, w.request("tools/list", modernParams("", "{}"))); !slices.Equal(got, []string{"p__t"}) {
		t.Errorf("listed: %q", got)
	}
	if r := w.request("tools/call", modernParams(`{"name":"p__t"}`, "{}")); r.Error != nil {
		t.Errorf("called: %+v", r.Error)
	}
	w.begin("subscriptions/listen", modernParams(`{"notifications":{"toolsListChanged":true}}`, "{}"))
	if got := w.read(); !strings.Contains(got, "notifications/subscriptions/acknowledged") {
		t.Errorf("listening: %s", got)
	}
	p.set(t, readOnly("t"), readOnly("u"))
	if got := w.read(); !strings.Contains(got, `"method":"notifications/tools/list_changed"`) {
		t.Errorf("after a change: %s", got)
	}
}
