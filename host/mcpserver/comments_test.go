package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/sdk"
)

// A timedResponse notes when something was written, in seconds since it began. Time is that of a synctest bubble.
type timedResponse struct {
	began  time.Time
	header http.Header

	mu      sync.Mutex
	status  int
	sent    http.Header // the header as it was sent
	written []string
	flushed int // how many of them
}

func newTimedResponse() *timedResponse {
	return &timedResponse{began: time.Now(), header: http.Header{}}
}

func (w *timedResponse) Header() http.Header { return w.header }

func (w *timedResponse) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status == 0 {
		w.status, w.sent = status, w.header.Clone()
		w.note(fmt.Sprint(status))
	}
}

func (w *timedResponse) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(string(p))
	return len(p), nil
}

func (w *timedResponse) note(what string) {
	w.written = append(w.written, fmt.Sprintf("%d %s", int(time.Since(w.began).Seconds()), what))
}

func (w *timedResponse) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flushed = len(w.written)
}

// all is what was written and flushed so far; of an event that has a result, an error or a notification, that alone.
func (w *timedResponse) all() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, what := range w.written[:w.flushed] {
		at, _, _ := strings.Cut(what, " ")
		for _, of := range []string{"event: prime", `"result"`, `"error"`, `"notifications/progress"`} {
			if strings.Contains(what, of) && strings.HasSuffix(what, "\n\n") {
				what = at + " " + strings.Trim(strings.TrimPrefix(of, "event: "), `"`)
			}
		}
		out = append(out, what)
	}
	return out
}

// in serves a request until the end of the response, or until its context ends.
func (w *web) in(h http.Handler, ctx context.Context, method, body string, headers ...string) *timedResponse {
	r := httptest.NewRequestWithContext(ctx, method, "/mcp", strings.NewReader(body))
	for name, value := range pairs(append([]string{"Content-Type", "application/json", "Accept",
		"application/json, text/event-stream", "Mcp-Session-Id", w.session, "Mcp-Protocol-Version", w.version}, headers...)) {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	out := newTimedResponse()
	go func() {
		h.ServeHTTP(out, r)
		out.Flush() // as the end does
	}()
	synctest.Wait()
	return out
}

// begin begins a session of a revision.
func (w *web) begin(h http.Handler, version string) {
	w.t.Helper()
	out := w.in(h, w.t.Context(), http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
		`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, version))
	w.session, w.version = out.sent.Get("Mcp-Session-Id"), version
	w.in(h, w.t.Context(), http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if w.session == "" {
		w.t.Fatalf("no session: %q", out.written)
	}
}

// A call that says nothing for long has its header and comments early, in all revisions; one that ends at once, or says
// something, has none. Nothing is written after the end.
func TestSilentStreamHasComments(t *testing.T) {
	for version, prime := range map[string][]string{"2025-03-26": nil, "2025-06-18": nil, "2025-11-25": {"0 200", "0 prime"},
		modern: nil} {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")},
					call: func(_ context.Context, r *sdk.Request) (*sdk.Result, error) {
						switch string(r.Arguments) {
						case `{"for":40}`:
							time.Sleep(40 * time.Second)
						case `{"for":20}`:
							time.Sleep(10 * time.Second)
							r.Progress(1, 2, "half")
							time.Sleep(10 * time.Second)
						}
						return sdk.Text("done"), nil
					}}}}).server(t)
				w, h := &web{t: t}, s.Handler()
				if w.version = version; version != modern {
					w.version = ""
					w.begin(h, version)
				}
				call := func(args string) *timedResponse {
					w.next++
					body := `{"name":"p__t","arguments":` + args + `,"_meta":{"progressToken":1}}`
					if version == modern {
						body = strings.TrimSuffix(modernParams(`{"name":"p__t","arguments":`+args+`}`, "{}"), "}}") +
							`,"progressToken":1}}`
					}
					return w.in(h, t.Context(), http.MethodPost, fmt.Sprintf(
						`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, w.next, body),
						"Mcp-Method", "tools/call", "Mcp-Name", "p__t")
				}
				quick, silent, half := call(`{"for":0}`), call(`{"for":40}`), call(`{"for":20}`)
				time.Sleep(time.Minute)
				wants := map[*timedResponse][]string{
					quick:  {"0 200", "0 result"},
					silent: {"1 200", "1 " + commentLine, "16 " + commentLine, "31 " + commentLine, "40 result"},
					half:   {"1 200", "1 " + commentLine, "10 notifications/progress", "20 result"},
				}
				if prime != nil {
					wants = map[*timedResponse][]string{
						quick:  {"0 200", "0 prime", "0 result"},
						silent: {"0 200", "0 prime", "15 " + commentLine, "30 " + commentLine, "40 result"},
						half:   {"0 200", "0 prime", "10 notifications/progress", "20 result"},
					}
				}
				for out, want := range wants {
					if got := out.all(); !slices.Equal(got, want) || out.sent.Get("Content-Type") != "text/event-stream" ||
						out.sent.Get("Cache-Control") == "" {
						t.Errorf("got %q\nwant %q\n%v", got, want, out.sent)
					}
				}
			})
		})
	}
}

