package httptransport

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/plugins/mcp/internal/client"
	"github.com/toolhost/toolhost/sdk"
)

// A scripted server answers by the method of the message, and 405 to everything that is no POST.
type scripted map[string]func(w http.ResponseWriter, r *http.Request, id json.RawMessage)

func (s scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f := s[r.Method]; f != nil {
		f(w, r, nil)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if f := s[m.Method]; f != nil {
		f(w, r, m.ID)
		return
	}
	switch m.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "one")
		result(w, m.ID, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)
	case "notifications/initialized", "notifications/cancelled":
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
	}
}

func result(w http.ResponseWriter, id json.RawMessage, text string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, text)
}

// events writes an event stream and flushes it.
func events(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

func serve(t *testing.T, s http.Handler) string {
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return web.URL
}

func dial(t *testing.T, o Options) *client.Session {
	t.Helper()
	s, err := client.Dial(limited(t), openTo(o), client.Options{Name: "test", Version: "1", Revision: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// wantError checks the error of a call: its name, whether the call may have run, and words of its message.
func wantError(t *testing.T, err error, name string, delivered bool, words ...string) {
	t.Helper()
	e, ok := errors.AsType[*sdk.Error](err)
	failed, isCall := errors.AsType[*client.CallError](err)
	if !ok || !isCall || e.Name != name || failed.Delivered != delivered {
		t.Fatalf("error %#v (%v), want %s, delivered %v", e, err, name, delivered)
	}
	for _, w := range words {
		if !strings.Contains(e.Message, w) {
			t.Errorf("message %q lacks %q", e.Message, w)
		}
	}
}

func TestHostileAnswersCostTheirCallAlone(t *testing.T) {
	big := strings.Repeat("x", 3<<20)
	for _, tt := range []struct {
		name      string
		call      func(w http.ResponseWriter, r *http.Request, id json.RawMessage)
		fault     string
		delivered bool
		words     string
	}{
		{"an answer that is too large", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			result(w, id, `"`+big+`"`)
		}, "AnswerTooLarge", true, "over 1 MiB"},
		{"an event that is too large", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			events(w, "data: "+big+"\n\n")
		}, "AnswerTooLarge", true, "over 1 MiB"},
		{"an event of many lines", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			events(w, strings.Repeat("data: x\n", 1<<20))
		}, "AnswerTooLarge", true, "over 1 MiB"},
		{"a header that is too large", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			w.Header().Set("X-Big", big)
			result(w, id, `{}`)
		}, "BadReply", true, "exceeded"},
		{"no JSON", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "<html>")
		}, "BadReply", true, "no JSON-RPC message"},
		{"a page", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
		}, "BadReply", true, "text/html"},
		{"an answer to another request", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			result(w, json.RawMessage("99"), `{}`)
		}, "BadReply", true, "does not belong"},
		{"a stream that ends", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			events(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n")
		}, "StreamEnded", true, "ended its answer"},
		{"a connection that is cut", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			panic(http.ErrAbortHandler)
		}, "BadReply", true, "closed the connection"},
		{"a body that is cut", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "{")
		}, "StreamEnded", true, "ended its answer"},
		{"bytes that trickle", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			trickle(w, r, "application/json", "[")
		}, "TooSlow", true, "too slowly"},
		{"an event that trickles", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			trickle(w, r, "text/event-stream", "data: ")
		}, "TooSlow", true, "too slowly"},
		{"a redirect to a private address", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
		}, "RedirectRefused", false, "http://169.254.169.254, which is not followed: that is a private address"},
		{"a redirect to another host", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			http.Redirect(w, r, "https://example.org/mcp?k=v", http.StatusTemporaryRedirect)
		}, "RedirectRefused", false, "to https://example.org, which is not followed"},
		{"a redirect that drops the message", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			http.Redirect(w, r, "/other", http.StatusFound)
		}, "RedirectRefused", false, "drops the message"},
		{"redirects in a circle", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		}, "RedirectRefused", false, "redirect 6"},
		{"a server error", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			http.Error(w, "database \x1b[31mdown", http.StatusInternalServerError)
		}, "HTTPStatus", true, "status 500 Internal Server Error: database \ufffd[31mdown"},
		{"too many requests", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "HTTPStatus", false, "status 429"},
		{"credentials that are refused", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			http.Error(w, "bad key "+r.Header.Get("X-Api-Key")+" in "+r.URL.RawQuery, http.StatusUnauthorized)
		}, "CredentialsRefused", false, "bad key [redacted] in key=[redacted]"},
		{"a request that is refused", func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			http.Error(w, "no guests", http.StatusForbidden)
		}, "HTTPStatus", false, "status 403 Forbidden: no guests"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, scripted{"tools/call": tt.call,
				"tools/list": func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) { result(w, id, `{"tools":[]}`) }})
			o := Options{URL: url + "/mcp?key=hidden-in-query", MaxMessage: 1 << 20,
				Header: http.Header{"X-Api-Key": {"hidden-in-header"}}, grace: time.Second}
			s := dial(t, o)
			_, err := call(limited(t), s, "x", "{}", nil)
			wantError(t, err, tt.fault, tt.delivered, tt.words)
			if text := fmt.Sprintf("%v %#v", err, err); strings.Contains(text, "hidden-in") {
				t.Errorf("a secret is in %s", text)
			}
			if _, err := s.List(limited(t), client.Tools); err != nil {
				t.Errorf("the next request fails: %v", err)
			}
		})
	}
}

