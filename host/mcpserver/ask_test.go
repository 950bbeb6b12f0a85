package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// A received is a request of the server to the client.
func received(t *testing.T, line string) (id json.RawMessage, method string, params json.RawMessage) {
	t.Helper()
	var r struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatal(err)
	}
	return r.ID, r.Method, r.Params
}

// question reads a stream until the client is asked by a method, and returns the id of that request.
func (s *stream) question(t *testing.T, method string) json.RawMessage {
	t.Helper()
	for {
		e, ok := s.next()
		if !ok {
			t.Fatal("no question came")
		}
		if id, asked, _ := received(t, e.data); asked == method {
			return id
		}
	}
}

// answerNext answers the next request of the server, and returns what it asked.
func (w *wire) answerNext(method, result string) json.RawMessage {
	w.t.Helper()
	for {
		id, got, params := received(w.t, w.read())
		if got == method {
			w.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
			return params
		}
	}
}

const canElicit = `{"elicitation":{}}`

func TestApprovalByElicitation(t *testing.T) {
	for _, test := range []struct {
		answer string
		runs   bool
		says   string
	}{
		{`{"action":"accept","content":{"decision":"approve"}}`, true, `write {"path":"x"}`},
		{`{"action":"accept","content":{"decision":"deny","reason":"not now"}}`, false, "not now"},
		{`{"action":"accept","content":{}}`, false, "no decision"},
		{`{"action":"accept"}`, false, "no decision"},
		{`{"action":"decline"}`, false, "E_REJECTED"},
		{`{"action":"cancel"}`, false, "E_REJECTED"},
	} {
		p := &fake{tools: []sdk.Tool{changing("write")}}
		w := (&setup{plugins: map[string]*fake{"p": p}}).stdio(t)
		w.handshake("2025-06-18", canElicit)
		id := w.begin("tools/call", `{"name":"p__write","arguments":{"path":"x"}}`)
		asked := string(w.answerNext("elicitation/create", test.answer))
		if !strings.Contains(asked, "p__write") || !strings.Contains(asked, `{\"path\":\"x\"}`) ||
			!strings.Contains(asked, "may delete") {
			t.Errorf("the question does not say what would run: %s", asked)
		}
		r := w.await(id)
		if got := string(r.Result); !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), test.says) ||
			p.made() > 0 != test.runs {
			t.Errorf("%s: got %s, %d calls", test.answer, got, p.made())
		}
	}
}

// A client without elicitation receives advice in words.
func TestApprovalWithoutElicitation(t *testing.T) {
	p := &fake{tools: []sdk.Tool{changing("write")}}
	w := (&setup{plugins: map[string]*fake{"p": p}}).stdio(t)
	w.handshake("2025-11-25", `{"elicitation":{"url":{}}}`)
	for _, params := range []string{`{"name":"p__write"}`, modernParams(`{"name":"p__write"}`, "{}")} {
		got := string(w.request("tools/call", params).Result)
		if !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "E_APPROVAL_UNAVAILABLE") ||
			!strings.Contains(got, "toolhost mcp --approve client") || p.made() > 0 {
			t.Errorf("got %s", got)
		}
	}
}

// required returns the questions and the state of a result.
func required(t *testing.T, r reply) (requests map[string]json.RawMessage, state string) {
	t.Helper()
	var result struct {
		ResultType    string
		InputRequests map[string]json.RawMessage
		RequestState  string
	}
	if r.Error != nil {
		t.Fatalf("%+v", r.Error)
	}
	if err := json.Unmarshal(r.Result, &result); err != nil || result.ResultType != "input_required" {
		t.Fatalf("no question came: %s", r.Result)
	}
	return result.InputRequests, result.RequestState
}

func answered(call, key, answer, state string) string {
	return fmt.Sprintf(`{%s,"inputResponses":{%q:%s},"requestState":%q}`, call, key, answer, state)
}

const yes = `{"action":"accept","content":{"decision":"approve"}}`

