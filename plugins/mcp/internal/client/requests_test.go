package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

var canAsk = client.Options{Capabilities: json.RawMessage(`{"elicitation":{}}`)}

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
	t.Run("the only call", func(t *testing.T) {
		s := dial(t, canAsk, "2025-11-25")
		got, err := callTool(context.Background(), s, "ask", `{"message":"?","_meta":{"progressToken":7,"k":1}}`,
			&client.CallOptions{Request: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage,
				*client.RPCError) {
				return json.RawMessage(fmt.Sprintf(`{"method":%q,"params":%s}`, method, params)), nil
			}})
		want := `{"content":[],"structuredContent":{"method":"elicitation/create","params":{"message":"?","_meta":{"k":1}}}}`
		if err != nil || got != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	})
	t.Run("the call on whose stream it comes", func(t *testing.T) {
		s, w := wired(t, client.Options{}, client.Revision20251125) // no capabilities: calls do not wait for each other
		first, one := begin(context.Background(), s, w, &client.CallOptions{Request: says("first")})
		second, two := begin(context.Background(), s, w, &client.CallOptions{Request: says("second")})
		w.tell(question, second.ID)
		if got := answered(w.next()); got != `"result":{"said":"second"}` {
			t.Error(got)
		}
		w.tell(`{"jsonrpc":"2.0","id":`+first.ID+`,"result":{}}`, "")
		w.tell(`{"jsonrpc":"2.0","id":`+second.ID+`,"result":{}}`, "")
		await(t, one)
		await(t, two)
	})
	t.Run("none of several", func(t *testing.T) {
		s, w := wired(t, client.Options{Request: says("nobody")}, client.Revision20251125)
		first, one := begin(context.Background(), s, w, &client.CallOptions{Request: says("first")})
		second, two := begin(context.Background(), s, w, &client.CallOptions{Request: says("second")})
		w.tell(question, "")
		if got := answered(w.next()); got != `"result":{"said":"nobody"}` {
			t.Error(got)
		}
		w.tell(`{"jsonrpc":"2.0","id":`+first.ID+`,"result":{}}`, "")
		w.tell(`{"jsonrpc":"2.0","id":`+second.ID+`,"result":{}}`, "")
		await(t, one)
		await(t, two)
	})
}

// No call begins in the first seconds of one that can be asked: a question names no call.
func TestCallsThatCanBeAskedWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := wired(t, canAsk, client.Revision20251125)
		first, one := begin(context.Background(), s, w, nil)
		second, two := begin(context.Background(), s, w, nil) // two that cannot be asked run together
		ctx, cancel := context.WithCancel(context.Background())
		given := inBackground(ctx, s, &client.CallOptions{Request: says("")})
		synctest.Wait()
		cancel()
		if got := await(t, given); !errors.Is(got.err, context.Canceled) {
			t.Errorf("a call that is canceled while it waits: %+v", got)
		}
		alone := inBackground(context.Background(), s, &client.CallOptions{Request: says("alone")})
		synctest.Wait()
		w.settle() // no request has been sent
		w.answer(first)
		w.answer(second)
		await(t, one)
		await(t, two)
		third := w.nextOf("tools/call")
		last := inBackground(context.Background(), s, nil)
		synctest.Wait()
		w.settle()
		w.tell(question, "")
		if got := answered(w.next()); got != `"result":{"said":"alone"}` {
			t.Error(got)
		}
		w.answer(third)
		await(t, alone)
		w.answer(w.nextOf("tools/call"))
		await(t, last)
	})
}

