package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/sdk"
)

const notJSON = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the message is not JSON: `

// What both transports answer to messages that clients get wrong.
var oddMessages = map[string]struct{ message, want string }{
	"an unknown method":    {`{"jsonrpc":"2.0","id":"a","method":"no/such"}`, `{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"method not found: \"no/such\""}}`},
	"a fraction as the id": {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":1.5,"error":{"code":-32600,"message":"` + lossyID + `"}}`},
	"a huge id": {`{"jsonrpc":"2.0","method":"ping","id":12345678901234567890}`, `{"jsonrpc":"2.0","id":12345678901234567890,` +
		`"error":{"code":-32600,"message":"` + lossyID + `"}}`},
	"an integer over 2^53":      {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":9007199254740993,"result":{}}`},
	"the least integer":         {`{"jsonrpc":"2.0","id":-9223372036854775808,"method":"ping"}`, `{"jsonrpc":"2.0","id":-9223372036854775808,"result":{}}`},
	"an unknown method of such": {`{"jsonrpc":"2.0","id":9007199254740993,"method":"no/such"}`, `{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32601,"message":"method not found: \"no/such\""}}`},
	"a call without params": {`{"jsonrpc":"2.0","id":5,"method":"tools/call"}`, `{"jsonrpc":"2.0","id":5,` +
		`"error":{"code":-32600,"message":"invalid request: missing required \"params\""}}`},
	"a second handshake": {`{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},` +
		`"clientInfo":{"name":"t","version":"1"}}}`, `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"the session is ` +
		`initialized already: begin another one to initialize again"}}`},
	"a notification with an id": {`{"jsonrpc":"2.0","id":6,"method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":6,` +
		`"error":{"code":-32600,"message":"invalid request: unexpected id for \"notifications/initialized\""}}`},
	"an unknown log level": {`{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"loud"}}`,
		`{"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"unknown log level \"loud\""}}`},
	"a cursor of another server": {`{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":"invalid"}}`,
		`{"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"the cursor \"invalid\" is not one of this server"}}`},
	"two messages": {`{"jsonrpc":"2.0","id":7,"method":"ping"}{"jsonrpc":"2.0","id":8,"method":"ping"}`,
		notJSON + `it has a wrong byte ('{') at offset 40"}}`},
	"what follows a message": {`{"jsonrpc":"2.0","id":7,"method":"ping"} and more`,
		notJSON + `it has a wrong byte ('a') at offset 41"}}`},
	"a part of a message":     {`{"jsonrpc":"2.0","id":7,"method":"ping"`, notJSON + `it ends too early, after 39 bytes"}}`},
	"an integer with a point": {`{"jsonrpc":"2.0","id":7.0,"method":"ping"}`, `{"jsonrpc":"2.0","id":7,"result":{}}`},
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
		w.write(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`) // no answer is answered
		w.write(`{"id":7,"result":{}}`)
		w.write(m.message)
		if got := w.read(); got != m.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	for message, id := range map[string]string{
		`{"id":7,"method":"ping"}`: "7", `{"jsonrpc":"1.0","id":"8","method":"ping"}`: `"8"`, `[]`: "null", `5`: "null",
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`: "null", `{"jsonrpc":"2.0","id":true,"method":"ping"}`: "null",
		`{"jsonrpc":"2.0","id":9,"method":5}`: "9",
		`{"jsonrpc":"2.0","id":10,"method":"x","params":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}": "10",
	} {
		w.write(message)
		if got := w.read(); !strings.Contains(got, `"id":`+id+`,"error":{"code":-32600,`) {
			t.Errorf("%.100s: %s", message, got)
		}
	}
	w.write(`  [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`)
	if got := w.read(); !strings.HasPrefix(got, "[{") {
		t.Errorf("a batch behind blanks: %s", got)
	}
}

// A message that is too long is refused with its id, wherever that is: clients would wait for an answer otherwise.
func TestLongMessages(t *testing.T) {
	w := (&setup{}).stdio(t)
	w.handshake("2025-11-25", "{}")
	w.write(`{"method":"tools/call","params":"` + strings.Repeat("x", maxLine) + `","jsonrpc":"2.0","id":"a,b"}`)
	if got := w.read(); got != `{"jsonrpc":"2.0","id":"a,b","error":{"code":-32600,"message":"the message is longer than 16 MiB"}}` {
		t.Error(got)
	}
	w.request("ping", "")
	const limit = 256 << 10 // several reads, as the real one is
	long := strings.Repeat("x", limit)
	args := `"params":{"name":"p__t","id":6,"arguments":{"id":7,"text":"` + long + `"}}`
	for message, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call",` + args + `}`:                       "1",
		`{"method":"tools/call",` + args + `,"jsonrpc":"2.0","id":"a,b"}`:                   `"a,b"`,
		`{ "id" : -3 , ` + args + ` , "method" : "tools/call" } `:                           "-3",
		`{` + args + `,"id":9007199254740993,"method":"x","jsonrpc":"2.0"}`:                 "9007199254740993",
		`{"params":"` + long[40:] + `","method":"x","id":5` + strings.Repeat(" ", 20) + `}`: "5", // the last read has its end
		`{"method":"x",` + args + `}`:                                                       "",
		`{"method":"x","params":{"text":"` + long + `,\"id\":5"}}`:                          "",
		`{"method":"x","params":{"text":"` + long + `","id":5}}`:                            "",
		`{"jsonrpc":"2.0","id":5,"result":{"text":"` + long + `"}}`:                         "",
		`[{"jsonrpc":"2.0","id":5,"method":"x","params":["` + long + `"]}]`:                 "",
		long: "",
	} {
		begin, end, err := readLine(bufio.NewReaderSize(strings.NewReader(message+"\n"), 64<<10), limit)
		if got := string(idOfCut(begin, end)); end == nil || err != nil || got != want {
			t.Errorf("%.100s…: %q, %v, want %q", message, got, err, want)
		}
	}
	fits := long[:limit-1] + "\n"
	if line, end, err := readLine(bufio.NewReader(strings.NewReader(fits)), limit); string(line) != fits || end != nil {
		t.Errorf("a line of the limit: %d bytes, %d of its end, %v", len(line), len(end), err)
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
		{"jsonrpc":"2.0","id":16,"method":"tools/call","params":null},
		{"jsonrpc":"2.0","id":1.5,"method":"ping"},
		{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"p__t"}},
		{"jsonrpc":"2.0","id":9007199254740992,"method":"no/such"},
		{"jsonrpc":"2.0","id":9007199254740995,"method":"no/such"}]`)
	want := map[string]string{
		"11":               `{"jsonrpc":"2.0","id":11,"result":{}}`,
		`"12"`:             notFound(`"12"`, "no/such"),
		"12":               notFound("12", "server/discover"),
		"13":               notFound("13", "notifications/no/such"),
		"14":               `{"jsonrpc":"2.0","id":14,"error":{"code":-32600,"message":"invalid request: unexpected id for \"notifications/initialized\""}}`,
		"15":               `{"jsonrpc":"2.0","id":15,"error":{"code":-32600,"message":"invalid request: missing required \"params\""}}`,
		"16":               `{"jsonrpc":"2.0","id":16,"error":{"code":-32600,"message":"invalid request: missing required \"params\""}}`,
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

// waiting is a plugin whose calls last until they are let go by their arguments, or canceled.
func waiting() (p *fake, began chan string, letGo map[string]chan struct{}, ended chan string) {
	began, ended = make(chan string, 10), make(chan string, 10)
	letGo = map[string]chan struct{}{}
	for _, of := range []string{`{"n":1}`, `{"n":2}`, `{"n":3}`} {
		letGo[of] = make(chan struct{})
	}
	return &fake{tools: []sdk.Tool{readOnly("t")}, call: func(ctx context.Context, r *sdk.Request) (*sdk.Result, error) {
		began <- string(r.Arguments)
		select {
		case <-letGo[string(r.Arguments)]:
			return sdk.Text("of " + string(r.Arguments)), nil
		case <-ctx.Done():
			ended <- string(r.Arguments)
			return nil, ctx.Err()
		}
	}}, began, letGo, ended
}

func callWithID(id string, n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"p__t","arguments":{"n":%d}}}`, id, n)
}