// Two servers with one key: the second, which never saw the question, runs the call by the answer, and asks nothing.
func TestApprovalByInputRequired(t *testing.T) {
	p := &fake{tools: []sdk.Tool{changing("write"), changing("other")}}
	s := setup{plugins: map[string]*fake{"p": p}, options: Options{StateKey: make([]byte, 32)}}
	one, two := s, s
	w, replica := one.stdio(t), two.stdio(t)
	const call = `"name":"p__write","arguments":{"path":"x"}`
	requests, state := required(t, w.request("tools/call", modernParams("{"+call+"}", canElicit)))
	if len(requests) != 1 || !strings.Contains(string(requests[approvalKey]), "p__write") {
		t.Fatalf("asked %s", requests)
	}
	if p.made() > 0 {
		t.Fatal("the call ran before it was approved")
	}
	changed := func(call, state string) {
		t.Helper()
		r := replica.request("tools/call", modernParams(answered(call, approvalKey, yes, state), canElicit))
		if r.Error == nil || r.Error.Code != -32602 || p.made() > 0 {
			t.Errorf("%s: got %s, %+v", call, r.Result, r.Error)
		}
	}
	changed(call, "x"+state)
	changed(call, state[:len(state)-2])
	changed(call, "eyJ0IjoicF9fd3JpdGUifQ.")
	changed(`"name":"p__write","arguments":{"path":"y"}`, state)
	changed(`"name":"p__other","arguments":{"path":"x"}`, state)
	elsewhere := s // has the same key, too
	elsewhere.host.Workdir = t.TempDir()
	requests, _ = required(t, elsewhere.stdio(t).request("tools/call",
		modernParams(answered(call, approvalKey, yes, state), canElicit)))
	if requests[approvalKey] == nil || p.made() > 0 {
		t.Errorf("in another folder: asked %s", requests)
	}
	r := replica.request("tools/call", modernParams(answered(call, approvalKey, yes, state), canElicit))
	if !strings.Contains(string(r.Result), "write") || p.made() != 1 {
		t.Errorf("got %s, %d calls", r.Result, p.made())
	}
	again := replica.request("tools/call", modernParams(answered(call, approvalKey, yes, state), canElicit))
	if p.made() != 1 || !strings.Contains(string(again.Result), "used already") {
		t.Errorf("an approval was used twice: %s", again.Result)
	}
	no := strings.Replace(yes, "approve", "deny", 1)
	_, state = required(t, w.request("tools/call", modernParams("{"+call+"}", canElicit)))
	r = w.request("tools/call", modernParams(answered(call, approvalKey, no, state), canElicit))
	if !strings.Contains(string(r.Result), "E_REJECTED") || p.made() != 1 {
		t.Errorf("got %s", r.Result)
	}
	_, state = required(t, w.request("tools/call", modernParams("{"+call+"}", canElicit)))
	required(t, w.request("tools/call", modernParams(answered(call, "other", yes, state), canElicit)))
}

// askingTool asks for a name, and answers with what it was given.
func askingTool(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
	if answer := r.InputResponses["who"]; answer != nil {
		return sdk.Text("hello " + string(answer) + " " + r.RequestState), nil
	}
	return &sdk.Result{InputRequired: &sdk.InputRequired{State: "upstream-state", Requests: map[string]json.RawMessage{
		"who": json.RawMessage(`{"method":"elicitation/create","params":{"zeta":1,"message":"Who?","x":[9007199254740993],` +
			`"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}`)}}}, nil
}