// A long call does not keep others out. A question that may be of one of several calls waits until one is left,
// and is refused if one is canceled, or when that takes too long.
func TestQuestionThatMayBeOfSeveralCallsWaits(t *testing.T) {
	const refused = `"error":{"code":-32601,"message":"this client does not answer \"elicitation/create\""}`
	for name, c := range map[string]struct {
		then func(w *wire, cancel func(), second *client.Message)
		want string
	}{
		"until the other has ended":   {func(w *wire, _ func(), second *client.Message) { w.answer(second) }, `"result":{"said":"first"}`},
		"until the other is canceled": {func(_ *wire, cancel func(), _ *client.Message) { cancel() }, refused},
		"at most so long":             {func(*wire, func(), *client.Message) { time.Sleep(time.Minute) }, refused},
		"until the server cancels it": {func(w *wire, _ func(), second *client.Message) {
			w.tell(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}`, "")
			w.answer(second)
			synctest.Wait()
			w.tell(strings.Replace(question, "elicitation/create", "ping", 1), "")
		}, `"result":{}`}, // that of the ping
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w := wired(t, canAsk, client.Revision20251125)
				first, one := begin(context.Background(), s, w, &client.CallOptions{Request: says("first")})
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				began := time.Now()
				two := inBackground(ctx, s, &client.CallOptions{Request: says("second")})
				second := w.nextOf("tools/call")
				if waited := time.Since(began); waited != 5*time.Second {
					t.Errorf("the second call began after %s", waited)
				}
				w.tell(question, "")
				synctest.Wait()
				c.then(w, cancel, second)
				for {
					m := w.next()
					if m.Method == "" {
						if got := answered(m); got != c.want {
							t.Errorf("%s\nwant %s", got, c.want)
						}
						break
					}
				}
				w.answer(first)
				await(t, one)
				w.answer(second)
				await(t, two)
			})
		})
	}
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
		w.tell(question, "")
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
		w.tell(question, "")
		<-waits
		w.tell(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}`, "")
		for free := false; !free; { // until then the id is in use, and a request with it dropped
			w.tell(strings.Replace(question, "elicitation/create", "ping", 1), "")
			w.tell(`{"jsonrpc":"2.0","id":"settle","method":"ping"}`, "")
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
		w.tell(question, "")
		<-waits
		w.tell(`{"jsonrpc":"2.0","id":`+m.ID+`,"result":{}}`, "")
		await(t, done)
		if got := answered(w.next()); got != `"error":{"code":1,"message":"ended"}` {
			t.Error(got)
		}
	})
	t.Run("when the session ends", func(t *testing.T) {
		s, w := wired(t, client.Options{Request: wait}, client.Revision20251125)
		w.tell(question, "")
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
		w.tell(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`, i), "")
	}
	w.tell(`{"jsonrpc":"2.0","id":null,"method":"roots/list"}`, "")
	w.tell(`{"jsonrpc":"2.0","id":5,"method":"roots/list"}`, "") // open already
	w.tell(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, "")
	<-read
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

// A question of a canceled call that is still on its way reaches nobody, least of all the next caller.
func TestQuestionOfACanceledCallReachesNobody(t *testing.T) {
	s, w := wired(t, canAsk, client.Revision20251125)
	ctx, cancel := context.WithCancel(context.Background())
	_, done := begin(ctx, s, w, &client.CallOptions{Request: says("first")})
	cancel()
	await(t, done)
	second := make(chan outcome, 1)
	go func() {
		r, err := callTool(context.Background(), s, "t", "{}", &client.CallOptions{Request: says("second")})
		second <- outcome{r, err}
	}()
	w.nextOf("notifications/cancelled")
	ping := w.nextOf("ping")
	w.tell(question, "")
	w.tell(`{"jsonrpc":"2.0","id":`+ping.ID+`,"result":{}}`, "")
	var call *client.Message
	for range 2 { // the answer to the question, and the second call
		if m := w.next(); m.Method == "tools/call" {
			call = m
		} else if got := answered(m); got != `"error":{"code":-32601,"message":"this client does not answer \"elicitation/create\""}` {
			t.Error(got)
		}
	}
	w.tell(`{"jsonrpc":"2.0","id":`+call.ID+`,"result":{}}`, "")
	if got := await(t, second); got.err != nil {
		t.Error(got)
	}
}
