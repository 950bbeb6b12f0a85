package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/netlimit"
	"github.com/toolhost/toolhost/sdk"
)

const slowToken = "token-of-ann-0123456789"

// serveLimited serves a setup with limits that a test can reach.
func (s *setup) serveLimited(t *testing.T, change func(*limits)) (w *web, server *Server, address string) {
	t.Helper()
	s.options.Identities = []Identity{{Name: "ann", Token: slowToken}, {Name: "bob", Token: "token-of-bob-0123456789"}}
	server = s.server(t)
	change(&server.limits)
	l, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	address = l.Addr().String()
	return &web{t: t, url: "http://" + address + Path, token: slowToken}, server, address
}

func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c.(*net.TCPConn)
}

func oneTool() *setup {
	return &setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")}}}}
}

// post is the head of a request with a body of so many bytes.
func post(token string, length int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: "+
		"application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n", Path, token, length)
}

// A client that sends its request a byte at a time is cut off, with a status once it has sent its header, and others
// are served meanwhile.
func TestSlowRequestsEnd(t *testing.T) {
	for name, test := range map[string]struct{ begin, more, status string }{
		"header":               {"POST /mcp HTTP/1.1\r\nX: ", "x", ""},
		"body":                 {post(slowToken, 1<<20) + "\r\n{", " ", "408"},
		"body without a token": {post("wrong", 1<<20) + "\r\n{", " ", "401"},
		"body in chunks": {strings.Replace(post(slowToken, 0), "Content-Length: 0", "Transfer-Encoding: chunked", 1) +
			"\r\n", "1\r\n \r\n", "408"},
		"body for another path":  {strings.Replace(post(slowToken, 1<<20), Path, "/x", 1) + "\r\n{", " ", "404"},
		"body of another origin": {post(slowToken, 1<<20) + "Sec-Fetch-Site: cross-site\r\n\r\n{", " ", "403"},
		"body that is expected":  {post(slowToken, 1<<20) + "Expect: 100-continue\r\n\r\n", " ", "100"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, server, address := oneTool().serveLimited(t, func(l *limits) {
				if name == "header" { // the other headers take as long as they do on a slow machine
					l.header = time.Second
				} else {
					l.body = time.Second
				}
			})
			c := dial(t, address)
			_, _ = io.WriteString(c, test.begin)
			ended := make(chan struct{})
			go func() {
				for { // until the server has closed the connection
					select {
					case <-ended:
						return
					case <-time.After(time.Millisecond):
						_, _ = io.WriteString(c, test.more)
					}
				}
			}()
			said, _ := io.ReadAll(c)
			close(ended)
			if !strings.HasPrefix(string(said), "HTTP/1.1 "+test.status) && test.status != "" {
				t.Errorf("answered %q", said)
			}
			w.handshake()
			names(t, w.request("tools/list", "{}"))
			eventually(t, "no body is counted any more", func() bool {
				_, bodies := server.load.Now()
				return bodies == 0
			})
		})
	}
}

// A client that never reads its stream loses it: the call ends all the same, others are served, and the client can
// resume the stream.
func TestReaderThatDoesNotRead(t *testing.T) {
	const pieces = 64
	returned := make(chan struct{})
	p := &fake{tools: []sdk.Tool{readOnly("t"), readOnly("other")},
		call: func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
			if r.Tool == "other" {
				return sdk.Text("other"), nil
			}
			for i := range pieces {
				r.Progress(float64(i+1), 0, "%s", strings.Repeat("x", 60<<10))
			}
			close(returned)
			return sdk.Text(strings.Repeat("y", 1<<20)), nil
		}}
	s := &setup{plugins: map[string]*fake{"p": p}}
	w, server, address := s.serveLimited(t, func(l *limits) { l.write = time.Second })
	w.handshake()
	c := dial(t, address)
	_ = c.SetReadBuffer(4 << 10)
	body := strings.Replace(stepsCall, `"id":7`, `"id":8`, 1)
	_, _ = io.WriteString(c, post(slowToken, len(body))+"Mcp-Session-Id: "+w.session+
		"\r\nMcp-Protocol-Version: 2025-11-25\r\n\r\n"+
		body)
	<-returned
	if got := string(w.request("tools/call", `{"name":"p__other"}`).Result); !strings.Contains(got, "other") {
		t.Errorf("another call: %s", got)
	}
	eventually(t, "the response has ended", func() bool {
		identities, _ := server.load.Now()
		return identities == 0
	})
	head, _ := bufio.NewReader(c).Peek(2 << 10)
	_, id, _ := bytes.Cut(head, []byte("\nid: "))
	first, _, _ := bytes.Cut(id, []byte("\n"))
	rest := w.resume(string(first))
	n := 0
	for {
		e, ok := rest.next()
		if !ok {
			break
		}
		if n++; strings.Contains(e.data, `"result"`) != (n == pieces+1) {
			t.Errorf("event %d is %.100s", n, e.data)
		}
	}
	if n != pieces+1 {
		t.Errorf("%d events came", n)
	}
}