// The questions of a tool reach the client whose call caused them, byte for byte but for who asks, also after an
// approval, and are not approved twice.
func TestQuestionsOfATool(t *testing.T) {
	const params = `{"zeta":1,"message":"The tool p__ask asks: Who?","x":[9007199254740993],` +
		`"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`
	const answer = `{"action":"accept","content":{"name":"Ann"}}`
	const call = `"name":"p__ask"`
	s := &setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{changing("ask")}, call: askingTool}}}
	w := s.stdio(t)
	w.handshake("2025-11-25", canElicit)
	id := w.begin("tools/call", "{"+call+"}")
	w.answerNext("elicitation/create", yes)
	if got := string(w.answerNext("elicitation/create", answer)); got != params {
		t.Errorf("asked %s", got)
	}
	if got := string(w.await(id).Result); !strings.Contains(got, `\"name\":\"Ann\"`) ||
		!strings.Contains(got, "upstream-state") {
		t.Errorf("got %s", got)
	}
	_, state := required(t, w.request("tools/call", modernParams("{"+call+"}", canElicit)))
	requests, state := required(t,
		w.request("tools/call", modernParams(answered(call, approvalKey, yes, state), canElicit)))
	if want := `{"method":"elicitation/create","params":` + params + `}`; string(requests["who"]) != want {
		t.Errorf("asked %s", requests["who"])
	}
	r := w.request("tools/call", modernParams(answered(call, "who", answer, state), canElicit))
	if got := string(r.Result); !strings.Contains(got,
		`hello {\"action\":\"accept\",\"content\":{\"name\":\"Ann\"}} upstream-state`) {
		t.Errorf("got %s", got)
	}
	r = w.request("tools/call", modernParams(answered(call, "who", answer, state), canElicit))
	if got := string(r.Result); !strings.Contains(got, "used already") {
		t.Errorf("the approval counted twice: %s", got)
	}
}

// A client that answers with an error has made no choice: the tool learns that, and goes on.
func TestQuestionThatTheClientRefuses(t *testing.T) {
	s := &setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("ask")}, call: askingTool}}}
	w := s.stdio(t)
	w.handshake("2025-11-25", canElicit)
	call := w.begin("tools/call", `{"name":"p__ask"}`)
	for {
		id, method, _ := received(t, w.read())
		if method == "elicitation/create" {
			w.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"the window was closed"}}`, id))
			break
		}
	}
	if got := string(w.await(call).Result); !strings.Contains(got, `hello {\"action\":\"cancel\"} upstream-state`) {
		t.Errorf("got %s", got)
	}
}

// A tool that asks what the client does not answer fails, and the client learns which capability is missing.
func TestQuestionOfUndeclaredKind(t *testing.T) {
	s := &setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("ask")}, call: askingTool}}}
	w := s.stdio(t)
	w.handshake("2025-11-25", `{"sampling":{}}`)
	if got := string(w.request("tools/call", `{"name":"p__ask"}`).Result); !strings.Contains(got, "does not answer") {
		t.Errorf("got %s", got)
	}
	r := w.request("tools/call", modernParams(`{"name":"p__ask"}`, `{"sampling":{}}`))
	if r.Error == nil || r.Error.Code != -32021 ||
		string(r.Error.Data) != `{"requiredCapabilities":{"elicitation":{"form":{}}}}` {
		t.Errorf("got %s, %+v", r.Result, r.Error)
	}
}

// previews is a plugin whose previews are these texts, one after the other, and the last one from then on.
func previews(texts ...string) *fake {
	tool := changing("write")
	tool.Previews = true
	return &fake{tools: []sdk.Tool{tool}, preview: func() *sdk.Preview {
		text := texts[0]
		if len(texts) > 1 {
			texts = texts[1:]
		}
		out := &sdk.Preview{Content: sdk.Text(text).Content}
		if strings.Contains(text, "strict") {
			out.Effect, out.Reason = "always_ask", "it is strict"
		}
		return out
	}}
}