const cancelWithID = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"enough"}}`

// Ids that a float64 holds as one are those of two requests, in answers and when one is canceled.
func TestLargeIDsOverStreams(t *testing.T) {
	p, began, letGo, ended := waiting()
	w := (&setup{plugins: map[string]*fake{"p": p}}).stdio(t)
	w.handshake("2025-11-25", "{}")
	w.write(callWithID("9007199254740993", 1))
	w.write(callWithID("9007199254740992", 2))
	w.write(callWithID(`"9007199254740993"`, 3))
	for range 3 {
		<-began
	}
	close(letGo[`{"n":1}`])
	if got := w.read(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":9007199254740993,"result":`) ||
		!strings.Contains(got, `of {\"n\":1}`) {
		t.Errorf("the first: %s", got)
	}
	w.write(callWithID("9007199254740993", 1))
	if got := w.read(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":9007199254740993,"result":`) {
		t.Errorf("the first again: %s", got)
	}
	<-began
	w.write(fmt.Sprintf(cancelWithID, "9007199254740993")) // is over
	close(letGo[`{"n":2}`])
	if got := w.read(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":9007199254740992,"result":`) ||
		!strings.Contains(got, `of {\"n\":2}`) {
		t.Errorf("the second: %s", got)
	}
	w.write(fmt.Sprintf(cancelWithID, `"9007199254740993"`))
	if got := <-ended; got != `{"n":3}` {
		t.Errorf("canceled: %s", got)
	}
	w.write(`{"jsonrpc":"2.0","id":9007199254740995,"method":"subscriptions/listen","params":` +
		modernParams(`{"notifications":{"toolsListChanged":true}}`, "{}") + "}")
	if got := w.read(); !strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":9007199254740995`) {
		t.Errorf("a subscription: %s", got)
	}
}

