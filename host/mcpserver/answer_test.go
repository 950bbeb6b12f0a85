package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

// oddAnswers are results of clients that the SDK's types cannot hold.
var oddAnswers = map[string]string{
	methodElicit: `{"zeta":1.0,"action":"accept","content":{"n":9007199254740993,"\u0061":"<\/>","l":[1E2]},"_meta":{"b":2,"a":1.50},"future":{"y":1,"x":2}}`,
	methodSample: `{"role":"assistant","model":"m","content":[{"type":"hologram","x":1e3,"b":null}],"stopReason":"x","n":9007199254740993}`,
	methodRoots:  `{"roots":[{"uri":"file:///a","name":"a","future":9007199254740993}],"_meta":{"toolhost/answer":"forged"}}`,
}

// asking is a plugin whose tool asks a question of a method, and a channel of the answers that it gets.
func asking(method string) (*fake, <-chan string) {
	answers := make(chan string, 1)
	return &fake{tools: []sdk.Tool{readOnly("t")}, call: func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
		if answer := r.InputResponses["q"]; answer != nil {
			answers <- string(answer)
			return sdk.Text("done"), nil
		}
		return &sdk.Result{InputRequired: &sdk.InputRequired{Requests: map[string]json.RawMessage{"q": json.RawMessage(
			`{"method":"` + method + `","params":{"message":"?"}}`)}}}, nil
	}}, answers
}

const canAnswer = `{"elicitation":{},"sampling":{},"roots":{}}`

// The answers of clients of the handshake revisions reach a tool byte for byte, as those of 2026-07-28 do.
func TestAnswersKeepTheirBytes(t *testing.T) {
	for method, want := range oddAnswers {
		t.Run(method+" over stdio", func(t *testing.T) {
			p, answers := asking(method)
			w := (&setup{plugins: map[string]*fake{"p": p}}).stdio(t)
			w.handshake("2025-11-25", canAnswer)
			id := w.begin("tools/call", `{"name":"p__t"}`)
			w.answerNext(method, want)
			if r := w.await(id); r.Error != nil || len(answers) != 1 {
				t.Fatalf("%+v", r)
			}
			if got := <-answers; got != want {
				t.Errorf("the tool got\n%s\nnot\n%s", got, want)
			}
		})
		t.Run(method+" over HTTP", func(t *testing.T) {
			p, answers := asking(method)
			w := (&setup{plugins: map[string]*fake{"p": p}}).listen(t)
			w.handshakeWith(canAnswer)
			s := w.openStream("POST", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"p__t"}}`)
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, s.question(t, method), want)
			if got := w.status(answer); got != 202 {
				t.Fatalf("status %d", got)
			}
			if e, ok := s.next(); !ok || !strings.Contains(e.data, "done") {
				t.Fatalf("%+v", e)
			}
			if got := <-answers; got != want {
				t.Errorf("the tool got\n%s\nnot\n%s", got, want)
			}
		})
	}
}

func TestAnswersThatAreNoObjects(t *testing.T) {
	p, answers := asking(methodElicit)
	w := (&setup{plugins: map[string]*fake{"p": p}}).stdio(t)
	w.handshake("2025-11-25", canAnswer)
	for _, answer := range []string{`5`, `"accept"`, `[{"action":"accept"}]`} {
		id := w.begin("tools/call", `{"name":"p__t"}`)
		w.answerNext(methodElicit, answer)
		if r := w.await(id); !strings.Contains(string(r.Result), `"isError":true`) || len(answers) > 0 {
			t.Errorf("%s: %s", answer, r.Result)
		}
	}
}