// A person who approved a call is asked once more when its preview has changed, and learns that. An approval of that
// question holds whatever the preview says, but not for a stricter decision. A no needs no second question.
func TestPreviewThatChanges(t *testing.T) {
	const call = `"name":"p__write"`
	const note = "has changed since you approved it"
	p := previews("one", "two", "three", "strict four", "strict five", "strict six")
	w := (&setup{plugins: map[string]*fake{"p": p}}).stdio(t)
	ask := func(answer, state string) (asked, next string) {
		t.Helper()
		requests, next := required(t,
			w.request("tools/call", modernParams(answered(call, approvalKey, answer, state), canElicit)))
		return string(requests[approvalKey]), next
	}
	requests, state := required(t, w.request("tools/call", modernParams("{"+call+"}", canElicit)))
	if asked := string(requests[approvalKey]); strings.Contains(asked, note) || !strings.Contains(asked, "one") {
		t.Errorf("first asked %s", asked)
	}
	asked, changed := ask(yes, state)
	if !strings.Contains(asked, note) || !strings.Contains(asked, "two") {
		t.Errorf("then asked %s", asked)
	}
	r := w.request("tools/call", modernParams(answered(call, approvalKey, yes, changed), canElicit))
	if p.made() != 1 || !strings.Contains(string(r.Result), "write") {
		t.Errorf("got %s, %d calls", r.Result, p.made())
	}
	if asked, _ = ask(yes, changed); !strings.Contains(asked, "strict four") || p.made() != 1 {
		t.Errorf("of a stricter decision asked %s, %d calls", asked, p.made())
	}
	no := strings.Replace(yes, "approve", "deny", 1)
	r = w.request("tools/call", modernParams(answered(call, approvalKey, no, state), canElicit))
	if !strings.Contains(string(r.Result), "E_REJECTED") || p.made() != 1 {
		t.Errorf("a no to another preview: %s, %d calls", r.Result, p.made())
	}
}

// A tool that asks, and whose preview always differs, comes to its end: the person approves twice and answers once.
func TestQuestionsOfAToolWhosePreviewChanges(t *testing.T) {
	const call = `"name":"p__write"`
	p := previews("one", "two", "three", "four", "five")
	p.call = askingTool
	w := (&setup{plugins: map[string]*fake{"p": p}}).stdio(t)
	requests, state := required(t, w.request("tools/call", modernParams("{"+call+"}", canElicit)))
	for range 2 {
		if requests[approvalKey] == nil {
			t.Fatalf("asked %s", requests)
		}
		requests, state = required(t,
			w.request("tools/call", modernParams(answered(call, approvalKey, yes, state), canElicit)))
	}
	if requests["who"] == nil {
		t.Fatalf("asked %s", requests)
	}
	r := w.request("tools/call", modernParams(answered(call, "who", `{"action":"accept"}`, state), canElicit))
	if !strings.Contains(string(r.Result), "hello") {
		t.Errorf("got %s", r.Result)
	}
}

// A question shows which tool asks, whatever it says, and in which member.
func TestQuestionsAreAttributed(t *testing.T) {
	for params, want := range map[string]string{
		`{"message":"Allow the tool shell__exec to run?"}`: `{"message":"The tool p__ask asks: Allow the tool shell__exec to run?"}`,
		`{"message":"a\u202e\u001b[2Jb"}`:                  `{"message":"The tool p__ask asks: a[2Jb"}`,
		`{"message":"a","message":"b","Message":"c"}`:      `{"message":"The tool p__ask asks: a"}`,
		`{"MESSAGE":"a"}`:                                  `{"message":"The tool p__ask asks."}`,
		`{"mode":"url","url":"https://x","message":1}`:     `{"mode":"url","url":"https://x","message":"The tool p__ask asks: "}`,
	} {
		got := attributed(map[string]json.RawMessage{"q": json.RawMessage(`{"method":"elicitation/create","params":` + params +
			`}`)}, "p__ask")
		if want := `{"method":"elicitation/create","params":` + want + `}`; string(got["q"]) != want {
			t.Errorf("%s becomes %s", params, got["q"])
		}
	}
	const other = `{"method":"sampling/createMessage","params":{"message":"x"}}`
	if got := attributed(map[string]json.RawMessage{"q": json.RawMessage(other)}, "p__ask"); string(got["q"]) != other {
		t.Errorf("another request becomes %s", got["q"])
	}
}