func TestByteOrderMarkBeforeAnAnswer(t *testing.T) {
	url := serve(t, scripted{"tools/call": func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "\ufeff"+`{"jsonrpc":"2.0","id":%s,"result":{"a":1}}`, id)
	}})
	if got, err := call(limited(t), dial(t, Options{URL: url}), "x", "{}", nil); err != nil || got != `{"a":1}` {
		t.Errorf("%s, %v", got, err)
	}
}

// trickle sends one byte after the other until the client goes.
func trickle(w http.ResponseWriter, r *http.Request, contentType, first string) {
	w.Header().Set("Content-Type", contentType)
	_, _ = io.WriteString(w, first)
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, "1")
		w.(http.Flusher).Flush()
		select {
		case <-time.After(20 * time.Millisecond):
		case <-r.Context().Done():
		}
	}
}

func TestHeaderThatTricklesEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX: ")
		for {
			if _, err := io.WriteString(c, "y"); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	_, err = client.Dial(limited(t), openTo(Options{URL: "http://" + l.Addr().String(), grace: 100 * time.Millisecond}),
		client.Options{Revision: "2025-11-25"})
	wantError(t, err, "TooSlow", true, "the header of its answer too slowly")
	<-done
}

func TestMissingServer(t *testing.T) {
	web := httptest.NewServer(nil)
	web.Close()
	_, err := client.Dial(limited(t), openTo(Options{URL: web.URL}), client.Options{})
	wantError(t, err, "ConnectFailed", false, web.URL, "refused")
	secure := httptest.NewUnstartedServer(scripted{})
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	_, err = client.Dial(limited(t), openTo(Options{URL: secure.URL}), client.Options{})
	wantError(t, err, "TLSFailed", false, "certificate")
	_, err = client.Dial(limited(t), openTo(Options{URL: "http://nothing.invalid/mcp"}), client.Options{})
	wantError(t, err, "HostNotFound", false, "nothing.invalid")
	plain := httptest.NewServer(scripted{})
	defer plain.Close()
	_, err = client.Dial(limited(t), openTo(Options{URL: strings.Replace(plain.URL, "http", "https", 1)}), client.Options{})
	wantError(t, err, "TLSFailed", false, "HTTP response to HTTPS client")
}

func TestSessionThatTheServerForgot(t *testing.T) {
	for _, status := range []int{404, 400} {
		var sessions, ran, deleted atomic.Int32
		url := serve(t, scripted{
			"initialize": func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
				w.Header().Set("Mcp-Session-Id", fmt.Sprint(sessions.Add(1)))
				result(w, id, `{"protocolVersion":"2025-11-25","capabilities":{}}`)
			},
			"tools/call": func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
				if r.Header.Get("Mcp-Session-Id") == "1" {
					w.WriteHeader(status)
					_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID"}}`)
					return
				}
				ran.Add(1)
				result(w, id, `{}`)
			},
			"DELETE": func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
				if r.Header.Get("Mcp-Session-Id") == "2" {
					deleted.Add(1)
				}
			}})
		s := dial(t, Options{URL: url})
		_, err := call(limited(t), s, "x", "{}", nil)
		wantError(t, err, "SessionEnded", false, "has ended the session; it did not run this call")
		select {
		case <-s.Done():
		case <-limited(t).Done():
			t.Fatal("the session goes on")
		}
		s = dial(t, Options{URL: url})
		if _, err := call(limited(t), s, "x", "{}", nil); err != nil || ran.Load() != 1 {
			t.Errorf("the call ran %d times on the new session, %v", ran.Load(), err)
		}
		if s.Close(); deleted.Load() != 1 {
			t.Error("the session is not deleted at the end")
		}
	}
}

