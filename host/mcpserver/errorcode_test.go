package mcpserver

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/sdk"
)

// A request before the handshake is an invalid one, over each transport.
func TestRequestsBeforeTheHandshake(t *testing.T) {
	s := &setup{plugins: map[string]*fake{"a": {tools: []sdk.Tool{readOnly("x")}}}}
	check := func(t *testing.T, r reply) {
		t.Helper()
		if r.Error == nil || r.Error.Code != jsonrpc.CodeInvalidRequest || !strings.HasSuffix(r.Error.Message,
			"is invalid during session initialization; send initialize first") {
			t.Errorf("%+v", r.Error)
		}
	}
	for _, method := range []string{"tools/list", "tools/call", "resources/read", "prompts/list"} {
		t.Run(method, func(t *testing.T) {
			check(t, s.stdio(t).request(method, `{"name":"a__x","uri":"a:b"}`))
			check(t, s.listen(t).request(method, `{"name":"a__x","uri":"a:b"}`))
		})
	}
}

// Only the errors of the SDK without a code are changed.
func TestOnlyErrorsWithoutACodeAreChanged(t *testing.T) {
	for message, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"odd","data":[1]}}`: `{"jsonrpc":"2.0","id":1,` +
			`"error":{"code":-32603,"message":"odd","data":[1]}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"odd"}}`:                                     "",
		`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"error":{"code":0,"message":"of a tool"}}}}`:   "",
		`{"jsonrpc":"2.0","id":1,"method":"notifications/message","params":{"error":{"code":0,"message":""}}}`: "",
		`{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"","data":{"error":{"code":0,"message":""}}}}`:    "",
	} {
		if want == "" {
			want = message
		}
		if got := string(withCode([]byte(message))); got != want {
			t.Errorf("%s\nbecame %s", message, got)
		}
		if got := string(eventWithCode([]byte("event: message\nid: a_1\ndata: " + message + "\n\n"))); got !=
			"event: message\nid: a_1\ndata: "+want+"\n\n" {
			t.Errorf("an event became %s", got)
		}
	}
}