// A notification that names no request cancels none.
func TestCancelingNames(t *testing.T) {
	p, began, letGo, ended := waiting()
	s := &setup{plugins: map[string]*fake{"p": p}}
	w := s.stdio(t)
	w.handshake("2025-11-25", "{}")
	w.write(callWithID("100", 1))
	<-began
	for _, other := range []string{"100.5", `"100"`, "1e400", "null", "[100]", "-100", "9007199254740993"} {
		w.write(fmt.Sprintf(cancelWithID, other))
	}
	w.write(callWithID("101", 2))
	<-began
	w.write(fmt.Sprintf(cancelWithID, "101.0")) // it is the same number
	if got := <-ended; got != `{"n":2}` {
		t.Errorf("canceled: %s", got)
	}
	close(letGo[`{"n":1}`])
	if got := w.read(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":100,"result":`) {
		t.Errorf("got %s", got)
	}
}

func TestLargeIDsOverHTTP(t *testing.T) {
	p, began, letGo, ended := waiting()
	w := (&setup{plugins: map[string]*fake{"p": p}}).listen(t)
	w.handshake()
	first := w.openStream(http.MethodPost, callWithID("9007199254740993", 1))
	second := w.openStream(http.MethodPost, callWithID("9007199254740992", 2))
	third := w.openStream(http.MethodPost, callWithID("9007199254740994", 3))
	for range 3 {
		<-began
	}
	for id, want := range map[string]int{"9007199254740993": http.StatusBadRequest, "9007199254740994": http.StatusBadRequest} {
		if got := w.status(callWithID(id, 1)); got != want {
			t.Errorf("an id that is in use: %d", got)
		}
	}
	for _, id := range []string{"9007199254740992.5", "9007199254740994"} {
		if got := w.status(fmt.Sprintf(cancelWithID, id)); got != http.StatusAccepted {
			t.Errorf("canceling: %d", got)
		}
	}
	if got := <-ended; got != `{"n":3}` {
		t.Errorf("canceled: %s", got)
	}
	third.close()
	close(letGo[`{"n":1}`])
	e, _ := first.next()
	resumed, _ := w.resume(strings.Replace(e.id, "_1", "_0", 1)).next()
	for _, got := range []string{e.data, resumed.data} {
		if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":9007199254740993,"result":`) || !strings.Contains(got, `of {\"n\":1}`) {
			t.Errorf("the first: %s", got)
		}
	}
	close(letGo[`{"n":2}`])
	if e, _ := second.next(); !strings.HasPrefix(e.data, `{"jsonrpc":"2.0","id":9007199254740992,"result":`) {
		t.Errorf("the second: %s", e.data)
	}
}

func TestHiddenNumbersComeBack(t *testing.T) {
	for sent, want := range map[string]string{
		`{"id":"` + idMark + `-5","x":["` + idMark + `1.5"]}`:      `{"id":-5,"x":[1.5]}`,
		`{"message":"id ` + idMark + `7 and \"` + idMark + `8\""}`: `{"message":"id 7 and \"8\""}`,
		`{"message":"` + idMark + `"}`:                             `{"message":""}`,
	} {
		if got := string(withNumberIDs([]byte(sent))); got != want {
			t.Errorf("%s: %s", sent, got)
		}
	}
}

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

// Wrong params of the handshake are an error with the code for that, over each transport.
func TestParamsOfTheHandshake(t *testing.T) {
	s := &setup{plugins: map[string]*fake{"a": {}}}
	for _, params := range []string{"null", "[]", `"x"`, `{"protocolVersion":7}`, `{"capabilities":1}`} {
		for transport, r := range map[string]reply{"stdio": s.stdio(t).request("initialize", params),
			"HTTP": s.listen(t).request("initialize", params)} {
			if r.Error == nil || r.Error.Code != jsonrpc.CodeInvalidParams && r.Error.Code != jsonrpc.CodeInvalidRequest {
				t.Errorf("%s over %s: %+v", params, transport, r.Error)
			}
		}
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