func TestStreamIsResumedAfterTheLastEvent(t *testing.T) {
	var calls atomic.Int32
	times := make(chan time.Time, 2)
	answer := make(chan string, 1)
	url := serve(t, scripted{
		"tools/call": func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			calls.Add(1)
			answer <- fmt.Sprintf("id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"a\":1}}\n\n", id)
			events(w, "id: e1\nretry: 300\ndata:\n\n")
			times <- time.Now()
		},
		"GET": func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			switch r.Header.Get("Last-Event-ID") {
			case "":
				w.WriteHeader(http.StatusMethodNotAllowed)
			case "e1":
				times <- time.Now()
				events(w, <-answer)
			}
		}})
	s := dial(t, Options{URL: url})
	out, err := call(limited(t), s, "x", "{}", nil)
	if err != nil || out != `{"a":1}` || calls.Load() != 1 {
		t.Fatalf("%s, %v after %d calls", out, err, calls.Load())
	}
	if waited := -time.Until(<-times) + time.Until(<-times); waited < 280*time.Millisecond {
		t.Errorf("connected again after %v, and the server asked for 300 ms", waited)
	}
}

// A connection that breaks within an event loses nothing: that event is asked for again.
func TestEventThatIsCutOffIsAskedForAgain(t *testing.T) {
	answer := make(chan string, 1)
	url := serve(t, scripted{
		"tools/call": func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			text := fmt.Sprintf("event: message\nid: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"a\":1}}", id)
			answer <- text + "\n\n"
			events(w, "id: e1\nretry: 10\ndata:\n\n"+text[:len(text)-10])
		},
		"GET": func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			if r.Header.Get("Last-Event-ID") == "e1" {
				events(w, <-answer)
				return
			}
			w.WriteHeader(http.StatusMethodNotAllowed)
		}})
	if out, err := call(limited(t), dial(t, Options{URL: url}), "x", "{}", nil); err != nil || out != `{"a":1}` {
		t.Fatalf("%s, %v", out, err)
	}
}

func TestAnswerOnTheStreamBesideRequestsEndsTheRequest(t *testing.T) {
	answer, resumed, dropped := make(chan string, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	url := serve(t, scripted{
		"tools/call": func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			events(w, "id: e1\nretry: 0\ndata:\n\n")
			answer <- fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"a\":1}}\n\n", id)
		},
		"GET": func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			events(w, ": here\n\n")
			if r.Header.Get("Last-Event-ID") == "" {
				<-resumed
				events(w, <-answer)
				<-r.Context().Done()
				return
			}
			resumed <- struct{}{}
			<-r.Context().Done()
			dropped <- struct{}{}
		}})
	s := dial(t, Options{URL: url})
	if out, err := call(limited(t), s, "x", "{}", nil); err != nil || out != `{"a":1}` {
		t.Fatalf("%s, %v", out, err)
	}
	select {
	case <-dropped:
	case <-limited(t).Done():
		t.Error("the request's own stream stays open")
	}
}

