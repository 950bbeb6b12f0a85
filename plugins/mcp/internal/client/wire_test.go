package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
)

// A wire is a Transport whose other end is the test.
type wire struct {
	t      testing.TB
	sent   chan *client.Message
	coming chan client.Received
	closed chan struct{}
	once   sync.Once
}

func newWire(t testing.TB) *wire {
	return &wire{t: t, sent: make(chan *client.Message, 1000), coming: make(chan client.Received, 1000),
		closed: make(chan struct{})}
}

func (w *wire) Send(_ context.Context, m *client.Message) error {
	select {
	case <-w.closed:
		return errors.New("closed")
	case w.sent <- m:
		return nil
	}
}

func (w *wire) Receive() (client.Received, error) {
	select {
	case <-w.closed:
		return client.Received{}, errors.New("the wire is cut")
	case r := <-w.coming:
		return r, nil
	}
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

// fromServer sends a message to the client, as if it came on the stream of a request, if that is not "".
func (w *wire) fromServer(text, from string) {
	w.coming <- client.Received{JSON: json.RawMessage(text), For: from}
}

// settle returns when the client has read all messages.
func (w *wire) settle() {
	w.t.Helper()
	w.fromServer(`{"jsonrpc":"2.0","id":"settle","method":"ping"}`, "")
	if m := w.next(); !strings.Contains(string(m.JSON), `"id":"settle"`) {
		w.t.Fatalf("the client sends %s", m.JSON)
	}
}

// next returns the next message of the client.
func (w *wire) next() *client.Message {
	w.t.Helper()
	select {
	case m := <-w.sent:
		if err := json.Unmarshal(m.JSON, new(any)); err != nil {
			w.t.Fatalf("%s: %v", m.JSON, err)
		}
		return m
	case <-time.After(time.Minute):
		w.t.Fatal("the client sends nothing")
		return nil
	}
}

// nextOf is next for a message that must have this method.
func (w *wire) nextOf(method string) *client.Message {
	w.t.Helper()
	m := w.next()
	if m.Method != method {
		w.t.Fatalf("the client sends %s, not %s", m.JSON, method)
	}
	return m
}

// wired returns a session of the revision, and the server's end of it.
func wired(t testing.TB, o client.Options, revision string) (*client.Session, *wire) {
	t.Helper()
	w := newWire(t)
	o.Revision = revision
	go func() {
		m := <-w.sent
		capabilities := `{"tools":{"listChanged":true},"logging":{}}`
		answer := `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"` + revision + `","capabilities":` + capabilities + `}}`
		if revision == client.Revision20260728 {
			answer = `{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2026-07-28"],"capabilities":` + capabilities + `}}`
		}
		w.fromServer(strings.Replace(answer, "ID", m.ID, 1), "")
	}()
	s := dialTo(t, func(context.Context) (client.Transport, error) { return w, nil }, o)
	if revision != client.Revision20260728 {
		w.nextOf("notifications/initialized")
	}
	return s, w
}

// outcome is what Call returned.
type outcome struct {
	result string
	err    error
}

// begin makes a call of the tool t in the background, and returns its request and where the outcome comes.
func begin(ctx context.Context, s *client.Session, w *wire, o *client.CallOptions) (*client.Message, <-chan outcome) {
	w.t.Helper()
	done := make(chan outcome, 1)
	go func() {
		r, err := callTool(ctx, s, "t", "{}", o)
		done <- outcome{r, err}
	}()
	return w.nextOf("tools/call"), done
}

// answer answers a request with an empty result.
func (w *wire) answer(m *client.Message) {
	w.fromServer(`{"jsonrpc":"2.0","id":`+m.ID+`,"result":{}}`, "")
}

// await returns the outcome of a call.
func await(t testing.TB, done <-chan outcome) outcome {
	t.Helper()
	select {
	case o := <-done:
		return o
	case <-time.After(time.Minute):
		t.Fatal("the call does not return")
		return outcome{}
	}
}
