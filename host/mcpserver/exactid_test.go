package mcpserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/sdk"
)

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