func TestStreamBesideRequestsBringsNotifications(t *testing.T) {
	var gets atomic.Int32
	url := serve(t, scripted{
		"initialize": func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			result(w, id, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}}}`)
		},
		"GET": func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			gets.Add(1)
			events(w, "junk\ndata: {]\n\nretry: 10\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
			if gets.Load() > 1 {
				<-r.Context().Done()
			}
		}})
	changed := make(chan string, 8)
	s, err := client.Dial(limited(t), openTo(Options{URL: url}), client.Options{Revision: "2025-11-25",
		ListChanged: func(list string) { changed <- list }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 {
		select {
		case <-changed:
		case <-limited(t).Done():
			t.Fatalf("not notified; %d streams", gets.Load())
		}
	}
}

func TestLegacyEndpointOfAnotherServerIsRefused(t *testing.T) {
	var leaked atomic.Int32
	other := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		events(w, "event: endpoint\ndata: "+other+"/steal\n\n")
		<-r.Context().Done()
	}))
	_, err := client.Dial(limited(t), openTo(Options{URL: url, LegacySSE: true}), client.Options{Revision: "2024-11-05"})
	if err == nil || !strings.Contains(err.Error(), "another server, which is refused") {
		t.Error(err)
	}
	_, err = client.Dial(limited(t), openTo(Options{URL: url}), client.Options{})
	if err == nil || leaked.Load() != 0 {
		t.Errorf("%d requests to the other server, %v", leaked.Load(), err)
	}
}

func TestCredentialsStayWithTheOrigin(t *testing.T) {
	var got http.Header
	other := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Clone() }))
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other, http.StatusPermanentRedirect)
	}))
	_, err := client.Dial(limited(t), openTo(Options{URL: strings.Replace(url, "://", "://user:password-in-url@", 1),
		Header: http.Header{"X-Key": {"secret-in-header"}}}), client.Options{})
	if got != nil || err == nil || strings.Contains(err.Error(), "password-in-url") {
		t.Errorf("the other server has %v, %v", got, err)
	}
}

func TestRedirectWithinTheOriginIsFollowed(t *testing.T) {
	s := scripted{}
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
			return
		}
		s.ServeHTTP(w, r)
	}))
	dial(t, Options{URL: url + "/mcp"})
}

func TestCloseEndsWhatRuns(t *testing.T) {
	began := make(chan struct{}, 1)
	url := serve(t, scripted{
		"tools/call": func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			events(w, ": here\n\n")
			began <- struct{}{}
			<-r.Context().Done()
		},
		"DELETE": func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) { <-r.Context().Done() },
	})
	s := dial(t, Options{URL: url})
	failed := make(chan error, 1)
	go func() {
		_, err := call(limited(t), s, "x", "{}", nil)
		failed <- err
	}()
	<-began
	start := time.Now()
	if _ = s.Close(); time.Since(start) > closeTimeout+5*time.Second {
		t.Errorf("Close took %v", time.Since(start))
	}
	if err := <-failed; err == nil {
		t.Error("the call has a result")
	}
}

func TestProxyOfTheEnvironmentIsUsedOnlyWhenConfigured(t *testing.T) {
	if c := newHTTPClient(Options{}); c.Transport.(*http.Transport).Proxy != nil {
		t.Error("a proxy is used")
	}
	if c := newHTTPClient(Options{ProxyFromEnvironment: true}); c.Transport.(*http.Transport).Proxy == nil {
		t.Error("no proxy is used")
	}
}

func TestURLsThatAreRefused(t *testing.T) {
	for _, u := range []string{"", "ftp://h/x", "/mcp", "https://", "http://a b", "https://u:secret-word@h:x/"} {
		if _, err := New(Options{URL: u}); err == nil || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%q: %v", u, err)
		}
	}
}

// An authorizer whose token is refreshed by Challenge.
type fakeAuthorizer struct{ token atomic.Value }

func (f *fakeAuthorizer) Authorization(context.Context) (string, error) {
	return "Bearer " + f.token.Load().(string), nil
}

func (f *fakeAuthorizer) Challenge(_ context.Context, value string, a *http.Response) error {
	if value != "Bearer old" || a.StatusCode != http.StatusUnauthorized {
		return errors.New("challenged for " + value)
	}
	f.token.Store("new")
	return nil
}

func TestRefusedTokenIsReplacedOnce(t *testing.T) {
	s := scripted{}
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer new" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.ServeHTTP(w, r)
	}))
	f := &fakeAuthorizer{}
	f.token.Store("old")
	dial(t, Options{URL: url, Authorizer: f})
	f.token.Store("wrong")
	_, err := client.Dial(limited(t), openTo(Options{URL: url, Authorizer: f}), client.Options{Revision: "2025-11-25"})
	if err == nil || !strings.Contains(err.Error(), "challenged for") {
		t.Error(err)
	}
}

// A refusal that says no more than its status gets the advice that one with a reason does not need.
func TestAdviceForARefusal(t *testing.T) {
	for text, want := range map[string]string{"": "", "\n": "", "Forbidden\n": "", "no guests": ": no guests"} {
		url := serve(t, scripted{"tools/call": func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, text)
		}})
		_, err := call(limited(t), dial(t, Options{URL: url}), "x", "{}", nil)
		e, ok := errors.AsType[*sdk.Error](err)
		if !ok || !strings.HasSuffix(e.Message, "403 Forbidden"+want) || (e.Suggestion == "") != (want != "") {
			t.Errorf("%q: %#v", text, err)
		}
	}
}