// The stream without calls has comments, and so has a stream that is resumed while nothing comes.
func TestStreamsWithoutEventsHaveComments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")},
			call: func(context.Context, *sdk.Request) (*sdk.Result, error) {
				time.Sleep(40 * time.Second)
				return sdk.Text("done"), nil
			}}}}).server(t)
		w, h := &web{t: t}, s.Handler()
		w.begin(h, "2025-11-25")
		ctx, end := context.WithCancel(t.Context())
		defer end()
		standing := w.in(h, ctx, http.MethodGet, "")
		lost, lose := context.WithCancel(t.Context())
		call := w.in(h, lost, http.MethodPost, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"p__t"}}`)
		_, id, _ := strings.Cut(call.written[1], "id: ")
		id, _, _ = strings.Cut(id, "\n")
		lose()
		time.Sleep(20 * time.Second)
		resumed := w.in(h, ctx, http.MethodGet, "", "Last-Event-ID", id)
		unknown := w.in(h, ctx, http.MethodGet, "", "Last-Event-ID", "no_5")
		time.Sleep(30 * time.Second)
		end()
		time.Sleep(time.Minute)
		for name, test := range map[string]struct {
			got  *timedResponse
			want []string
		}{
			"the standing stream":   {standing, []string{"0 200", "0 : ok\n\n", "15 " + commentLine, "30 " + commentLine, "45 " + commentLine}},
			"a stream that is lost": {call, []string{"0 200", "0 prime"}},
			"its rest":              {resumed, []string{"0 200", "0 prime", "15 " + commentLine, "20 result"}},
			"an unknown stream":     {unknown, []string{"0 400", "0 failed to replay events\n"}},
		} {
			if got := test.got.all(); !slices.Equal(got, test.want) {
				t.Errorf("%s: %q", name, got)
			}
		}
	})
}

// An error of revision 2026-07-28 has a status, unless it comes after a comment: then it is an event. Only streams of
// events have comments.
func TestErrorsBeforeAndAfterAComment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := (&setup{plugins: map[string]*fake{"p": {tools: []sdk.Tool{readOnly("t")},
			call: func(_ context.Context, r *sdk.Request) (*sdk.Result, error) { // asks what the client does not answer
				if string(r.Arguments) == `{"for":2}` {
					time.Sleep(2500 * time.Millisecond)
				}
				return &sdk.Result{InputRequired: &sdk.InputRequired{Requests: map[string]json.RawMessage{
					"q": json.RawMessage(`{"method":"elicitation/create","params":{"message":"?"}}`)}}}, nil
			}}}}).server(t)
		w, h := &web{t: t, version: modern}, s.Handler()
		call := func(args string) *timedResponse {
			return w.in(h, t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":`+
				modernParams(`{"name":"p__t","arguments":`+args+`}`, "{}")+"}", "Mcp-Method", "tools/call", "Mcp-Name", "p__t")
		}
		late, early := call(`{"for":2}`), call("{}")
		time.Sleep(time.Minute)
		if got := late.all(); !slices.Equal(got, []string{"1 200", "1 " + commentLine, "2 error"}) {
			t.Errorf("late: %q", late.written)
		}
		if got := late.written[len(late.written)-1]; !strings.HasPrefix(got, "2 event: message\ndata: "+
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32021,`) || strings.Count(got, "\n") != 3 {
			t.Errorf("late: %q", got)
		}
		if got := early.all(); len(got) != 2 || got[0] != "0 400" ||
			early.sent.Get("Content-Type") != "application/json" ||
			!strings.HasPrefix(got[1], `0 {"jsonrpc":"2.0","id":7,"error":{"code":-32021,`) {
			t.Errorf("early: %q, %v", got, early.sent)
		}
	})
}
