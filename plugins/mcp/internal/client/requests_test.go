package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

// says answers each question with a text.
func says(text string) client.RequestFunc {
	return func(context.Context, string, json.RawMessage) (json.RawMessage, *client.RPCError) {
		return json.RawMessage(`{"said":"` + text + `"}`), nil
	}
}

const question = `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}`

// answered says what a message of the client says to the question.
func answered(m *client.Message) string {
	return strings.TrimSuffix(strings.TrimPrefix(string(m.JSON), `{"jsonrpc":"2.0","id":"q",`), "}")
}

func TestQuestionReachesTheCallThatCausedIt(t *testing.T) {
	t.Run("the call on whose stream it comes", func(t *testing.T) {
		s, w := wired(t, client.Options{}, client.Revision20251125)
		first, one := begin(context.Background(), s, w, &client.CallOptions{Request: says("first")})
		second, two := begin(context.Background(), s, w, &client.CallOptions{Request: says("second")})
		w.fromServer(question, second.ID)
		if got := answered(w.next()); got != `"result":{"said":"second"}` {
			t.Error(got)
		}
		w.fromServer(`{"jsonrpc":"2.0","id":`+first.ID+`,"result":{}}`, "")
		w.fromServer(`{"jsonrpc":"2.0","id":`+second.ID+`,"result":{}}`, "")
		await(t, one)
		await(t, two)
	})
	t.Run("no stream", func(t *testing.T) {
		s, w := wired(t, client.Options{Request: says("the session")}, client.Revision20251125)
		m, done := begin(context.Background(), s, w, &client.CallOptions{Request: says("the call")})
		w.fromServer(question, "")
		if got := answered(w.next()); got != `"result":{"said":"the session"}` {
			t.Error(got)
		}
		w.answer(m)
		await(t, done)
	})
	t.Run("through a process", func(t *testing.T) {
		s := dial(t, client.Options{Request: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage,
			*client.RPCError) {
			return json.RawMessage(fmt.Sprintf(`{"method":%q,"params":%s}`, method, params)), nil
		}}, "2025-11-25")
		got, err := callTool(context.Background(), s, "ask", `{"message":"?","_meta":{"progressToken":7,"k":1}}`, nil)
		want := `{"content":[],"structuredContent":{"method":"elicitation/create","params":{"message":"?","_meta":{"k":1}}}}`
		if err != nil || got != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	})
}

func TestAnswersToQuestions(t *testing.T) {
	for _, c := range []struct {
		name     string
		revision string
		answer   client.RequestFunc
		want     string
	}{
		{"nobody", client.Revision20251125, nil, `"error":{"code":-32601,"message":"this client does not answer \"elicitation/create\""}`},
		{"an error", client.Revision20251125, func(context.Context, string, json.RawMessage) (json.RawMessage, *client.RPCError) {
			return nil, &client.RPCError{Code: 7, Message: "no", Data: json.RawMessage(`{"b":1, "a":2}`)}
		}, `"error":{"code":7,"message":"no","data":{"b":1,"a":2}}`},
		{"nothing", client.Revision20251125, func(context.Context, string, json.RawMessage) (json.RawMessage, *client.RPCError) {
			return nil, nil
		}, `"result":{}`},
		{"no JSON", client.Revision20251125, func(context.Context, string, json.RawMessage) (json.RawMessage, *client.RPCError) {
			return json.RawMessage(`{`), nil
		}, `"error":{"code":-32603,"message":"the client's answer is not JSON"}`},
		{"exact bytes", client.Revision20251125, func(context.Context, string, json.RawMessage) (json.RawMessage, *client.RPCError) {
			return json.RawMessage(`{"b": 1, "_meta":{"io.modelcontextprotocol/x":1}}`), nil
		}, `"result":{"b": 1}`},
		{"without handshake", client.Revision20260728, says("x"),
			`"error":{"code":-32601,"message":"protocol revision 2026-07-28 has no requests of servers; ask with a result of type input_required"}`},
	} {
		_, w := wired(t, client.Options{Request: c.answer}, c.revision)
		w.fromServer(question, "")
		if got := answered(w.next()); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestQuestionEnds(t *testing.T) {
	waits := make(chan context.Context, 1)
	wait := func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, *client.RPCError) {
		waits <- ctx
		<-ctx.Done()
		return nil, &client.RPCError{Code: 1, Message: "ended"}
	}
	t.Run("when the server cancels it", func(t *testing.T) {
		_, w := wired(t, client.Options{Request: wait}, client.Revision20251125)
		w.fromServer(question, "")
		<-waits
		w.fromServer(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}`, "")
		for free := false; !free; { // until then the id is in use, and a request with it dropped
			w.fromServer(strings.Replace(question, "elicitation/create", "ping", 1), "")
			w.fromServer(`{"jsonrpc":"2.0","id":"settle","method":"ping"}`, "")
			for m := ""; !strings.Contains(m, `"settle"`); {
				switch m = string(w.next().JSON); {
				case strings.Contains(m, "error"):
					t.Error("the canceled question has an answer: " + m)
				case !strings.Contains(m, `"settle"`):
					free = true
				}
			}
		}
	})
	t.Run("when the call ends", func(t *testing.T) {
		s, w := wired(t, client.Options{}, client.Revision20251125)
		m, done := begin(context.Background(), s, w, &client.CallOptions{Request: wait})
		w.fromServer(question, m.ID)
		<-waits
		w.fromServer(`{"jsonrpc":"2.0","id":`+m.ID+`,"result":{}}`, "")
		await(t, done)
		if got := answered(w.next()); got != `"error":{"code":1,"message":"ended"}` {
			t.Error(got)
		}
	})
	t.Run("when the session ends", func(t *testing.T) {
		s, w := wired(t, client.Options{Request: wait}, client.Revision20251125)
		w.fromServer(question, "")
		ctx := <-waits
		_ = s.Close()
		<-ctx.Done()
	})
}

func TestManyQuestionsAreBounded(t *testing.T) {
	var warnings []string
	started, release, read := make(chan bool, 1000), make(chan bool), make(chan bool)
	_, w := wired(t, client.Options{Log: func(client.LogMessage) { close(read) }, Warn: func(text string) { warnings = append(warnings, text) },
		Request: func(context.Context, string, json.RawMessage) (json.RawMessage, *client.RPCError) {
			started <- true
			<-release
			return nil, nil
		}}, client.Revision20251125)
	for i := range 200 {
		w.fromServer(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`, i), "")
	}
	w.fromServer(`{"jsonrpc":"2.0","id":null,"method":"roots/list"}`, "")
	w.fromServer(`{"jsonrpc":"2.0","id":5,"method":"roots/list"}`, "") // open already
	w.fromServer(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, "")
	<-read
	w.settle() // a ping is answered all the same
	for range 64 {
		<-started
	}
	close(release)
	ids := map[string]bool{}
	for range 64 {
		m := string(w.next().JSON)
		if ids[m] {
			t.Error("answered twice: " + m)
		}
		ids[m] = true
	}
	w.settle()
	slices.Sort(warnings)
	if len(warnings) != 2 || len(started) != 0 {
		t.Errorf("%q, %d more", warnings, len(started))
	}
}