// A client that closes its end of the connection gets nothing more there; its call goes on and can be resumed.
func TestHalfClosedConnectionEnds(t *testing.T) {
	p, step := steps(1)
	w, _, address := (&setup{plugins: map[string]*fake{"p": p}}).serveLimited(t, func(*limits) {})
	w.handshake()
	c := dial(t, address)
	_, _ = io.WriteString(c, post(slowToken, len(stepsCall))+"Mcp-Session-Id: "+w.session+
		"\r\nMcp-Protocol-Version: 2025-11-25\r\n\r\n"+stepsCall)
	eventually(t, "the call runs", func() bool { return p.made() == 1 })
	_ = c.CloseWrite()
	said, err := io.ReadAll(c)
	_, id, ok := strings.Cut(string(said), "\nid: ")
	if err != nil || !ok {
		t.Fatalf("%v: %s", err, said)
	}
	first, _, _ := strings.Cut(id, "\n")
	step <- struct{}{}
	if got := w.resume(first).rest(); !slices.Equal(got, []string{"1", "done"}) {
		t.Errorf("got %q", got)
	}
}

// Connections are bounded. Idle ones make room for new ones, those that serve a request of a client with a token do
// not.
func TestConnectionsAreBounded(t *testing.T) {
	const limit = 8
	p, step := steps(1)
	w, _, address := (&setup{plugins: map[string]*fake{"p": p}}).serveLimited(t, func(l *limits) {
		l.connections, l.header = limit, patience
	})
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request := func() (int, error) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url, nil)
		r.Header.Set("Authorization", "Bearer "+slowToken)
		out, err := fresh.Do(r)
		if err != nil {
			return 0, err
		}
		_ = out.Body.Close()
		return out.StatusCode, nil
	}
	w.handshake()
	http.DefaultClient.CloseIdleConnections()
	call := w.openStream(http.MethodPost, stepsCall)
	var silent []*net.TCPConn
	for range 3000 {
		c := dial(t, address)
		silent = append(silent, c)
		if len(silent) > 4*(limit+netlimit.Spare) { // the server has ended them
			_ = silent[0].Close()
			silent = silent[1:]
		}
	}
	for range 2 * limit {
		if status, err := request(); err != nil || status != http.StatusBadRequest {
			t.Errorf("another client: %d, %v", status, err)
		}
	}
	step <- struct{}{}
	if got := call.rest(); !slices.Equal(got, []string{"1", "done"}) {
		t.Errorf("the call that ran: %q", got)
	}
	for i := range limit { // all serve a request
		w.openStream(http.MethodPost, strings.Replace(stepsCall, `"id":7`, fmt.Sprintf(`"id":%d`, 100+i), 1))
	}
	eventually(t, "all calls run", func() bool { return p.made() == 1+limit })
	status, err := request()
	if err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("one more: %d, %v", status, err)
	}
}

// One identity that takes all it can leaves room for others.
func TestLoadOfAnIdentityIsBounded(t *testing.T) {
	p, step := steps(1)
	w, server, address := (&setup{plugins: map[string]*fake{"p": p}}).serveLimited(t, func(l *limits) {
		l.load.Requests, l.load.Bodies = 4, 100_000
	})
	bob := *w
	bob.token = "token-of-bob-0123456789"
	w.handshake()
	bob.handshake()
	eventually(t, "the handshakes are over", func() bool {
		identities, _ := server.load.Now()
		return identities == 0
	})
	var calls []*stream
	for i := range 4 {
		calls = append(calls, w.openStream(http.MethodPost,
			strings.Replace(stepsCall, `"id":7`, fmt.Sprintf(`"id":%d`, 100+i), 1)))
	}
	if got := w.status(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); got != http.StatusServiceUnavailable {
		t.Errorf("one request more: %d", got)
	}
	names(t, bob.request("tools/list", "{}"))
	for range calls {
		step <- struct{}{}
	}
	for _, call := range calls {
		_ = call.rest()
	}
	for range 3 { // bodies that are never complete
		c := dial(t, address)
		_, _ = io.WriteString(c, post(slowToken, 1<<20)+"\r\n"+strings.Repeat(" ", 30_000))
	}
	eventually(t, "the bodies are read", func() bool {
		_, bodies := server.load.Now()
		return bodies == 90_000
	})
	if got := w.status(strings.Repeat(" ", 20_000)); got != http.StatusServiceUnavailable {
		t.Errorf("a body for which there is no room: %d", got)
	}
	if got := bob.status(strings.Repeat(" ", 20_000)); got != http.StatusBadRequest {
		t.Errorf("a body of another: %d", got)
	}
}

// A client that closes its end and reads nothing does not keep the server, whose answers wait to be written.
func TestClientThatEndsWithoutReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := oneTool().server(t)
		in, send := io.Pipe()
		unread, out := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- server.Run(t.Context(), in, out) }()
		_, _ = io.WriteString(send, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
		began := time.Now()
		_ = send.Close()
		if err := <-ended; !errors.Is(err, ErrNotRead) {
			t.Errorf("ended with %v", err)
		}
		if took := time.Since(began); took > 2*endGrace {
			t.Errorf("it took %s", took)
		}
		_ = unread.Close() // ends the write
	})
}
