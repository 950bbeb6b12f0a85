package mcpserver

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// What both transports answer to messages that clients get wrong.
var oddMessages = map[string]struct{ message, want string }{
	"an unknown method":    {`{"jsonrpc":"2.0","id":"a","method":"no/such"}`, `{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"method not found: \"no/such\""}}`},
	"a fraction as the id": {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":1.5,"error":{"code":-32600,"message":"` + lossyID + `"}}`},
	"a huge id": {`{"jsonrpc":"2.0","method":"ping","id":12345678901234567890}`, `{"jsonrpc":"2.0","id":12345678901234567890,` +
		`"error":{"code":-32600,"message":"` + lossyID + `"}}`},
	"an integer over 2^53":      {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":9007199254740993,"result":{}}`},
	"the least integer":         {`{"jsonrpc":"2.0","id":-9223372036854775808,"method":"ping"}`, `{"jsonrpc":"2.0","id":-9223372036854775808,"result":{}}`},
	"an unknown method of such": {`{"jsonrpc":"2.0","id":9007199254740993,"method":"no/such"}`, `{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32601,"message":"method not found: \"no/such\""}}`},
	"an integer with a point":   {`{"jsonrpc":"2.0","id":7.0,"method":"ping"}`, `{"jsonrpc":"2.0","id":7,"result":{}}`},
}

func TestOddMessagesOverStreams(t *testing.T) {
	w := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")}}}}).stdio(t)
	w.write("\uFEFF" + `{"jsonrpc":"2.0","id":"first","method":"ping"}`)
	if got := w.read(); got != `{"jsonrpc":"2.0","id":"first","result":{}}` {
		t.Errorf("after a byte order mark: %s", got)
	}
	w.handshake("2025-03-26", "{}")
	for name, m := range oddMessages {
		w.write(`{"jsonrpc":"2.0","method":"notifications/no/such"}`)
		w.write(m.message)
		if got := w.read(); got != m.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	w.write(`  [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`)
	if got := w.read(); !strings.HasPrefix(got, "[{") {
		t.Errorf("a batch behind blanks: %s", got)
	}
}

func TestOddMessagesOverHTTP(t *testing.T) {
	w := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")}}}}).listen(t)
	w.handshake()
	for name, m := range oddMessages {
		out := w.post(t.Context(), "\uFEFF"+m.message)
		got, err := io.ReadAll(out.Body)
		_ = out.Body.Close()
		if err != nil || !strings.Contains(string(got), m.want) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if got := w.status(`{"jsonrpc":"2.0","method":"notifications/no/such"}`); got != http.StatusAccepted {
		t.Errorf("an unknown notification: %d", got)
	}
	if got := w.status(`{"jsonrpc":"2.0","method":"ping"}`); got != http.StatusBadRequest {
		t.Errorf("a request without an id: %d", got)
	}
	names(t, w.request("tools/list", "{}"))
	other := web{t: t, url: w.url, session: "x", version: "2025-11-25"}
	if got := other.status(oddMessages["an unknown method"].message); got != http.StatusNotFound {
		t.Errorf("an unknown session: %d", got)
	}
}
