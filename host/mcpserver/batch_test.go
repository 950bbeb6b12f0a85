package mcpserver

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/sdk"
)

// batches begins a session of the revision that has batches.
func batches(t *testing.T, s *setup) *web {
	t.Helper()
	w := s.listen(t)
	w.version = "2025-03-26"
	w.request("initialize",
		`{"protocolVersion":"2025-03-26","capabilities":`+canAnswer+`,"clientInfo":{"name":"t","version":"1"}}`)
	_ = w.post(t.Context(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`).Body.Close()
	return w
}

// answers sends a batch and returns its status, and each answer by its id.
func (w *web) answers(body string) (status int, out map[string]string) {
	w.t.Helper()
	response := w.post(w.t.Context(), body)
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	out = map[string]string{}
	for line := range strings.Lines(string(all)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			data = strings.TrimSpace(data)
			out[string(rawjson.ObjectOf(json.RawMessage(data)).Get("id"))] = data
		}
	}
	return response.StatusCode, out
}

// What a batch has that cannot be done is refused alone, or ignored if it needs no answer. The rest is done.
func TestBatchWithWhatCannotBeDone(t *testing.T) {
	w := batches(t, &setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")}}}})
	notFound := func(id, method string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32601,"message":"method not found: \"` + method + `\""}}`
	}
	status, got := w.answers(`[{"jsonrpc":"2.0","id":11,"method":"ping"},
		{"jsonrpc":"2.0","method":"notifications/no/such"},
		{"jsonrpc":"2.0","id":"12","method":"no/such","params":{"x":1}},
		{"jsonrpc":"2.0","id":12,"method":"server/discover"},
		{"jsonrpc":"2.0","id":13,"method":"notifications/no/such"},
		{"jsonrpc":"2.0","id":14,"method":"notifications/initialized"},
		{"jsonrpc":"2.0","method":"tools/call","params":{"name":"p__t"}},
		{"jsonrpc":"2.0","method":"no/such"},
		{"jsonrpc":"2.0","id":15,"method":"tools/call"},
		{"jsonrpc":"2.0","id":1.5,"method":"ping"},
		{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"p__t"}},
		{"jsonrpc":"2.0","id":9007199254740992,"method":"no/such"},
		{"jsonrpc":"2.0","id":9007199254740995,"method":"no/such"}]`)
	want := map[string]string{
		"11":               `{"jsonrpc":"2.0","id":11,"result":{}}`,
		`"12"`:             notFound(`"12"`, "no/such"),
		"12":               notFound("12", "server/discover"),
		"13":               notFound("13", "notifications/no/such"),
		"14":               `{"jsonrpc":"2.0","id":14,"error":{"code":-32600,"message":"a notification has no id, and a request needs one"}}`,
		"15":               `{"jsonrpc":"2.0","id":15,"error":{"code":-32600,"message":"\"params\" are missing"}}`,
		"1.5":              `{"jsonrpc":"2.0","id":1.5,"error":{"code":-32600,"message":"` + lossyID + `"}}`,
		"9007199254740993": `{"jsonrpc":"2.0","id":9007199254740993,"result":{"content":[{"type":"text","text":"t {}"}]}}`,
		"9007199254740992": notFound("9007199254740992", "no/such"),
		"9007199254740995": notFound("9007199254740995", "no/such"),
	}
	if status != http.StatusOK || !maps.Equal(got, want) {
		t.Errorf("status %d, got\n%s\nwant\n%s", status, got, want)
	}
}

func TestBatchWithoutAnswers(t *testing.T) {
	w := batches(t, &setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")}}}})
	other := web{t: t, url: w.url, session: "x", version: "2025-03-26"}
	for body, want := range map[string]int{
		`[{"jsonrpc":"2.0","method":"notifications/no/such"}]`:                                      http.StatusAccepted,
		`[{"jsonrpc":"2.0","method":"no/such"},{"jsonrpc":"2.0","method":"notifications/no/such"}]`: http.StatusAccepted,
		`[{"jsonrpc":"2.0","method":"notifications/progress"}]`:                                     http.StatusAccepted,
		`[{"jsonrpc":"2.0","id":null,"method":"ping"}]`:                                             http.StatusAccepted,
		`[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]`:                           http.StatusAccepted,
		`[{"jsonrpc":"2.0","id":99,"result":{}}]`:                                                   http.StatusAccepted,
		`[]`: http.StatusBadRequest,
		`[{"jsonrpc":"2.0","method":"notifications/no/such"},5]`: http.StatusBadRequest,
		`[{"jsonrpc":"2.0","id":1,"method":5}]`:                  http.StatusBadRequest,
	} {
		if status, got := w.answers(body); status != want || len(got) > 0 {
			t.Errorf("%s: %d, %s", body, status, got)
		}
		if status, _ := other.answers(body); status != http.StatusNotFound {
			t.Errorf("%s, of an unknown session: %d", body, status)
		}
	}
	other = *w
	other.version = "2025-06-18"
	if status, _ := other.answers(`[{"jsonrpc":"2.0","method":"notifications/no/such"}]`); status != http.StatusBadRequest {
		t.Errorf("at a revision without batches: %d", status)
	}
}

// The methods that a batch may have are those that the SDK knows.
func TestMethodsOfABatch(t *testing.T) {
	w := batches(t, &setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")}}}})
	for _, method := range slices.Sorted(maps.Keys(paramsOf)) {
		if strings.HasPrefix(method, "notifications/") {
			if status, _ := w.answers(fmt.Sprintf(`[{"jsonrpc":"2.0","method":%q,"params":{}}]`, method)); status != 202 {
				t.Errorf("%s: %d", method, status)
			}
			continue
		}
		params := `,"params":{}`
		if !paramsOf[method] {
			params = ""
		}
		status, got := w.answers(fmt.Sprintf(`[{"jsonrpc":"2.0","id":1,"method":%q%s}]`, method, params))
		unknown := strings.Contains(got["1"], "method not found") && !strings.HasSuffix(method, "subscribe") // not served
		if status != http.StatusOK || got["1"] == "" || unknown {
			t.Errorf("%s: %d, %s", method, status, got)
		}
	}
}

// An answer in a batch reaches a tool byte for byte.
func TestAnswerInABatchKeepsItsBytes(t *testing.T) {
	for method, want := range oddAnswers {
		p, answers := asking(method)
		w := batches(t, &setup{plugins: map[string]*fake{"p": p}})
		s := w.openStream("POST", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"p__t"}}`)
		answer := fmt.Sprintf(`[{"jsonrpc":"2.0","id":%s,"result":%s}]`, s.question(t, method), want)
		if got, _ := w.answers(answer); got != 202 {
			t.Fatalf("status %d", got)
		}
		if e, ok := s.next(); !ok || !strings.Contains(e.data, "done") {
			t.Fatalf("%+v", e)
		}
		if got := <-answers; got != want {
			t.Errorf("the tool got\n%s\nnot\n%s", got, want)
		}
	}
}
